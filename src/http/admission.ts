// Admission: the site that the request's host selects, the key, and the limits (contract sections 1 and 9).

import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import { Refusal } from "../model/errors.ts";
import { systemSite } from "../model/system-site.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type { WireRequest } from "../wire/request.ts";
import { authenticate, sentHost, toHostname, wrongSite } from "./auth.ts";
import { clientNetwork } from "./client-network.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { Directory, type Key, type Site } from "./directory.ts";
import type { Exchange } from "./exchange.ts";
import { createKeyUses } from "./key-uses.ts";
import { Buckets, type Limit, rateLimitHeaders, tooManyRequests } from "./limits.ts";

export interface AdmissionOptions {
  /** Whether the last entry of `X-Forwarded-For` is the client's address, because a proxy adds it. */
  readonly trustProxy: boolean;
  /** Whether the last entry of `X-Forwarded-Host` is the host that the client named, because a proxy sets it. */
  readonly trustForwardedHost: boolean;
  /** The requests of a key that sets no limit; undefined for no limit. */
  readonly keyLimit: Limit | undefined;
  /** The requests with an invalid key from one client network. */
  readonly failureLimit: Limit;
}

export interface Admission {
  /**
   * Calls `then` with the site that the request's host selects and its snapshot, as new as the store is now.
   * @throws Refusal `wrong-site`, or `unavailable` when the store does not respond
   */
  atSite<T>(exchange: Exchange, then: (site: Site, snapshot: Snapshot) => MaybePromise<T>): MaybePromise<T>;
  /** Returns the request's key and counts the request. @throws Refusal `unauthorized`, `forbidden` or `too-many-requests` */
  admit(exchange: Exchange, site: Site): Key;
  /**
   * Checks the site and the key again, for a request that was admitted and has waited since, and calls `then`. The request does not
   * count again.
   * @throws Refusal as `atSite` and `admit` do
   */
  readmit<T>(exchange: Exchange, then: (key: Key, snapshot: Snapshot) => MaybePromise<T>): MaybePromise<T>;
  /** Stores when keys were last used. */
  stop(): Promise<void>;
}

export function createAdmission(options: AdmissionOptions, dependencies: HttpDependencies): Admission {
  const { snapshots, now } = dependencies;
  const directory = new Directory();
  snapshots.follow(directory);
  const keyUses = createKeyUses(dependencies);
  const keyBuckets = new Buckets<number>();
  const failureBuckets = new Buckets<string>();

  function atSite<T>(exchange: Exchange, then: (site: Site, snapshot: Snapshot) => MaybePromise<T>): MaybePromise<T> {
    const host = sentHost(exchange, options.trustForwardedHost);
    const name = toHostname(host);
    const guess = directory.siteOf(name)?.id ?? systemSite;
    return after(snapshots.fresh(guess), (snapshot) => {
      // Only now is the directory as new as the store. It may have another site for the host.
      const site = directory.siteOf(name);
      if (!site) throw wrongSite(host);
      return site.id === snapshot.site ? then(site, snapshot) : atSite(exchange, then);
    });
  }

  function readmit<T>(exchange: Exchange, then: (key: Key, snapshot: Snapshot) => MaybePromise<T>): MaybePromise<T> {
    return atSite(exchange, (site, snapshot) => then(authenticate(exchange.request, site, directory, now()), snapshot));
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
    const limit = key.rate === undefined ? options.keyLimit : { rate: key.rate, burst: key.rate };
    if (limit) takeToken(exchange, key, limit);
    return key;
  }

  function takeToken(exchange: Exchange, key: Key, limit: Limit): void {
    const left = keyBuckets.take(key.id, limit, now());
    exchange.rateLimit = rateLimitHeaders(limit, left ?? 0);
    if (left === undefined) throw tooManyRequests(limit, `the API key may make ${limit.rate} requests per second`);
  }

  function throttleFailures(request: WireRequest): void {
    const network = clientNetwork(request, options.trustProxy);
    if (failureBuckets.take(network, options.failureLimit, now()) === undefined) {
      throw tooManyRequests(options.failureLimit, "too many requests with an invalid API key came from this address");
    }
  }

  return { atSite, admit, readmit, stop: () => keyUses.stop() };
}
