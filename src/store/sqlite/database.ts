// Opens a database file in a way that a power loss can't lose anything acknowledged, and lists its tables.

import { Database } from "bun:sqlite";
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { systemErrorCode } from "../../lib/errors-for-log.ts";
import { flushToDiskSync } from "../../lib/flush.ts";
import { isBusy, withSqliteErrors } from "./errors.ts";
import { logPath, logSize } from "./files.ts";
import { requireKnownSchema } from "./migrate.ts";

/** Maximum size of the log (`-wal`) after a checkpoint, when SQLite truncates it. During a large transaction, it can be larger. */
export const logLimit = 16 * 1024 * 1024;

/** How long a server waits for another process's transaction. */
export const serverBusyTimeoutMs = 3000;
/** How long to wait between two attempts to set WAL mode. */
const busyPauseMs = 10;

// Bun only caches 20 statements by default. Any others would be prepared over and over, and keep the database open until collected.
Database.MAX_QUERY_CACHE_SIZE = 200;

/**
 * Opens a database file, creating it and its folder if necessary. Commits on this connection return once they're on disk.
 * @param busyTimeoutMs how long to wait for another process's transaction
 * @throws ProblemError `unavailable` if the file can't be used, or belongs to another program or a newer version of this one
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
    // Check the version before writing anything: WAL mode is stored in the file, and we mustn't change another program's file.
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
 * While another process does the same or creates the tables, SQLite says that the database is locked instead of waiting. So keep trying until
 * `busyTimeoutMs` has passed.
 */
function setWalMode(database: Database, busyTimeoutMs: number): void {
  const giveUpAt = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      database.run("pragma journal_mode = wal");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= giveUpAt) throw error;
      Bun.sleepSync(busyPauseMs);
    }
  }
}

/**
 * Moves the commits that a killed process left in the log (`-wal`) to the database file, unless another process has the database open.
 *
 * Without this, acknowledged commits could be lost after a failed fsync. When an fsync fails, the kernel marks the pages as clean although they
 * aren't on disk. SQLite rolls the commit back, and the next one overwrites it in the log. But if the process is killed first, the next process finds
 * the failed commit in the log, because it's complete in the page cache, and SQLite appends further commits after it. A power loss would then leave a
 * hole in the log. SQLite would stop reading there, and lose the commits after it, although they were flushed and acknowledged.
 *
 * So we open the database and close it again. When the last connection is closed, SQLite writes all pages of the log to the database file, flushes
 * that, and deletes the log. `npm run check:crash` tests this.
 */
export function settleLog(path: string, busyTimeoutMs?: number): void {
  if (!existsSync(path) || logSize(path) === 0) return;
  withSqliteErrors(() => rewriteLog(path), `the database ${path}`, path);
  openDatabase(path, busyTimeoutMs).close();
}

/**
 * Rewrites the log with the same bytes and flushes it, unless another process has the database open. Without this, a power loss while SQLite moves
 * the pages could, after a failed fsync, leave some of them in the database file and a log without the others: a damaged database.
 */
function rewriteLog(path: string): void {
  const database = new Database(path, { readwrite: true, strict: true });
  try {
    if (!canBeginAlone(database)) return;
    // If the log belonged to an earlier database, SQLite has deleted it.
    if (logSize(path) > 0) rewriteFile(logPath(path));
    database.run("rollback");
  } finally {
    database.close();
  }
}

/**
 * Begins a transaction if this is the only connection, so that nobody else appends to the log. Returns false if it isn't, or if SQLite can't use the
 * database; `openDatabase` then waits, or reports why.
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
 * Creates an empty file that only its owner can read, because a database contains secrets, such as those of webhooks. SQLite gives `-wal` and `-shm`
 * the same mode. We don't open an existing file, because closing it would drop SQLite's locks (see files.ts).
 */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // Usually the file already exists. Anything else is reported when SQLite opens it.
  }
}

export function tableNamesIn(database: Database): string[] {
  return database.query("select name from sqlite_master where type = 'table'").values().flat() as string[];
}

/** Bytes that `rewriteFile` reads at a time. */
const chunkBytes = 1024 * 1024;

/** Errors that mean that this user or file system can't flush a folder. */
const cannotFlush = ["EACCES", "EPERM", "EINVAL", "ENOTSUP", "ENOSYS", "EROFS", "EISDIR"];

/**
 * Flushes a folder and all those above, so that a power loss doesn't take away new ones with everything in them. SQLite only flushes the folder its
 * files are in. Skips folders that this user can't read, since we can't have created them.
 * @throws a file system error if a flush fails
 */
export function flushFolders(folder: string): void {
  for (let path = resolve(folder); ; path = dirname(path)) {
    flushFolder(path);
    if (path === dirname(path)) return;
  }
}

function flushFolder(path: string): void {
  try {
    flushToDiskSync(path);
  } catch (error) {
    if (!cannotFlush.includes(String(systemErrorCode(error)))) throw error;
  }
}

/** Writes a file's bytes again and flushes it. The content is the same at all times. @throws a file system error */
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
