// Commits a batch: reads the rows, decides the outcomes (batch.ts) and stores the results. The code is shared by both engines
// (store/database/transaction.ts), except that PostgreSQL reads all rows in one round trip of its own.

import type { Intent, RecordChange } from "../../model/change.ts";
import { systemSite } from "../../model/system-site.ts";
import { recordChangeColumns } from "../database/journal.ts";
import { recordRestrictions } from "../database/restrictions.ts";
import { newSiteState, type SiteState, toSiteRow, toSiteState } from "../database/site-state.ts";
import { columnsOf, type TableRow } from "../database/tables.ts";
import {
  findByKeys,
  insert,
  query,
  queryForUpdate,
  type Row,
  type Transaction,
  upsert,
} from "../database/transaction.ts";
import { type BatchResult, type BatchState, decideBatch, emptyBatchState, keysOfBatch, responseKey } from "./batch.ts";
import type { BatchRow, StoredResponse } from "./batch-rows.ts";
import type { BatchTransaction } from "./batch-transaction.ts";

interface CommitBatchOptions {
  /** As for `decideBatch`. */
  readonly atomic?: boolean | undefined;
  /** Whether the intents only apply recorded restrictions, which then needn't be recorded again. */
  readonly isAmendment?: boolean;
}

export function* commitBatch(
  intents: readonly Intent[],
  transaction: BatchTransaction,
  options: CommitBatchOptions = {},
): Transaction<BatchResult> {
  const state = yield* readBatchState(intents, transaction);
  return yield* decideAndStore(intents, state, options);
}

const selectSystemEpoch = `select epoch from sites where id = ${systemSite}`;
const selectSite = `select ${columnsOf("sites").join(", ")} from sites where id = :id`;

/** Locks the batch's sites and reads the rows it may change or check. */
function* readBatchState(intents: readonly Intent[], transaction: BatchTransaction): Transaction<BatchState> {
  const keys = keysOfBatch(intents);
  const [system] = yield query(selectSystemEpoch);
  const state = emptyBatchState(String(system?.epoch ?? ""), transaction);
  for (const id of keys.sites) {
    const [row] = yield queryForUpdate(selectSite, { id });
    state.sites.set(id, row ? toSiteState(row as TableRow<"sites">) : newSiteState());
  }
  const authorization = keys.authorization.map((row) => ({ site_id: systemSite, ...row }));
  addRows(state, yield findByKeys("records", authorization));
  if (keys.records.length > 0) addRows(state, yield findByKeys("records", keys.records));
  for (const response of keys.responses.length === 0 ? [] : yield findByKeys("idempotency", keys.responses)) {
    const { site_id, key_id, name } = response as TableRow<"idempotency">;
    state.responses.set(responseKey(site_id, key_id, name), response as unknown as StoredResponse);
  }
  return state;
}

function addRows({ rows }: BatchState, found: readonly Row[]): void {
  for (const row of found) rows.add(row as unknown as BatchRow);
}

/** @param state with the rows that the intents need */
export function* decideAndStore(
  intents: readonly Intent[],
  state: BatchState,
  { atomic, isAmendment = false }: CommitBatchOptions,
): Transaction<BatchResult> {
  yield* updateMatches(intents, state);
  const result = decideBatch(intents, state, atomic);
  yield* storeRows(result);
  yield* storeSites(state.sites, result.sites);
  if (result.sites.has(systemSite) && !isAmendment) yield* recordRestrictions(result.entries);
  return result;
}

const lastChanges = `select ${recordChangeColumns} from journal where site_id = :site and revision > :revision order by revision desc limit :limit`;

/**
 * Before a batch is decided, reads what has changed since the writers of upserts looked up their records, and the rows of the records that now have
 * the values. Usually, the site's revision shows that nothing has.
 */
export function* updateMatches(intents: readonly Intent[], state: BatchState): Transaction<void> {
  const { currentMatches } = state.transaction;
  for (const part of currentMatches.entriesToRead(intents)) {
    const last = (state.sites.get(part.site) as SiteState).revision;
    const entries = last > part.revision ? yield query(lastChanges, { ...part }) : [];
    currentMatches.add(intents, part, entries as unknown as RecordChange[], last);
  }
  addRows(state, yield findByKeys("records", currentMatches.recordsToRead(intents, state.rows)));
}

/** Stores the results of a batch, except the states of its sites. */
export function* storeRows({ entries, rows, newRows, responses, newSites }: BatchResult): Transaction<void> {
  yield insert("journal", entries);
  // On PostgreSQL, an insert takes a third as long as an upsert.
  if (newRows.size > 0) yield insert("records", [...newRows]);
  if (rows.size > newRows.size)
    yield upsert(
      "records",
      [...rows].filter((row) => !newRows.has(row)),
    );
  if (responses.length > 0) yield upsert("idempotency", responses);
  // A site that was written to before its record was created keeps its row.
  if (newSites.length > 0)
    yield upsert(
      "sites",
      newSites.map((id) => toSiteRow(id, newSiteState())),
      "false",
    );
}

export function* storeSites(sites: ReadonlyMap<number, SiteState>, changed: ReadonlySet<number>): Transaction<void> {
  yield upsert(
    "sites",
    Array.from(changed, (id) => toSiteRow(id, sites.get(id) as SiteState)),
  );
}
