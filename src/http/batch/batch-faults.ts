// The faults of the operations of a batch request: the problem of one operation, and the problem of a request that is not stored because of them.

import type { RejectedOutcome } from "../../model/change.ts";
import { type FieldError, maxFieldErrors, OutdatedError, ProblemError } from "../../model/errors.ts";
import { hasWeakTag } from "../conditional-requests.ts";
import type { CheckedWrite, MatchedWrite } from "./check-operations.ts";

/** The problems of operations, by their index. */
export type Faults = ReadonlyMap<number, ProblemError>;

/**
 * Returns the problem of an operation whose intent was rejected.
 * @throws OutdatedError if the request has to be authorized and done again
 */
export function rejectionProblem(
  { rejectionReason }: RejectedOutcome,
  { resource, ifMatch = "", ...write }: CheckedWrite,
): ProblemError {
  const { singular } = resource;
  const record =
    write.kind === "named"
      ? `the ${singular} ${write.id ?? ""}`.trim()
      : `the ${singular} with this \`${write.field.path}\``;
  switch (rejectionReason) {
    case "other-epoch":
      throw new OutdatedError("epoch");
    case "authorization-changed":
      throw new OutdatedError("key");
    case "match-changed":
      return new ProblemError("precondition-failed", "other writers keep moving this value to other records");
    case "not-found":
      return new ProblemError(
        "not-found",
        write.kind === "named"
          ? `there is no ${singular} with the ID ${write.id}`
          : `there is no ${singular} any more that has this \`${write.field.path}\``,
      );
    case "precondition-failed":
      return new ProblemError(
        "precondition-failed",
        hasWeakTag(ifMatch) ? weakTagDetail : `${record} has changed since; read it again`,
      );
    case "id-exists":
    case "id-used":
      return new ProblemError("precondition-failed", "another record has the ID by now that was foreseen for this one");
    default:
      throw new Error(`an operation was rejected: ${rejectionReason}`);
  }
}

const weakTagDetail =
  "`IfMatch` has a weak tag (`W/...`), which never matches. The tags of this server are strong, so something on the way " +
  "weakened it, such as a proxy that compresses: turn that off, or send the tag without `W/`";

/** Returns the problem of an operation with `IfMatch` for which no record was found. */
export function noMatchProblem({ resource, field }: MatchedWrite): ProblemError {
  return new ProblemError(
    "precondition-failed",
    `no ${resource.singular} has this \`${field.path}\`, and \`IfMatch\` needs one`,
  );
}

/**
 * Returns the problem of a request that is not stored, because of its faults: the problem of the first faulty operation, with the field errors of all
 * faulty operations, at most 100.
 * @param faults at least one
 */
export function requestProblem(faults: Faults, isDry: boolean): ProblemError {
  const [first, ...others] = [...faults].sort(([one], [other]) => one - other);
  const [index, { code, message }] = first as [number, ProblemError];
  const nothing = isDry ? "nothing would be stored" : "nothing was stored";
  const more = others.length === 0 ? "" : ` (and ${others.length} more operation${others.length === 1 ? "" : "s"})`;
  const fieldErrors: FieldError[] = [];
  for (const [at, problem] of [first as [number, ProblemError], ...others]) {
    fieldErrors.push(...fieldErrorsOf(at, problem));
    if (fieldErrors.length >= maxFieldErrors) break;
  }
  return new ProblemError(code, `operation ${index + 1}: ${message}; ${nothing}${more}`, {
    fieldErrors: fieldErrors.slice(0, maxFieldErrors),
  });
}

function fieldErrorsOf(index: number, { fieldErrors, message }: ProblemError): FieldError[] {
  const all = fieldErrors.length > 0 ? fieldErrors : [{ field: "", detail: message }];
  return all.map((fieldError) => ({ operation: index + 1, ...fieldError }));
}
