// Responses to requests that failed: what the client learns and what is logged.

import { unreadableCodes } from "../formats/status.ts";
import type { LogLimit } from "../lib/log-limit.ts";
import { AbandonedWork } from "../lib/work-limiter.ts";
import { Refusal, TryAgain } from "../model/errors.ts";
import { RequestError } from "../wire/request-error.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { Exchange } from "./exchange.ts";
import { traceIn } from "./request-ids.ts";

/** No client receives this. It counts in the metrics. */
const abandoned = new Refusal("bad-request", "the client went away before its turn");

/**
 * Logs the error of a request, unless the client caused it, and returns the refusal for the response. That contains nothing internal,
 * such as files and hosts.
 */
export function reportFailure(
  error: unknown,
  { id, request }: Exchange,
  { log, logLimit }: Pick<HttpDependencies, "log"> & { readonly logLimit: LogLimit },
): Refusal {
  if (error instanceof RequestError) return new Refusal(unreadableCodes[error.reason], error.message);
  if (error instanceof AbandonedWork) return abandoned;
  if (!(error instanceof Refusal)) {
    log.error({ request: id, ...traceIn(request.headers), err: error }, "a request failed");
    return new Refusal("internal", `the server's log has the details of the request ${id}`);
  }
  if (error.code !== "unavailable" || error instanceof TryAgain) return error;
  logLimit(error.message, (suppressed) => log.error({ request: id, err: error, suppressed }, "the storage failed"));
  const detail = "the storage does not respond; send the request again, a write with the same Idempotency-Key";
  return new Refusal("unavailable", detail, { retryAfter: error.retryAfter ?? 1 });
}
