// How transactions end that change something. Nothing else commits, but statements that make or drop tables of which nothing is used yet.

import type { PostgresConnection, ResultRow } from "./connection.ts";
import type { Lease } from "./pool.ts";
import { sql } from "./statements.ts";

/**
 * Commits. When this returns, everything is on durable storage, and on the synchronous standby if there is one. From the call on, it is
 * unknown whether it was done, unless the database returns an error.
 * @param last statements that are sent with the commit; `sent`, those before them that are under way
 * @returns the rows of each of `last` that returns rows
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
  await together([...sent, results]);
  // When the wait for a standby is cancelled, PostgreSQL reports the commit as done, with a warning.
  const warning = connection.takeWarning();
  if (warning) throw new Error(warning);
  return results;
}

/** Commits what may be lost: this waits for neither the disk nor a standby. @param last as for `commitTransaction` */
export function commitWithoutWait(connection: PostgresConnection, last = ""): Promise<ResultRow[][]> {
  return connection.script(last === "" ? sql.commitWithoutWait : `${last}; ${sql.commitWithoutWait}`);
}

/** Waits for all promises, also when one rejects. Throws the error of the first in the list that rejected. */
export async function together<T extends readonly unknown[]>(all: readonly Promise<unknown>[]): Promise<T> {
  const settled = await Promise.allSettled(all);
  for (const result of settled) if (result.status === "rejected") throw result.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}
