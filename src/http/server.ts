// The way of a request: site, route, key, scope, body (contract section 1), then the answer.

import type { Server } from "bun";
import { Refusal } from "../model/errors.ts";
import { randomText } from "../model/key.ts";
import type { Maybe } from "../model/maybe.ts";
import type { Snapshot } from "../store/snapshot.ts";
import { systemSite } from "../store/snapshots.ts";
import { authenticate, hostOf, requireWrite, wrongSite } from "./auth.ts";
import { Directory, type Key, type Site } from "./directory.ts";
import type { Exchange } from "./exchange.ts";
import { Idempotencies } from "./idempotency.ts";
import { createKeyUses } from "./key-uses.ts";
import { Buckets, type Limit, rateLimitHeaders, tooManyRequests } from "./limits.ts";
import { methodOf, preflight } from "./methods.ts";
import { createMetrics } from "./metrics.ts";
import type { HttpParts } from "./parts.ts";
import { read } from "./read.ts";
import { replyFault, replyRefusal } from "./reply.ts";
import { createRoutes } from "./routes.ts";
import { createStaticAnswers } from "./static.ts";
import { toTarget } from "./target.ts";
import { write } from "./write.ts";

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Lets several processes listen on one port. */
  readonly reusePort: boolean;
  /** Whether `X-Forwarded-Host` and `X-Forwarded-For` come from a proxy that can be believed. */
  readonly trustProxy: boolean;
  /** What a key may do that has no limit of its own; undefined for no limit. */
  readonly keyLimit: Limit | undefined;
  /** What a client address may do with invalid keys. */
  readonly failureLimit: Limit;
  /** Seconds after which a connection that sends nothing is closed. */
  readonly idleTimeout: number;
}

export interface HttpServer {
  readonly url: string;
  readonly port: number;
  /** Takes no new connection, and returns when what is under way is answered, or after `seconds`. */
  stop(seconds: number): Promise<void>;
}

/** Serves the interface. Throws when the port is taken or the certificate cannot be read. */
export function serveHttp(options: HttpOptions, parts: HttpParts): HttpServer {
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
  let underWay = 0;

  function answer(request: Request, server: Server<undefined>): Maybe<Response> {
    const started = performance.now();
    const exchange: Exchange = {
      request,
      target: toTarget(request.url),
      id: `${idPrefix}${(exchanges++).toString(36)}`,
      method: request.method,
    };
    underWay++;
    let answered: Maybe<Response>;
    try {
      answered = dispatch(exchange, server);
    } catch (error) {
      answered = refuse(exchange, error);
    }
    if (!(answered instanceof Promise)) return finish(exchange, started, answered);
    return answered.catch((error) => refuse(exchange, error)).then((response) => finish(exchange, started, response));
  }

  function finish(exchange: Exchange, started: number, response: Response): Response {
    underWay--;
    metrics.count(exchange.route, exchange.method, response.status, performance.now() - started);
    if (log.isLevelEnabled("debug")) log.debug(described(exchange, response), "answered");
    return response;
  }

  function dispatch(exchange: Exchange, server: Server<undefined>): Maybe<Response> {
    const page = statics.find(exchange);
    if (page) return page;
    const host = hostOf(exchange.request, options.trustProxy);
    const guess = directory.siteOf(host)?.id ?? systemSite;
    const snapshot = snapshots.fresh(guess);
    if (snapshot instanceof Promise) return snapshot.then((later) => answerAt(exchange, server, host, later));
    return answerAt(exchange, server, host, snapshot);
  }

  /** Answers from `snapshot`, as new as the store, if it is of the site that answers for `host` by now. */
  function answerAt(exchange: Exchange, server: Server<undefined>, host: string, snapshot: Snapshot): Maybe<Response> {
    const site = directory.siteOf(host);
    if (!site) throw wrongSite(host);
    if (site.id !== snapshot.site) return dispatch(exchange, server);
    const route = routes.find(exchange.target.path);
    if (!route) throw new Refusal("not-found", `there is nothing at this path; ${routes.hint(exchange.target.path)}`);
    exchange.route = route;
    exchange.method = methodOf(exchange.request, route);
    if (exchange.method === "OPTIONS") return preflight(exchange, route);
    const key = admit(exchange, site, server);
    if (exchange.method === "GET" || exchange.method === "HEAD") return read(exchange, route, snapshot);
    requireWrite(key);
    return write(exchange, route, { key, epoch: snapshot.epoch, at: now() }, writes, idempotencies);
  }

  function admit(exchange: Exchange, site: Site, server: Server<undefined>): Key {
    let key: Key;
    try {
      key = authenticate(exchange.request, site, directory, now());
    } catch (error) {
      if (error instanceof Refusal && error.code === "unauthorized") throttleFailures(exchange.request, server);
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

  function throttleFailures(request: Request, server: Server<undefined>): void {
    const forwarded = options.trustProxy
      ? request.headers.get("X-Forwarded-For")?.split(",").at(-1)?.trim()
      : undefined;
    const address = forwarded ?? server.requestIP(request)?.address ?? "";
    if (failureBuckets.take(address, options.failureLimit, now()) === undefined) {
      throw tooManyRequests(options.failureLimit, "too many requests with an invalid API key came from this address");
    }
  }

  function refuse(exchange: Exchange, error: unknown): Response {
    if (error instanceof Refusal) {
      if (error.code !== "unavailable") return replyRefusal(exchange, error);
      log.error({ request: exchange.id, err: error }, "the storage failed");
      return replyRefusal(exchange, storageFailed(error));
    }
    log.error({ request: exchange.id, err: error }, "a request failed");
    return replyFault(exchange);
  }

  const server = Bun.serve({
    hostname: options.host,
    port: options.port,
    reusePort: options.reusePort,
    idleTimeout: options.idleTimeout,
    // The limit that clients meet is in body.ts, with a problem document; here it only bounds what Bun lets begin.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...(options.tls ? { tls: { cert: Bun.file(options.tls.cert), key: Bun.file(options.tls.key) } } : {}),
    fetch: answer,
    development: false,
  });

  return {
    url: server.url.href.replace(/\/$/, ""),
    port: server.port as number,
    async stop(seconds) {
      void server.stop();
      const deadline = performance.now() + seconds * 1000;
      while (underWay > 0 && performance.now() < deadline) await Bun.sleep(10);
      await keyUses.stop();
      await server.stop(true);
    },
  };
}

/** What a client is told of it: nothing of what the log says about the inside, such as files and hosts. */
function storageFailed({ retryAfter = 1 }: Refusal): Refusal {
  const detail = "the storage does not answer; send the request again, a POST with the same Idempotency-Key";
  return new Refusal("unavailable", detail, { retryAfter });
}

function described({ id, request, target }: Exchange, { status }: Response) {
  return { request: id, method: request.method, path: target.path, status };
}
