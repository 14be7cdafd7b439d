// Admission: the site that the request's host selects, the key, and the limits (contract sections 1 and 9).

import { messageOf } from "../lib/errors-for-log.ts";
import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import { Buckets, type Limit } from "../lib/token-buckets.ts";
import { OtherHistory, Refusal } from "../model/errors.ts";
import { systemSite } from "../model/limits.ts";
import type { FreshSite } from "../store/reads/site-views.ts";
import type { WireRequest } from "../wire/request.ts";
import { authenticate, clientNetwork, sentHost, toHostname, wrongSite } from "./authenticate.ts";
import { Directory, type Key, type Site } from "./directory.ts";
import type { Exchange } from "./handler.ts";
import type { HttpDependencies } from "./server.ts";

export interface AdmissionOptions {
  /** Whether the last entry of `X-Forwarded-For` is the client's address, because a proxy adds it. */
  readonly trustProxy: boolean;
  /** Whether the last entry of `X-Forwarded-Host` is the host that the client named, because a proxy sets it. */
  readonly trustForwardedHost: boolean;
  /** Limits the requests of a key without its own rate; undefined for no limit. */
  readonly keyLimit: Limit | undefined;
  /** Limits the requests with an invalid key from one client network. */
  readonly failureLimit: Limit;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #dependencies: HttpDependencies;
  readonly #directory = new Directory();
  readonly #keyUses: KeyUses;
  readonly #keyBuckets = new Buckets<number>();
  readonly #failureBuckets = new Buckets<string>();

  constructor(options: AdmissionOptions, dependencies: HttpDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#keyUses = new KeyUses(dependencies);
    dependencies.snapshots.follow(this.#directory);
  }

  /**
   * The site that the request's host selects, as new as the store is now. It is noted in `exchange`.
   * @throws Refusal `wrong-site`, `site-suspended`, or `unavailable` when the store does not respond
   */
  atSite(exchange: Exchange): MaybePromise<FreshSite> {
    const host = sentHost(exchange, this.#options.trustForwardedHost);
    const guess = this.#directory.siteOf(toHostname(host))?.id ?? systemSite;
    const fresh = this.#dependencies.snapshots.fresh(guess);
    return fresh instanceof Promise ? this.#confirmLater(exchange, host, fresh) : this.#confirm(exchange, host, fresh);
  }

  /** Returns the request's key for the site that `atSite` found, and counts the request. @throws Refusal `unauthorized`, `forbidden` or `too-many-requests` */
  admit(exchange: Exchange): Key {
    const now = this.#dependencies.now();
    let key: Key;
    try {
      key = authenticate(exchange, siteOf(exchange), this.#directory, now);
    } catch (error) {
      if (error instanceof Refusal && error.code === "unauthorized") this.#limitFailures(exchange.request, now);
      throw error;
    }
    this.#keyUses.note(key.id, now);
    const limit = key.rate === undefined ? this.#options.keyLimit : { rate: key.rate, burst: key.rate };
    if (limit) this.#takeToken(exchange, key, limit, now);
    return key;
  }

  /**
   * Checks the site and the key again, as they are known to this process, for a request that has got its data from the store together
   * with them. The request does not count again.
   * @param siteId the site of the data
   * @throws Refusal as `atSite` and `admit` do, and OtherHistory if the host has another site now
   */
  recheck(exchange: Exchange, siteId: number): void {
    const site = this.#siteAt(sentHost(exchange, this.#options.trustForwardedHost), exchange);
    if (site.id !== siteId) throw new OtherHistory();
    authenticate(exchange, site, this.#directory, this.#dependencies.now());
  }

  /**
   * Checks the site and the key again, for a request that was admitted and has waited since, and calls `then`. The request does not
   * count again.
   * @throws Refusal as `atSite` and `admit` do
   */
  readmit<T>(exchange: Exchange, then: (key: Key, fresh: FreshSite) => MaybePromise<T>): MaybePromise<T> {
    return after(this.atSite(exchange), (fresh) =>
      then(authenticate(exchange, siteOf(exchange), this.#directory, this.#dependencies.now()), fresh),
    );
  }

  /** Stores when keys were last used. */
  stop(): Promise<void> {
    return this.#keyUses.stop();
  }

  async #confirmLater(exchange: Exchange, host: string, fresh: Promise<FreshSite>): Promise<FreshSite> {
    return this.#confirm(exchange, host, await fresh);
  }

  /** Only now is the directory as new as the store. It may have another site for the host. */
  #confirm(exchange: Exchange, host: string, fresh: FreshSite): MaybePromise<FreshSite> {
    return this.#siteAt(host, exchange).id === fresh.site ? fresh : this.atSite(exchange);
  }

  #siteAt(host: string, exchange: Exchange): Site {
    const site = this.#directory.siteOf(toHostname(host));
    if (!site) throw wrongSite(host);
    exchange.site = site;
    if (site.isSuspended) throw new Refusal("site-suspended", "this website is suspended");
    return site;
  }

  #takeToken(exchange: Exchange, key: Key, limit: Limit, now: number): void {
    const left = this.#keyBuckets.take(key.id, limit, now);
    exchange.rateLimit = rateLimitHeaders(limit, left ?? 0);
    if (left !== undefined) return;
    exchange.keyRefusal = "over its rate";
    throw tooManyRequests(limit, `the API key may make ${limit.rate} requests per second`);
  }

  #limitFailures(request: WireRequest, now: number): void {
    const { trustProxy, failureLimit } = this.#options;
    if (this.#failureBuckets.take(clientNetwork(request, trustProxy), failureLimit, now) !== undefined) return;
    throw tooManyRequests(failureLimit, "too many requests with an invalid API key came from this address");
  }
}

/** The site that `atSite` has noted. */
function siteOf({ site }: Exchange): Site {
  if (!site) throw new Error("the request's site is not known yet");
  return site;
}

// Limits of requests: one token bucket per key, and one per client network that sends invalid keys (contract section 9).

/** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). */
export function rateLimitHeaders({ rate, burst }: Limit, left: number): Record<string, string> {
  const window = Math.max(1, Math.round(burst / rate));
  const refill = Math.ceil((burst - left) / rate);
  return { "RateLimit-Policy": `"key";q=${burst};w=${window}`, RateLimit: `"key";r=${left};t=${refill}` };
}

/** The refusal of a request for which there was no token. */
export function tooManyRequests(limit: Limit, detail: string): Refusal {
  const retryAfter = Math.max(1, Math.ceil(1 / limit.rate));
  return new Refusal("too-many-requests", detail, { retryAfter });
}

/** Milliseconds between two writes to the store. */
const interval = 30_000;

/** Remembers when each key was last used, and stores that every 30 seconds and on `stop`. */
export class KeyUses {
  readonly #dependencies: Pick<HttpDependencies, "engine" | "log">;
  readonly #timer: NodeJS.Timeout;
  #uses = new Map<number, number>();

  constructor(dependencies: Pick<HttpDependencies, "engine" | "log">) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.#flush(), interval);
    this.#timer.unref();
  }

  /** @param now milliseconds since 1970 */
  note(keyId: number, now: number): void {
    this.#uses.set(keyId, now);
  }

  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.#flush();
  }

  /** A failure is logged. What could not be stored is lost. */
  async #flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      await this.#dependencies.engine.noteKeyUse(uses);
    } catch (error) {
      this.#dependencies.log.warn({ reason: messageOf(error) }, "could not note when keys were last used");
    }
  }
}
