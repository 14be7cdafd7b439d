// Converts errors of SQLite, and of the file system, to ProblemErrors.

import { SQLiteError } from "bun:sqlite";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { unavailableError } from "../../model/errors.ts";
import { describeDiskError } from "./full-disk.ts";

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
