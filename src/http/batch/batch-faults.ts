// The problems of operations of a batch request that the records of the site do not allow.

import type { FoundRecords, RejectedOutcome } from "../../model/change.ts";
import { OutdatedError, ProblemError } from "../../model/errors.ts";
import { severalMatchesError, validationProblem } from "../../store/writes/record-match.ts";
import { hasWeakTag } from "../conditional-requests.ts";
import { type CheckedWrite, type MatchedWrite, matchError, type SentFields } from "./check-operations.ts";

/**
 * Returns the problem of an operation whose intent was rejected.
 * @throws OutdatedError if the request has to be authorized and done again
 */
export function rejectionProblem({ rejectionReason, found }: RejectedOutcome, write: CheckedWrite): ProblemError {
  const { resource, ifMatch = "" } = write;
  const { singular } = resource;
  switch (rejectionReason) {
    case "other-epoch":
      throw new OutdatedError("epoch");
    case "authorization-changed":
      throw new OutdatedError("key");
    case "match-outdated":
      throw new OutdatedError("match");
    case "several-matches":
    case "match-moved":
    case "invalid-create":
    case "invalid-update":
      return matchProblem(rejectionReason, found, write as MatchedWrite);
    case "not-found":
      return new ProblemError(
        "not-found",
        write.kind === "named"
          ? `there is no ${singular} with the ID ${write.id}`
          : `there is no ${singular} any more that has this \`${write.field.path}\``,
      );
    case "precondition-failed": {
      const record =
        write.kind === "named"
          ? `the ${singular} ${write.id ?? ""}`.trim()
          : `the ${singular} with this \`${write.field.path}\``;
      return new ProblemError(
        "precondition-failed",
        hasWeakTag(ifMatch) ? weakTagDetail : `${record} has changed since; read it again`,
      );
    }
    case "id-exists":
    case "id-used":
      return new ProblemError("precondition-failed", "another record has the ID by now that was foreseen for this one");
    default:
      throw new Error(`an operation was rejected: ${rejectionReason}`);
  }
}

/** Returns the problem of an operation whose match allows neither an update nor a create. */
function matchProblem(
  reason: RejectedOutcome["rejectionReason"],
  { ids, count }: FoundRecords = { ids: [], count: 0 },
  { resource, field, ifMatch, record, limits, movedBy }: MatchedWrite,
): ProblemError {
  if (reason === "several-matches") return severalMatchesError(field.path, { ids, count });
  if (reason === "match-moved") {
    const earlier = movedBy(ids[0] as number);
    return matchError(field, `operation ${earlier} deletes the record with this value, or changes the value`);
  }
  if (reason === "invalid-create" && ifMatch !== undefined)
    return new ProblemError(
      "precondition-failed",
      `no ${resource.singular} has this \`${field.path}\`, and \`IfMatch\` needs one`,
    );
  return validationProblem(
    reason === "invalid-create" ? "create" : "update",
    resource,
    record.input as SentFields,
    record.fieldErrors,
    limits,
  );
}

const weakTagDetail =
  "`IfMatch` has a weak tag (`W/...`), which never matches. The tags of this server are strong, so something on the way " +
  "weakened it, such as a proxy that compresses: turn that off, or send the tag without `W/`";
