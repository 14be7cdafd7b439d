// Batch requests: many writes in one request, and in one transaction. `upsert` divides a list of any length into several batch requests, and `undo` undoes
// one of them by its run.

import { withEtag } from "./etag.ts";
import { checkedMembers } from "./list-query.ts";
import { shown } from "./options.ts";
import type { WriteOptions } from "./record-collection.ts";
import type { FeedRecords, NewRecords } from "./record-types.ts";
import { type ParsedResponse, randomKey, type Send } from "./send.ts";
import { StorefrontFailure, StorefrontProblem } from "./storefront-errors.ts";

/** The name of a resource that clients can write: the last segment of its path, such as `orderstatuses`. */
export type WrittenResource = keyof NewRecords;

/** A write in a batch request. `IfMatch` is the `ETag` that the record must still have. A PUT without `ID` needs the option `match`. */
export type BatchOperation<Name extends WrittenResource = WrittenResource> = {
  [N in Name]:
    | { readonly Method: "POST"; readonly Resource: N; readonly Record: NewRecords[N] }
    | {
        readonly Method: "PUT" | "PATCH";
        readonly Resource: N;
        readonly ID?: number;
        readonly IfMatch?: string;
        readonly Record: Partial<NewRecords[N]>;
      }
    | { readonly Method: "DELETE"; readonly Resource: N; readonly ID: number; readonly IfMatch?: string };
}[Name];

/** The result of a write that was done. The record carries its `ETag` (see `etagOf`), unless it was deleted. */
export interface BatchSuccess<Item> {
  /** 201 for a created record, otherwise 200. */
  readonly Status: number;
  /** Whether the write changed anything. */
  readonly Changed: boolean;
  readonly Record: Item;
  readonly Problem?: undefined;
}

/** The result of a write that was rejected, while others of the same batch request were done. */
export interface BatchRejection {
  readonly Status: number;
  readonly Problem: { readonly type: string; readonly title: string; readonly status: number; readonly detail: string };
  readonly Record?: undefined;
}

/** Options of `batch`. */
export interface BatchOptions extends WriteOptions {
  /**
   * The field that has the match value, such as `AccountNumber`. A PUT without `ID` updates the record that has the same value in this field. If no record
   * has the value, the PUT creates one.
   */
  readonly match?: string;
  /** With false, each operation is for itself: a rejected one has a `Problem` in its result. By default, one fault rejects all. */
  readonly atomic?: boolean;
}

/** The effect of a batch request. */
export interface BatchOutcome<Results> {
  /** The run, for `undo`. Undefined if nothing was stored. */
  readonly run: string | undefined;
  /** A result for each operation, in their order. */
  readonly results: Results;
  /** Whether the request was done before, with the same `idempotencyKey`. */
  readonly replayed: boolean;
}

/** The results of some operations, each with the type of its record. */
export type ResultsOf<Operations extends readonly BatchOperation[]> = {
  readonly [Index in keyof Operations]: BatchSuccess<FeedRecords[Operations[Index]["Resource"]]>;
};

/** Options of `upsert`. */
export interface UpsertOptions<Path extends string> extends WriteOptions {
  /** The field by which a record is found, such as `AccountNumber`. */
  readonly match: Exclude<Path, "ID">;
  /** Called after each batch request. May be asynchronous. An exception in it ends the call. */
  readonly onProgress?: (progress: UpsertProgress) => unknown;
}

/** How far `upsert` is. */
export interface UpsertProgress {
  /** Number of records that are done. */
  readonly done: number;
  /** Number of all records. */
  readonly total: number;
  /** The run of the last batch request. Undefined if it stored nothing. */
  readonly run: string | undefined;
}

/** The effect of a call of `upsert`. */
export interface UpsertOutcome<Item> {
  /** Number of records that were created; updated; already as they should be. */
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** The runs of the batch requests that stored something, for `undo`, the latest last. */
  readonly runs: readonly string[];
  /** A result for each record, in their order. */
  readonly results: readonly BatchSuccess<Item>[];
}

/** The effect of an undo. */
export interface UndoOutcome {
  /** The run of the undo itself, which can be undone too. Undefined if nothing was stored. */
  readonly run: string | undefined;
  /** Number of deleted records: the run had created them. */
  readonly deleted: number;
  /** Number of records that have their earlier values again. */
  readonly restored: number;
  /** Number of records that had their earlier values already. */
  readonly unchanged: number;
  /** The records that somebody changed after the run, each with its last revision. They are as before. */
  readonly skipped: readonly { readonly Resource: WrittenResource; readonly ID: number; readonly Revision: number }[];
}

interface UndoResponse {
  readonly Run: string | null;
  readonly Deleted: number;
  readonly Restored: number;
  readonly Unchanged: number;
  readonly Skipped: UndoOutcome["skipped"];
}

type AnyResult = BatchSuccess<object> & { readonly ETag?: string | null };

const maxOperations = 10_000;
/** Maximum operations of a batch request of `upsert`, and maximum characters. They have at most 1 MiB. */
const [maxPart, maxPartChars] = [1000, 2 ** 20 / 3];
const defaultTimeoutMs = 120_000;
const batchOptions = ["match", "dryRun", "atomic", "idempotencyKey", "signal", "timeout"];

/**
 * Sends a batch request.
 * @throws TypeError for an unknown option, because a misspelt `dryRun` would store; and for more than 10,000 operations
 */
