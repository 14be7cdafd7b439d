// Begins and ends transactions, executes those of database operations (store/database/transaction.ts), and builds statements from the declaration of
// the tables. Each parameter has the name of its column, so that a row can be bound as an object.

import type { Database } from "bun:sqlite";
import { columnsOf, primaryKeyOf, type TableName, tableNames } from "../database/tables.ts";
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
  while (!step.done) step = transaction.next(executeStatement(database, step.value, now));
  return step.value;
}

/** Executes one statement, in a transaction that the caller has begun. @param now as for `runStatements` */
export function executeStatement(database: Database, statement: Statement, now = Date.now()): readonly Row[] {
  switch (statement.kind) {
    case "query":
    case "queryForUpdate":
    case "execute":
      return database.query<Row, [Row]>(statement.sql).all(statement.values);
    case "insert":
      runForEachRow(database, insertInto(statement.table), statement.rows);
      return [];
    case "upsert":
      runForEachRow(database, upsertInto(statement.table, statement.where), statement.rows);
      return [];
    case "findByKeys":
      return statement.keys.flatMap((key) => database.query<Row, [Row]>(selectFrom(statement.table)).all(key));
    case "now":
      return [{ now }];
  }
}

/** Executes the statement `text` with each row, which has a value for each column. */
export function runForEachRow(database: Database, text: string, rows: readonly Row[]): void {
  if (rows.length === 0) return;
  const statement = database.query<never, [Row]>(text);
  for (const row of rows) statement.run(row);
}

/** Returns a statement that inserts a row. @param into the name of the table; by default, that of `table`, which has the same columns */
export function insertStatement(table: TableName, into: string = table): string {
  const columns = columnsOf(table);
  return `insert into ${into} (${columns.join(", ")}) values (${columns.map(parameter).join(", ")})`;
}

// Each text is made once, because a create executes several of them.

const insertInto = onceForEach(insertStatement);

/** Returns a statement that selects the row with a key. */
const selectFrom = onceForEach((table) => {
  const conditions = primaryKeyOf(table).map((column) => `${column} = ${parameter(column)}`);
  return `select ${columnsOf(table).join(", ")} from ${table} where ${conditions.join(" and ")}`;
});

const upsertAlways = onceForEach((table) => {
  const key = primaryKeyOf(table);
  const replaced = columnsOf(table, key).map((column) => `${column} = excluded.${column}`);
  return `${insertStatement(table)} on conflict (${key.join(", ")}) do update set ${replaced.join(", ")}`;
});

/** Returns a statement that inserts a row, or replaces the row with the same key. @param where the condition for replacing it */
function upsertInto(table: TableName, where?: string): string {
  return where === undefined ? upsertAlways(table) : `${upsertAlways(table)} where ${where}`;
}

function onceForEach(make: (table: TableName) => string): (table: TableName) => string {
  const texts = new Map(tableNames.map((table) => [table, make(table)]));
  return (table) => texts.get(table) as string;
}

function parameter(column: string): string {
  return `$${column}`;
}
