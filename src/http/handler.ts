// One request from beginning to end: route, site, method, key, and the route's own function (contract section 1).

import { unreadableCodes } from "../formats/format.ts";
import { createLogLimit, type LogLimit } from "../lib/logging.ts";
import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import { randomText } from "../lib/text.ts";
import { AbandonedWork } from "../lib/work-limiter.ts";
import { Refusal, TryAgain } from "../model/errors.ts";
import type { FreshSite } from "../store/reads/site-views.ts";
import type { Handler, Incident, WireRequest } from "../wire/request.ts";
import { emptyBody } from "../wire/request-body.ts";
import { RequestError, RequestHeaders } from "../wire/request-header.ts";
import type { WireResponse } from "../wire/response.ts";
import type { Key, Site } from "./directory.ts";
import { effectiveMethod, preflight, requireKnownMethod, requireMethod } from "./methods.ts";
import { RequestId, type RequestLog, requestIdIn, traceIn } from "./request-log.ts";
import { toProblemResponse } from "./responses.ts";
import type { RequestTarget, Route, SiteRoute } from "./route.ts";
import { createRoutes, type RouteDependencies, type Routes } from "./routes.ts";
import type { HttpDependencies } from "./server.ts";

interface HandlerDependencies extends RouteDependencies {
  readonly requestLog: RequestLog;
}

export class HttpHandler implements Handler {
  readonly #dependencies: HandlerDependencies;
  readonly #routes: Routes;
  readonly #logLimit: LogLimit;
  readonly #idPrefix = randomText(8);
  #exchanges = 0;

  constructor(dependencies: HandlerDependencies) {
    this.#dependencies = dependencies;
    this.#routes = createRoutes(dependencies);
    this.#logLimit = createLogLimit(dependencies.now);
  }

  respond(request: WireRequest): MaybePromise<WireResponse> {
    const started = performance.now();
    const { target, route, pathId } = this.#routes.find(request.target);
    const exchange: Exchange = {
      request,
      target,
      id: requestIdIn(request.headers) ?? this.#newId(),
      route,
      pathId,
      method: effectiveMethod(request),
      rateLimit: undefined,
      waited: 0,
      site: undefined,
      key: undefined,
      keyRefusal: undefined,
    };
    let response: MaybePromise<WireResponse>;
    try {
      response = this.#dispatch(exchange);
    } catch (error) {
      response = this.#fail(exchange, error);
    }
    if (response instanceof Promise) return this.#finishLater(exchange, started, response);
    return this.#finish(exchange, started, response);
  }

  respondUnreadable(error: unknown, address: string): WireResponse {
    const exchange: Exchange = { ...unreadable, request: { ...unreadable.request, address }, id: this.#newId() };
    if (error instanceof RequestError) {
      const line = { request: exchange.id, client: address, reason: error.message };
      this.#logLimit("unreadable", (suppressed) =>
        this.#dependencies.log.info({ ...line, suppressed }, "a request could not be read"),
      );
    }
    return this.#finish(exchange, performance.now(), this.#toProblem(exchange, error));
  }

  makeRoom(): boolean {
    return this.#dependencies.polls.makeRoom();
  }

