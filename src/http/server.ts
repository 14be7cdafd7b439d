// The way of a request: site, route, key, scope, body (contract section 1), then the answer.

import { randomText } from "../lib/base62.ts";
import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import { AbandonedWork } from "../lib/work-limiter.ts";
import { Refusal } from "../model/errors.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import { type Listener, type ListenOptions, listen } from "../wire/listen.ts";
import type { Incident, WireRequest } from "../wire/request.ts";
import { RequestError } from "../wire/request-error.ts";
import { RequestHeaders } from "../wire/request-headers.ts";
import type { WireResponse } from "../wire/response.ts";
import { type AdmissionOptions, createAdmission } from "./admission.ts";
import { requireWrite } from "./auth.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { Key, Site } from "./directory.ts";
import type { Exchange } from "./exchange.ts";
import { Idempotencies } from "./idempotency.ts";
import { createLogLimit } from "./log-limit.ts";
import { methodLabel, methodOf, preflight, requireKnownMethod } from "./methods.ts";
import { createMetrics } from "./metrics.ts";
import { read } from "./read.ts";
import { longestBody, readBody } from "./record-body.ts";
import { toInternalErrorResponse, toProblemResponse } from "./responses.ts";
import { createRoutes, type Route } from "./routes.ts";
import { createStaticRoutes } from "./static.ts";
import { toTarget } from "./target.ts";
import { refuseUnreadable } from "./unreadable.ts";
import { write } from "./write.ts";

interface HttpOptions extends Omit<ListenOptions, "longestBody">, AdmissionOptions {}

/** Milliseconds after the start at which everything is loaded that a start need not wait for. */
const loadAfter = 250;

