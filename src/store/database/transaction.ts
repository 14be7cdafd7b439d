// Transactions that are written once for both engines. What's frequent (look-ups, pages, journals, commits), or too different (whole sites, dumps,
// the swap of a restore), is written for each engine. Everything else is a database operation (operations.ts).
//
// A transaction is a generator that yields statements and gets back the rows it needs. It can't wait for anything else. So SQLite runs it from start
// to finish without a pause. PostgreSQL sends statements whose rows aren't needed along with the next one, which saves round trips.
//
// The engine begins and ends the transaction. If the generator throws, nothing is stored; if it changes nothing, the engine rolls back.
//
// The statements are in SQL that both databases understand, with `:name` for values. Their texts are constant, because SQLite keeps prepared
// statements by text. On PostgreSQL, look up rows by key, as in all statements (store/postgres/statements.ts).

import type { DumpedRow } from "../../model/engine.ts";
import { columnsOf, type TableName, type TableRow } from "./tables.ts";

export type Row = DumpedRow["row"];

/** A statement's values by name. */
export type StatementValues = Readonly<Record<string, string | number>>;

/** What a transaction asks the engine to do. */
export type Statement =
  | { readonly kind: "query"; readonly sql: string; readonly values: StatementValues }
  | { readonly kind: "execute"; readonly sql: string; readonly values: StatementValues }
  | { readonly kind: "queryForUpdate"; readonly sql: string; readonly values: Readonly<Record<string, number>> }
  | {
      readonly kind: "insert" | "upsert";
      readonly table: TableName;
      readonly rows: readonly Row[];
      readonly where?: string | undefined;
    }
  | { readonly kind: "findByKeys"; readonly table: TableName; readonly keys: readonly Row[] }
  | { readonly kind: "now" };

/** The engine answers each statement with its rows. */
export type Transaction<R> = Generator<Statement, R, readonly Row[]>;

export function query(sql: string, values: StatementValues = {}): Statement {
  return { kind: "query", sql, values };
}

/** Reads rows and locks them until the transaction ends. */
export function queryForUpdate(sql: string, values: Readonly<Record<string, number>> = {}): Statement {
  return { kind: "queryForUpdate", sql, values };
}

/** Finds rows by primary key, in any order. Keys without a row are left out. */
export function findByKeys(table: TableName, keys: readonly Row[]): Statement {
  return { kind: "findByKeys", table, keys };
}

/** Runs a statement that changes rows. Returns rows if it has a `returning` clause. */
export function execute(sql: string, values: StatementValues = {}): Statement {
  return { kind: "execute", sql, values };
}

export function insert<T extends TableName>(table: T, rows: readonly TableRow<T>[]): Statement {
  return { kind: "insert", table, rows };
}

/** Inserts rows, or replaces those with the same primary keys. @param where when to replace a row. Default: always */
export function upsert<T extends TableName>(table: T, rows: readonly TableRow<T>[], where?: string): Statement {
  return { kind: "upsert", table, rows, where };
}

/** Inserts or upserts rows of a dump. Missing columns become null. */
export function storeDumped(kind: "insert" | "upsert", chunk: DumpedRows): Statement {
  return { kind, table: chunk.table, rows: withAllColumns(chunk) };
}

interface DumpedRows {
  readonly table: TableName;
  readonly rows: readonly Row[];
}

/** Fills in missing columns with null. */
export function withAllColumns({ table, rows }: DumpedRows): Row[] {
  const empty = Object.fromEntries(columnsOf(table).map((column) => [column, null]));
  return rows.map((row) => ({ ...empty, ...row }));
}

/**
 * Returns the time in milliseconds since 1970. On PostgreSQL, that's the database's time as of the last `queryForUpdate`, so there must have been
 * one. On SQLite, it's when the operation was called, which may have waited since.
 */
export function* readTime(): Transaction<number> {
  const [row] = yield { kind: "now" };
  return Number(row?.now);
}
