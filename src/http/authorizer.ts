// Authorizes requests: resolves the site by host, authenticates the API key, and applies the rate limits (contract sections 1 and 9).
//
//   resolveSite            the site of the host, with an up-to-date view    before the route is checked
//   authorize              key and rate limit                               before the route responds; counts the request
//   reauthorize            key and site again, up to date                   after a wait: slow body, long poll, list
//   reauthorizeInMemory    key and site again, without a query              after a read that also returned the head of the system site
//
// The check of contract section 1 needs the site first (421, 403 if it is suspended), then the route (404, 405), and then the key (401, 403, 429). So
// these are two functions, and handler.ts checks the route between them.
//
// Invariants:
// - The site and the key come from the index of the system site (system/system-site-index.ts), which is up to date when `resolveSite` returns. If it has become
//   up to date only during the call, and maps the host to another site now, the site is resolved again.
// - A response is made only if the key and the site are valid as of the response's data. A revoked key or a suspended site has an effect on the next
//   response, also of requests that are in flight.

import { errorMessage } from "../lib/errors-for-log.ts";
import { type MaybePromise, whenResolved } from "../lib/maybe-promise.ts";
import { type Limit, TokenBuckets } from "../lib/token-buckets.ts";
import { EpochChangedError, ProblemError } from "../model/errors.ts";
import { systemSite } from "../model/limits.ts";
import type { SiteView } from "../store/reads/site-views.ts";
import type { ApiKey, Site } from "../system/system-records.ts";
import type { SystemSiteIndex } from "../system/system-site-index.ts";
import type { WireRequest } from "../wire/request.ts";
import { authenticate, clientNetwork, requestedHost, toHostname, unknownHostError } from "./authenticate.ts";
import type { RequestContext } from "./handler.ts";
import type { HttpDependencies } from "./server.ts";

export interface AuthorizerOptions {
  /** Whether the last entry of `X-Forwarded-For` is the client's address, because a proxy adds it. */
  readonly trustProxy: boolean;
  /** Whether the last entry of `X-Forwarded-Host` is the host that the client requested, because a proxy sets it. */
  readonly trustForwardedHost: boolean;
  /** Limits the requests of each key that has no rate of its own; undefined for no limit. */
  readonly keyLimit: Limit | undefined;
  /** Limits the requests with an invalid key from each client network. */
  readonly failureLimit: Limit;
}

export class RequestAuthorizer {
  readonly #options: AuthorizerOptions;
  readonly #dependencies: HttpDependencies;
  readonly #index: SystemSiteIndex;
  readonly #keyUses: KeyUseTracker;
  readonly #keyBuckets = new TokenBuckets<number>();
  readonly #failureBuckets = new TokenBuckets<string>();

  constructor(options: AuthorizerOptions, dependencies: HttpDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#keyUses = new KeyUseTracker(dependencies);
    this.#index = dependencies.systemSiteIndex;
  }

