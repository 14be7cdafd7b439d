// Authorizes requests: resolves the site by host, authenticates the API key, and applies the rate limits (contract sections 1 and 9). The key selects
// either the site of the host or the sandbox of that site.
//
// A request to a site passes two methods. The first runs before its route is checked, the second after it:
//
//   resolveSite            Finds the site of the host. Does not view it.
//   authorize              Checks the key and its rate limit, counts the request, and views the site that host and key select.
//
// Host and key can become invalid while a request waits or works. These methods check both again, and do not count the request again:
//
//   reauthorize            Also views the site again. Called after a wait: for a slow body, a long poll or a list.
//   reauthorizeInMemory    Makes no query. Called after a read that also returned the head of the system site, and when a long poll ends.
//   repeatIfOutdated       Does the work of a request. If the epoch, the key or the site changed meanwhile, calls `reauthorize` and repeats the work.
//
// Two methods check nothing:
//
//   countOperations        Counts the operations of a batch, or the changes of an undo, for the rate limit of the key.
//   identifyKey            Finds the key and its sandbox in memory, for response and log, if an error was thrown before the key was checked.
//
// The order of checks is that of contract section 1: method, host (421, 403 if the site is suspended), route (404, 405), key (401, 403, 429), and only
// then the site that host and key select. handler.ts checks the method and the route.
//
// resolveSiteInMemory and authorizeInMemory are the first lane: they return nothing unless all is up to date in memory. In the second lane,
// `authorize` and `reauthorize` wait until the site has caught up. Then they check the key and call `use` synchronously, so that the key cannot
// change in between.
//
// Invariants:
// - No site but the system site is viewed before the key is known, because the key is part of what selects the site. Only the head of the site that
//   the host probably selects is read before, with the head of the system site.
// - A response is made only for a key and a site that are valid as of the data in it. A revoked key or a suspended site has an effect on the
//   next response, also of requests that are in flight.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { type Limit, TokenBuckets } from "../../lib/token-buckets.ts";
import { OutdatedError, ProblemError } from "../../model/errors.ts";
import { systemSite } from "../../model/system-site.ts";
import type { Snapshot } from "../../store/memory/snapshot.ts";
import type { ApiKey, Site } from "../../system/system-records.ts";
import type { SystemSiteIndex } from "../../system/system-site-index.ts";
import type { WireRequest } from "../../wire/request.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";
import { authenticate, findSandboxKey, findSentKey } from "./authenticate.ts";
import { clientNetwork } from "./client-network.ts";
import { KeyUseTracker } from "./key-use-tracker.ts";
import { rateLimitHeaders, tooManyRequestsError } from "./rate-limits.ts";
import { requestedHost, toHostname, unknownHostError } from "./requested-host.ts";

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

/** Maximum attempts to do the work of a request whose authorization or view becomes outdated. */
const maxAttempts = 3;

/** Operations of a batch request that count as one further request. */
const operationsPerToken = 100;

/** Maximum rounding error of a number of tokens. */
const roundingTokens = 1e-6;

const proof = Symbol();

/** Proof that `resolveSiteInMemory` has resolved the site of a request in memory. It is valid until the next `await`. */
export interface ResolvedInMemory {
  readonly [proof]: true;
}

const resolvedInMemory: ResolvedInMemory = { [proof]: true };

export class RequestAuthorizer {
  readonly #options: AuthorizerOptions;
  readonly #dependencies: HttpDependencies;
  readonly #index: SystemSiteIndex;
  readonly #keyUses: KeyUseTracker;
  /** The bucket of each key, by its ID. */
  readonly #keyBuckets = new TokenBuckets<number>();
  /** The bucket of each client network that sends invalid keys. */
  readonly #failureBuckets = new TokenBuckets<string>();

  constructor(options: AuthorizerOptions, dependencies: HttpDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#keyUses = new KeyUseTracker(dependencies);
    this.#index = dependencies.systemSiteIndex;
  }

