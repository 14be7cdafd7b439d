// Batch requests send many writes in one request and one transaction. `upsert` splits a list of any length into several of them, as `sync` does (sync.ts),
// and `undo` reverses one, given its run.

import { withEtag } from "./etag.ts";
import { checkMembers } from "./list-query.ts";
import { formatValue, valueAt } from "./options.ts";
import type { WriteOptions } from "./record-collection.ts";
import type { FeedRecords, NewRecords } from "./record-types.ts";
import { type ParsedResponse, randomKey, type Send } from "./send.ts";
import { type FieldError, StorefrontFailure, StorefrontProblem } from "./storefront-errors.ts";

/** A resource that clients can write, named by the last segment of its path, such as `orderstatuses`. */
export type WrittenResource = keyof NewRecords;

/** A write in a batch request. `IfMatch` is the `ETag` the record must still have. A PUT or DELETE without an `ID` needs the `match` option. */
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
    | { readonly Method: "DELETE"; readonly Resource: N; readonly ID: number; readonly IfMatch?: string }
    | {
        readonly Method: "DELETE";
        readonly Resource: N;
        readonly IfMatch?: string;
        readonly Record: Partial<NewRecords[N]>;
      };
}[Name];

/** The result of a write that succeeded. The record carries its `ETag` (see `etagOf`), unless it was deleted. */
export interface BatchSuccess<Item> {
  /** 201 if the record was created, otherwise 200. */
  readonly Status: number;
  /** False if the record already had these values. */
  readonly Changed: boolean;
  readonly Record: Item;
  readonly Problem?: undefined;
}

/** The result of a write that was rejected while others in the same batch succeeded. */
export interface BatchRejection {
  readonly Status: number;
  readonly Problem: {
    readonly type: string;
    readonly title: string;
    readonly status: number;
    readonly detail: string;
    /** What's wrong with the record, if anything. */
    readonly errors?: readonly FieldError[];
  };
  readonly Record?: undefined;
}

/** Options of `batch`. */
export interface BatchOptions extends WriteOptions {
  /**
   * The field to match existing records by, such as `AccountNumber`. A PUT without an `ID` updates the record with the same value in this field, or
   * creates one if there is none. A DELETE without an `ID` deletes the record with the value in its `Record`.
   */
  readonly match?: string;
  /**
   * Pass false to let operations succeed or fail independently: a rejected one has a `Problem` as its result. By default, one error rejects the whole
   * batch.
   */
  readonly atomic?: boolean;
}

/** What a batch request did. */
export interface BatchOutcome<Results> {
  /** The run ID, which `undo` takes. Undefined if nothing was stored. */
  readonly run: string | undefined;
  /** One result per operation, in the same order. */
  readonly results: Results;
  /** Whether the server had already executed this request, under the same `idempotencyKey`. */
  readonly replayed: boolean;
}

/** The results of `batch`, each typed by its operation's resource. */
export type ResultsOf<Operations extends readonly BatchOperation[]> = {
  readonly [Index in keyof Operations]: BatchSuccess<FeedRecords[Operations[Index]["Resource"]]>;
};

/** Options of `upsert`. */
export interface UpsertOptions<Path extends string> extends WriteOptions {
  /** The field to match existing records by, such as `AccountNumber`. */
  readonly match: Exclude<Path, "ID">;
  /** Called after each batch request, and awaited. If it throws, the call ends with that exception. */
  readonly onProgress?: (progress: UpsertProgress) => unknown;
}

/** The progress of an `upsert` or a `sync`. */
export interface UpsertProgress {
  /** Number of records processed so far. */
  readonly done: number;
  /** Number of records in the whole list; for a `sync`, only those to store or remove. */
  readonly total: number;
  /** The run of the latest batch request. Undefined if it stored nothing. */
  readonly run: string | undefined;
}

/** What an `upsert` did. */
export interface UpsertOutcome<Item> {
  /** How many records were created, how many were updated, and how many already had these values. */
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** The runs of the batch requests that stored something, oldest first. To undo everything, undo the last one first. */
  readonly runs: readonly string[];
  /** One result per record, in the same order. */
  readonly results: readonly BatchSuccess<Item>[];
}