export async function sendBatch(
  send: Send,
  operations: readonly object[],
  options: BatchOptions,
): Promise<BatchOutcome<AnyResult[]>> {
  checkedMembers(options, batchOptions);
  if (operations.length > maxOperations) {
    throw new TypeError(`a batch has at most ${maxOperations} operations, not ${operations.length}; use \`upsert\``);
  }
  const { match, dryRun, atomic, ...rest } = options;
  const search = new URLSearchParams();
  if (match !== undefined) search.set("match", match);
  if (dryRun) search.set("dryRun", "1");
  if (atomic === false) search.set("atomic", "0");
  const { headers, body } = await post(send, `batch.json?${search}`, { Operations: operations }, rest);
  const { Run, Results } = body as { Run?: string | null; Results?: AnyResult[] };
  if (Results?.length !== operations.length) throw new StorefrontFailure("unreadable", "the response has no results");
  for (const { Record, ETag } of Results) if (ETag) withEtag(Record, ETag);
  return { run: Run ?? undefined, results: Results, replayed: headers.has("Idempotency-Replayed") };
}

/** Updates or creates records in several batch requests, one after the other. */
export async function upsertAll(
  send: Send,
  resource: string,
  records: readonly object[],
  { onProgress, idempotencyKey = randomKey(), ...options }: UpsertOptions<string> = {} as UpsertOptions<string>,
): Promise<UpsertOutcome<never>> {
  requireDifferentValues(records, options.match);
  const [runs, results]: [string[], AnyResult[]] = [[], []];
  let done = 0;
  let rejection: StorefrontProblem | undefined;
  for (const [index, operations] of toParts(resource, records).entries()) {
    const part = { ...options, idempotencyKey: `${idempotencyKey}-${index}` };
    const outcome = await sendBatch(send, operations, part).catch((error: unknown) => {
      const placed = withPlace(error, done, operations.length, runs);
      if (!options.dryRun || !isRejection(placed)) throw placed;
      // A dry run continues, so that the program learns of all rejected records.
      rejection = rejection ? Object.assign(rejection, { errors: [...rejection.errors, ...placed.errors] }) : placed;
      return undefined;
    });
    done += operations.length;
    if (outcome) results.push(...outcome.results);
    if (outcome?.run) runs.push(outcome.run);
    await onProgress?.({ done, total: records.length, run: outcome?.run });
  }
  if (rejection) throw rejection;
  const unchanged = results.filter(({ Changed }) => !Changed).length;
  const created = results.filter(({ Status }) => Status === 201).length;
  const updated = results.length - created - unchanged;
  return { created, updated, unchanged, runs, results: results as BatchSuccess<never>[] };
}

/** Undoes a run of this key. */
export async function undoRun(send: Send, run: string, options: WriteOptions): Promise<UndoOutcome> {
  checkedMembers(options, ["dryRun", "idempotencyKey", "signal", "timeout"]);
  const { dryRun, ...rest } = options;
  const { body } = await post(send, `undo.json${dryRun ? "?dryRun=1" : ""}`, { Run: run }, rest);
  const { Run, Deleted, Restored, Unchanged, Skipped } = body as UndoResponse;
  return { run: Run ?? undefined, deleted: Deleted, restored: Restored, unchanged: Unchanged, skipped: Skipped };
}

async function post(send: Send, path: string, body: object, options: WriteOptions): Promise<ParsedResponse> {
  const response = await send({ timeout: defaultTimeoutMs, ...options, method: "POST", path, body });
  return response as ParsedResponse;
}

/** Divides records into batch requests. The division depends on the records alone, so that a repeated call sends the same requests. */
function toParts(resource: string, records: readonly object[]): object[][] {
  const parts: object[][] = [];
  let chars = 0;
  for (const record of records) {
    const length = JSON.stringify(record).length + 100;
    if (!parts.length || (parts.at(-1)?.length ?? 0) >= maxPart || chars + length > maxPartChars) {
      parts.push([]);
      chars = 0;
    }
    chars += length;
    parts.at(-1)?.push({ Method: "PUT", Resource: resource, Record: record });
  }
  return parts;
}

/**
 * Requires records that can be divided.
 * @throws TypeError if two records have the same value. In different requests, the second would overwrite the first. The server rejects empty values
 */
function requireDifferentValues(records: readonly object[], match: string): void {
  if (typeof match !== "string") throw new TypeError("`match` must be the path of a field");
  if (!Array.isArray(records)) throw new TypeError("the records must be an array");
  const numbers = new Map<unknown, number>();
  for (const [index, record] of records.entries()) {
    const value = match.split(".").reduce((item: unknown, name) => (item as Record<string, unknown>)?.[name], record);
    if (!value) continue;
    const first = numbers.get(value);
    if (first !== undefined) {
      throw new TypeError(`the records ${first} and ${index + 1} have the same \`${match}\`: ${shown(value)}`);
    }
    numbers.set(value, index + 1);
  }
}

/** Whether the server has rejected operations, and says which. */
function isRejection(error: unknown): error is StorefrontProblem {
  return error instanceof StorefrontProblem && error.errors.some(({ operation }) => operation);
}

/** Completes the error of a part: numbers of the whole list, and the runs of the parts before. */
function withPlace(error: unknown, before: number, count: number, runs: readonly string[]): unknown {
  if (error instanceof StorefrontFailure) return Object.assign(error, { runs });
  if (!(error instanceof StorefrontProblem)) return error;
  const errors = error.errors.map((one) => (one.operation ? { ...one, operation: one.operation + before } : one));
  const detail = error.detail
    .replace(/^operation (\d+)/, (_, number) => `operation ${Number(number) + before}`)
    .replace("nothing was stored", `nothing of ${before + 1} to ${before + count} was stored`);
  return Object.assign(error, { errors, runs, detail, message: detail });
}
