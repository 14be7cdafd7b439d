import type { MalformedOperation, SentOperation } from "../../formats/batch-operation.ts";
import type { FoundRecords, RejectedOutcome } from "../../model/change.ts";
import {
  type ErrorCode,
  type FieldError,
  fault,
  furtherErrors,
  maxFieldErrors,
  OutdatedError,
  ProblemError,
} from "../../model/errors.ts";
import { writeRight } from "../../model/key-rights.ts";
import { severalMatchesError, validationProblem } from "../../store/writes/record-match.ts";
import type { ApiKey } from "../../system/system-records.ts";
import { missingRightDetail, requireRights } from "../authorization/authenticate.ts";
import { hasWeakTag } from "../conditional-requests.ts";
import type { RequestContext } from "../request-context.ts";
import { type CheckedWrite, type MatchedWrite, matchError, type SentFields } from "./check-operations.ts";

/** By the index of the operation. */
export type Faults = ReadonlyMap<number, ProblemError>;

/**
 * An error in a member of an operation. Only the batch's problem names the member. With `atomic=0`, the operation's result is the same problem as for a
 * single request.
 */
export class MemberError extends ProblemError {
  readonly member: string;

  constructor(code: ErrorCode, member: string, detail: string) {
    super(code, detail);
    this.member = member;
  }
}

/**
 * Returns the problem of a rejected batch: that of the first faulty operation, with up to 100 field errors from all of them.
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

/**
 * Checks that the key may change the resources of all operations. If it may not, the whole batch is rejected, whatever `atomic` says.
 * @throws ProblemError `forbidden` that names the right and the operations
 */
export function requireOperationRights(
  context: RequestContext,
  key: ApiKey,
  operations: readonly SentOperation[],
): void {
  const rights = new Map(operations.map(({ resource }) => [resource, writeRight(resource)]));
  const missing = [...rights].filter(([, right]) => !key.rights.allows(right));
  if (missing.length === 0) {
    requireRights(context, key, [...rights.values()]);
    return;
  }
  const faults = operations.flatMap(({ resource }, index) => {
    const right = missing.find(([one]) => one === resource)?.[1];
    return right ? [[index, new ProblemError("forbidden", missingRightDetail([right]))] as const] : [];
  });
  context.keyRejection = "without the right";
  throw requestProblem(new Map(faults), context.isDryRun);
}

/**
 * Returns the problem of a batch with malformed operations, whatever `atomic` says. It lists up to 100 errors, those of malformed operations first.
 * @param malformed at least one
 */
export function malformedProblem(
  malformed: readonly MalformedOperation[],
  faulty: readonly { readonly number: number; readonly problem: ProblemError }[],
): ProblemError {
  const own = malformed.flatMap(({ number, faults }) => faults.map((fault) => ({ operation: number, ...fault })));
  const all = [...own, ...faulty.flatMap(({ number, problem }) => fieldErrorsOf(number - 1, problem))];
  const [{ operation, field, detail }] = own as [FieldError];
  const what = field === "" ? detail : `\`${field}\`: ${detail}`;
  return new ProblemError("bad-request", `operation ${operation}: ${what}; nothing was stored${furtherErrors(all)}`, {
    fieldErrors: all.slice(0, maxFieldErrors).sort((one, other) => Number(one.operation) - Number(other.operation)),
  });
}

function fieldErrorsOf(index: number, problem: ProblemError): FieldError[] {
  const { code, fieldErrors, message } = problem;
  const field = problem instanceof MemberError ? problem.member : "";
  const all = fieldErrors.length > 0 ? fieldErrors : [{ field, code, detail: message }];
  return all.map((fieldError) => ({ operation: index + 1, ...fieldError }));
}

/** @throws OutdatedError if the request has to be authorized and executed again */
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
          : `no ${singular} has this \`${write.field.path}\``,
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
      return new ProblemError("precondition-failed", "the ID planned for this record has since been taken");
    default:
      throw new Error(`an operation was rejected: ${rejectionReason}`);
  }
}

/** The problem of an operation that's neither a valid update nor a valid create. */
function matchProblem(
  reason: RejectedOutcome["rejectionReason"],
  { ids, count }: FoundRecords = { ids: [], count: 0 },
  { resource, field, ifMatch, record, limits, movedBy }: MatchedWrite,
): ProblemError {
  if (reason === "several-matches") return severalMatchesError(field.path, { ids, count });
  if (reason === "match-moved") {
    const earlier = movedBy(ids[0] as number);
    const detail = `operation ${earlier} already deletes or changes the record with this value; use one operation for it`;
    return matchError(field, fault("duplicate-value", detail));
  }
  if (reason === "invalid-create" && ifMatch !== undefined)
    return new ProblemError(
      "precondition-failed",
      `no ${resource.singular} has this \`${field.path}\`, so \`IfMatch\` can't match`,
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
  "`IfMatch` has a weak tag (`W/...`), which never matches. This server's tags are strong, so something in between " +
  "weakened it, such as a proxy that compresses responses. Turn that off, or send the tag without `W/`";
