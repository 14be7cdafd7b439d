// Writes: one transaction per batch, in two round trips. The first locks the sites and fetches what the batch may
// change; the second writes what was decided and commits.

import type { Intent, Outcome } from "../../model/intent.ts";
import {
  decideBatch,
  newSite,
  responseKey,
  rowKey,
  type SiteState,
  type Stored,
  type StoredResponse,
  type Written,
} from "../batch.ts";

import type { StoredRow } from "../decide.ts";
import { lastAt, type StoredTime } from "../journal.ts";
import { readCounts, type StoredCounts, writeCounts } from "../record-counts.ts";

import { isCollision, unavailable } from "./errors.ts";
import type { Lease, Pool } from "./pool.ts";
import type { PostgresConnection, ResultRow } from "./postgres-connection.ts";
import { sql } from "./statements.ts";

/** How often a transaction that conflicts with another one is tried, the first time included. */
const maxAttempts = 5;

/** See `Engine.commit`. `timeout` is the pool's, in milliseconds. */
export async function commitBatch(
  pool: Pool,
  timeout: number,
  intents: readonly Intent[],
  atomic?: boolean,
): Promise<readonly Outcome[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await pool.commit((connection, lease) => transact(connection, lease, timeout, intents, atomic));
    } catch (error) {
      if (attempt === maxAttempts || !isCollision((error as Error).cause ?? {})) throw error;
    }
  }
}

/** See `Engine.tryWrite`. */
export function tryCommit(pool: Pool, timeout: number): Promise<void> {
  return pool.commit(async (connection, lease) => {
    connection.takeWarning();
    lease.committing();
    await connection.script(`${sql.begin(timeout)}; ${sql.tryWrite}; ${sql.commit}`);
    refuseWarning(connection);
  });
}

async function transact(
  connection: PostgresConnection,
  lease: Lease,
  timeout: number,
  intents: readonly Intent[],
  atomic?: boolean,
) {
  const stored = await fetch(connection, timeout, intents);
  const written = decideBatch(intents, stored, atomic);
  if (written.changes.length + written.responses.length === 0) await connection.script("rollback");
  else await write(connection, lease, stored, written);
  return written.outcomes;
}

async function fetch(connection: PostgresConnection, timeout: number, intents: readonly Intent[]): Promise<Stored> {
  const numbers = [...new Set(intents.map(({ site }) => site))].sort((a, b) => a - b);
  const named = intents.flatMap(({ site, resource, id }) =>
    id === undefined ? [] : [{ site_id: site, resource, id }],
  );
  const keyed = intents.flatMap(({ site, idempotency }) =>
    idempotency ? [{ site_id: site, key_id: idempotency.keyId, name: idempotency.name }] : [],
  );
  // Sent together and executed in this order: what is fetched is as of the lock.
  const [locked, rows, responses] = await together<[ResultRow[][], ResultRow[], ResultRow[]]>([
    connection.script(`${sql.begin(timeout)}; ${sql.lockSites(numbers)}`),
    named.length === 0 ? none : connection.query(sql.fetchRows, named),
    keyed.length === 0 ? none : connection.query(sql.fetchResponses, keyed),
  ]);
  const sites = await toStates(connection, locked[0] ?? []);
  const missing = numbers.filter((site) => !sites.has(site));
  for (const [site, state] of await addSites(connection, missing)) sites.set(site, state);
  return {
    sites,
    rows: new Map(rows.map(({ site_id, resource, id, ...row }) => [rowKey(site_id, resource, id), row as StoredRow])),
    responses: new Map(
      responses.map(({ site_id, key_id, name, ...response }) => [
        responseKey(site_id, key_id, name),
        response as StoredResponse,
      ]),
    ),
  };
}

const none: Promise<ResultRow[]> = Promise.resolve([]);

/**
 * Makes the rows of sites that are written to for the first time, and locks them. If another process has just made
 * one and written to it, what this transaction fetched is outdated, and the transaction begins again.
 */
async function addSites(connection: PostgresConnection, missing: readonly number[]): Promise<[number, SiteState][]> {
  if (missing.length === 0) return [];
  const rows = missing.map((id) => toSiteRow(id, newSite()));
  await connection.query(sql.addSites, rows);
  const [locked = []] = await connection.script(sql.lockSites(missing));
  if (locked.some(({ revision }) => revision > 0)) throw unavailable("a site was just made", { code: "40001" });
  return [...(await toStates(connection, locked))];
}

/** The states of the rows of sites. The time of the last entry is queried where an older program may have written it. */
async function toStates(connection: PostgresConnection, rows: readonly ResultRow[]): Promise<Map<number, SiteState>> {
  const last = rows.filter((row) => lastAt(row as StoredSite) === undefined);
  const keys = last.map(({ id, revision }) => ({ site_id: id, revision }));
  const found = keys.length === 0 ? [] : await connection.query(sql.lastTimes, keys);
  const times = new Map(found.map(({ site_id, at }) => [site_id, at]));
  return new Map(rows.map((row) => [row.id, toState(row as StoredSite, times.get(row.id) ?? 0)]));
}

/** A row of `sites`. */
interface StoredSite extends StoredCounts, StoredTime {
  readonly id: number;
  readonly epoch: string;
  /** JSON text. */
  readonly counters: string;
  readonly floor: number | null;
}

function toState(row: StoredSite, lastEntryAt: number): SiteState {
  const { epoch, revision, counters, floor } = row;
  const last_at = lastAt(row) ?? lastEntryAt;
  return { epoch, revision, counters: JSON.parse(counters), counts: readCounts(row), floor, last_at };
}

/** A row of `sites`. */
export function toSiteRow(id: number, { counters, counts, ...state }: SiteState): object {
  return { id, ...state, counters: JSON.stringify(counters), ...writeCounts(state.revision, counts) };
}

async function write(
  connection: PostgresConnection,
  lease: Lease,
  stored: Stored,
  { changes, responses, sites }: Written,
): Promise<void> {
  const states = [...sites].map((id) => toSiteRow(id, stored.sites.get(id) as SiteState));
  const journal = changes.map(({ site, ...change }) => ({ site_id: site, ...change }));
  const kept = responses.map(({ site, keyId, ...response }) => ({ site_id: site, key_id: keyId, ...response }));
  connection.takeWarning();
  lease.committing();
  await together([
    ...(changes.length === 0
      ? []
      : [
          connection.query(sql.putRows, lastOfEach(changes)),
          connection.query(sql.addChanges, journal),
          connection.query(sql.putSites, states),
        ]),
    ...(kept.length === 0 ? [] : [connection.query(sql.putResponses, kept)]),
    connection.script(sql.commit),
  ]);
  refuseWarning(connection);
}

/** When the wait for a standby is cancelled, PostgreSQL reports the commit as done, with a warning. */
function refuseWarning(connection: PostgresConnection): void {
  const warning = connection.takeWarning();
  if (warning) throw new Error(warning);
}

/** The last state of each record. A batch may change a record twice, and a statement may change a row only once. */
function lastOfEach(changes: Written["changes"]): object[] {
  const last = new Map<string, object>();
  for (const { site, resource, id, revision, operation, body } of changes) {
    const row = { site_id: site, resource, id, revision, body: operation === "delete" ? null : body };
    last.set(rowKey(site, resource, id), row);
  }
  return [...last.values()];
}

/** Waits for all promises, also when one rejects. Throws the error of the first in the list that rejected. */
async function together<T extends readonly unknown[]>(all: readonly Promise<unknown>[]): Promise<T> {
  const settled = await Promise.allSettled(all);
  for (const result of settled) if (result.status === "rejected") throw result.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}
