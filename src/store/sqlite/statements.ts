// Builds statements from the declaration of the tables (store/database/tables.ts). Each parameter has the name of its column, so that a row can be
// bound as an object.

import { columnsOf, primaryKeyOf, type TableName } from "../database/tables.ts";

/** Returns a statement that inserts a row. @param into the name of the table; by default, that of `table`, which has the same columns */
export function insert(table: TableName, columns = columnsOf(table), into: string = table): string {
  return `insert into ${into} (${columns.join(", ")}) values (${columns.map(parameter).join(", ")})`;
}

/** Returns a statement that inserts a row, or updates these columns if a row with the same key exists. */
export function put(table: TableName, columns = columnsOf(table)): string {
  const key = primaryKeyOf(table);
  const set = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  return `${insert(table, columns)} on conflict (${key.join(", ")}) do update set ${set.join(", ")}`;
}

/** Returns a statement that selects the row with a key. */
export function select(table: TableName, columns = columnsOf(table)): string {
  const isKey = primaryKeyOf(table).map((column) => `${column} = ${parameter(column)}`);
  return `select ${columns.join(", ")} from ${table} where ${isKey.join(" and ")}`;
}

function parameter(column: string): string {
  return `$${column}`;
}
