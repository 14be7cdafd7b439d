// The methods of requests: which a route allows, `X-HTTP-Method-Override`, and the response to OPTIONS (contract section 3).

import { ProblemError } from "../model/errors.ts";
import { methodAdvice } from "../model/parameters.ts";
import type { WireRequest } from "../wire/request.ts";
import type { WireResponse } from "../wire/response.ts";
import type { RequestContext, Route } from "./request-context.ts";
import { toResponse } from "./responses.ts";

const overrides = ["PUT", "PATCH", "DELETE"];

/** The header fields that other interfaces have for this. Ignoring one could create a record instead of updating or deleting it. */
const otherOverrides = ["X-HTTP-Method", "X-Method-Override"].map((name) => ({ name, key: name.toLowerCase() }));

/** Returns the effective method of a request: its own method, or on a POST the method in a valid `X-HTTP-Method-Override`. */
export function effectiveMethod(request: WireRequest): string {
  return request.method === "POST" ? (overrideOf(request) ?? "POST") : request.method;
}

/**
 * Requires that `route` has the method.
 * @throws ProblemError `method-not-allowed` if it does not, `bad-request` for an invalid override, or one in the header field of another interface
 */
export function requireMethod({ request, method }: RequestContext, route: Route): void {
  if (request.method === "POST") rejectOtherOverride(request);
  for (const { name, key } of otherOverrides) if (request.headers.has(key)) throw otherOverrideError(name);
  if (route.methods.includes(method)) return;
  const detail = route.methodNotAllowedDetail?.(method) ?? `this path has no method ${method}`;
  throw new ProblemError("method-not-allowed", detail, { headers: { Allow: route.methods.join(", ") } });
}

/**
 * The header fields that scripts of other origins may send. `Cache-Control` and `X-Requested-With` are added by libraries, the last three by programs
 * that trace requests (W3C Trace Context and Baggage). None of these five has an effect here, except `traceparent` in the log. `Authorization` is here so
 * that a script that sends its key there can read the 401, which says where the key belongs.
 */
const allowedHeaders = [
  "X-API-AUTH",
  "Authorization",
  "Content-Type",
  "Content-Encoding",
  "If-Match",
  "If-None-Match",
  "Idempotency-Key",
  "X-HTTP-Method-Override",
  "X-Request-Id",
  "Cache-Control",
  "X-Requested-With",
  "traceparent",
  "tracestate",
  "baggage",
];

/** Returns the response to OPTIONS. It needs no key, because the preflight request of a browser has no key (Fetch section 3.2). */
export function preflight(context: RequestContext, route: Route): WireResponse {
  const methods = route.methods.join(", ");
  return toResponse(context, 204, null, {
    Allow: methods,
    "Access-Control-Allow-Methods": methods,
    "Access-Control-Allow-Headers": [...allowedHeaders, ...(route.allowedHeaders ?? [])].join(", "),
    "Access-Control-Max-Age": "86400",
  });
}

function overrideOf({ headers }: WireRequest): string | undefined {
  const method = headers.get("x-http-method-override")?.trim().toUpperCase();
  return overrides.find((override) => override === method);
}

function rejectOtherOverride(request: WireRequest): void {
  const sent = request.headers.get("x-http-method-override");
  if (sent === null || overrideOf(request)) return;
  throw new ProblemError(
    "bad-request",
    `X-HTTP-Method-Override must be ${overrides.join(", ")}, not \`${sent.slice(0, 40)}\``,
  );
}

function otherOverrideError(name: string): ProblemError {
  return new ProblemError("bad-request", `this server doesn't have the header \`${name}\`; ${methodAdvice}`);
}