  note(incident: Incident, reason?: string): void {
    this.#logLimit(incident, (suppressed) =>
      this.#dependencies.log.warn({ reason, suppressed }, `${incident}: ${explanations[incident]}`),
    );
  }

  #newId(): RequestId {
    return new RequestId([this.#idPrefix, this.#exchanges++]);
  }

  #dispatch(exchange: Exchange): MaybePromise<WireResponse> {
    requireKnownMethod(exchange.request);
    const { route } = exchange;
    if (route?.kind === "public") {
      requireMethod(exchange, route);
      return route.respond(exchange);
    }
    const fresh = this.#dependencies.admission.atSite(exchange);
    if (fresh instanceof Promise) return this.#respondLater(exchange, route, fresh);
    return this.#respondAt(exchange, route, fresh);
  }

  async #respondLater(
    exchange: Exchange,
    route: SiteRoute | undefined,
    fresh: Promise<FreshSite>,
  ): Promise<WireResponse> {
    return this.#respondAt(exchange, route, await fresh);
  }

  #respondAt(exchange: Exchange, route: SiteRoute | undefined, fresh: FreshSite): MaybePromise<WireResponse> {
    if (!route) {
      throw new Refusal("not-found", `there is nothing at this path; ${this.#routes.hint(exchange.target.path)}`);
    }
    requireMethod(exchange, route);
    if (exchange.method === "OPTIONS") return preflight(exchange, route);
    return route.respond(exchange, this.#dependencies.admission.admit(exchange), fresh);
  }

  /** A page for a browser that opened a path that does not exist, otherwise a problem document. */
  #fail(exchange: Exchange, error: unknown): MaybePromise<WireResponse> {
    const page = this.#dependencies.documentation.problemPage(exchange, error);
    return page?.catch(() => this.#toProblem(exchange, error)) ?? this.#toProblem(exchange, error);
  }

  #toProblem(exchange: Exchange, error: unknown): WireResponse {
    const { log } = this.#dependencies;
    return toProblemResponse(exchange, reportFailure(error, exchange, { log, logLimit: this.#logLimit }));
  }

  #finishLater(exchange: Exchange, started: number, response: Promise<WireResponse>): Promise<WireResponse> {
    return response.then(
      (made) => this.#finish(exchange, started, made),
      (error) => after(this.#fail(exchange, error), (made) => this.#finish(exchange, started, made)),
    );
  }

  #finish(exchange: Exchange, started: number, response: WireResponse): WireResponse {
    const { metrics, requestLog } = this.#dependencies;
    const milliseconds = performance.now() - started;
    metrics.count(exchange, response.status, milliseconds);
    requestLog.note(exchange, response, milliseconds);
    return response;
  }
}

const explanations: Record<Incident, string> = {
  "idle connection ended": "the limit of --connections was reached, and a new one came",
  "slow connection ended": "the limit of --connections was reached, and this one waited for its client, the slowest",
  "waiting request ended": "the limit of --connections was reached, and this one waited longest for a change",
  "connection turned away": "the limit of --connections was reached, and no connection could make room",
  "connection cut off": "the connections exceeded their memory limit, and this one had waited longest for its client",
  "TLS handshake failed": "no request was read",
};

/** Bytes that are not a request, without an ID. */
const unreadable: Omit<Exchange, "id"> = {
  request: {
    method: "",
    target: "",
    headers: new RequestHeaders(new Map()),
    address: "",
    isAbandoned: false,
    onClientEnd: () => {},
    body: () => emptyBody,
    dropBody: () => {},
  },
  target: { path: "", query: "" },
  route: undefined,
  pathId: undefined,
  method: "",
  rateLimit: undefined,
  waited: 0,
  site: undefined,
  key: undefined,
  keyRefusal: undefined,
};

/** Why a key was refused. The first four have the same response (contract section 1), and the log has the reason. */
export type KeyRefusal =
  | "missing"
  | "malformed"
  | "unknown"
  | "expired or revoked"
  | "of another site"
  | "read-only"
  | "over its rate";

/** A request on its way to its response. */
export interface Exchange {
  readonly request: WireRequest;
  readonly target: RequestTarget;
  /** In `X-Request-Id` and in the log. */
  readonly id: RequestId;
  /** Undefined when the path has none, or the request could not be read. */
  readonly route: Route | undefined;
  /** The record's ID in the path; undefined when there is none, or one that is not valid. */
  readonly pathId: number | undefined;
  /** The method that decides: the request's own, or that of `X-HTTP-Method-Override` on a POST. */
  readonly method: string;
  /** Header fields about the key's rate limit, in every response to the request. Only admission sets them. */
  rateLimit: Readonly<Record<string, string>> | undefined;
  /** Milliseconds for which the request has waited as it wanted to. They do not make it slow. */
  waited: number;
  /** For the log: the site of the request's host, the key that it has, and why that was refused. Only admission sets them. */
  site: Site | undefined;
  key: Key | undefined;
  keyRefusal: KeyRefusal | undefined;
}

// Responses to requests that failed: what the client learns and what is logged.

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
