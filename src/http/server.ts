// The way of a request: site, route, key, scope, body (contract section 1), then the answer.

import { Refusal } from "../model/errors.ts";
import { randomText } from "../model/key.ts";
import type { Maybe } from "../model/maybe.ts";
import type { Snapshot } from "../store/snapshot.ts";
import { systemSite } from "../store/snapshots.ts";
import { Fields } from "../wire/fields.ts";
import { type Listener, type ListenOptions, listen } from "../wire/listen.ts";
import type { Reply } from "../wire/reply.ts";
import type { WireRequest } from "../wire/request.ts";
import { authenticate, requireWrite, sentHost, toHostname, wrongSite } from "./auth.ts";
import { longestBody } from "./body.ts";
import { clientNetwork } from "./client-network.ts";
import { Directory, type Key, type Site } from "./directory.ts";
import type { Exchange } from "./exchange.ts";
import { Idempotencies } from "./idempotency.ts";
import { createKeyUses } from "./key-uses.ts";
import { Buckets, type Limit, rateLimitHeaders, tooManyRequests } from "./limits.ts";
import { methodLabel, methodOf, preflight, requireKnownMethod } from "./methods.ts";
import { createMetrics } from "./metrics.ts";
import type { HttpParts } from "./parts.ts";
import { read } from "./read.ts";
import { replyFault, replyRefusal } from "./reply.ts";
import { createRoutes } from "./routes.ts";
import { createStaticAnswers } from "./static.ts";
import { toTarget } from "./target.ts";
import { write } from "./write.ts";

export interface HttpOptions extends Omit<ListenOptions, "longestBody"> {
  /** Whether the last entry of `X-Forwarded-For` is the client's address, because a proxy adds it. */
  readonly trustProxy: boolean;
  /** Whether the last entry of `X-Forwarded-Host` is the host that the client named, because a proxy sets it. */
  readonly trustForwardedHost: boolean;
  /** What a key may do that has no limit of its own; undefined for no limit. */
  readonly keyLimit: Limit | undefined;
  /** What a client address may do with invalid keys. */
  readonly failureLimit: Limit;
}

/** Serves the interface. Throws when the port is taken or the certificate cannot be read. */
export function serveHttp(options: HttpOptions, parts: HttpParts): Listener {
  const { snapshots, writes, log, now } = parts;
  const directory = new Directory();
  snapshots.follow(directory);
  const routes = createRoutes(parts.resources);
  const metrics = createMetrics(snapshots);
  const statics = createStaticAnswers(parts, metrics);
  const idempotencies = new Idempotencies();
  const keyUses = createKeyUses(parts);
  const keyBuckets = new Buckets<number>();
  const failureBuckets = new Buckets<string>();
  const idPrefix = randomText(8);
  let exchanges = 0;

  function answer(request: WireRequest): Maybe<Reply> {
    const started = performance.now();
    const exchange = toExchange(request);
    let answered: Maybe<Reply>;
    try {
      answered = dispatch(exchange);
    } catch (error) {
      answered = refuse(exchange, error);
    }
    if (!(answered instanceof Promise)) return finish(exchange, started, answered);
    return answered.then(
      (reply) => finish(exchange, started, reply),
      (error) => finish(exchange, started, refuse(exchange, error)),
    );
  }

  function misread(error: unknown): Reply {
    return refuse(toExchange(unread), error);
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
    const page = statics.find(exchange);
    if (page) return page;
    const host = sentHost(exchange, options.trustForwardedHost);
    const guess = directory.siteOf(toHostname(host))?.id ?? systemSite;
    const snapshot = snapshots.fresh(guess);
    if (snapshot instanceof Promise) return snapshot.then((later) => answerAt(exchange, host, later));
    return answerAt(exchange, host, snapshot);
  }

  /** Answers from `snapshot`, as new as the store, if it is of the site that answers for `host` by now. */
  function answerAt(exchange: Exchange, host: string, snapshot: Snapshot): Maybe<Reply> {
    const site = directory.siteOf(toHostname(host));
    if (!site) throw wrongSite(host);
    if (site.id !== snapshot.site) return dispatch(exchange);
    const route = routes.find(exchange.target.path);
    if (!route) throw new Refusal("not-found", `there is nothing at this path; ${routes.hint(exchange.target.path)}`);
    exchange.route = route;
    exchange.method = methodOf(exchange.request, route);
    if (exchange.method === "OPTIONS") return preflight(exchange, route);
    const key = admit(exchange, site);
    if (exchange.method === "GET" || exchange.method === "HEAD") {
      writes.noteRead();
      return read(exchange, route, snapshot);
    }
    requireWrite(key);
    return write(exchange, route, { key, epoch: snapshot.epoch, at: now() }, writes, idempotencies);
  }

  function admit(exchange: Exchange, site: Site): Key {
    let key: Key;
    try {
      key = authenticate(exchange.request, site, directory, now());
    } catch (error) {
      if (error instanceof Refusal && error.code === "unauthorized") throttleFailures(exchange.request);
      throw error;
    }
    keyUses.note(key.id, now());
    const limit = key.rate === undefined ? options.keyLimit : { rate: key.rate, burst: Math.max(1, key.rate) };
    if (limit) takeToken(exchange, key, limit);
    return key;
  }

  function takeToken(exchange: Exchange, key: Key, limit: Limit): void {
    const left = keyBuckets.take(key.id, limit, now());
    exchange.headers = rateLimitHeaders(limit, left ?? 0);
    if (left === undefined) throw tooManyRequests(limit, `the API key may make ${limit.rate} requests per second`);
  }

  function throttleFailures(request: WireRequest): void {
    const network = clientNetwork(request, options.trustProxy);
    if (failureBuckets.take(network, options.failureLimit, now()) === undefined) {
      throw tooManyRequests(options.failureLimit, "too many requests with an invalid API key came from this address");
    }
  }

  function refuse(exchange: Exchange, error: unknown): Reply {
    if (error instanceof Refusal) {
      if (error.code !== "unavailable") return replyRefusal(exchange, error);
      log.error({ request: exchange.id, err: error }, "the storage failed");
      return replyRefusal(exchange, storageFailed(error));
    }
    log.error({ request: exchange.id, err: error }, "a request failed");
    return replyFault(exchange);
  }

  const listener = listen({ ...options, longestBody }, { answer, misread });
  return {
    ...listener,
    async stop(seconds) {
      await listener.stop(seconds);
      await keyUses.stop();
    },
  };
}

/** Stands for a request that could not be read. */
const unread: WireRequest = {
  method: "",
  target: "/",
  fields: new Fields(new Map()),
  address: "",
  body: () => new Uint8Array(),
};

/** What a client is told of it: nothing of what the log says about the inside, such as files and hosts. */
function storageFailed({ retryAfter = 1 }: Refusal): Refusal {
  const detail = "the storage does not answer; send the request again, a write with the same Idempotency-Key";
  return new Refusal("unavailable", detail, { retryAfter });
}

function described({ id, request, target }: Exchange, { status }: Reply) {
  return { request: id, method: request.method, path: target.path, status };
}
