// Opens and migrates a database file, runs transactions, and converts errors of SQLite.

import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { ProblemError } from "../../model/errors.ts";
import { type CompletedSites, completeSites, incompleteSites } from "../database/site-state.ts";
import { type Addition, additionsOf, lastOfBase, schemaTooNewError, schemaTooOldError } from "../database/tables.ts";
import webhookColumns from "./001-webhook-columns.sql" with { type: "text" };
import lastBackup from "./002-last-backup.sql" with { type: "text" };
import { describeDiskError, logSize } from "./files.ts";
import base from "./tables.sql" with { type: "text" };

/** Migrations that raise the schema version. A program that does not know the version rejects the database. */
const migrations: readonly string[] = [base];

/** Migrations that only add tables or columns. They do not raise the schema version, so older programs can use the database too. */
const knownAdditions = additionsOf({
  "001-webhook-columns.sql": webhookColumns,
  "002-last-backup.sql": lastBackup,
});

/** Maximum bytes of the log (`-wal`) after a checkpoint, when SQLite truncates the log. During a large transaction, the log may be larger. */
export const logLimit = 16 * 1024 * 1024;

/** Maximum milliseconds that a server waits for a transaction of another process. */
const serverBusyTimeoutMs = 3000;

/**
 * Opens a database file. Creates it and its folder if they do not exist. On this connection, a commit returns when it is on the disk.
 * @param busyTimeout maximum milliseconds to wait for a transaction of another process
 * @throws ProblemError `unavailable` if the file cannot be used, belongs to another program or a newer version of this one, or is older
 *   than the base
 */
export function openDatabase(path: string, busyTimeout = serverBusyTimeoutMs): Database {
  return withSqliteErrors(() => open(path, busyTimeout), `the database ${path}`, path);
}

function open(path: string, busyTimeout: number): Database {
  mkdirSync(dirname(path), { recursive: true });
  createPrivateFile(path);
  const database = new Database(path, { create: true, strict: true });
  try {
    database.run(`pragma busy_timeout = ${busyTimeout}`);
    // Check the version before anything is written: WAL mode is stored in the file, and a file of another program must not be changed.
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
 * Moves the commits that a killed process left in the log (`-wal`) to the database file, unless another process has the database open.
 *
 * Otherwise, acknowledged commits could be lost after a failed fsync. When an fsync fails, the kernel marks the pages as clean, although they are
 * not on the disk. SQLite rolls this commit back, and overwrites it in the log with the next commit. But if the process is killed before that, the
 * next process finds the failed commit in the log, because it is complete in the page cache. SQLite would append the next commits after it. After a
 * power loss, the log would have a hole at the failed commit. SQLite would read the log only up to the hole, and lose the commits after it,
 * although they were flushed and acknowledged.
 *
 * So this function opens the database and closes it again: when the last connection is closed, SQLite writes all pages of the log to the database
 * file, flushes that file, and deletes the log. `npm run check:fsync` tests this.
 */
export function settleLog(path: string, busyTimeout?: number): void {
  if (existsSync(path) && logSize(path) > 0) openDatabase(path, busyTimeout).close();
}

/**
 * Creates an empty file that only its owner can read, because a database contains secrets, for example of webhooks. SQLite creates `-wal` and `-shm`
 * with the same mode. An existing file is not opened here, because closing it would drop SQLite's locks (see files.ts).
 */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // Usually, the file exists already. Any other error is reported when SQLite opens the file.
  }
}

/**
 * Creates the tables, or upgrades them to the schema version of this program, and completes rows of `sites`. It holds the write lock, so that several
 * processes can start at the same time. Returns whether the database had no tables before.
 */
