// Makes a resource's records equal to a list. It reads all records, sends only what differs, and deletes what's missing from the list.
//
// Say a site has the brands, and the list has. With `match: "AccountNumber"` and `removeMissing`:
//
//   1. The read finds A-1 with the same values, so it isn't sent. A-4 isn't on the site, and aren't in the list.
//   2. A-4 is sent as a PUT with `match`. If someone has created it in the meantime, the server updates it.
//   3. A dry run of updates that change nothing returns with their `ETag`s, which lists don't have. A-3 isn't the record that was read, so
//      it's skipped.
//   4. A-2 is deleted, with that `ETag` as `IfMatch`, so that the server rejects the delete if A-2 has changed since.
//
// Nothing depends on an earlier call: after a failure, another one sends what's left.

import {
  type BatchRejection,
  type BatchSuccess,
  numbersByMatch,
  sendBatch,
  toParts,
  type UpsertProgress,
} from "./batch.ts";
import { etagOf } from "./etag.ts";
import { checkMembers } from "./list-query.ts";
import { checkInteger, valueAt } from "./options.ts";
import type { CallOptions, Send } from "./send.ts";
import { StorefrontFailure, StorefrontProblem } from "./storefront-errors.ts";

/** Options of `sync`. */
export interface SyncOptions<Path extends string> extends CallOptions {
  /** The field that says which record is which, such as `AccountNumber`. Every record needs a different value. */
  readonly match: Exclude<Path, "ID">;
  /** If true, deletes the records that aren't in the list. */
  readonly removeMissing?: boolean;
  /** The most records that may be deleted. If there are more, nothing is stored. Default: half of the records on the server. */
  readonly allowRemovals?: number;
  /** If true, returns what would be done, but stores nothing. New records get provisional IDs. */
  readonly dryRun?: boolean;
  /** Called after each batch request that stores something, and awaited. If it throws, the call ends with that exception. */
  readonly onProgress?: (progress: UpsertProgress) => unknown;
}

/** What a `sync` did, or with `dryRun` would do. */
export interface SyncOutcome<Item, New> {
  /** How many records were created, updated and removed, and how many were the same already. */
  readonly created: number;
  readonly updated: number;
  readonly removed: number;
  readonly unchanged: number;
  /** Each change with the record as stored, which carries its `ETag` (see `etagOf`), or as it was before it was deleted. */
  readonly changes: readonly { readonly Operation: "create" | "update" | "delete"; readonly Record: Item }[];
  /** Records of the list that the server rejected, and why. The others were stored. */
  readonly rejected: readonly { readonly Record: New; readonly Problem: BatchRejection["Problem"] }[];
  /**
   * Records that aren't in the list, but were kept because someone changed them during the call. If the server rejects a record because of its `match`
   * value, all are kept: it may stand for any of them.
   */
  readonly skipped: readonly Item[];
  /** The runs of the batch requests that stored something, oldest first. To undo everything, undo the last one first. */
  readonly runs: readonly string[];
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] extends readonly (infer Element)[] ? Element[] : T[Name] };
type Result<Item> = BatchSuccess<Item> | BatchRejection;

/** Maximum deletes per batch request. */
const maxRemovalsPerPart = 1000;

/**
 * Implements `sync` of `WriteCollection`.
 * @param read returns all records
 */
