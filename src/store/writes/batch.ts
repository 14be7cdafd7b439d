// Decides the outcome of each intent in a batch. The rows are locked and read, decided, and the results stored, in one transaction (commit-batch.ts).
// `decideBatch` has no clock and no database: the same rows and intents give the same outcomes with every engine.
//
// An intent is checked in this order, and rejected by the first check that fails:
// 1. `restore` has not replaced the database since the writer read it. The key and the sites that authorized the write have not changed since. (A write to a
//    sandbox is also authorized by the site of the host.) See write-authorization.ts.
// 2. The site is usable: neither removed nor being imported.
// 3. The idempotency key is new. A repeated request gets the stored response; another request with the same key is rejected.
// 4. The conditions on the site hold: `ifHead`, `ifEpoch`.
// 5. The match of an upsert allows an update or a create (present-matches.ts, record-match.ts).
// 6. The record was not created by the same run (batch-transaction.ts).
// 7. The conditions on the record hold (`decideRecordChange`).
//
// Every change of a record in the program is decided here, except when whole sites are stored or deleted: `replaceAllData` (restore, copy),
// `importSiteRows` (import-site) and `dropSite` (site remove).

import {
  headVersion,
  type Intent,
  type Match,
  type Operation,
  type Outcome,
  type RecordAfterWrite,
  type RecordChange,
  type RejectedOutcome,
  versionOf,
} from "../../model/change.ts";
import type { RecordCounts } from "../../model/engine.ts";
import { idempotencyLifetimeMs } from "../../model/limits.ts";
import { merge, textAt, type Values, withId } from "../../model/record.ts";
import { siteResourceName, systemSite } from "../../model/system-site.ts";
import { isUsableEpoch, type SiteState } from "../database/site-state.ts";
import { type BatchRow, BatchRows, type JournalRow, type ResponseRow, type StoredResponse } from "./batch-rows.ts";
import { BatchTransaction } from "./batch-transaction.ts";
import { parseRecord, stringifyRecord } from "./parsed-record.ts";
import { onlyRecord, toReading } from "./record-match.ts";
import { authorizationKeys, rejectIfAuthorizationChanged, type SystemRecordKey } from "./write-authorization.ts";

/**
 * The rows that a batch may change or check. An engine reads them in the transaction of the batch. `decideBatch` updates them, so that each intent sees
 * the effects of the intents before it.
 */
export interface BatchState {
  readonly sites: Map<number, SiteState>;
  readonly rows: BatchRows;
  readonly responses: Map<string, StoredResponse>;
  /** The epoch of the system site; empty if the system site was never written to. */
  readonly systemEpoch: string;
  /** The state that the batches of the transaction share. */
  readonly transaction: BatchTransaction;
  /** As `Head.timeline`. */
  readonly timeline?: number;
}

/** The outcomes, and the rows to store. A record that changed several times has one row. */
export interface BatchResult {
  readonly outcomes: Outcome[];
  readonly entries: JournalRow[];
  readonly rows: Set<BatchRow>;
  /** The rows of `rows` for IDs that were never used before: the table does not have them. */
  readonly newRows: Set<BatchRow>;
  readonly responses: ResponseRow[];
  /** IDs of the sites that were created. The engine inserts a row for each site that has none, before it stores the rows of `sites`. */
  readonly newSites: number[];
  /** IDs of the sites with a changed row. */
  readonly sites: Set<number>;
}

/** The primary keys of the rows that a batch needs: an engine reads these rows, and passes them to `decideBatch`. */
export interface BatchKeys {
  /** IDs of the sites to lock, in ascending order. */
  readonly sites: readonly number[];
  /** The records that intents name, and those that the writers of upserts have found. */
  readonly records: readonly Pick<BatchRow, "site_id" | "resource" | "id">[];
  /** The API keys and sites by which intents were authorized: records of the system site. */
  readonly authorization: readonly SystemRecordKey[];
  readonly responses: readonly Pick<ResponseRow, "site_id" | "key_id" | "name">[];
}

/** Returns the primary keys of the rows that `intents` need. A record that several intents name is there several times. */
export function keysOfBatch(intents: readonly Intent[]): BatchKeys {
  return {
    sites: [...new Set(intents.map(({ site }) => site))].sort((a, b) => a - b),
    records: intents.flatMap(({ site, resource, match, id = match && onlyRecord(match.found) }) =>
      id === undefined ? [] : [{ site_id: site, resource, id }],
    ),
    authorization: authorizationKeys(intents),
    responses: intents.flatMap(({ site, idempotency }) =>
      idempotency ? [{ site_id: site, key_id: idempotency.keyId, name: idempotency.name }] : [],
    ),
  };
}