/** What an undo did. */
export interface UndoOutcome {
  /** The run of the undo itself, which you can undo too. Undefined if nothing was stored. */
  readonly run: string | undefined;
  /** Number of records deleted, because the run had created them. */
  readonly deleted: number;
  /** Number of records set back to their earlier values. */
  readonly restored: number;
  /** Number of records that already had their earlier values. */
  readonly unchanged: number;
  /** Records left alone because someone changed them after the run, each with its latest revision. */
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
/** Maximum operations and characters that `upsert` puts into one batch request. Even at three bytes per character, that's within 1 MiB. */
const [maxPart, maxPartChars] = [1000, 2 ** 20 / 3];
const defaultTimeoutMs = 120_000;
const batchOptions = ["match", "dryRun", "atomic", "idempotencyKey", "signal", "timeout"];

/**
 * Sends a batch request.
 * @throws TypeError for more than 10,000 operations, or for an unknown option, because a misspelt `dryRun` would store the records
 */
export async function sendBatch(
  send: Send,
  operations: readonly object[],
  options: BatchOptions,
): Promise<BatchOutcome<AnyResult[]>> {
  checkMembers(options, batchOptions);
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

export async function upsertAll(
  send: Send,
  resource: string,
  records: readonly object[],
  { onProgress, idempotencyKey = randomKey(), ...options }: UpsertOptions<string> = {} as UpsertOptions<string>,
): Promise<UpsertOutcome<never>> {
  numbersByMatch(records, options.match);
  const [runs, results]: [string[], AnyResult[]] = [[], []];
  let done = 0;
  let rejection: StorefrontProblem | undefined;
  for (const [index, operations] of toParts(resource, records).entries()) {
    const part = { ...options, idempotencyKey: `${idempotencyKey}-${index}` };
    const outcome = await sendBatch(send, operations, part).catch((error: unknown) => {
      const placed = withPlace(error, done, operations.length, runs);
      if (!options.dryRun || !isRejection(placed)) throw placed;
      // A dry run carries on, so that it reports every rejected record.
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

export async function undoRun(send: Send, run: string, options: WriteOptions): Promise<UndoOutcome> {
  checkMembers(options, ["dryRun", "idempotencyKey", "signal", "timeout"]);
  const { dryRun, ...rest } = options;
  const { body } = await post(send, `undo.json${dryRun ? "?dryRun=1" : ""}`, { Run: run }, rest);
  const { Run, Deleted, Restored, Unchanged, Skipped } = body as UndoResponse;
  return { run: Run ?? undefined, deleted: Deleted, restored: Restored, unchanged: Unchanged, skipped: Skipped };
}

async function post(send: Send, path: string, body: object, options: WriteOptions): Promise<ParsedResponse> {
  const response = await send({ timeout: defaultTimeoutMs, ...options, method: "POST", path, body });
  return response as ParsedResponse;
}

/** Splits records into batch requests. The same records are always split the same way, so a repeated call sends the same requests. */
export function toParts(resource: string, records: readonly object[]): object[][] {
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
 * Returns the number of each match value's record, counted from 1. Empty values are left to the server, which rejects them.
 * @throws TypeError for duplicate values: in different requests, the second record would overwrite the first
 */
export function numbersByMatch(records: readonly object[], match: string): ReadonlyMap<unknown, number> {
  if (typeof match !== "string") throw new TypeError("`match` must be a field's path, such as `AccountNumber`");
  if (!Array.isArray(records)) throw new TypeError("`records` must be an array");
  const numbers = new Map<unknown, number>();
  for (const [index, record] of records.entries()) {
    const value = valueAt(record, match);
    if (!value) continue;
    const first = numbers.get(value);
    if (first !== undefined) {
      throw new TypeError(`records ${first} and ${index + 1} have the same \`${match}\`: ${formatValue(value)}`);
    }
    numbers.set(value, index + 1);
  }
  return numbers;
}

/** Whether the server rejected particular operations. */
function isRejection(error: unknown): error is StorefrontProblem {
  return error instanceof StorefrontProblem && error.errors.some(({ operation }) => operation);
}

/** Renumbers a failed request's errors to count from the start of the whole list, and adds the runs stored before it. */
function withPlace(error: unknown, before: number, count: number, runs: readonly string[]): unknown {
  if (error instanceof StorefrontFailure) return Object.assign(error, { runs });
  if (!(error instanceof StorefrontProblem)) return error;
  const errors = error.errors.map((one) => (one.operation ? { ...one, operation: one.operation + before } : one));
  const detail = error.detail
    .replace(/^operation (\d+)/, (_, number) => `operation ${Number(number) + before}`)
    .replace("nothing was stored", `nothing of ${before + 1} to ${before + count} was stored`);
  return Object.assign(error, { errors, runs, detail, message: detail });
}