export async function syncRecords<Item extends { readonly ID: number }, New extends object>(
  { send, resource, read }: { send: Send; resource: string; read: (call: CallOptions) => AsyncIterable<Item> },
  records: readonly New[],
  options: SyncOptions<string> = {} as SyncOptions<string>,
): Promise<SyncOutcome<Item, New>> {
  checkMembers(options, ["match", "removeMissing", "allowRemovals", "dryRun", "onProgress", "signal", "timeout"]);
  const { match, removeMissing = false, allowRemovals, dryRun = false, onProgress, ...call } = options;
  if (allowRemovals !== undefined) checkInteger("allowRemovals", allowRemovals, 0, Number.MAX_SAFE_INTEGER);
  const numbers = checkRecords(records, match);

  const found = new Map<unknown, "same" | "different">();
  const missing: Item[] = [];
  let total = 0;
  for await (const item of read(call)) {
    total++;
    const value = valueAt(item, match);
    const number = numbers.get(value);
    // If several records have the value, the server has to reject it.
    if (number !== undefined)
      found.set(value, !found.has(value) && hasValues(item, records[number - 1]) ? "same" : "different");
    else if (removeMissing) missing.push(item);
  }
  const max = allowRemovals ?? Math.floor(total / 2);
  if (missing.length > max) {
    const advice = `if that's right, pass { allowRemovals: ${missing.length} }`;
    const detail = `${missing.length} of ${total} ${resource} aren't in the list, and at most ${max} may be removed; nothing was stored`;
    throw new StorefrontFailure("too-many-removals", `${detail}; ${advice}`);
  }

  const sent = records.filter((record) => found.get(valueAt(record, match)) !== "same");
  const outcome: Writable<SyncOutcome<Item, New>> = {
    created: 0,
    updated: 0,
    removed: 0,
    unchanged: records.length - sent.length,
    changes: [],
    rejected: [],
    skipped: [],
    runs: [],
  };
  let done = 0;
  const store = async (operations: readonly object[], count = operations.length, more = {}) => {
    const sending = sendBatch(send, operations, { ...call, ...more, dryRun, atomic: false });
    const { run, results } = await sending.catch((error: unknown) => rejectedIfTooLarge(error, operations));
    if (run !== undefined) outcome.runs.push(run);
    done += count;
    return { results: results as Result<Item>[], progress: { done, total: sent.length + missing.length, run } };
  };
  const isUnknown = (record: New, { errors = [] }: BatchRejection["Problem"]) =>
    !found.has(valueAt(record, match)) && errors.some(({ field }) => field === match);
  try {
    let next = 0;
    for (const operations of toParts(resource, sent)) {
      const { results, progress } = await store(operations, operations.length, { match });
      for (const result of results) addStored(outcome, result, sent[next++] as New);
      await onProgress?.(progress);
    }
    if (outcome.rejected.some(({ Record, Problem }) => isUnknown(Record, Problem)))
      outcome.skipped.push(...missing.splice(0));
    for (let from = 0; from < missing.length; from += maxRemovalsPerPart) {
      const part = missing.slice(from, from + maxRemovalsPerPart);
      const unchanged = await readUnchanged(send, resource, part, call, outcome.skipped);
      const operations = unchanged.map((item) => ({
        Method: "DELETE",
        Resource: resource,
        ID: item.ID,
        IfMatch: etagOf(item),
      }));
      const { results, progress } = await store(operations, part.length);
      results.forEach(({ Status, Record }, index) => {
        if (Record) outcome.changes.push({ Operation: "delete", Record });
        else if (Status !== 404) outcome.skipped.push(unchanged[index] as Item);
        outcome.removed += Record ? 1 : 0;
      });
      await onProgress?.(progress);
    }
  } catch (error) {
    const isOurs = error instanceof StorefrontProblem || error instanceof StorefrontFailure;
    throw isOurs ? Object.assign(error, { runs: outcome.runs }) : error;
  }
  return outcome;
}

/**
 * Returns each match value's record number, counted from 1.
 * @throws TypeError for a record that can't be matched. Ignoring it could delete the one it stands for
 */
function checkRecords(records: readonly object[], match: string): ReadonlyMap<unknown, number> {
  const numbers = numbersByMatch(records, match);
  for (const [index, record] of records.entries()) {
    const value = valueAt(record, match);
    if (typeof value !== "string" || value === "")
      throw new TypeError(`record ${index + 1} can't be matched: its \`${match}\` must be a non-empty string`);
    if ("ID" in record)
      throw new TypeError(`record ${index + 1} has an \`ID\`; leave it out, because \`match\` finds it`);
  }
  return numbers;
}

/** Whether the record has all the `values`. */
function hasValues(record: object, values: object | undefined): boolean {
  return Object.entries(values ?? {}).every(([name, value]) => {
    const stored = (record as Record<string, unknown>)[name];
    const isGroup = typeof value === "object" && value !== null && typeof stored === "object" && stored !== null;
    return value === undefined || stored === value || (isGroup && hasValues(stored, value));
  });
}

/** A record that's too large is sent alone (`toParts`). Returns its result. @throws any other error */
function rejectedIfTooLarge(error: unknown, operations: readonly object[]) {
  if (!(error instanceof StorefrontProblem && error.status === 413 && operations.length === 1)) throw error;
  const { type, title, status } = error;
  const detail = "the record is too large for a request";
  return { run: undefined, results: [{ Status: status, Problem: { type, title, status, detail } }] };
}

function addStored<Item, New>(outcome: Writable<SyncOutcome<Item, New>>, result: Result<Item>, sent: New): void {
  if (result.Problem) outcome.rejected.push({ Record: sent, Problem: result.Problem });
  else if (!result.Changed) outcome.unchanged++;
  else {
    const Operation = result.Status === 201 ? "create" : "update";
    outcome[Operation === "create" ? "created" : "updated"]++;
    outcome.changes.push({ Operation, Record: result.Record });
  }
}

/** Returns those of `items` that are still the same, with their `ETag`s. @param changed gets the others that still exist */
async function readUnchanged<Item extends { readonly ID: number }>(
  send: Send,
  resource: string,
  items: readonly Item[],
  call: CallOptions,
  changed: Item[],
): Promise<Item[]> {
  const operations = items.map(({ ID }) => ({ Method: "PUT", Resource: resource, ID, Record: {} }));
  const { results } = await sendBatch(send, operations, { ...call, dryRun: true, atomic: false });
  const current = (results as Result<Item>[]).map(({ Record }) => Record);
  const isSame = (record: Item | undefined, index: number) => JSON.stringify(record) === JSON.stringify(items[index]);
  changed.push(...(current.filter((record, index) => record !== undefined && !isSame(record, index)) as Item[]));
  return current.filter((record, index) => record !== undefined && isSame(record, index)) as Item[];
}
