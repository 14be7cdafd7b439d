// Converts errors of SQLite, and of the file system, to ProblemErrors.

import { SQLiteError } from "bun:sqlite";
import { randomBytes } from "node:crypto";
import { closeSync, openSync, realpathSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { unavailableError } from "../../model/errors.ts";

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
    return unavailableError(`${subject} cannot be used: ${why}`, error);
  }
  return error;
}

/** Minimum bytes of an index (`-shm`). SQLite creates the index when the first process opens the database. */
const minIndexBytes = 32 * 1024;

/**
 * Finds out whether the disk of the database at `path` is full. Returns a sentence that names the file that could not be created, if any; undefined
 * if the error has another cause.
 * @param error an error of SQLite
 */
function describeDiskError(path: string, error: unknown): string | undefined {
  const { code = "" } = error as { code?: string };
  if (!/^SQLITE_(IOERR|FULL|CANTOPEN)/.test(code)) return undefined;
  const target = targetOf(path);
  if (!isDiskFull(dirname(target))) return undefined;
  const missing = [target, `${target}-wal`, `${target}-shm`].find((file) => !wasCreated(file));
  return missing ? `the disk is full, and ${missing} could not be made` : "the disk is full";
}

/** Whether SQLite has created a file. An index that is smaller than its minimum was only begun. */
function wasCreated(file: string): boolean {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  return size !== undefined && (!file.endsWith("-shm") || size >= minIndexBytes);
}

/** Tries to write as many bytes as SQLite needs. The free space that the file system reports does not consider quotas and reserves. */
function isDiskFull(folder: string): boolean {
  const probeFile = `${folder}/storefront-${process.pid}-${randomBytes(4).toString("hex")}.trial`;
  try {
    const descriptor = openSync(probeFile, "wx", 0o600);
    try {
      const bytes = randomBytes(minIndexBytes);
      // If the disk becomes full during the write, fewer bytes are written.
      return writeSync(descriptor, bytes) < bytes.length;
    } finally {
      closeSync(descriptor);
      rmSync(probeFile, { force: true });
    }
  } catch (error) {
    return ["ENOSPC", "EDQUOT"].includes(String((error as NodeJS.ErrnoException).code));
  }
}

/** Returns the target if `path` is a symbolic link, because log and index are in its folder; otherwise the path itself. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