  /**
   * Resolves the host of the request, and sets the site in the request context. Returns undefined if the system site is not up to date in memory.
   * @throws ProblemError `wrong-site`, `site-suspended`, or `unavailable` if the database file was replaced
   */
  resolveSiteInMemory(context: RequestContext): ResolvedInMemory | undefined {
    context.heads = undefined;
    if (!this.#dependencies.siteViews.checkSystemSiteUpToDate()) return undefined;
    this.#resolveHost(context);
    return resolvedInMemory;
  }

  /**
   * Resolves the host of the request after the system site has caught up. Sets in the request context the site, and the heads that were read.
   * @throws ProblemError `wrong-site`, `site-suspended`, or `unavailable` if the database does not respond
   */
  async resolveSite(context: RequestContext): Promise<void> {
    const hostSite = this.#findHostSite(context);
    const provisionalSite = (hostSite && this.#findSandbox(context, hostSite)) ?? hostSite;
    context.heads = await this.#dependencies.siteViews.catchUpSystemSite(provisionalSite?.id ?? systemSite);
    this.#resolveHost(context);
  }

  /**
   * Returns the key of the request, and the snapshot of the site that host and key select; undefined if that is not up to date in memory. If it
   * returns undefined, the request does not count. Otherwise it counts for the rate limit of its key; with an invalid key, for the limit of the
   * client's network.
   * @param _proof of this request; nothing was awaited since `resolveSiteInMemory`
   * @throws ProblemError `unauthorized`, `forbidden` or `too-many-requests`
   */
  authorizeInMemory(context: RequestContext, _proof: ResolvedInMemory): AuthorizedView<Snapshot> | undefined {
    const { siteViews, now } = this.#dependencies;
    const at = now();
    const key = this.#authenticateFirst(context, at);
    const siteView = siteViews.findUpToDate(key.siteId);
    if (!siteView) return undefined;
    this.#countRequest(context, key, at);
    return { key, siteView, systemHead: siteViews.systemHead };
  }

  /**
   * Calls `use` with the key of the request and an up-to-date view of the site that host and key select, and returns the result. Counts the request
   * as `authorizeInMemory` does.
   * @throws ProblemError as `resolveSite` and `authorizeInMemory` do
   */
  async authorize<T>(context: RequestContext, use: (authorized: AuthorizedView) => MaybePromise<T>): Promise<T> {
    const at = this.#dependencies.now();
    const key = this.#authenticateFirst(context, at);
    this.#countRequest(context, key, at);
    return this.#viewSite(context, key, use);
  }

  /**
   * Authorizes a request again that has waited since it was authorized. Calls `use` as `authorize` does. The request does not count again.
   * @throws ProblemError as `resolveSite` and `authorize` do, except `too-many-requests`
   */
  async reauthorize<T>(context: RequestContext, use: (authorized: AuthorizedView) => MaybePromise<T>): Promise<T> {
    if (!this.resolveSiteInMemory(context)) await this.resolveSite(context);
    return this.#viewSite(context, this.#authenticate(context), use);
  }

  /**
   * Authorizes again from memory, without a database read. Use it when the engine has read the head of the system site together with the record, or for
   * a long poll, which every change of the system site wakes. The request does not count again.
   * @param siteId the site of the record
   * @throws ProblemError as `reauthorize` does; OutdatedError if host and key select another site now
   */
  reauthorizeInMemory(context: RequestContext, siteId: number): void {
    this.#resolveHost(context);
    if (this.#authenticate(context).siteId !== siteId) throw new OutdatedError("key");
  }

  /**
   * Runs `work`. If meanwhile the epoch of the site changed, or the key or the site was changed, authorizes the request again and repeats `work`:
   * three attempts in all. The request does not count again.
   * @param first the result of the first authorization, or the part of it that `work` uses
   * @throws OutdatedError of the last attempt; the errors of `work` and of `reauthorize`
   */
  async repeatIfOutdated<T, First>(
    context: RequestContext,
    first: First,
    work: (authorized: First | AuthorizedView) => MaybePromise<T>,
    attempt = 1,
  ): Promise<T> {
    try {
      return await work(first);
    } catch (error) {
      if (!(error instanceof OutdatedError) || attempt === maxAttempts) throw error;
      return this.reauthorize(context, (again) =>
        this.repeatIfOutdated<T, First | AuthorizedView>(context, again, work, attempt + 1),
      );
    }
  }

  /**
   * If an error was thrown before the key was checked, sets in the request context the site, the key and the sandbox that host and key select. The
   * response to the error then names the sandbox (`X-Sandbox`), and the log of the site's requests has the request with its key. Looks in memory only,
   * does not throw, and counts nothing.
   */
  identifyKey(context: RequestContext): void {
    const { endpoint, sandbox } = context;
    // An endpoint without `readOperation` needs no key, so it belongs to no site.
    if (sandbox !== undefined || (endpoint && endpoint.readOperation === undefined)) return;
    context.key ??= findSentKey(context, this.#index);
    const hostSite = this.#findHostSite(context);
    if (!hostSite) return;
    context.site ??= hostSite;
    context.sandbox = this.#findSandbox(context, hostSite)?.name;
  }

  /**
   * Counts the operations of a batch request, or the changes that an undo can have, as further requests of the key: one for each 100 (contract
   * section 9). If the key has fewer tokens left, the rest is its debt: its next requests are rejected until the debt has refilled. Sets the header
   * fields about the rate limit.
   */
  countOperations(context: RequestContext, key: ApiKey, operations: number): void {
    const limit = this.#limitOf(key);
    if (limit)
      this.#addDebt(context, key, limit, Math.floor(operations / operationsPerToken), this.#dependencies.now());
  }

  /** Saves the times at which keys were last used. */
  stop(): Promise<void> {
    return this.#keyUses.stop();
  }

  /**
   * Views the site that the key selects. The key may have been revoked or the site removed during the wait for the view. So checks the key again, and
   * then calls `use` synchronously. If host and key select another site by then, views that site instead.
   */
  async #viewSite<T>(
    context: RequestContext,
    { siteId }: ApiKey,
    use: (authorized: AuthorizedView) => MaybePromise<T>,
  ): Promise<T> {
    const { siteViews } = this.#dependencies;
    const { heads } = context;
    // A request can wait for long after this. The result would keep the snapshots of other requests in memory.
    context.heads = undefined;
    const siteView = await siteViews.getUpToDate(siteId, heads);
    this.#resolveHost(context);
    const key = this.#authenticate(context);
    if (key.siteId !== siteView.siteId) return this.#viewSite(context, key, use);
    return use({ key, siteView, systemHead: siteViews.systemHead });
  }

  #hostOf(context: RequestContext): string {
    return requestedHost(context, this.#options.trustForwardedHost);
  }

  #findHostSite(context: RequestContext): Site | undefined {
    return this.#index.findSiteByHost(toHostname(this.#hostOf(context)));
  }

  /** Returns the sandbox of `hostSite` that the key of a request selects in memory, before its authorization; undefined for a live or invalid key. */
  #findSandbox(context: RequestContext, hostSite: Site): Site | undefined {
    const key = findSandboxKey(context, this.#index);
    return key && this.#dependencies.now() < key.endsAt ? this.#index.findSandbox(key.siteId, hostSite.id) : undefined;
  }

  /**
   * Resolves the host of the request, and sets the site in the request context. The sandbox of an earlier check is not valid any more.
   * @throws ProblemError `wrong-site` or `site-suspended`
   */
  #resolveHost(context: RequestContext): void {
    context.sandbox = undefined;
    const site = this.#findHostSite(context);
    if (!site) throw unknownHostError(this.#hostOf(context));
    context.site = site;
    if (site.isSuspended) throw new ProblemError("site-suspended", "this site is suspended");
  }

  #authenticate(context: RequestContext, now = this.#dependencies.now()): ApiKey {
    return authenticate(context, requireResolvedSite(context), this.#index, now);
  }

  /** Authenticates a request that was not authenticated before. An invalid key counts for the limit of the client's network. */
  #authenticateFirst(context: RequestContext, now: number): ApiKey {
    try {
      return this.#authenticate(context, now);
    } catch (error) {
      if (error instanceof ProblemError && error.code === "unauthorized")
        this.#limitFailedAuthentications(context.request, now);
      throw error;
    }
  }

  /** Tracks the use of the key, and counts the request for its rate limit. @throws ProblemError `too-many-requests` */
  #countRequest(context: RequestContext, key: ApiKey, now: number): void {
    this.#keyUses.trackUse(key.id, now);
    const limit = this.#limitOf(key);
    if (limit) this.#consumeToken(context, key, limit, now);
  }

