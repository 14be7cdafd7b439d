// The problems of operations of a batch request that the records of the site do not allow.

import type { RejectedOutcome } from "../../model/change.ts";
import { OutdatedError, ProblemError } from "../../model/errors.ts";
import { hasWeakTag } from "../conditional-requests.ts";
import type { CheckedWrite, MatchedWrite } from "./check-operations.ts";

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
