// Begins and ends transactions, executes those of database operations (store/database/transaction.ts), and builds statements from the declaration of
// the tables. Each parameter has the name of its column, so that a row can be bound as an object.

import type { Database } from "bun:sqlite";
import { columnsOf, primaryKeyOf, type TableName } from "../database/tables.ts";
import type { Row, Statement, Transaction } from "../database/transaction.ts";

/** Runs `work` in a transaction with the write lock, so that other writers wait. Rolls back if `work` throws. */
export function runInTransaction<T>(database: Database, work: () => T): T {
  database.run("begin immediate");
  try {
    const result = work();
    database.run("commit");
    return result;
  } catch (error) {
    if (database.inTransaction) database.run("rollback");
    throw error;
  }
}

/**
 * Executes the statements of a transaction that the caller has begun, from the first to the last without a pause. Returns the result of the generator.
 * @param now the time of the call, in milliseconds since 1970. If the call then had to wait, a lease that it acquires ends earlier than requested. It
 *   never acquires the lease of another process before the end of that lease, because this time is not later than the clock
 */
export function runStatements<R>(database: Database, transaction: Transaction<R>, now = Date.now()): R {
  let step = transaction.next([]);
  while (!step.done) step = transaction.next(execute(database, step.value, now));
  return step.value;
}

function execute(database: Database, statement: Statement, now: number): readonly Row[] {
  switch (statement.kind) {
    case "query":
    case "queryForUpdate":
    case "execute":
      return database.query<Row, [Row]>(statement.sql).all(statement.values);
    case "insert":
      runForEachRow(database, insertStatement(statement.table), statement);
      return [];
    case "upsert":
      runForEachRow(database, upsertStatement(statement.table, statement.where), statement);
      return [];
    case "findByKeys":
      return statement.keys.flatMap((key) => database.query<Row, [Row]>(selectStatement(statement.table)).all(key));
    case "now":
      return [{ now }];
  }
}

interface TableRows {
  readonly table: TableName;
  readonly rows: readonly Row[];
}

/** Executes the statement `text` with each row. Columns that a row lacks become null. */
export function runForEachRow(database: Database, text: string, { table, rows }: TableRows): void {
  const query = database.query<never, [Row]>(text);
  const empty = Object.fromEntries(columnsOf(table).map((column) => [column, null]));
  for (const row of rows) query.run({ ...empty, ...row });
}

/** Returns a statement that inserts a row. @param into the name of the table; by default, that of `table`, which has the same columns */
export function insertStatement(table: TableName, into: string = table): string {
  const columns = columnsOf(table);
  return `insert into ${into} (${columns.join(", ")}) values (${columns.map(parameter).join(", ")})`;
}

/** Returns a statement that inserts a row, or replaces the row with the same key. @param where the condition for replacing it */
export function upsertStatement(table: TableName, where?: string): string {
  const key = primaryKeyOf(table);
  const replaced = columnsOf(table, key).map((column) => `${column} = excluded.${column}`);
  const text = `${insertStatement(table)} on conflict (${key.join(", ")}) do update set ${replaced.join(", ")}`;
  return where === undefined ? text : `${text} where ${where}`;
}

/** Returns a statement that selects the row with a key. */
export function selectStatement(table: TableName, columns = columnsOf(table)): string {
  const conditions = primaryKeyOf(table).map((column) => `${column} = ${parameter(column)}`);
  return `select ${columns.join(", ")} from ${table} where ${conditions.join(" and ")}`;
}

function parameter(column: string): string {
  return `$${column}`;
}
