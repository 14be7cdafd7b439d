// Commits transactions that have changed something. No other file does that; only statements that drop or analyze unused tables run without it.

import type { PostgresConnection, ResultRow } from "./connection.ts";
import type { Lease } from "./pool.ts";
import { sql } from "./statements.ts";

/**
 * Commits. When this returns, all changes are on durable storage, and on the synchronous standby, if any. If this fails, the outcome is unknown,
 * unless the database itself has returned the error.
 * @param last statements to send together with the commit
 * @param sent the results of earlier statements that are still in flight
 * @returns the rows of each statement in `last` that returns rows
 */
export async function commitTransaction(
  connection: PostgresConnection,
  lease: Pick<Lease, "committing">,
  last = "",
  sent: readonly Promise<unknown>[] = [],
): Promise<ResultRow[][]> {
  connection.takeWarning();
  lease.committing();
  const results = connection.script(last === "" ? sql.commit : `${last}; ${sql.commit}`);
  await awaitAll([...sent, results]);
  // When the wait for a standby is cancelled, PostgreSQL reports the commit as done, with a warning.
  const warning = connection.takeWarning();
  if (warning) throw new Error(warning);
  return results;
}

/** Commits changes that may be lost in a crash. Does not wait for the disk or a standby. @param last as for `commitTransaction` */
export function commitWithoutWait(connection: PostgresConnection, last = ""): Promise<ResultRow[][]> {
  return connection.script(last === "" ? sql.commitWithoutWait : `${last}; ${sql.commitWithoutWait}`);
}

/** Waits for all promises, even if one rejects. Then throws the error of the first rejected promise in the list. */
export async function awaitAll<T extends readonly unknown[]>(all: readonly Promise<unknown>[]): Promise<T> {
  const settled = await Promise.allSettled(all);
  for (const result of settled) if (result.status === "rejected") throw result.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}
