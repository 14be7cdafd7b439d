// Transactions that are written once for both engines. Frequent work (look-ups, pages, journals, commits) and work that differs (whole sites, dumps,
// the swap of a restore) is written for each engine. Everything else is a database operation (operations.ts).
//
// A transaction is a generator: it yields its statements, and gets back the rows that it needs. It cannot wait for anything else.
// So SQLite executes a transaction from its first to its last statement without a pause, and nothing comes in between. PostgreSQL sends statements
// whose rows nobody needs together with the next statement, so a transaction costs few round trips.
//
// Each engine begins and ends the transaction. If the generator throws, nothing is stored. If it changes nothing, the engine rolls it back.
//
// The statements are in the SQL that both databases have. `:name` stands for a value. Their texts are constant, because SQLite keeps statements by
// their texts. On PostgreSQL, rows are looked up by keys, as for all statements (store/postgres/statements.ts).

import type { DumpedRow } from "../../model/engine.ts";
import { columnsOf, type TableName, type TableRow } from "./tables.ts";

export type Row = DumpedRow["row"];

/** The values of a statement by name. */
export type StatementValues = Readonly<Record<string, string | number>>;

/** A statement that a transaction asks the engine to execute. */
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

/** The statements of one transaction. The engine answers each statement with its rows. */
export type Transaction<R> = Generator<Statement, R, readonly Row[]>;

/** Reads rows. */
export function query(sql: string, values: StatementValues = {}): Statement {
  return { kind: "query", sql, values };
}

/** Reads rows. Until this transaction ends, no other transaction can change them. */
export function queryForUpdate(sql: string, values: Readonly<Record<string, number>> = {}): Statement {
  return { kind: "queryForUpdate", sql, values };
}

/** Returns the rows of a table with these primary keys, in any order. A key without a row is left out. */
export function findByKeys(table: TableName, keys: readonly Row[]): Statement {
  return { kind: "findByKeys", table, keys };
}

/** Executes a statement that changes rows. Returns rows if the statement has a `returning` clause. */
export function execute(sql: string, values: StatementValues = {}): Statement {
  return { kind: "execute", sql, values };
}

/** Inserts rows. */
export function insert<T extends TableName>(table: T, rows: readonly TableRow<T>[]): Statement {
  return { kind: "insert", table, rows };
}

/** Inserts rows, or replaces the rows with the same primary keys. @param where the condition for replacing a row; by default, every row is replaced */
export function upsert<T extends TableName>(table: T, rows: readonly TableRow<T>[], where?: string): Statement {
  return { kind: "upsert", table, rows, where };
}

/** Inserts or upserts rows of a dump. Columns that a row lacks become null. */
export function storeDumped(kind: "insert" | "upsert", chunk: DumpedRows): Statement {
  return { kind, table: chunk.table, rows: withAllColumns(chunk) };
}

interface DumpedRows {
  readonly table: TableName;
  readonly rows: readonly Row[];
}

/** Returns rows in which the columns that a row lacks are null. */
export function withAllColumns({ table, rows }: DumpedRows): Row[] {
  const empty = Object.fromEntries(columnsOf(table).map((column) => [column, null]));
  return rows.map((row) => ({ ...empty, ...row }));
}

/**
 * Returns the time in milliseconds since 1970. On PostgreSQL, it is the time of the database at the last `queryForUpdate`, which must come before. On
 * SQLite, it is the time at which the operation was called; the operation may have waited since then.
 */
export function* readTime(): Transaction<number> {
  const [row] = yield { kind: "now" };
  return Number(row?.now);
}
