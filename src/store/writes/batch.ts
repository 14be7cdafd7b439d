// Decides what becomes of each intent in a batch. Locking, reading, deciding and storing all happen in one transaction (commit-batch.ts).
// `decideBatch` uses no clock or database: the same rows and intents have the same outcomes with every engine.
//
// The first check to fail rejects the intent:
// 1. The database wasn't restored since the writer read it, and the key and site that authorized the write haven't changed. (In a sandbox, that
//    includes the host's site.) See write-authorization.ts.
// 2. The site is neither removed nor being imported.
// 3. The idempotency key is new. A repeated request gets the stored response; a different one with the same key is rejected.
// 4. The preconditions on the site hold: `ifHead`, `ifEpoch`.
// 5. An upsert has a record to update, or can create one; a delete with a match has a record to delete (current-matches.ts, record-match.ts).
// 6. The record wasn't created by the same run (batch-transaction.ts).
// 7. The preconditions on the record hold (`decideRecordChange`).
//
// Every change to a record is decided here, except when whole sites are stored or deleted: `replaceAllData` (restore, copy), `importSiteRows`
// (import-site) and `dropSite` (site remove).

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
import { onlyRecord, resolveMatch } from "./record-match.ts";
import { authorizationKeys, rejectIfAuthorizationChanged, type SystemRecordKey } from "./write-authorization.ts";

/**
 * The rows that a batch may change or check, read by the engine in the same transaction. `decideBatch` updates them, so that each intent sees the
 * effects of the ones before.
 */
export interface BatchState {
  readonly sites: Map<number, SiteState>;
  readonly rows: BatchRows;
  readonly responses: Map<string, StoredResponse>;
  /** Empty if the system site was never written to. */
  readonly systemEpoch: string;
  /** What the batches of the transaction share. */
  readonly transaction: BatchTransaction;
  /** As `Head.timeline`. */
  readonly timeline?: number;
}

/** The outcomes and the rows to store. A record that changed several times has one row. */
export interface BatchResult {
  readonly outcomes: Outcome[];
  readonly entries: JournalRow[];
  readonly rows: Set<BatchRow>;
  /** Those of `rows` whose IDs were never used, so the table doesn't have them yet. */
  readonly newRows: Set<BatchRow>;
  readonly responses: ResponseRow[];
  /** IDs of sites created by the batch. Before it stores the rows of `sites`, the engine inserts one for each of these that has none. */
  readonly newSites: number[];
  /** IDs of the sites whose rows changed. */
  readonly sites: Set<number>;
}

/** Primary keys of the rows that an engine has to read for `decideBatch`. */
export interface BatchKeys {
  /** IDs of the sites to lock, in ascending order. */
  readonly sites: readonly number[];
  /** The records named by intents, and those found by the writers of upserts. */
  readonly records: readonly Pick<BatchRow, "site_id" | "resource" | "id">[];
  /** The keys and sites that authorized the intents: records of the system site. */
  readonly authorization: readonly SystemRecordKey[];
  readonly responses: readonly Pick<ResponseRow, "site_id" | "key_id" | "name">[];
}

/** A record named by several intents is listed once for each. */
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

/** Returns a state without rows, for the caller to add. */
export function emptyBatchState(systemEpoch: string, transaction = new BatchTransaction()): BatchState {
  return { sites: new Map(), rows: new BatchRows(), responses: new Map(), systemEpoch, transaction };
}

export function responseKey(site: number, keyId: number, name: string): string {
  return `${site}/${keyId}/${name}`;
}

/**
 * Decides `intents` in order. Each one sees the effects of the ones before.
 * @param atomic whether to stop at the first rejection that aborts the batch (`abortsBatch`), with nothing to store
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
  assertContiguous(result.entries, revisions, state);
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

/** Whether the last of `outcomes` aborted an atomic batch, so that nothing of it is stored. */
export function isBatchAborted(outcomes: readonly Outcome[], intents: readonly Intent[]): boolean {
  const last = outcomes.at(-1);
  return last !== undefined && abortsBatch(last, intents[outcomes.length - 1] as Intent);
}

/**
 * Rejections that are about the writer rather than the record. They abort the batch even if the intent is optional, because the writer has to start
 * over.
 */
const reasonsToStartOver: ReadonlySet<string> = new Set(["other-epoch", "authorization-changed", "match-outdated"]);

function abortsBatch(outcome: Outcome, { isOptional }: Intent): boolean {
  return outcome.kind === "rejected" && (!isOptional || reasonsToStartOver.has(outcome.rejectionReason));
}

