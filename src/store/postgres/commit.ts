// Commits batches. `commitBatch` has one transaction per batch, in two round trips. The first locks the sites, and reads the rows that the batch may
// change. Then `decideBatch` decides the outcomes. The second stores the results and commits. `commitAtomically` has one transaction for all its batches.

import type { Intent, Outcome, RecordChange } from "../../model/change.ts";
import type { OnOutcomes } from "../../model/engine.ts";
import { systemSite } from "../../model/system-site.ts";
import { newSiteState, type SiteState, type StoredSite, toSiteRow, toSiteState } from "../database/site-state.ts";
import {
  type BatchInput,
  type BatchResult,
  type BatchRow,
  BatchRows,
  decideBatch,
  isBatchAborted,
  keysOfBatch,
  responseKey,
  type StoredResponse,
} from "../writes/batch.ts";
import { FoundRecords } from "../writes/found-records.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import type { CallProgress, Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { awaitAll, commitTransaction, repeatOnCollision } from "./transaction.ts";

/** Implements `Engine.commit`. @param timeoutMs the time limit of the pool, in milliseconds */
export async function commitBatch(
  pool: Pool,
  timeoutMs: number,
  intents: readonly Intent[],
  atomic?: boolean,
): Promise<readonly Outcome[]> {
  return repeatOnCollision(() =>
    pool.commit((connection, progress) => transact(connection, progress, timeoutMs, intents, atomic)),
  );
}

/** Implements `Engine.commitAtomically`. If the transaction conflicts with another one, it fails. @param timeoutMs as for `commitBatch` */
export function commitAtomically(
  pool: Pool,
  timeoutMs: number,
  batches: Iterable<readonly Intent[]>,
  onOutcomes: OnOutcomes,
): Promise<void> {
  return pool.commit(async (connection, progress) => {
    using found = new FoundRecords(true);
    await connection.script(sql.beginByKeys(timeoutMs));
    for (const intents of batches) {
      const outcomes = await decideAndWriteAtomically(connection, intents, found, onOutcomes);
      if (isBatchAborted(outcomes, intents)) return void (await connection.script("rollback"));
      progress.restartTimeLimit();
    }
    await commitTransaction(connection, progress);
  });
}

/**
 * Decides an atomic batch and stores the results, in a transaction that the caller has begun.
 * @param onOutcomes called with the outcomes before anything is stored
 */
export async function decideAndWriteAtomically(
  connection: PostgresConnection,
  intents: readonly Intent[],
  found = new FoundRecords(),
  onOutcomes?: OnOutcomes,
): Promise<readonly Outcome[]> {
  const stored = await lockAndRead(connection, intents, found);
  const written = decideBatch(intents, stored, true);
  await onOutcomes?.(written.outcomes);
  await awaitAll(sendRows(connection, stored, written));
  return written.outcomes;
}

/** Implements `Engine.probeWrite`. @param timeoutMs as for `commitBatch` */
export function probeWrite(pool: Pool, timeoutMs: number): Promise<void> {
  return pool.commit(async (connection, progress) => {
    await commitTransaction(connection, progress, `${sql.begin(timeoutMs)}; ${sql.probeWrite}`);
  });
}

async function transact(
  connection: PostgresConnection,
  progress: CallProgress,
  timeoutMs: number,
  intents: readonly Intent[],
  atomic?: boolean,
) {
  const stored = await lockAndRead(connection, intents, new FoundRecords(), `${sql.beginByKeys(timeoutMs)}; `);
  const written = decideBatch(intents, stored, atomic);
  // Commit even if nothing changes, because the outcomes `unchanged` and `replayed` confirm an earlier write. With synchronous replication, a commit waits
  // for the standby. If that wait was cancelled when the earlier write was committed, the write may exist only on this host. This commit waits until the
  // standby has all earlier commits: the lock of the site is in the log too, so even a transaction without changes has something to commit.
  const { outcomes } = written;
  const isRejected = outcomes.every(({ kind }) => kind === "rejected") || (atomic && isBatchAborted(outcomes, intents));
  if (isRejected) await connection.script("rollback");
  else await commitTransaction(connection, progress, "", sendRows(connection, stored, written));
  return outcomes;
}

/** Locks the sites of a batch, and reads the rows that it may change. @param begin statements that begin the transaction, if it has not begun */
async function lockAndRead(
  connection: PostgresConnection,
  intents: readonly Intent[],
  found: FoundRecords,
  begin = "",
): Promise<BatchInput> {
  const keys = keysOfBatch(intents);
  const readAuthorization = keys.authorization.length === 0 ? "" : `; ${sql.systemRevisions(keys.authorization)}`;
  // Sent together and executed in this order, so that the rows are read after the sites are locked.
  const [locked, rows, responses] = await awaitAll<[ResultRow[][], ResultRow[], ResultRow[]]>([
    connection.script(`${begin}${sql.lockSites(keys.sites)}; ${sql.heads([systemSite])}${readAuthorization}`),
    keys.records.length === 0 ? none : connection.query(sql.records, keys.records),
    keys.responses.length === 0 ? none : connection.query(sql.responses, keys.responses),
  ]);
  const sites = new Map(toStates(locked[0] ?? []));
  const missing = keys.sites.filter((site) => !sites.has(site));
  const added = await insertSites(connection, missing);
  // Another process has created one of these sites and written to it, so the rows are outdated. Read them again: now all sites are locked.
  if (added.some(([, { revision }]) => revision > 0)) return lockAndRead(connection, intents, found);
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

/** Reads the changes since writers found their records (`ifFound`). Usually the revision of the site shows that nothing has changed. */
async function addEntries(
  connection: PostgresConnection,
  intents: readonly Intent[],
  found: FoundRecords,
  sites: ReadonlyMap<number, SiteState>,
): Promise<void> {
  for (const part of found.entriesToRead(intents)) {
    const last = (sites.get(part.site) as SiteState).revision;
    const isChanged = last > part.revision;
    const [entries = []] = isChanged ? await connection.script(sql.lastChanges(part)) : [];
    found.add(intents, part, entries as RecordChange[], last);
  }
}

/** Inserts the rows of sites that are written to for the first time, and locks them. Returns the states of these sites by ID. */
async function insertSites(connection: PostgresConnection, missing: readonly number[]): Promise<[number, SiteState][]> {
  if (missing.length === 0) return [];
  const rows = missing.map((id) => toSiteRow(id, newSiteState()));
  await connection.query(sql.insertSites, rows);
  const [locked = []] = await connection.script(sql.lockSites(missing));
  return toStates(locked);
}

/** Sends the statements that store the rows of a batch. Returns their promises. */
function sendRows(connection: PostgresConnection, stored: BatchInput, written: BatchResult) {
  const { entries: changes, rows, responses, newSites, sites } = written;
  const added = newSites.map((id) => toSiteRow(id, newSiteState()));
  const states = [...sites].map((id) => toSiteRow(id, stored.sites.get(id) as SiteState));
  return [
    ...(added.length === 0 ? [] : [connection.query(sql.insertSites, added)]),
    ...(changes.length === 0
      ? []
      : [
          connection.query(sql.upsertRecords, [...rows]),
          connection.query(sql.insertEntries, changes),
          connection.query(sql.upsertSites, states),
        ]),
    ...(responses.length === 0 ? [] : [connection.query(sql.upsertResponses, responses)]),
  ];
}

/** Converts rows of `sites` to states, with the ID of each. */
function toStates(rows: readonly ResultRow[]): [number, SiteState][] {
  return rows.map((row) => [row.id, toSiteState(row as StoredSite)]);
}
