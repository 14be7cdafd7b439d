// The problem that a client gets for an error, on both listeners.

import { AbandonedWorkError } from "../../lib/work-limiter.ts";
import { type ErrorCode, ProblemError } from "../../model/errors.ts";
import { RequestError, type RequestErrorReason } from "../../wire/request-error.ts";

const unreadableCodes: Record<RequestErrorReason, ErrorCode> = {
  malformed: "bad-request",
  timeout: "request-timeout",
  "header-too-large": "head-too-large",
  "body-too-large": "too-large",
};

/** The response to a client that has disconnected. It is only counted in the metrics. */
const abandoned = new ProblemError("bad-request", "the client disconnected before its request was handled");

/**
 * Converts anything that was thrown while a request was handled.
 * @param id the request ID
 * @param logUnexpected logs an error that no code expects. Its problem has only the request ID, because the error may contain names of files and hosts
 */
export function toProblemError(
  error: unknown,
  id: { toString(): string },
  logUnexpected: (error: unknown) => void,
): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof RequestError) return new ProblemError(unreadableCodes[error.reason], error.message);
  if (error instanceof AbandonedWorkError) return abandoned;
  logUnexpected(error);
  return new ProblemError("internal", `the server's log has the details of the request ${id}`);
}

/** Returns the header fields that belong to a problem. `Retry-After` is in whole seconds. */
export function problemHeaders({ headers, retryAfterSeconds }: ProblemError): Record<string, string> {
  if (retryAfterSeconds === undefined) return { ...headers };
  return { ...headers, "Retry-After": String(Math.ceil(retryAfterSeconds)) };
}