/** Serves the interface. Throws when the port is taken or the certificate cannot be read. */
export function serveHttp(options: HttpOptions, dependencies: HttpDependencies): Listener {
  const { snapshots, writeQueue, log, now } = dependencies;
  const admission = createAdmission(options, dependencies);
  const routes = createRoutes(dependencies.resources);
  const metrics = createMetrics(snapshots);
  const statics = createStaticRoutes(options, dependencies, metrics);
  const idempotencies = new Idempotencies();
  const limited = createLogLimit(now);
  const idPrefix = randomText(8);
  let exchanges = 0;

  function respond(request: WireRequest): MaybePromise<WireResponse> {
    const started = performance.now();
    const exchange = toExchange(request);
    let answered: MaybePromise<WireResponse>;
    try {
      answered = dispatch(exchange);
    } catch (error) {
      answered = fail(exchange, error);
    }
    if (!(answered instanceof Promise)) return finish(exchange, started, answered);
    return answered.then(
      (response) => finish(exchange, started, response),
      (error) => after(fail(exchange, error), (response) => finish(exchange, started, response)),
    );
  }

  /** Clients can send any number of these, so the log has one a second. */
  function respondUnreadable(error: unknown): WireResponse {
    const exchange = toExchange(unread);
    if (error instanceof RequestError) {
      const line = { request: exchange.id, reason: error.message };
      limited("misread", (suppressed) => log.info({ ...line, suppressed }, "a request could not be read"));
    }
    return finish(exchange, performance.now(), refuse(exchange, error));
  }

  function note(incident: Incident, reason?: string): void {
    limited(incident, (suppressed) => log.warn({ reason, suppressed }, `${incident}: ${explanations[incident]}`));
  }

  function toExchange(request: WireRequest): Exchange {
    const id = `${idPrefix}${(exchanges++).toString(36)}`;
    return { request, target: toTarget(request.target), id, method: request.method };
  }

  function finish(exchange: Exchange, started: number, response: WireResponse): WireResponse {
    metrics.count(exchange.route, methodLabel(exchange.method), response.status, performance.now() - started);
    if (log.isLevelEnabled("debug")) log.debug(described(exchange, response), "answered");
    return response;
  }

  function dispatch(exchange: Exchange): MaybePromise<WireResponse> {
    requireKnownMethod(exchange.request);
    return statics.find(exchange) ?? admission.atSite(exchange, (site, snapshot) => answerAt(exchange, site, snapshot));
  }

  function answerAt(exchange: Exchange, site: Site, snapshot: Snapshot): MaybePromise<WireResponse> {
    const route = routes.find(exchange.target.path);
    if (!route) throw new Refusal("not-found", `there is nothing at this path; ${routes.hint(exchange.target.path)}`);
    exchange.route = route;
    exchange.method = methodOf(exchange.request, route);
    if (exchange.method === "OPTIONS") return preflight(exchange, route);
    const key = admission.admit(exchange, site);
    if (exchange.method !== "GET" && exchange.method !== "HEAD") return answerWrite(exchange, route, key, snapshot);
    writeQueue.noteRead();
    const response = read(exchange, route, snapshot);
    if (!(response instanceof Promise)) return response;
    // A long list was waited for: the key and the site may have ended meanwhile.
    return response.then((made) =>
      admission.atSite(exchange, (siteNow) => {
        admission.readmit(exchange, siteNow);
        return made;
      }),
    );
  }

  /** When the body was waited for, the key and the site may have ended meanwhile, and are looked up again. */
  function answerWrite(exchange: Exchange, route: Route, key: Key, { epoch }: Snapshot): MaybePromise<WireResponse> {
    requireWrite(key);
    const body = readBody(exchange.request);
    if (!(body instanceof Promise)) return store(exchange, route, key, epoch, body);
    return body.then((bytes) =>
      admission.atSite(exchange, (site, snapshot) => {
        const keyNow = admission.readmit(exchange, site);
        requireWrite(keyNow);
        return store(exchange, route, keyNow, snapshot.epoch, bytes);
      }),
    );
  }

  function store(exchange: Exchange, route: Route, key: Key, epoch: string, body: Uint8Array): Promise<WireResponse> {
    return write(exchange, route, { key, epoch, at: now() }, body, writeQueue, idempotencies);
  }

  function fail(exchange: Exchange, error: unknown): MaybePromise<WireResponse> {
    const page = statics.refusalPage(exchange, error)?.catch(() => refuse(exchange, error));
    return page ?? refuse(exchange, error);
  }

  function refuse(exchange: Exchange, error: unknown): WireResponse {
    if (error instanceof RequestError) return toProblemResponse(exchange, refuseUnreadable(error));
    if (error instanceof Refusal) {
      if (error.code !== "unavailable") return toProblemResponse(exchange, error);
      limited(error.message, (suppressed) =>
        log.error({ request: exchange.id, err: error, suppressed }, "the storage failed"),
      );
      return toProblemResponse(exchange, storageFailed(error));
    }
    if (error instanceof AbandonedWork) return toProblemResponse(exchange, clientGone);
    log.error({ request: exchange.id, err: error }, "a request failed");
    return toInternalErrorResponse(exchange);
  }

  const listener = listen({ ...options, longestBody }, { respond, respondUnreadable, note });
  // The runtime remembers that it did not find a package, as when all file descriptors are taken. So what is left for later,
  // to start quickly, is not left until a client asks for it.
  const loading = setTimeout(async () => {
    const failed = (await Promise.allSettled([statics.load(), metrics.load()])).filter(isRejected);
    for (const { reason } of failed) log.error({ err: reason }, "the documentation or the metrics could not be loaded");
    if (failed.length === 0) log.debug("the documentation and the metrics are loaded");
  }, loadAfter);
  loading.unref();
  return {
    ...listener,
    async stop(seconds) {
      clearTimeout(loading);
      await listener.stop(seconds);
      await admission.stop();
    },
  };
}

function isRejected(result: PromiseSettledResult<unknown>): result is PromiseRejectedResult {
  return result.status === "rejected";
}

const explanations: Record<Incident, string> = {
  "idle connection ended": "there are as many as --connections allows, and one more came",
  "connection turned away": "there are as many as --connections allows, and none is idle",
  "connection cut off":
    "what connections keep takes more memory than it may, and this one has waited for its client the longest",
  "TLS handshake failed": "no request was read",
};

/** Stands for a request that could not be read. */
const unread: WireRequest = {
  method: "",
  target: "/",
  headers: new RequestHeaders(new Map()),
  address: "",
  isAbandoned: false,
  body: () => new Uint8Array(),
};

/** For the metrics: it cannot be sent. */
const clientGone = new Refusal("bad-request", "the client went away before its turn");

/** What a client is told of it: nothing of what the log says about the inside, such as files and hosts. */
function storageFailed({ retryAfter = 1 }: Refusal): Refusal {
  const detail = "the storage does not answer; send the request again, a write with the same Idempotency-Key";
  return new Refusal("unavailable", detail, { retryAfter });
}

function described({ id, request, target }: Exchange, { status }: WireResponse) {
  return { request: id, method: request.method, path: target.path, status };
}
