// The problem of a batch request that is not stored because of its operations. It lists the faults of all of them.

import type { MalformedOperation } from "../../formats/batch-format.ts";
import { type ErrorCode, type FieldError, furtherErrors, maxFieldErrors, ProblemError } from "../../model/errors.ts";

/** The problems of operations, by their index. */
export type Faults = ReadonlyMap<number, ProblemError>;

/**
 * The problem of a member of an operation. The problem of the request names the member. The result of the operation does not: it has the same problem as a
 * request for this record alone.
 */
export class MemberError extends ProblemError {
  readonly member: string;

  constructor(code: ErrorCode, member: string, detail: string) {
    super(code, detail);
    this.member = member;
  }
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

/**
 * Returns the problem of a request with malformed operations, in either mode. It lists their faults, and then those of other operations, at most 100.
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
  const { fieldErrors, message } = problem;
  const field = problem instanceof MemberError ? problem.member : "";
  const all = fieldErrors.length > 0 ? fieldErrors : [{ field, detail: message }];
  return all.map((fieldError) => ({ operation: index + 1, ...fieldError }));
}
