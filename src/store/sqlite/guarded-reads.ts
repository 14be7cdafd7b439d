// Runs reads on the shared connection of the read side. After each read, checks that the database files were not removed or replaced.

import type { Database } from "bun:sqlite";
import { withSqliteErrors } from "./errors.ts";

/** Functions that run a read on the shared connection, and check the files after it. */
export interface GuardedReads {
  /** Runs `work`. @throws ProblemError `unavailable`, also if the files were removed or replaced */
  read<T>(work: () => T): T;
  /** Runs `work` in one transaction, so that everything that it reads is from the same moment. @throws as `read` does */
  readInTransaction<T>(work: () => T): T;
}

/** @param requireUnreplaced throws if the files were removed or replaced; called after each read */
export function guardReads(database: Database, requireUnreplaced: () => void): GuardedReads {
  const atOnce = database.transaction((work: () => unknown) => work());

  function read<T>(work: () => T): T {
    const result = withSqliteErrors(work);
    requireUnreplaced();
    return result;
  }

  return { read, readInTransaction: <T>(work: () => T) => read(() => atOnce(work) as T) };
}