export function migrate(database: Database, additions = knownAdditions): boolean {
  return withSqliteErrors(() => {
    if (isCurrent(database, additions)) return false;
    return runInTransaction(database, () => {
      const from = knownVersion(database);
      for (const sql of migrations.slice(from)) database.run(sql);
      for (const { sql } of missing(database, additions)) database.run(sql);
      completeSitesIn(database);
      if (from !== migrations.length) database.run(`pragma user_version = ${migrations.length}`);
      return from === 0;
    });
  });
}

/** @throws ProblemError `unavailable` if the tables do not have the schema version and the additions of this program, and complete rows */
export function requireCurrent(database: Database): void {
  knownVersion(database);
  if (isCurrent(database, knownAdditions)) return;
  throw new ProblemError(
    "unavailable",
    "the database was made by an older program and cannot be upgraded: it is read-only",
  );
}

/** Whether `migrate` would change nothing. */
function isCurrent(database: Database, additions: readonly Addition[]): boolean {
  if (version(database) !== migrations.length || missing(database, additions).length > 0) return false;
  return database.query(`select 1 from sites where ${incompleteSites} limit 1`).get() === null;
}

/** Completes rows of `sites` (`completeSites`), in a transaction that the caller has begun. */
export function completeSitesIn(database: Database, which?: CompletedSites): void {
  const counts = "json_group_object(resource, json_object('count', count, 'revision', revision))";
  for (const text of completeSites(counts, which)) database.run(text);
}

/** Returns the additions that the database lacks. */
function missing(database: Database, additions: readonly Addition[]): readonly Addition[] {
  return additions.filter(({ table, column }) => !hasColumn(database, table, column));
}

function hasColumn(database: Database, table: string, column: string): boolean {
  return database.query("select 1 from pragma_table_info(?) where name = ?").get(table, column) !== null;
}

/** Returns the schema version. @throws ProblemError `unavailable` as `openDatabase` */
function knownVersion(database: Database): number {
  const found = version(database);
  const isOurs = found > 0 && hasColumn(database, "journal", "site_id");
  if (!isOurs && !isEmptySchema(database)) {
    throw new ProblemError("unavailable", `the database ${database.filename} belongs to another program`);
  }
  if (found > migrations.length) throw schemaTooNewError(found, migrations.length);
  const lacking = found > 0 ? lastOfBase.find(({ table, column }) => !hasColumn(database, table, column)) : undefined;
  if (lacking) throw schemaTooOldError(database.filename, lacking);
  return found;
}

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

/** Runs `work`, and converts its errors with `fromSqlite`. */
export function withSqliteErrors<T>(work: () => T, subject?: string, path?: string): T {
  try {
    return work();
  } catch (error) {
    throw fromSqlite(error, subject, path);
  }
}

/**
 * Converts an error of the disk, a lock or the file to a ProblemError `unavailable`. Returns any other error unchanged, because it is a bug of this
 * program.
 * @param subject the thing that cannot be used, for the message
 * @param path the database file; if given, the message says whether its disk is full
 */
export function fromSqlite(error: unknown, subject = "the database", path?: string): unknown {
  const systemCode = (error as NodeJS.ErrnoException).code ?? "";
  const outside =
    /^(SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PERM|AUTH|NOLFS|PROTOCOL)|E[A-Z]+$)/;
  if ((error instanceof SQLiteError || error instanceof Error) && outside.test(systemCode)) {
    const why = (path !== undefined && describeDiskError(path, error)) || errorMessage(error);
    return new ProblemError("unavailable", `${subject} cannot be used: ${why}`, {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
  return error;
}

/** Returns the names of all tables. */
export function tableNamesIn(database: Database): string[] {
  return database.query("select name from sqlite_master where type = 'table'").values().flat() as string[];
}

/** Returns the schema version; 0 before the tables are created. */
export function version(database: Database): number {
  return (database.query("pragma user_version").get() as { user_version: number }).user_version;
}

/** Whether the file has neither tables nor views nor anything else. */
function isEmptySchema(database: Database): boolean {
  return database.query("select 1 from sqlite_master").get() === null;
}