/**
 * Asserts that entries are numbered without gaps up to their site's new revision, and that updates, and only updates, have a record before. Readers
 * of the journal rely on this; `Snapshot.apply` checks it again.
 */
function assertContiguous(entries: readonly JournalRow[], revisions: Map<number, number>, { sites }: BatchState): void {
  for (const { site_id: site, revision, operation, before } of entries) {
    const last = revisions.get(site) as number;
    if (revision !== last + 1) throw new Error(`site ${site}: entry ${revision} doesn't follow entry ${last}`);
    if ((operation === "update") !== (before !== null))
      throw new Error(`site ${site}: wrong record before ${operation} ${revision}`);
    revisions.set(site, revision);
  }
  for (const [site, { revision }] of sites)
    if (revisions.get(site) !== revision)
      throw new Error(`site ${site} is at revision ${revision} but has no entry for it`);
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

/** Decides an intent whose key, site and idempotency key were checked. Adds what to store to `result` and updates `state`. */
function decideIntent(sent: Intent, state: BatchState, result: BatchResult): Outcome {
  const site = state.sites.get(sent.site) as SiteState;
  const { ifHead, ifEpoch, match } = sent;
  if (ifHead !== undefined && ifHead !== headVersion(site)) return rejected("precondition-failed");
  if (ifEpoch !== undefined && ifEpoch !== site.epoch) return rejected("other-epoch");
  const intent = match ? resolveIntent(sent, match, state) : sent;
  if ("rejectionReason" in intent) return intent;
  const row = intent.id === undefined ? undefined : state.rows.find(intent.site, intent.resource, intent.id);
  if (state.transaction.hasCreated(intent)) return rejected("not-found");
  if (row) assertInJournal(row, site);
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

/** Returns the update, create or delete that an intent with a match amounts to by now, or the rejection. */
function resolveIntent(intent: Intent, match: Match, { transaction, rows }: BatchState): Intent | RejectedOutcome {
  const found = transaction.currentMatches.find(intent, match);
  if ("rejectionReason" in found) return found;
  const resolved = resolveMatch(intent, match, found);
  if ("rejectionReason" in resolved || resolved.operation === "create") return resolved;
  const body = rows.find(resolved.site, resolved.resource, resolved.id as number)?.body;
  // In a dry run, the row is read later than the changes, so the value may be different.
  const isSame = body != null && textAt(parseRecord(body), match.keys) === match.value;
  return isSame ? resolved : rejected("match-outdated");
}

/** Records a change as its site's next revision, and updates the rows of the site and record. Returns the journal entry. */
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
 * @param difference 1 if the record only exists after the change, -1 if only before, otherwise 0
 * @throws Error if the stored count was too low
 */
function countsAfterChange(
  counts: RecordCounts,
  { resource, revision }: RecordChange,
  difference: number,
): RecordCounts {
  const count = (counts[resource]?.count ?? 0) + difference;
  if (count < 0) throw new Error(`the site has ${resource} records, but its count says none; run \`storefront check\``);
  return { ...counts, [resource]: { count, revision } };
}

/** Asserts that the record has no change later than the site's last journal entry. */
function assertInJournal({ site_id, resource, id, revision }: BatchRow, { revision: last }: SiteState): void {
  if (revision > last)
    throw new Error(`site ${site_id} is at revision ${last}, but its ${resource} ${id} at revision ${revision}`);
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

/** Restoring a record is journaled as a create if it doesn't exist, otherwise as an update. */
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

/** A deleted record keeps its row, without a body, so that its ID isn't used again. */
interface StoredRow {
  readonly revision: number;
  readonly body: string | null;
}

/** The `change` still needs a revision. */
type Decision =
  | RejectedOutcome
  | { readonly kind: "unchanged"; readonly id: number; readonly revision: number; readonly body: string }
  | { readonly kind: "change"; readonly id: number; readonly body: string };

/**
 * Decides an intent whose match has been resolved (record-match.ts).
 * @param row undefined if the ID was never used
 * @param nextId ID for a new record of this site and resource
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
 * A record that already is as wanted is unchanged. Otherwise the preconditions apply, even to a deleted record, whose revision is that of its delete.
 */
function decideRestore(id: number, intent: Intent, row: StoredRow | undefined, epoch: string): Decision {
  if (!row) return { kind: "rejected", rejectionReason: "not-found" };
  const body = intent.valuesJson;
  if (row.body === body) return { kind: "unchanged", id, revision: row.revision, body };
  if (!meetsConditions(intent, row, epoch)) return { kind: "rejected", rejectionReason: "precondition-failed" };
  return { kind: "change", id, body };
}
