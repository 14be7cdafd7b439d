// Opens a database file, so that a power loss loses nothing that was acknowledged; and lists its tables.

import { Database, SQLiteError } from "bun:sqlite";
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { systemErrorCode } from "../../lib/errors-for-log.ts";
import { flushToDiskSync } from "../../lib/flush.ts";
import { withSqliteErrors } from "./errors.ts";
import { logPath, logSize } from "./files.ts";
import { requireKnownSchema } from "./migrate.ts";

/** Maximum bytes of the log (`-wal`) after a checkpoint, when SQLite truncates the log. During a large transaction, the log may be larger. */
export const logLimit = 16 * 1024 * 1024;

/** Maximum milliseconds that a server waits for a transaction of another process. */
const serverBusyTimeoutMs = 3000;
/** Milliseconds between two attempts to set WAL mode. */
const busyPauseMs = 10;

// By default, Bun caches only 20 statements. Each of the others would be prepared again and again, and keep the database open until it is collected.
Database.MAX_QUERY_CACHE_SIZE = 200;

/**
 * Opens a database file. Creates it and its folder if they do not exist. On this connection, a commit returns when it is on the disk.
 * @param busyTimeoutMs maximum milliseconds to wait for a transaction of another process
 * @throws ProblemError `unavailable` if the file cannot be used, or belongs to another program or a newer version of this one
 */
export function openDatabase(path: string, busyTimeoutMs = serverBusyTimeoutMs): Database {
  return withSqliteErrors(() => open(path, busyTimeoutMs), `the database ${path}`, path);
}

function open(path: string, busyTimeoutMs: number): Database {
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    flushFolders(dirname(path));
  }
  createPrivateFile(path);
  const database = new Database(path, { readwrite: true, strict: true });
  try {
    database.run(`pragma busy_timeout = ${busyTimeoutMs}`);
    // Check the version before anything is written: WAL mode is stored in the file, and a file of another program must not be changed.
    requireKnownSchema(database);
    setWalMode(database, busyTimeoutMs);
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
 * Sets WAL mode. While another process does the same, or creates the tables, SQLite reports that the database is locked, and does not wait.
 * So this function tries again until `busyTimeoutMs` has passed.
 */
function setWalMode(database: Database, busyTimeoutMs: number): void {
  const giveUpAt = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      database.run("pragma journal_mode = wal");
      return;
    } catch (error) {
      const isBusy = error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY");
      if (!isBusy || performance.now() >= giveUpAt) throw error;
      Bun.sleepSync(busyPauseMs);
    }
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
 * file, flushes that file, and deletes the log. `npm run check:crash` tests this.
 */
export function settleLog(path: string, busyTimeoutMs?: number): void {
  if (!existsSync(path) || logSize(path) === 0) return;
  withSqliteErrors(() => rewriteLog(path), `the database ${path}`, path);
  openDatabase(path, busyTimeoutMs).close();
}

/**
 * Writes the log again, with the same bytes, and flushes it, unless another process has the database open. Otherwise, after a failed fsync, a power
 * loss while SQLite moves the pages could leave some pages in the database file, and a log without the others: a damaged database.
 */
function rewriteLog(path: string): void {
  const database = new Database(path, { readwrite: true, strict: true });
  try {
    if (!canBeginAlone(database)) return;
    // If the log belongs to an earlier database, SQLite has deleted it.
    if (logSize(path) > 0) rewriteFile(logPath(path));
    database.run("rollback");
  } finally {
    database.close();
  }
}

/**
 * Begins a transaction, if this connection is the only one, so that nobody else appends to the log. Returns false if it is not, or if SQLite cannot use
 * the database; `openDatabase` then waits, or reports the reason.
 */
function canBeginAlone(database: Database): boolean {
  try {
    database.run("pragma locking_mode = exclusive");
    database.run("pragma synchronous = full");
    database.run("begin immediate");
    return true;
  } catch {
    return false;
  }
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

/** Returns the names of all tables. */
export function tableNamesIn(database: Database): string[] {
  return database.query("select name from sqlite_master where type = 'table'").values().flat() as string[];
}

/** Bytes that `rewriteFile` reads at once. */
const chunkBytes = 1024 * 1024;

/** Codes of errors that say that a folder cannot be flushed by this user, or on this file system. */
const cannotFlush = ["EACCES", "EPERM", "EINVAL", "ENOTSUP", "ENOSYS", "EROFS", "EISDIR"];

/**
 * Flushes a folder and all folders above it, so that a power loss does not remove new ones with everything in them. SQLite flushes only the folder of
 * its files. Omits folders that this user may not read: this process has not created them.
 * @throws Error of the file system if a flush fails
 */
export function flushFolders(folder: string): void {
  for (let path = resolve(folder); ; path = dirname(path)) {
    flushFolder(path);
    if (path === dirname(path)) return;
  }
}

/** Flushes a folder, unless this user or this file system cannot. */
function flushFolder(path: string): void {
  try {
    flushToDiskSync(path);
  } catch (error) {
    if (!cannotFlush.includes(String(systemErrorCode(error)))) throw error;
  }
}

/** Writes the bytes of a file again, and flushes the file. Its content is the same at all times. @throws Error of the file system */
export function rewriteFile(path: string): void {
  const file = openSync(path, "r+");
  try {
    const bytes = new Uint8Array(chunkBytes);
    for (let position = 0; ; ) {
      const length = readSync(file, bytes, 0, chunkBytes, position);
      if (length === 0) break;
      for (let done = 0; done < length; ) done += writeSync(file, bytes, done, length - done, position + done);
      position += length;
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