  #limitOf({ rate }: ApiKey): Limit | undefined {
    return rate === undefined ? this.#options.keyLimit : { tokensPerSecond: rate, maxTokens: rate };
  }

  #consumeToken(context: RequestContext, key: ApiKey, limit: Limit, now: number): void {
    const remainingTokens = this.#keyBuckets.consumeToken(key.id, limit, now);
    if (remainingTokens !== undefined) {
      context.rateLimit = rateLimitHeaders(limit, remainingTokens);
      return;
    }
    const missingTokens = this.#addDebt(context, key, limit, 0, now);
    context.keyRejection = "over its rate";
    const detail = `the API key may make ${limit.tokensPerSecond} requests per second`;
    const debt = missingTokens > limit.maxTokens ? ", and the operations of its batches count too" : "";
    throw tooManyRequestsError(limit, detail + debt, missingTokens);
  }

  /** Adds to the debt of the key's bucket, and sets the header fields. Returns the tokens that the bucket lacks. */
  #addDebt(context: RequestContext, key: ApiKey, limit: Limit, tokens: number, now: number): number {
    const missingTokens = this.#keyBuckets.addDebt(key.id, tokens, limit, now);
    context.rateLimit = rateLimitHeaders(limit, Math.floor(limit.maxTokens - missingTokens + roundingTokens));
    return missingTokens;
  }

  #limitFailedAuthentications(request: WireRequest, now: number): void {
    const { trustProxy, failureLimit } = this.#options;
    if (this.#failureBuckets.consumeToken(clientNetwork(request, trustProxy), failureLimit, now) !== undefined) return;
    throw tooManyRequestsError(failureLimit, "too many requests with an invalid API key came from this address");
  }
}

/**
 * Requires that host and key select the site that a request has read. They select another site when the sandbox of the key was renewed meanwhile.
 * @param siteId the site that was read
 * @throws OutdatedError if it is another site
 */
export function requireSameSite({ siteView }: AuthorizedView, siteId: number): void {
  if (siteView.siteId !== siteId) throw new OutdatedError("key");
}

/** Returns the site of the host, which `resolveSite` or `resolveSiteInMemory` has set. */
function requireResolvedSite({ site }: RequestContext): Site {
  if (!site) throw new Error("the request's site is not known yet");
  return site;
}
