// Takes a request from start to finish: finds its route, checks host, method and key in the order of contract section 1, and calls the route. Whatever
// is thrown along the way becomes a problem document here. Every response is counted and logged.
//
// On SQLite, a read is answered synchronously if its site is in memory and up to date, unless it takes several slices. So neither the key nor the record
// can change between the check and the response, and the next pipelined request doesn't have to wait for another tick. On PostgreSQL, a read first waits
// for a query of the heads, and its key is checked after that.

import { createLogRateLimiter, type LogRateLimiter } from "../lib/logging.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { randomText } from "../lib/text.ts";
import { ProblemError, RetryableError } from "../model/errors.ts";
import type { Right } from "../model/key-rights.ts";
import { methodAdvice } from "../model/parameters.ts";
import { HeaderFields } from "../wire/header-fields.ts";
import type { Handler, Incident, WireRequest } from "../wire/request.ts";
import { emptyBody } from "../wire/request-body.ts";
import { RequestError } from "../wire/request-error.ts";
import type { WireResponse } from "../wire/response.ts";
import { toProblemError } from "./common/error-response.ts";
import { requireKnownMethod } from "./common/known-methods.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { KeyTraffic } from "./key-traffic.ts";
import type { RecentRequests } from "./recent-requests.ts";
import type { RequestContext, Route, RouteMatch, SiteRoute } from "./request-context.ts";
import { RequestId, requestIdIn, traceIn } from "./request-ids.ts";
import type { RequestLog } from "./request-log.ts";
import { toProblemResponse, toResponse } from "./responses.ts";
import { createRoutes, type RouteDependencies, type Routes } from "./routes.ts";

interface HandlerDependencies extends RouteDependencies {
  readonly requestLog: RequestLog;
  readonly keyTraffic: KeyTraffic;
  readonly recentRequests: RecentRequests;
  readonly contact?: string | undefined;
}

export class HttpHandler implements Handler {
  readonly #dependencies: HandlerDependencies;
  readonly #routes: Routes;
  readonly #logLimit: LogRateLimiter;
  readonly #idPrefix = randomText(8);
  #requestCount = 0;

  constructor(dependencies: HandlerDependencies) {
    this.#dependencies = dependencies;
    this.#routes = createRoutes(dependencies);
    this.#logLimit = createLogRateLimiter(dependencies.now);
  }