/** Returns a state without rows. The caller adds the rows that the intents need. */
export function emptyBatchState(systemEpoch: string, transaction = new BatchTransaction()): BatchState {
  return { sites: new Map(), rows: new BatchRows(), responses: new Map(), systemEpoch, transaction };
}

export function responseKey(site: number, keyId: number, name: string): string {
  return `${site}/${keyId}/${name}`;
}

/**
 * Decides `intents` in order; each intent sees the effects of the intents before it.
 * @param atomic whether to stop at the first rejected intent that aborts the batch (`abortsBatch`), with nothing to store
 */
export function decideBatch(intents: readonly Intent[], state: BatchState, atomic = false): BatchResult {
  const result = emptyBatchResult();
  const revisions = new Map([...state.sites].map(([site, { revision }]) => [site, revision]));
  for (const intent of intents) {
    const refused = rejectIfAuthorizationChanged(intent, state) ?? rejectIfSiteNotUsable(intent, state);
    const outcome = refused ?? findReplay(intent, state) ?? decideIntent(intent, state, result);
    result.outcomes.push(outcome);
    if (atomic && abortsBatch(outcome, intent)) {
      state.transaction.abort();
      return { ...emptyBatchResult(), outcomes: result.outcomes };
    }
    state.transaction.trackOutcome(outcome);
  }
  requireSound(result.entries, revisions, state);
  return result;
}

function emptyBatchResult(): BatchResult {
  return {
    outcomes: [],
    entries: [],
    rows: new Set(),
    newRows: new Set(),
    responses: [],
    newSites: [],
    sites: new Set(),
  };
}

/** Whether the last of `outcomes` aborted an atomic batch. Then nothing of the batch is stored. */
export function isBatchAborted(outcomes: readonly Outcome[], intents: readonly Intent[]): boolean {
  const last = outcomes.at(-1);
  return last !== undefined && abortsBatch(last, intents[outcomes.length - 1] as Intent);
}

/** The reasons of a rejection that concern the writer, not the record: an optional intent aborts its batch too, so that the writer begins again. */
const reasonsToBeginAgain: ReadonlySet<string> = new Set(["other-epoch", "authorization-changed", "match-outdated"]);

function abortsBatch(outcome: Outcome, { isOptional }: Intent): boolean {
  return outcome.kind === "rejected" && (!isOptional || reasonsToBeginAgain.has(outcome.rejectionReason));
}

/**
 * Asserts that entries are numbered without a gap, up to the revision that their sites will have, and that exactly updates have the record before them.
 * Readers of the journal rely on this. `Snapshot.apply` checks it again.
 */
function requireSound(entries: readonly JournalRow[], revisions: Map<number, number>, { sites }: BatchState): void {
  for (const { site_id: site, revision, operation, before } of entries) {
    const last = revisions.get(site) as number;
    if (revision !== last + 1) throw new Error(`site ${site}: entry ${revision} does not follow on entry ${last}`);
    if ((operation === "update") !== (before !== null))
      throw new Error(`site ${site}: the ${operation} ${revision} has a wrong record before it`);
    revisions.set(site, revision);
  }
  for (const [site, { revision }] of sites)
    if (revisions.get(site) !== revision) throw new Error(`site ${site} is at revision ${revision} without its entry`);
}

function rejectIfSiteNotUsable({ site }: Intent, state: BatchState): Outcome | undefined {
  return !isUsableEpoch((state.sites.get(site) as SiteState).epoch)
    ? { kind: "rejected", rejectionReason: "other-epoch" }
    : undefined;
}

function findReplay(intent: Intent, state: BatchState): Outcome | undefined {
  if (!intent.idempotency) return undefined;
  const { keyId, name, digest } = intent.idempotency;
  const response = state.responses.get(responseKey(intent.site, keyId, name));
  if (!response || response.at <= intent.at - idempotencyLifetimeMs) return undefined;
  if (response.digest !== digest) return { kind: "rejected", rejectionReason: "idempotency-key-reused" };
  const { operation, id, revision, body } = response;
  const { epoch } = state.sites.get(intent.site) as SiteState;
  return { kind: "replayed", operation, id, epoch, revision, body };
}