  /**
   * Returns an up-to-date view of the site that the request's host selects. Sets the site in the request context.
   * @throws ProblemError `wrong-site`, `site-suspended`, or `unavailable` if the database does not respond
   */
  resolveSite(context: RequestContext): MaybePromise<SiteView> {
    const host = requestedHost(context, this.#options.trustForwardedHost);
    const provisionalSiteId = this.#index.findSiteByHost(toHostname(host))?.id ?? systemSite;
    const siteView = this.#dependencies.snapshots.getUpToDate(provisionalSiteId);
    return siteView instanceof Promise
      ? this.#confirmLater(context, host, siteView)
      : this.#confirmSite(context, host, siteView);
  }

  /**
   * Returns the request's key for the site that `resolveSite` has found. The request counts for the rate limit of the key; with an invalid key, for
   * the limit of the client's network.
   * @throws ProblemError `unauthorized`, `forbidden` or `too-many-requests`
   */
  authorize(context: RequestContext): ApiKey {
    const now = this.#dependencies.now();
    let key: ApiKey;
    try {
      key = authenticate(context, requireResolvedSite(context), this.#index, now);
    } catch (error) {
      if (error instanceof ProblemError && error.code === "unauthorized")
        this.#limitFailedAuthentications(context.request, now);
      throw error;
    }
    this.#keyUses.trackUse(key.id, now);
    const limit = key.rate === undefined ? this.#options.keyLimit : { tokensPerSecond: key.rate, maxTokens: key.rate };
    if (limit) this.#consumeToken(context, key, limit, now);
    return key;
  }

  /**
   * Authorizes again from memory, without a database read. Use it when the engine has read the head of the system site together with the record. The
   * request does not count again.
   * @param siteId the site of the record
   * @throws ProblemError as `resolveSite` and `authorize` do; EpochChangedError if the host has another site now
   */
  reauthorizeInMemory(context: RequestContext, siteId: number): void {
    const site = this.#requireSite(requestedHost(context, this.#options.trustForwardedHost), context);
    if (site.id !== siteId) throw new EpochChangedError();
    authenticate(context, site, this.#index, this.#dependencies.now());
  }

  /**
   * Authorizes a request again that has waited since it was authorized. Calls `then` with its key and an up-to-date view of its site, and returns the
   * result. The request does not count again.
   * @throws ProblemError as `resolveSite` and `authorize` do, except `too-many-requests`
   */
  reauthorize<T>(context: RequestContext, then: (key: ApiKey, siteView: SiteView) => MaybePromise<T>): MaybePromise<T> {
    return whenResolved(this.resolveSite(context), (siteView) =>
      then(authenticate(context, requireResolvedSite(context), this.#index, this.#dependencies.now()), siteView),
    );
  }

  /** Saves the times at which keys were last used. */
  stop(): Promise<void> {
    return this.#keyUses.stop();
  }

  async #confirmLater(context: RequestContext, host: string, siteView: Promise<SiteView>): Promise<SiteView> {
    return this.#confirmSite(context, host, await siteView);
  }

  /** The index is up to date only now, and may map the host to another site: then resolves again. */
  #confirmSite(context: RequestContext, host: string, siteView: SiteView): MaybePromise<SiteView> {
    return this.#requireSite(host, context).id === siteView.site ? siteView : this.resolveSite(context);
  }

  #requireSite(host: string, context: RequestContext): Site {
    const site = this.#index.findSiteByHost(toHostname(host));
    if (!site) throw unknownHostError(host);
    context.site = site;
    if (site.isSuspended) throw new ProblemError("site-suspended", "this site is suspended");
    return site;
  }

  #consumeToken(context: RequestContext, key: ApiKey, limit: Limit, now: number): void {
    const left = this.#keyBuckets.consumeToken(key.id, limit, now);
    context.rateLimit = rateLimitHeaders(limit, left ?? 0);
    if (left !== undefined) return;
    context.keyRejection = "over its rate";
    throw tooManyRequests(limit, `the API key may make ${limit.tokensPerSecond} requests per second`);
  }

  #limitFailedAuthentications(request: WireRequest, now: number): void {
    const { trustProxy, failureLimit } = this.#options;
    if (this.#failureBuckets.consumeToken(clientNetwork(request, trustProxy), failureLimit, now) !== undefined) return;
    throw tooManyRequests(failureLimit, "too many requests with an invalid API key came from this address");
  }
}

/** Returns the site that `resolveSite` has set. */
function requireResolvedSite({ site }: RequestContext): Site {
  if (!site) throw new Error("the request's site is not known yet");
  return site;
}

// Rate limits: one token bucket per key, and one per client network that sends invalid keys (contract section 9).

/** Returns the header fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). @param left whole tokens in the bucket */
export function rateLimitHeaders({ tokensPerSecond, maxTokens }: Limit, left: number): Record<string, string> {
  const window = Math.max(1, Math.round(maxTokens / tokensPerSecond));
  const secondsToFull = Math.ceil((maxTokens - left) / tokensPerSecond);
  return { "RateLimit-Policy": `"key";q=${maxTokens};w=${window}`, RateLimit: `"key";r=${left};t=${secondsToFull}` };
}

/** Returns the error of a request for which the bucket had no token. `Retry-After` is the time in which one token refills, at least 1 s. */
export function tooManyRequests(limit: Limit, detail: string): ProblemError {
  const retryAfterSeconds = Math.max(1, Math.ceil(1 / limit.tokensPerSecond));
  return new ProblemError("too-many-requests", detail, { retryAfterSeconds });
}

/** Milliseconds between two writes to the database. */
const flushIntervalMs = 30_000;

/** Tracks when each key was last used, and saves these times every 30 seconds and on `stop`. */
export class KeyUseTracker {
  readonly #dependencies: Pick<HttpDependencies, "engine" | "log">;
  readonly #timer: NodeJS.Timeout;
  #uses = new Map<number, number>();

  constructor(dependencies: Pick<HttpDependencies, "engine" | "log">) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => void this.#flush(), flushIntervalMs);
    this.#timer.unref();
  }

  /** Tracks a use of a key. @param now milliseconds since 1970 */
  trackUse(keyId: number, now: number): void {
    this.#uses.set(keyId, now);
  }

  /** Saves the times that are not saved yet, and stops. */
  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.#flush();
  }

  /** Saves the times since the last flush. If that fails, logs the error; these times are lost. */
  async #flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      await this.#dependencies.engine.saveKeyUses(uses);
    } catch (error) {
      this.#dependencies.log.warn({ reason: errorMessage(error) }, "could not note when keys were last used");
    }
  }
}
