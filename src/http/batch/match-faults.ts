// The faults of operations that could not be matched, in the form in which the response to an idempotency key is stored. The match cannot be found again
// later, because the records of the site change.

import { type ErrorCode, ProblemError } from "../../model/errors.ts";
import { toMatchedChange } from "../../store/writes/record-match.ts";
import { rejectionProblem } from "./batch-faults.ts";
import { type MatchedWrite, matchError } from "./check-operations.ts";

/**
 * Why an operation has no intent, with the index of the operation. In the order of the forms: the record is not valid as a new record, or as a change.
 * The operation has no match, with the detail. Others have moved its match again and again.
 */
export type MatchFault =
  | readonly [index: number, validatedAs: "create" | "update"]
  | readonly [index: number, code: ErrorCode, detail: string]
  | readonly [index: number, "moved"];

/** Returns the fault of an operation without a match, for `error`. */
export function noMatchFault(index: number, { code, message, fieldErrors }: ProblemError): MatchFault {
  return [index, code, fieldErrors[0]?.detail ?? message];
}

/** Returns the problem of an operation again; undefined if this program version finds no fault in it. */
export function problemAgain(checked: MatchedWrite, [, kind, detail]: MatchFault): ProblemError | undefined {
  if (kind === "moved") return rejectionProblem({ kind: "rejected", rejectionReason: "match-changed" }, checked);
  if (kind === "create" || kind === "update") return validationProblem(checked, kind);
  return kind === "invalid-record"
    ? matchError(checked.field, detail as string)
    : new ProblemError(kind, detail as string);
}

function validationProblem(
  { resource, fields, fieldErrors }: MatchedWrite,
  kind: "create" | "update",
): ProblemError | undefined {
  try {
    toMatchedChange(resource, kind === "create" ? { kind, id: undefined } : { kind, id: 1 }, fields, fieldErrors);
    return undefined;
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
}