/** Decides an intent whose key, site and idempotency key were checked. Adds what must be stored to `result`, and the effects to `state`. */
function decideIntent(sent: Intent, state: BatchState, result: BatchResult): Outcome {
  const site = state.sites.get(sent.site) as SiteState;
  const { ifHead, ifEpoch, match } = sent;
  if (ifHead !== undefined && ifHead !== headVersion(site)) return rejected("precondition-failed");
  if (ifEpoch !== undefined && ifEpoch !== site.epoch) return rejected("other-epoch");
  const intent = match ? readUpsert(sent, match, state) : sent;
  if ("rejectionReason" in intent) return intent;
  const row = intent.id === undefined ? undefined : state.rows.find(intent.site, intent.resource, intent.id);
  if (state.transaction.hasCreated(intent)) return rejected("not-found");
  if (row) requireInJournal(row, site);
  const nextId = (site.lastIds[intent.resource] ?? 0) + 1;
  const decision = decideRecordChange(intent, row, nextId, site.epoch);
  if (decision.kind === "rejected") return row ? { ...decision, revision: row.revision } : decision;
  const operation = toJournalOperation(intent, row);
  if (decision.kind === "unchanged") {
    const unchanged = { ...decision, operation };
    addStoredResponse(intent, unchanged, state, result);
    return { kind: "unchanged", ...toRecordAfterWrite(unchanged, site) };
  }
  const change = addChange(intent, { ...decision, operation }, row, state, result);
  addStoredResponse(intent, change, state, result);
  return { kind: "done", ...toRecordAfterWrite(change, site), change, timeline: state.timeline };
}

function rejected(rejectionReason: RejectedOutcome["rejectionReason"]): RejectedOutcome {
  return { kind: "rejected", rejectionReason };
}

/** Returns the update or the create that an upsert is now, or why it is rejected. */
function readUpsert(intent: Intent, match: Match, { transaction, rows }: BatchState): Intent | RejectedOutcome {
  const found = transaction.presentMatches.find(intent, match);
  if ("rejectionReason" in found) return found;
  const reading = toReading(intent, match, found);
  if ("rejectionReason" in reading || reading.operation === "create") return reading;
  const body = rows.find(reading.site, reading.resource, reading.id as number)?.body;
  // A dry run reads the row later than the changes, so it may find another value.
  const isSame = body != null && textAt(parseRecord(body), match.keys) === match.value;
  return isSame ? reading : rejected("match-outdated");
}

/** Adds a change to the result: gives it the next revision of its site, and updates the rows of the site and of the record. Returns its journal entry. */
function addChange(
  intent: Intent,
  { operation, id, body }: Pick<JournalRow, "operation" | "id" | "body">,
  row: BatchRow | undefined,
  state: BatchState,
  result: BatchResult,
): JournalRow {
  const site = state.sites.get(intent.site) as SiteState;
  const { resource } = intent;
  site.revision++;
  site.lastIds[resource] = Math.max(site.lastIds[resource] ?? 0, id);
  site.last_at = Math.max(site.last_at, intent.at);
  result.sites.add(intent.site);
  const run = state.transaction.runOf(intent, site.revision);
  const change = toJournalRow(intent, operation, { id, body, run }, row, site);
  result.entries.push(change);
  state.transaction.trackChange(change);
  const isNewSite = intent.site === systemSite && resource === siteResourceName && operation === "create";
  if (isNewSite) result.newSites.push(id);
  const existsAfter = operation !== "delete";
  const existedBefore = row !== undefined && row.body !== null;
  const difference = Number(existsAfter) - Number(existedBefore);
  site.counts = countsAfterChange(site.counts, change, difference);
  const stored = state.rows.upsertFromEntry(row, change);
  result.rows.add(stored);
  if (!row) result.newRows.add(stored);
  return change;
}

/**
 * Returns the counts after one more change.
 * @param difference 1 if the record exists only after the change, -1 if it existed only before the change, otherwise 0
 * @throws Error if the stored count was too low
 */
function countsAfterChange(
  counts: RecordCounts,
  { resource, revision }: RecordChange,
  difference: number,
): RecordCounts {
  const count = (counts[resource]?.count ?? 0) + difference;
  if (count < 0)
    throw new Error(`the site has records of ${resource}, and its count says none; run \`storefront check\``);
  return { ...counts, [resource]: { count, revision } };
}

/** Asserts that the row of a record was not changed after the last entry of the journal. */
function requireInJournal({ site_id, resource, id, revision }: BatchRow, { revision: last }: SiteState): void {
  if (revision > last)
    throw new Error(`site ${site_id} is at revision ${last}, and its ${resource} ${id} at revision ${revision}`);
}

