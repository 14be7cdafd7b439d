// Turns errors from SQLite and the file system into ProblemErrors.

import { SQLiteError } from "bun:sqlite";
import { randomBytes } from "node:crypto";
import { accessSync, closeSync, constants, openSync, realpathSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { unavailableError } from "../../model/errors.ts";

export function withSqliteErrors<T>(work: () => T, subject?: string, path?: string): T {
  try {
    return work();
  } catch (error) {
    throw fromSqlite(error, subject, path);
  }
}

/**
 * Turns an error from the disk, a lock or the file into a ProblemError `unavailable`. Returns any other error as it is, because it's a bug of ours.
 * @param subject what can't be used, for the message
 * @param path the database file, so that the message can say whether its disk is full
 */
export function fromSqlite(error: unknown, subject = "the database", path?: string): unknown {
  const systemCode = (error as NodeJS.ErrnoException).code ?? "";
  const outside =
    /^(SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PERM|AUTH|NOLFS|PROTOCOL)|E[A-Z]+$)/;
  if ((error instanceof SQLiteError || error instanceof Error) && outside.test(systemCode)) {
    const why = (path !== undefined && describeDiskError(path, error)) || errorMessage(error);
    return unavailableError(`${subject} can't be used: ${why}`, error);
  }
  return error;
}

/** Whether another connection has locked the database. */
export function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY") === true;
}

/** Minimum size of an index (`-shm`). SQLite creates it when the first process opens the database. */
const minIndexBytes = 32 * 1024;

/**
 * Says which folder or file this user isn't allowed to use, or that the disk is full. Returns undefined if there's another cause.
 * @param error from SQLite
 */
function describeDiskError(path: string, error: unknown): string | undefined {
  const { code = "" } = error as { code?: string };
  if (!/^SQLITE_(IOERR|FULL|CANTOPEN)/.test(code)) return undefined;
  const target = targetOf(path);
  // Nothing can be said about a file in a folder that's closed.
  const denied = [dirname(target), target].find(isDenied);
  if (denied) return `permission denied for ${resolve(denied)}${describeOwner(denied)}`;
  if (!isDiskFull(dirname(target))) return undefined;
  const missing = [target, `${target}-wal`, `${target}-shm`].find((file) => !wasCreated(file));
  return missing ? `the disk is full, so ${missing} couldn't be created` : "the disk is full";
}

function isDenied(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

/** Says nothing if it can't be seen, such as a link into a closed folder. */
function describeOwner(path: string): string {
  try {
    return `, which belongs to user ID ${statSync(path).uid}`;
  } catch {
    return "";
  }
}

/** If an index is smaller than its minimum, SQLite had only started on it. */
function wasCreated(file: string): boolean {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  return size !== undefined && (!file.endsWith("-shm") || size >= minIndexBytes);
}

/** Tries to write as many bytes as SQLite needs. The free space reported by the file system ignores quotas and reserves. */
function isDiskFull(folder: string): boolean {
  const probeFile = `${folder}/storefront-${process.pid}-${randomBytes(4).toString("hex")}.trial`;
  try {
    const descriptor = openSync(probeFile, "wx", 0o600);
    try {
      const bytes = randomBytes(minIndexBytes);
      // If the disk fills up during the write, it writes fewer bytes.
      return writeSync(descriptor, bytes) < bytes.length;
    } finally {
      closeSync(descriptor);
      rmSync(probeFile, { force: true });
    }
  } catch (error) {
    return ["ENOSPC", "EDQUOT"].includes(String((error as NodeJS.ErrnoException).code));
  }
}

/** Resolves a symbolic link, because the log and index are beside its target. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
