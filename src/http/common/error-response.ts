import { AbandonedWorkError } from "../../lib/work-limiter.ts";
import { type ErrorCode, ProblemError } from "../../model/errors.ts";
import { RequestError, type RequestErrorReason } from "../../wire/request-error.ts";

const unreadableCodes: Record<RequestErrorReason, ErrorCode> = {
  malformed: "bad-request",
  timeout: "request-timeout",
  "header-too-large": "head-too-large",
  "body-too-large": "too-large",
};

/** The client has disconnected, so this only shows up in metrics. */
const abandoned = new ProblemError("bad-request", "the client disconnected before its request was handled");

/**
 * Converts anything thrown while handling a request.
 * @param id the request ID
 * @param logUnexpected logs an unexpected error. Its problem only has the request ID, because the error may contain file names and hosts
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
  return new ProblemError("internal", `see the server's log for details of request ${id}`);
}

/** `Retry-After` is in whole seconds. */
export function problemHeaders({ headers, retryAfterSeconds }: ProblemError): Record<string, string> {
  if (retryAfterSeconds === undefined) return { ...headers };
  return { ...headers, "Retry-After": String(Math.ceil(retryAfterSeconds)) };
}