interface RecordState {
  readonly operation: Operation;
  readonly id: number;
  readonly revision: number;
  readonly body: string;
}

function toJournalRow(
  intent: Intent,
  operation: Operation,
  { id, body, run }: Pick<JournalRow, "id" | "body" | "run">,
  row: BatchRow | undefined,
  { revision, last_at: at }: SiteState,
): JournalRow {
  const { site: site_id, actor, resource } = intent;
  const before = operation === "update" && row ? row.body : null;
  return { site_id, revision, at, actor, resource, id, operation, body, run, before };
}

/** Returns the operation in the journal. The operation `restore` of an intent becomes `create` if the record does not exist, otherwise `update`. */
function toJournalOperation({ operation }: Intent, row: BatchRow | undefined): Operation {
  if (operation === "restore") return row?.body == null ? "create" : "update";
  return operation as Operation;
}

function toRecordAfterWrite({ operation, id, revision, body }: RecordState, { epoch }: SiteState): RecordAfterWrite {
  return { operation, id, epoch, revision, body };
}

function addStoredResponse(
  intent: Intent,
  { operation, id, revision, body }: RecordState,
  state: BatchState,
  result: BatchResult,
): void {
  if (!intent.idempotency) return;
  const { site: site_id, at } = intent;
  const { keyId: key_id, name, digest } = intent.idempotency;
  const response: ResponseRow = { site_id, key_id, name, digest, at, operation, id, revision, body };
  state.responses.set(responseKey(site_id, key_id, name), response);
  result.responses.push(response);
}

/** The row of a record. A deleted record keeps its row, without a body, so that its ID is not used again. */
interface StoredRow {
  readonly revision: number;
  readonly body: string | null;
}

/** A rejection, nothing to write, or the next change of the site. */
type Decision =
  | RejectedOutcome
  | { readonly kind: "unchanged"; readonly id: number; readonly revision: number; readonly body: string }
  | { readonly kind: "change"; readonly id: number; readonly body: string };

/**
 * Decides one intent. An upsert has become an update or a create (record-match.ts).
 * @param row the record's row; undefined if its ID was never used
 * @param nextId the ID for a new record of this site and resource
 * @param epoch the site's epoch
 */
function decideRecordChange(intent: Intent, row: StoredRow | undefined, nextId: number, epoch: string): Decision {
  const { operation, id } = intent;
  if (operation === "create") {
    if (row) return { kind: "rejected", rejectionReason: row.body === null ? "id-used" : "id-exists" };
    const newId = id ?? nextId;
    return { kind: "change", id: newId, body: withId(newId, intent.valuesJson) };
  }
  if (id === undefined) throw new Error(`${operation} without an ID`);
  if (operation === "restore") return decideRestore(id, intent, row, epoch);
  if (!row || row.body === null) return { kind: "rejected", rejectionReason: "not-found" };
  if (!meetsConditions(intent, row, epoch)) return { kind: "rejected", rejectionReason: "precondition-failed" };
  if (operation === "delete") return { kind: "change", id, body: row.body };
  return decideUpdate(id, intent.valuesJson, row.revision, row.body);
}

function meetsConditions({ ifVersion, ifNotVersion }: Intent, { revision }: StoredRow, epoch: string): boolean {
  if (!ifVersion && !ifNotVersion) return true;
  const version = versionOf(epoch, revision);
  if (ifVersion && !ifVersion.includes(version)) return false;
  return !ifNotVersion?.some((excluded) => excluded === "*" || excluded === version);
}

function decideUpdate(id: number, valuesJson: string, revision: number, body: string): Decision {
  const record = parseRecord(body);
  const merged = merge(record, JSON.parse(valuesJson) as Values);
  if (merged === record) return { kind: "unchanged", id, revision, body };
  return { kind: "change", id, body: stringifyRecord(merged) };
}

/**
 * Decides the operation `restore`. A record that is in the state already is unchanged. Otherwise the conditions apply, to deleted records too: the revision
 * of a deleted record is the revision of the delete.
 */
function decideRestore(id: number, intent: Intent, row: StoredRow | undefined, epoch: string): Decision {
  if (!row) return { kind: "rejected", rejectionReason: "not-found" };
  const body = intent.valuesJson;
  if (row.body === body) return { kind: "unchanged", id, revision: row.revision, body };
  if (!meetsConditions(intent, row, epoch)) return { kind: "rejected", rejectionReason: "precondition-failed" };
  return { kind: "change", id, body };
}
