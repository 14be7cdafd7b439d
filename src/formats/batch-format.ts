// What a format has to do for batches and undo (contract section 14).

import { type FieldError, fault, ProblemError } from "../model/errors.ts";
import { isJsonObject, unknownFieldFault, wrongTypeFault } from "../model/field.ts";
import type { Resource } from "../model/resource.ts";
import { addFault, maxFaults, type ReadOperation } from "./batch-operation.ts";
import type { Problem } from "./format.ts";

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

/**
 * Returns the decoded body of a request to undo a run.
 * @param fieldErrors errors of form, such as a name that appears twice
 * @param form the form of the body, for messages
 * @throws ProblemError `bad-request`
 */
export function toUndo(input: unknown, fieldErrors: readonly FieldError[], form: string): SentUndo {
  if (!isJsonObject(input)) throw new ProblemError("bad-request", `the body must be \`${form}\``);
  const { Run: run } = input;
  const faults = [...fieldErrors];
  for (const name of Object.keys(input)) {
    if (name !== "Run" && faults.length < maxFaults)
      faults.push({ field: name.slice(0, 100), ...unknownFieldFault(name, ["Run"]) });
  }
  if (run === undefined) addFault(faults, "Run", fault("required"));
  else if (typeof run !== "string") addFault(faults, "Run", wrongTypeFault("string", run));
  const [first] = faults;
  if (!first) return { run: run as string };
  const detail = `the body must be \`${form}\`: \`${first.field}\`: ${first.detail}`;
  throw new ProblemError("bad-request", detail, { fieldErrors: faults.slice(0, maxFaults) });
}
