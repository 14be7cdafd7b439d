// The way of a request: site, route, key, scope, body (contract section 1), then the answer.

import { Unwanted } from "../lib/lane.ts";
import { Refusal } from "../model/errors.ts";
import { randomText } from "../model/key.ts";
import { after, type Maybe } from "../model/maybe.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import { Fields } from "../wire/fields.ts";
import { type Listener, type ListenOptions, listen } from "../wire/listen.ts";
import type { Reply } from "../wire/reply.ts";
import type { Incident, WireRequest } from "../wire/request.ts";
import { type AdmissionOptions, createAdmission } from "./admission.ts";
import { requireWrite } from "./auth.ts";
import { longestBody, readBody } from "./body.ts";
import type { Key, Site } from "./directory.ts";
import type { Exchange } from "./exchange.ts";
import { Idempotencies } from "./idempotency.ts";
import { createLogLimit } from "./log-limit.ts";
import { methodLabel, methodOf, preflight, requireKnownMethod } from "./methods.ts";
import { createMetrics } from "./metrics.ts";
import type { HttpParts } from "./parts.ts";
import { read } from "./read.ts";
import { replyFault, replyRefusal } from "./reply.ts";
import { createRoutes, type Route } from "./routes.ts";
import { createStaticAnswers } from "./static.ts";
import { toTarget } from "./target.ts";
import { write } from "./write.ts";

export interface HttpOptions extends Omit<ListenOptions, "longestBody">, AdmissionOptions {}

/** Milliseconds after the start at which everything is loaded that a start need not wait for. */
const loadAfter = 250;

/** Serves the interface. Throws when the port is taken or the certificate cannot be read. */
export function serveHttp(options: HttpOptions, parts: HttpParts): Listener {
  const { snapshots, writes, log, now } = parts;
  const admission = createAdmission(options, parts);
  const routes = createRoutes(parts.resources);
  const metrics = createMetrics(snapshots);
  const statics = createStaticAnswers(options, parts, metrics);
  const idempotencies = new Idempotencies();
  const limited = createLogLimit(now);
  const idPrefix = randomText(8);
  let exchanges = 0;

  function answer(request: WireRequest): Maybe<Reply> {
    const started = performance.now();
    const exchange = toExchange(request);
    let answered: Maybe<Reply>;
    try {
      answered = dispatch(exchange);
    } catch (error) {
      answered = fail(exchange, error);
    }
    if (!(answered instanceof Promise)) return finish(exchange, started, answered);
    return answered.then(
      (reply) => finish(exchange, started, reply),
      (error) => after(fail(exchange, error), (reply) => finish(exchange, started, reply)),
    );
  }

  /** Clients can send any number of these, so the log has one a second. */
  function misread(error: unknown): Reply {
    const exchange = toExchange(unread);
    if (error instanceof Refusal) {
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

  function finish(exchange: Exchange, started: number, reply: Reply): Reply {
    metrics.count(exchange.route, methodLabel(exchange.method), reply.status, performance.now() - started);
    if (log.isLevelEnabled("debug")) log.debug(described(exchange, reply), "answered");
    return reply;
  }

  function dispatch(exchange: Exchange): Maybe<Reply> {
    requireKnownMethod(exchange.request);
    return statics.find(exchange) ?? admission.atSite(exchange, (site, snapshot) => answerAt(exchange, site, snapshot));
  }

  function answerAt(exchange: Exchange, site: Site, snapshot: Snapshot): Maybe<Reply> {
    const route = routes.find(exchange.target.path);
    if (!route) throw new Refusal("not-found", `there is nothing at this path; ${routes.hint(exchange.target.path)}`);
    exchange.route = route;
    exchange.method = methodOf(exchange.request, route);
    if (exchange.method === "OPTIONS") return preflight(exchange, route);
    const key = admission.admit(exchange, site);
    if (exchange.method !== "GET" && exchange.method !== "HEAD") return answerWrite(exchange, route, key, snapshot);
    writes.noteRead();
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
  function answerWrite(exchange: Exchange, route: Route, key: Key, { epoch }: Snapshot): Maybe<Reply> {
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

  function store(exchange: Exchange, route: Route, key: Key, epoch: string, body: Uint8Array): Promise<Reply> {
    return write(exchange, route, { key, epoch, at: now() }, body, writes, idempotencies);
  }

  function fail(exchange: Exchange, error: unknown): Maybe<Reply> {
    const page = statics.refusalPage(exchange, error)?.catch(() => refuse(exchange, error));
    return page ?? refuse(exchange, error);
  }

  function refuse(exchange: Exchange, error: unknown): Reply {
    if (error instanceof Refusal) {
      if (error.code !== "unavailable") return replyRefusal(exchange, error);
      limited(error.message, (suppressed) =>
        log.error({ request: exchange.id, err: error, suppressed }, "the storage failed"),
      );
      return replyRefusal(exchange, storageFailed(error));
    }
    if (error instanceof Unwanted) return replyRefusal(exchange, clientGone);
    log.error({ request: exchange.id, err: error }, "a request failed");
    return replyFault(exchange);
  }

  const listener = listen({ ...options, longestBody }, { answer, misread, note });
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
  fields: new Fields(new Map()),
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

function described({ id, request, target }: Exchange, { status }: Reply) {
  return { request: id, method: request.method, path: target.path, status };
}
