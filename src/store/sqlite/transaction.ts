// Begins and ends transactions, runs those of database operations (store/database/transaction.ts), and builds statements from the declared tables.
// Parameters are named after their columns, so that a row can be bound as an object.

import type { Database } from "bun:sqlite";
import { columnsOf, primaryKeyOf, type TableName, tableNames } from "../database/tables.ts";
import type { Row, Statement, Transaction } from "../database/transaction.ts";

/** Runs `work` in a transaction with the write lock, so that other writers wait. Rolls back if it throws. */
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
 * Runs a transaction's statements from first to last, without a pause, in a transaction begun by the caller.
 * @param now the time of the call, in milliseconds since 1970. If it had to wait, a lease it acquires ends earlier than requested. It never takes
 * another process's lease before that ends, because this time is never ahead of the clock
 */
export function runStatements<R>(database: Database, transaction: Transaction<R>, now = Date.now()): R {
  let step = transaction.next([]);
  while (!step.done) step = transaction.next(executeStatement(database, step.value, now));
  return step.value;
}

/** @param now as for `runStatements` */
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

/** @param rows with a value for each column */
export function runForEachRow(database: Database, text: string, rows: readonly Row[]): void {
  if (rows.length === 0) return;
  const statement = database.query<never, [Row]>(text);
  for (const row of rows) statement.run(row);
}

/** @param into the table's name. Default: that of `table`, which has the same columns */
export function insertStatement(table: TableName, into: string = table): string {
  const columns = columnsOf(table);
  return `insert into ${into} (${columns.join(", ")}) values (${columns.map(parameter).join(", ")})`;
}

// Built once per table, because a create uses several of them.

const insertInto = onceForEach(insertStatement);

const selectFrom = onceForEach((table) => {
  const conditions = primaryKeyOf(table).map((column) => `${column} = ${parameter(column)}`);
  return `select ${columnsOf(table).join(", ")} from ${table} where ${conditions.join(" and ")}`;
});

const upsertAlways = onceForEach((table) => {
  const key = primaryKeyOf(table);
  const replaced = columnsOf(table, key).map((column) => `${column} = excluded.${column}`);
  return `${insertStatement(table)} on conflict (${key.join(", ")}) do update set ${replaced.join(", ")}`;
});

/** @param where when to replace a row with the same key. Default: always */
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
