// Commits batches. `commitIntents` uses a transaction per batch, usually in two round trips: the first locks the sites and reads the rows that the
// batch may change, then `decideAndStore` decides the outcomes, and the second stores the results and commits. For several batches in one
// transaction, see commit-atomically.ts.
//
// Some cases take more round trips:
// (1) Two for sites that were never written to, to insert their rows and lock them. If another process writes to one of them in between, a third
// reads all rows again.
// (2) One to read the changes of a site since the writer of an upsert looked up its record. If a different record now has the value, another one to
// read its row.
// (3) One for a statement with parameters that's new to the connection, or that it mustn't prepare (`prepare=no`).

import type { Intent, Outcome } from "../../model/change.ts";
import { systemSite } from "../../model/system-site.ts";
import { newSiteState, type SiteState, toSiteRow, toSiteState } from "../database/site-state.ts";
import type { TableRow } from "../database/tables.ts";
import { type BatchKeys, type BatchState, isBatchAborted, keysOfBatch, responseKey } from "../writes/batch.ts";
import { type BatchRow, BatchRows, type StoredResponse } from "../writes/batch-rows.ts";
import { BatchTransaction } from "../writes/batch-transaction.ts";
import { decideAndStore } from "../writes/commit-batch.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import type { CallProgress, Pool } from "./pool.ts";
import { sql } from "./statements.ts";
import { awaitAll, commitTransaction, repeatOnCollision, sendStatements } from "./transaction.ts";

/** Implements `Engine.commit`. @param timeoutMs the pool's time limit, in milliseconds */
export async function commitIntents(
  pool: Pool,
  timeoutMs: number,
  intents: readonly Intent[],
  atomic?: boolean,
): Promise<readonly Outcome[]> {
  return repeatOnCollision(() =>
    pool.commit((connection, progress) => transact(connection, progress, timeoutMs, intents, atomic)),
  );
}

/** Implements `Engine.probeWrite`. @param timeoutMs as for `commitIntents` */
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
  const transaction = new BatchTransaction();
  const { state } = await lockAndRead(connection, keysOfBatch(intents), transaction, `${sql.beginByKeys(timeoutMs)}; `);
  const { result, last, sent } = await sendStatements(connection, decideAndStore(intents, state, { atomic }));
  // The outcomes `unchanged` and `replayed` confirm an earlier write, which may exist on this host only: with synchronous replication, a commit waits
  // for the standby, but a PostgreSQL administrator can cancel the wait or end the session, and the write is visible then. So commit even if nothing
  // changes, because a commit also waits for the standby to have all earlier ones. There's always something to commit, because the site's lock is in
  // the WAL too.
  const { outcomes } = result;
  const isRejected = outcomes.every(({ kind }) => kind === "rejected") || (atomic && isBatchAborted(outcomes, intents));
  if (isRejected) {
    await connection.script("rollback");
    return outcomes;
  }
  await commitTransaction(connection, progress, last, sent);
  return outcomes;
}

/**
 * Locks the sites of a transaction's first batch, and reads the rows that the batch may change, as well as the stored response for the transaction's
 * idempotency key (`answer`).
 * @param begin statements that begin the transaction, if that hasn't happened
 */
export async function lockAndRead(
  connection: PostgresConnection,
  batchKeys: BatchKeys,
  transaction: BatchTransaction,
  begin = "",
): Promise<{ readonly state: BatchState; readonly answer: StoredResponse | undefined }> {
  const keys = withOwnResponse(batchKeys, transaction);
  const recordKeys = [...keys.authorization.map((row) => ({ site_id: systemSite, ...row })), ...keys.records];
  // Sent together and executed in this order, so the rows are read after the sites are locked.
  const [locked, rows, responses] = await awaitAll<[ResultRow[][], ResultRow[], ResultRow[]]>([
    connection.script(`${begin}${sql.lockSites(keys.sites)}; ${sql.heads([systemSite])}`),
    recordKeys.length === 0 ? none : connection.query(sql.rowsByKeys("records"), recordKeys),
    keys.responses.length === 0 ? none : connection.query(sql.rowsByKeys("idempotency"), keys.responses),
  ]);
  const sites = new Map(toStates(locked[0] ?? []));
  const missing = keys.sites.filter((site) => !sites.has(site));
  const added = await insertSites(connection, missing);
  // Another process has created one of these sites and written to it, so our rows are outdated. Read them again, now that all sites are locked.
  if (added.some(([, { revision }]) => revision > 0)) return lockAndRead(connection, batchKeys, transaction);
  for (const [site, state] of added) sites.set(site, state);
  const batchRows = new BatchRows();
  for (const row of rows) batchRows.add(row as BatchRow);
  const stored = toResponses(responses);
  const state: BatchState = {
    sites,
    systemEpoch: locked[1]?.[0]?.epoch ?? "",
    timeline: connection.timeline,
    rows: batchRows,
    transaction,
    responses: stored,
  };
  const { responseKey: own } = transaction;
  return { state, answer: own && stored.get(responseKey(own.site_id, own.key_id, own.name)) };
}

/** Adds the site and response for the transaction's own idempotency key. */
function withOwnResponse(keys: BatchKeys, { responseKey: own }: BatchTransaction): BatchKeys {
  if (!own) return keys;
  const sites = [...new Set([...keys.sites, own.site_id])].sort((a, b) => a - b);
  return { ...keys, sites, responses: [...keys.responses, own] };
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

/** Inserts and locks the rows of sites that are written to for the first time. Returns their states by ID. */
async function insertSites(connection: PostgresConnection, missing: readonly number[]): Promise<[number, SiteState][]> {
  if (missing.length === 0) return [];
  const rows = missing.map((id) => toSiteRow(id, newSiteState()));
  await connection.query(sql.insertSites, rows);
  const [locked = []] = await connection.script(sql.lockSites(missing));
  return toStates(locked);
}

function toStates(rows: readonly ResultRow[]): [number, SiteState][] {
  return rows.map((row) => [row.id, toSiteState(row as TableRow<"sites">)]);
}
