// The parts of a format for batch requests and for undo (contract section 14).

import type { SentChanges } from "../model/canonical-json.ts";
import type { Operation } from "../model/change.ts";
import type { ErrorLimits, FieldError, ProblemError } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import type { Decoded, Problem } from "./format.ts";

/** The encoding of batch requests, of their responses, and of requests to undo a run. */
export interface BatchFormat {
  /**
   * Decodes the operations of a batch request, one after the other. Between two yields it does at most the work for one operation, or for 64 Ki
   * characters of the body. It yields `undefined` after work that did not complete an operation. After a malformed operation it goes on with the next.
   * @param body at most 8 MiB, which is not changed until the generator ends
   * @param resources the resources that have endpoints
   * @throws ProblemError `bad-request` or `unsupported-media-type` if the body cannot be read, and `too-large` if it has more than
   * `maxBatchOperations`, or an operation has more than `maxItemLength` bytes. Field errors have the number of the operation
   */
  operations(body: Uint8Array, resources: readonly Resource[]): Generator<ReadOperation | undefined, void, undefined>;
  /** The start of a response, before the first result. @param run null if nothing was stored */
  start(run: string | null): string;
  result(result: EncodedResult): string;
  /** The text between two results. */
  readonly separator: string;
  readonly end: string;
  /** Decodes a request to undo a run. @throws ProblemError `bad-request` or `unsupported-media-type` */
  undo(body: Uint8Array): SentUndo;
  /** Encodes the response to a request to undo a run. */
  undone(result: Undone): string;
}

export type ReadOperation = SentOperation | MalformedOperation;

/** An operation whose envelope has faults. Its record was not decoded. */
export interface MalformedOperation {
  /** From 1. */
  readonly number: number;
  /** At least one, without the number of the operation. */
  readonly faults: readonly FieldError[];
  /** The UTF-16 units of the operation in the body. */
  readonly length: number;
}

/** An operation of a batch request: its envelope and its record are checked, as far as that's possible without the other operations. */
export interface SentOperation {
  /** From 1. */
  readonly number: number;
  readonly method: Operation;
  /** A resource that can be written. */
  readonly resource: Resource;
  /** The member `ID`. The record may name an ID too. */
  readonly id: number | undefined;
  /** As it was sent; its grammar is that of the header field `If-Match`. */
  readonly ifMatch: string | undefined;
  readonly record: Decoded | undefined;
  /** All values of the record (create) or its changes (update, delete), if it's valid. */
  readonly canonical?: SentChanges | undefined;
  /** Why the record isn't valid. Undefined also if it isn't an object. */
  readonly problem?: ProblemError | undefined;
  /** How many errors of the record are reported. */
  readonly limits: ErrorLimits;
  /** The UTF-16 units of the operation in the body. */
  readonly length: number;
}

/** The result of an operation. */
export type EncodedResult = StoredResult | RejectedResult;

interface StoredResult {
  readonly status: number;
  readonly changed: boolean;
  /** Absent for a deleted record. */
  readonly etag?: string;
  readonly resource: Resource;
  /** The JSON of the record as declared (`toDeclaredJson`). */
  readonly record: string;
}

interface RejectedResult {
  readonly status: number;
  readonly problem: Problem;
}

export interface SentUndo {
  readonly run: string;
}

/** The result of an undo, or of its dry run. */
export interface Undone {
  /** The run of the undo itself; null if nothing was stored. */
  readonly run: string | null;
  /** Numbers of records. */
  readonly deleted: number;
  readonly restored: number;
  readonly unchanged: number;
  readonly skipped: readonly SkippedRecord[];
}

/** A record that was left alone because it was changed after the run. */
interface SkippedRecord {
  readonly resource: Pick<Resource, "path">;
  readonly id: number;
  /** The revision of its latest change. */
  readonly revision: number;
}
