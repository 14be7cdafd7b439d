import type { Database } from "bun:sqlite";
import { translated } from "./database.ts";

/** How everything of a database is read. */
export interface GuardedReads {
  /** Runs `work`. @throws Refusal `unavailable` also when the files must not be relied on */
  read<T>(work: () => T): T;
  /** The same in one transaction, so that everything that `work` reads is as of one moment. */
  readAtOnce<T>(work: () => T): T;
}

/** @param guard throws when the files must not be relied on; called after each read */
export function guardReads(database: Database, guard: () => void): GuardedReads {
  const atOnce = database.transaction((work: () => unknown) => work());

  function read<T>(work: () => T): T {
    const result = translated(work);
    guard();
    return result;
  }

  return { read, readAtOnce: <T>(work: () => T) => read(() => atOnce(work) as T) };
}
