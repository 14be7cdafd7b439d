// One request from beginning to end: route, site, method, key, and the route's own function (contract section 1).

import { randomText } from "../lib/base62.ts";
import { createLogLimit, type LogLimit } from "../lib/log-limit.ts";
import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import { Refusal } from "../model/errors.ts";
import type { FreshSite } from "../store/snapshots.ts";
import { emptyBody } from "../wire/body-bytes.ts";
import type { Handler, Incident, WireRequest } from "../wire/request.ts";
import { RequestError } from "../wire/request-error.ts";
import { RequestHeaders } from "../wire/request-headers.ts";
import type { WireResponse } from "../wire/response.ts";
import type { Exchange } from "./exchange.ts";
import { reportFailure } from "./failures.ts";
import { effectiveMethod, preflight, requireKnownMethod, requireMethod } from "./methods.ts";
import { RequestId, requestIdIn } from "./request-ids.ts";
import type { RequestLog } from "./request-log.ts";
import { toProblemResponse } from "./responses.ts";
import type { SiteRoute } from "./route.ts";
import { createRoutes, type RouteDependencies, type Routes } from "./routes.ts";

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
