// Writes: one transaction per batch, in two round trips. The first locks the sites and fetches what the batch may
// change; the second writes what was decided and commits.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Intent, Outcome, RecordChange } from "../../model/change.ts";
import { systemSite } from "../../model/limits.ts";
import {
  lastAt,
  newSite,
  readCounts,
  type SiteState,
  type StoredCounts,
  type StoredTime,
  writeCounts,
} from "../database/site-state.ts";
import {
  admittingRows,
  type BatchRow,
  BatchRows,
  decideBatch,
  isStopped,
  responseKey,
  type Stored,
  type StoredResponse,
  type Written,
} from "../writes/batch.ts";
import { FoundRecords } from "../writes/found-records.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import { isCollision } from "./errors.ts";
import type { Lease, Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { commitTransaction, together } from "./transaction-end.ts";

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

/** See `Engine.commitTogether`. A transaction that conflicts with another one is not tried again. */
export function commitTogether(
  pool: Pool,
  timeout: number,
  batches: Iterable<readonly Intent[]>,
  onOutcomes: (outcomes: readonly Outcome[]) => MaybePromise<void>,
): Promise<void> {
  return pool.commit(async (connection, lease) => {
    using found = new FoundRecords(true);
    await connection.script(sql.beginByKeys(timeout));
    for (const intents of batches) {
      const outcomes = await decideAndWrite(connection, intents, found, onOutcomes);
      if (isStopped(outcomes, intents)) return void (await connection.script("rollback"));
      lease.more();
    }
    await commitTransaction(connection, lease);
  });
}

/**
 * Decides an atomic batch and stores the results, in a transaction that has begun.
 * @param onOutcomes gets the outcomes before anything is stored
 */
export async function decideAndWrite(
  connection: PostgresConnection,
  intents: readonly Intent[],
  found = new FoundRecords(),
  onOutcomes?: (outcomes: readonly Outcome[]) => MaybePromise<void>,
): Promise<readonly Outcome[]> {
  const stored = await fetch(connection, intents, found);
  const written = decideBatch(intents, stored, true);
  await onOutcomes?.(written.outcomes);
  await together(rowsOf(connection, stored, written));
  return written.outcomes;
}

/** See `Engine.tryWrite`. */
export function tryCommit(pool: Pool, timeout: number): Promise<void> {
  return pool.commit(async (connection, lease) => {
    await commitTransaction(connection, lease, `${sql.begin(timeout)}; ${sql.tryWrite}`);
  });
}

async function transact(
  connection: PostgresConnection,
  lease: Lease,
  timeout: number,
  intents: readonly Intent[],
  atomic?: boolean,
) {
  const stored = await fetch(connection, intents, new FoundRecords(), `${sql.beginByKeys(timeout)}; `);
  const written = decideBatch(intents, stored, atomic);
  // What was stored before may be on this machine alone: a commit whose wait was cut short. The commit of a lock waits for all before it.
  const { outcomes } = written;
  const isRefused = outcomes.every(({ kind }) => kind === "refused") || (atomic && isStopped(outcomes, intents));
  if (isRefused) await connection.script("rollback");
  else await commitTransaction(connection, lease, "", rowsOf(connection, stored, written));
  return outcomes;
}

/** @param begin the statements that begin the transaction, unless it has begun */
async function fetch(
  connection: PostgresConnection,
  intents: readonly Intent[],
  found: FoundRecords,
  begin = "",
): Promise<Stored> {
  const numbers = [...new Set(intents.map(({ site }) => site))].sort((a, b) => a - b);
  const named = intents.flatMap(({ site, resource, id }) =>
    id === undefined ? [] : [{ site_id: site, resource, id }],
  );
  const keyed = intents.flatMap(({ site, idempotency }) =>
    idempotency ? [{ site_id: site, key_id: idempotency.keyId, name: idempotency.name }] : [],
  );
  // Sent together and executed in this order: what is fetched is as of the lock.
  const admitting = admittingRows(intents);
  const fetchAdmitting = admitting.length === 0 ? "" : `; ${sql.fetchRevisions(admitting)}`;
  const [locked, rows, responses] = await together<[ResultRow[][], ResultRow[], ResultRow[]]>([
    connection.script(`${begin}${sql.lockSites(numbers)}; ${sql.heads([systemSite])}${fetchAdmitting}`),
    named.length === 0 ? none : connection.query(sql.fetchRows, named),
    keyed.length === 0 ? none : connection.query(sql.fetchResponses, keyed),
  ]);
  const sites = await toStates(connection, locked[0] ?? []);
  const missing = numbers.filter((site) => !sites.has(site));
  const added = await addSites(connection, missing);
  // Another process has just made one and written to it: what was fetched is outdated, and what is fetched now is as of the lock.
  if (added.some(([, { revision }]) => revision > 0)) return fetch(connection, intents, found);
  for (const [site, state] of added) sites.set(site, state);
  await addEntries(connection, intents, found, sites);
  const batchRows = new BatchRows();
  for (const row of [...(locked[2] ?? []), ...rows]) batchRows.add(row as BatchRow);
  return {
    sites,
    systemEpoch: locked[1]?.[0]?.epoch ?? "",
    timeline: connection.timeline,
    rows: batchRows,
    found,
    responses: toResponses(responses),
  };
}

function toResponses(rows: readonly ResultRow[]): Map<string, StoredResponse> {
  return new Map(
    rows.map(({ site_id, key_id, name, ...response }) => [
      responseKey(site_id, key_id, name),
      response as StoredResponse,
    ]),
  );
}

const none: Promise<ResultRow[]> = Promise.resolve([]);

/** Reads what has changed since writers found their records. Usually nothing has, which the rows of the sites say. */
async function addEntries(
  connection: PostgresConnection,
  intents: readonly Intent[],
  found: FoundRecords,
  sites: ReadonlyMap<number, SiteState>,
): Promise<void> {
  for (const part of found.toRead(intents)) {
    const last = (sites.get(part.site) as SiteState).revision;
    const isChanged = last > part.revision;
    const [entries = []] = isChanged ? await connection.script(sql.lastChanges(part)) : [];
    found.add(intents, part, entries as RecordChange[], last);
  }
}

/** Makes the rows of sites that are written to for the first time, and locks them. */
async function addSites(connection: PostgresConnection, missing: readonly number[]): Promise<[number, SiteState][]> {
  if (missing.length === 0) return [];
  const rows = missing.map((id) => toSiteRow(id, newSite()));
  await connection.query(sql.addSites, rows);
  const [locked = []] = await connection.script(sql.lockSites(missing));
  return [...(await toStates(connection, locked))];
}

/** Sends the rows of a batch. */
function rowsOf(connection: PostgresConnection, stored: Stored, written: Written) {
  const { changes, rows, responses, newSites, sites } = written;
  const added = newSites.map((id) => toSiteRow(id, newSite()));
  const states = [...sites].map((id) => toSiteRow(id, stored.sites.get(id) as SiteState));
  return [
    ...(added.length === 0 ? [] : [connection.query(sql.addSites, added)]),
    ...(changes.length === 0
      ? []
      : [
          connection.query(sql.putRows, [...rows]),
          connection.query(sql.addChanges, changes),
          connection.query(sql.putSites, states),
        ]),
    ...(responses.length === 0 ? [] : [connection.query(sql.putResponses, responses)]),
  ];
}

// What the rows of `sites` mean for a batch of writes.

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