  respond(request: WireRequest): MaybePromise<WireResponse> {
    const started = performance.now();
    const id = requestIdIn(request.headers) ?? this.#newId();
    const context = createContext(request, this.#routes.find(request.target), id, this.#dependencies.contact);
    let response: MaybePromise<WireResponse>;
    try {
      response = this.#routeRequest(context);
    } catch (error) {
      response = this.#respondToError(context, error);
    }
    if (!(response instanceof Promise)) return this.#countAndLog(context, started, response);
    return response
      .catch((error) => this.#respondToError(context, error))
      .then((made) => this.#countAndLog(context, started, made));
  }

  respondToFailure(error: unknown, address: string): WireResponse {
    const context = createContext({ ...unreadable, address }, noMatch, this.#newId(), this.#dependencies.contact);
    if (error instanceof RequestError) {
      const line = { request: context.id, client: address, reason: error.message };
      this.#logLimit("unreadable", (suppressed) =>
        this.#dependencies.log.info({ ...line, suppressed }, "couldn't read a request"),
      );
    }
    return this.#countAndLog(context, performance.now(), this.#toErrorResponse(context, error));
  }

  makeRoom(): boolean {
    return this.#dependencies.longPolls.makeRoom();
  }

  logIncident(incident: Incident, reason?: string): void {
    this.#logLimit(incident, (suppressed) =>
      this.#dependencies.log.warn({ reason, suppressed }, `${incident}: ${explanations[incident]}`),
    );
  }

  #newId(): RequestId {
    return new RequestId([this.#idPrefix, this.#requestCount++]);
  }

  #routeRequest(context: RequestContext): MaybePromise<WireResponse> {
    const { route } = context;
    requireKnownMethod(context.request);
    if (route?.kind === "public") {
      requireMethod(context, route);
      return route.respond(context);
    }
    return this.#dependencies.authorizer.authorize(context, this.#checkRoute);
  }

  readonly #checkRoute = (context: RequestContext): SiteRoute | WireResponse => {
    const { route } = context;
    if (route?.kind !== "site") throw new ProblemError("not-found", this.#routes.missingDetail(context.target.path));
    requireMethod(context, route);
    return context.method === "OPTIONS" ? preflight(context, route) : route;
  };

  /** A browser that opens a path that doesn't exist gets a page; everyone else gets a problem document. */
  #respondToError(context: RequestContext, error: unknown): MaybePromise<WireResponse> {
    const { authorizer, documentation } = this.#dependencies;
    authorizer.identifyKey(context);
    const page = documentation.problemPage(context, error);
    return page?.catch(() => this.#toErrorResponse(context, error)) ?? this.#toErrorResponse(context, error);
  }

  #toErrorResponse(context: RequestContext, error: unknown): WireResponse {
    const { log, readiness } = this.#dependencies;
    const problem = logAndConvertError(error, context, { log, logLimit: this.#logLimit });
    const isRead = context.method === "GET" || context.method === "HEAD";
    if (problem.code === "unavailable" && !(problem instanceof RetryableError) && !isRead)
      readiness.reportFailedWrite();
    return toProblemResponse(context, problem);
  }

  #countAndLog(context: RequestContext, started: number, response: WireResponse): WireResponse {
    const { metrics, requestLog, keyTraffic, recentRequests } = this.#dependencies;
    const ended = performance.now();
    const milliseconds = ended - started;
    metrics.countResponse(context, response.status, milliseconds);
    if (context.key) keyTraffic.count(context.key.id, response.status, ended);
    recentRequests.record(context, response, milliseconds, ended);
    requestLog.logResponse(context, response, milliseconds);
    return response;
  }
}

/** What the log says about each incident, after its name. */
const explanations: Record<Incident, string> = {
  "idle connection ended": "the --connections limit was reached, and a new connection needed room",
  "slow connection ended": "the --connections limit was reached, and this connection had the slowest client",
  "waiting request ended": "the --connections limit was reached, and this request had waited longest for a change",
  "connection rejected": "the --connections limit was reached, and no other connection could be closed",
  "connection cut off":
    "the connections exceeded their memory limit, and this one had gone the longest without progress",
  "TLS handshake failed": "no request was read",
};

function createContext(
  request: WireRequest,
  { target, route, recordIdInPath }: RouteMatch,
  id: RequestId,
  contact: string | undefined,
): RequestContext {
  return {
    request,
    target,
    id,
    contact,
    route,
    recordIdInPath,
    method: (request.method === "POST" && overrideOf(request)) || request.method,
    rateLimit: undefined,
    longPollMs: 0,
    site: undefined,
    key: undefined,
    sandbox: undefined,
    keyRejection: undefined,
    neededRights: noRights,
    keyExpires: undefined,
    isDryRun: false,
    batch: undefined,
    problem: undefined,
  };
}

const noRights: readonly Right[] = [];

/** Stands in for a request that couldn't be read. */
const unreadable: WireRequest = {
  method: "",
  target: "",
  headers: new HeaderFields(new Map()),
  address: "",
  isAbandoned: false,
  onClientEnd: () => {},
  receivedBody: emptyBody,
  readBody: async () => emptyBody,
  discardBody: () => {},
};

const noMatch: RouteMatch = { target: { path: "", query: "" }, route: undefined, recordIdInPath: undefined };

/**
 * Logs an error, unless the client caused it or can simply try again, and returns the problem to respond with. Problems never reveal internals such as
 * file names and hosts.
 */
export function logAndConvertError(
  error: unknown,
  { id, request }: RequestContext,
  { log, logLimit }: Pick<HttpDependencies, "log"> & { readonly logLimit: LogRateLimiter },
): ProblemError {
  const problem = toProblemError(error, id, (err) =>
    log.error({ request: id, ...traceIn(request.headers), err }, "a request failed"),
  );
  if (problem.code !== "unavailable" || problem instanceof RetryableError) return problem;
  logLimit(problem.message, (suppressed) =>
    log.error({ request: id, err: problem, suppressed }, "the database failed"),
  );
  const detail = "the storage isn't responding; try again, repeating a write with the same Idempotency-Key";
  return new ProblemError("unavailable", detail, { retryAfterSeconds: problem.retryAfterSeconds ?? 1 });
}

const overrides = ["PUT", "PATCH", "DELETE"];

/** Other interfaces' override headers. If we ignored one, we might create a record instead of updating or deleting it. */
const otherOverrides = ["X-HTTP-Method", "X-Method-Override"].map((name) => ({ name, key: name.toLowerCase() }));

/** @throws ProblemError `method-not-allowed` if the route doesn't have the method, `bad-request` for an invalid override or an unsupported override header */
function requireMethod({ request, method }: RequestContext, route: Route): void {
  const sent = request.method === "POST" ? request.headers.get("x-http-method-override") : null;
  if (sent !== null && !overrideOf(request)) {
    const detail = `X-HTTP-Method-Override must be ${overrides.join(", ")}, not \`${sent.slice(0, 40)}\``;
    throw new ProblemError("bad-request", detail);
  }
  for (const { name, key } of otherOverrides) {
    if (!request.headers.has(key)) continue;
    throw new ProblemError("bad-request", `the header \`${name}\` isn't supported; ${methodAdvice}`);
  }
  if (route.methods.includes(method)) return;
  const detail = route.methodNotAllowedDetail?.(method) ?? `this path doesn't support ${method}`;
  throw new ProblemError("method-not-allowed", detail, { headers: { Allow: route.methods.join(", ") } });
}

/**
 * Headers that scripts from other origins may send. Libraries add `Cache-Control` and `X-Requested-With`, and tracing adds the last three (W3C Trace
 * Context and Baggage); of these, only `traceparent` does anything here: it's logged. `Authorization` is allowed so that a script that sends its key there can read
 * the 401 that says where the key belongs.
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

/** Responds to OPTIONS. No key is needed, because browsers don't send one with a preflight request (Fetch section 3.2). */
function preflight(context: RequestContext, route: Route): WireResponse {
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
