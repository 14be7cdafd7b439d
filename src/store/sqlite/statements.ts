// Statements on the tables, their columns from the declaration. A parameter has the name of its column, so a row is bound as an object.

import { columnsOf, primaryKeyOf, type TableName } from "../database/tables.ts";

/** Inserts a row. @param into the table, if it is another one with the same columns */
export function insert(table: TableName, columns = columnsOf(table), into: string = table): string {
  return `insert into ${into} (${columns.join(", ")}) values (${columns.map(parameter).join(", ")})`;
}

/** Inserts a row, or sets these columns of the row that has its key. */
export function put(table: TableName, columns = columnsOf(table)): string {
  const key = primaryKeyOf(table);
  const set = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  return `${insert(table, columns)} on conflict (${key.join(", ")}) do update set ${set.join(", ")}`;
}

/** Selects the row that has a key. */
export function select(table: TableName, columns = columnsOf(table)): string {
  const isKey = primaryKeyOf(table).map((column) => `${column} = ${parameter(column)}`);
  return `select ${columns.join(", ")} from ${table} where ${isKey.join(" and ")}`;
}

function parameter(column: string): string {
  return `$${column}`;
}
