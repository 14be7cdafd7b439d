// Opens a database that this process can read but not write, because the disk is read-only or permissions are missing.

import { constants, Database } from "bun:sqlite";
import { realpathSync, statSync } from "node:fs";
import type { Engine } from "../../model/engine.ts";
import { unavailableError } from "../../model/errors.ts";
import { createOperationCalls, isRead } from "../database/operations.ts";
import { CommitPoller, createDataVersionCheck } from "./commit-detection.ts";
import { serverBusyTimeoutMs } from "./database.ts";
import { fromSqlite, isBusy } from "./errors.ts";
import { logSize } from "./files.ts";
import { requireCurrent } from "./migrate.ts";
import { createReader } from "./reads.ts";

const { SQLITE_OPEN_READONLY, SQLITE_OPEN_URI } = constants;

/** How to open a database for reading, and to check that its data is valid. */
interface Access {
  open(): Database;
  /** Checks what was read before. @throws ProblemError `unavailable` if it mustn't be used */
  guard(): void;
}

/** Whether opening a database failed because a file or folder can't be written. */
export function isWriteProtected(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown } };
  return /^(SQLITE_(READONLY|CANTOPEN|PERM)|EROFS$|EACCES$|EPERM$)/.test(String(cause?.code));
}

/**
 * Opens the database at `path` for reading only.
 * @param busyTimeoutMs how long to wait for another process that has locked it
 * @throws ProblemError `unavailable` if it stays locked or its latest changes can't be read, or an SQLite error
 */
export function openReadOnly(path: string, busyTimeoutMs = serverBusyTimeoutMs): Engine {
  const { open, guard } = accessTo(path, busyTimeoutMs);
  const database = open();
  try {
    requireCurrent(database);
    const subscriptions = new CommitPoller(() => createDataVersionCheck(database));
    const { calls, execute } = createReader(database, open, guard);
    const reject = async () => {
      throw unavailableError(`the database ${path} is read-only here`);
    };
    return {
      ...calls,
      ...createOperationCalls((name, args) => (isRead(name) ? execute(name, args) : reject()), reject),
      openConnections: reject,
      commit: reject,
      commitAtomically: reject,
      probeWrite: reject,
      deleteExpiredResponses: reject,
      replaceAllData: reject,
      subscribeToCommits: (onCommit) => subscriptions.start(onCommit),
      // This process couldn't drop any, so it lists none.
      readSitesToDrop: async () => [],
      close: async () => {
        subscriptions.close();
        database.close();
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens the database with its log if SQLite can read that, otherwise as immutable. */
function accessTo(path: string, busyTimeoutMs: number): Access {
  const file = realpathSync(path);
  const address = `file:${encodeURI(file).replaceAll("?", "%3F").replaceAll("#", "%23")}`;
  const opener = (parameters: string) => () => {
    const database = new Database(`${address}?${parameters}`, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    // Even readers wait for a process that's the first to open the file or the last to close it.
    database.run(`pragma busy_timeout = ${busyTimeoutMs}`);
    return database;
  };
  const withLog = opener("mode=ro");
  if (canRead(withLog, file)) return { open: withLog, guard: () => {} };
  return { open: opener("immutable=1"), guard: guardImmutable(file) };
}

/** @throws ProblemError `unavailable` if it's locked */
function canRead(open: () => Database, file: string): boolean {
  const database = open();
  try {
    database.query("select 1 from sqlite_master").get();
    return true;
  } catch (error) {
    if (isBusy(error)) throw fromSqlite(error, `the database ${file}`);
    return false;
  } finally {
    database.close();
  }
}

/**
 * The guard for a database opened as immutable. SQLite then uses neither the log nor locks, so the data is only valid while there's no log and the
 * file doesn't change (https://sqlite.org/wal.html, "Read-Only Databases").
 * @throws ProblemError `unavailable` if there's a log
 */
function guardImmutable(file: string): () => void {
  if (logSize(file) > 0) {
    throw unavailableError(
      `can't read the database ${file} in a read-only folder, because its latest changes are only in ${file}-wal; copy both files to a folder you can write to, and read them there`,
    );
  }
  const before = stateOf(file);
  return () => {
    if (stateOf(file) !== before)
      throw unavailableError(`the database ${file} was written to while it was being read; try again`);
  };
}

/** Changes when a process writes to the database or starts its log. */
function stateOf(file: string): string {
  const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
  return [dev, ino, size, mtimeNs, logSize(file)].join(" ");
}
