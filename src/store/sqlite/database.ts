import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../lib/errors-for-log.ts";
import { Refusal } from "../../model/errors.ts";
import { type Addition, additionsOf, madeByNewer } from "../database/tables.ts";
import first from "./001-tables.sql" with { type: "text" };
import addedColumns from "./002-added-columns.sql" with { type: "text" };
import webhooks from "./003-webhooks.sql" with { type: "text" };
import credentials from "./004-credentials.sql" with { type: "text" };
import webhookColumns from "./005-webhook-columns.sql" with { type: "text" };
import { diskFault, logSize } from "./files.ts";

/** Migrations that raise the version: older programs then refuse the database. */
const migrations: readonly string[] = [first];

/** Migrations that do not raise it. */
const knownAdditions = additionsOf({
  "002-added-columns.sql": addedColumns,
  "003-webhooks.sql": webhooks,
  "004-credentials.sql": credentials,
  "005-webhook-columns.sql": webhookColumns,
});

/** Bytes to which the log (`-wal`) is truncated after a checkpoint. It grows with the largest transaction. */
export const logLimit = 16 * 1024 * 1024;

/** Milliseconds that a server waits for transactions of other processes. */
const serverBusyTimeout = 3000;

/**
 * Opens the file. Creates it and its folder if they do not exist. A commit returns after it has reached the disk.
 * @param busyTimeout milliseconds to wait for transactions of other processes
 */
export function openDatabase(path: string, busyTimeout = serverBusyTimeout): Database {
  return translated(() => open(path, busyTimeout), `the database ${path}`, path);
}

function open(path: string, busyTimeout: number): Database {
  mkdirSync(dirname(path), { recursive: true });
  createPrivateFile(path);
  const database = new Database(path, { create: true, strict: true });
  try {
    database.run(`pragma busy_timeout = ${busyTimeout}`);
    // Before anything is written: WAL mode is stored in the file, and another program's file must stay as it is.
    knownVersion(database);
    database.run("pragma journal_mode = wal");
    database.run("pragma synchronous = full");
    database.run("pragma foreign_keys = off");
    database.run(`pragma journal_size_limit = ${logLimit}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Moves what a killed process left in the log (`-wal`) into the database file, if no other process has it open.
 *
 * When an fsync fails, the kernel takes the pages for clean, although they are not on the disk. SQLite rolls the commit back, and the next commit
 * writes over it. But if the process is killed first, SQLite finds that commit in the log, complete in the page cache, and would append
 * to it: after a power loss, a hole in the log would end it before commits that were flushed and acknowledged. When the last connection is closed, SQLite
 * writes all pages of the log to the database file, flushes that, and deletes the log. (`npm run check:fsync`)
 */
export function settleLog(path: string, busyTimeout?: number): void {
  if (existsSync(path) && logSize(path) > 0) openDatabase(path, busyTimeout).close();
}

/**
 * Creates an empty file that only its owner can read, because the database holds everything, the secrets of webhooks too. SQLite gives its mode to
 * `-wal` and `-shm`. A file that exists is never opened here: closing it would drop SQLite's locks (see files.ts).
 */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // Usually, the file exists. SQLite reports whatever else is wrong.
  }
}

/**
 * Migrates the tables to the version of this program, under a lock, so that processes can start concurrently. Returns whether there were none before.
 */
export function migrate(database: Database, additions = knownAdditions): boolean {
  return translated(() => {
    if (version(database) === migrations.length && missing(database, additions).length === 0) return false;
    return inTransaction(database, () => {
      const from = knownVersion(database);
      for (const sql of migrations.slice(from)) database.run(sql);
      for (const { sql } of missing(database, additions)) database.run(sql);
      if (from !== migrations.length) database.run(`pragma user_version = ${migrations.length}`);
      return from === 0;
    });
  });
}

/** @throws Refusal `unavailable` if the tables do not have the version of this program */
export function requireVersion(database: Database): void {
  if (knownVersion(database) === migrations.length && missing(database, knownAdditions).length === 0) return;
  throw new Refusal("unavailable", "the database was made by an older program and cannot be upgraded: it is read-only");
}

/** The additions whose columns the tables do not have. */
function missing(database: Database, additions: readonly Addition[]): readonly Addition[] {
  return additions.filter(({ table, column }) => !hasColumn(database, table, column));
}

function hasColumn(database: Database, table: string, column: string): boolean {
  return database.query("select 1 from pragma_table_info(?) where name = ?").get(table, column) !== null;
}

/** The version of the tables. @throws Refusal `unavailable` if this program did not make them or cannot upgrade them */
function knownVersion(database: Database): number {
  const found = version(database);
  const isOurs = found > 0 && hasColumn(database, "journal", "site_id");
  if (!isOurs && !isEmptySchema(database)) {
    throw new Refusal("unavailable", `the database ${database.filename} belongs to another program`);
  }
  if (found > migrations.length) throw madeByNewer(found, migrations.length);
  return found;
}

/** Runs `work` in a transaction that other writers wait for; rolls back when it throws. */
export function inTransaction<T>(database: Database, work: () => T): T {
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

/** Runs `work` and converts errors of SQLite into ours (`fromSqlite`). */
export function translated<T>(work: () => T, subject?: string, path?: string): T {
  try {
    return work();
  } catch (error) {
    throw fromSqlite(error, subject, path);
  }
}

/**
 * Errors of the disk, a lock or the file are `unavailable`; any other is a fault of this program.
 * @param path if given, the error says whether the disk is full that has this database file
 */
export function fromSqlite(error: unknown, subject = "the database", path?: string): unknown {
  const systemCode = (error as NodeJS.ErrnoException).code ?? "";
  const outside =
    /^(SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PERM|AUTH|NOLFS|PROTOCOL)|E[A-Z]+$)/;
  if ((error instanceof SQLiteError || error instanceof Error) && outside.test(systemCode)) {
    const why = (path !== undefined && diskFault(path, error)) || messageOf(error);
    return new Refusal("unavailable", `${subject} cannot be used: ${why}`, {
      retryAfter: 1,
      cause: error,
    });
  }
  return error;
}

/** The names of all tables. */
export function tableNamesIn(database: Database): string[] {
  return database.query("select name from sqlite_master where type = 'table'").values().flat() as string[];
}

/** The version of the tables; 0 before there are any. */
export function version(database: Database): number {
  return (database.query("pragma user_version").get() as { user_version: number }).user_version;
}

/** Whether the file has neither tables nor views nor anything else. */
function isEmptySchema(database: Database): boolean {
  return database.query("select 1 from sqlite_master").get() === null;
}
