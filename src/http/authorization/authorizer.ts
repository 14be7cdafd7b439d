// Authorizes requests: resolves the site by host, authenticates the API key, and applies the rate limits (contract sections 1 and 9). The key selects
// either the site of the host or the sandbox of that site.
//
// `authorize` is for every request of a site. Host and key can become invalid while it then waits or works, so `reauthorize` comes after a wait: for a slow
// body, a long poll or a list. It doesn't count the request again.
//
// Both have two lanes. If the system site and the site are up to date in memory, nothing is awaited. Otherwise they wait until the site has caught up, then
// check the key again, and call their callback synchronously, so that the key can't change in between.
//
// Invariants:
// - No site but the system site is viewed before the key is known, because the key is part of what selects the site. Only the head of the site that
//   the host probably selects is read before, with the head of the system site.
// - A response is made only for a key and a site that are valid as of the data in it. A revoked key or a suspended site has an effect on the
//   next response, also of requests that are in flight.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { type Limit, TokenBuckets } from "../../lib/token-buckets.ts";
import { isKey, isSandboxKey } from "../../model/api-key.ts";
import { OutdatedError, ProblemError } from "../../model/errors.ts";
import { systemSite } from "../../model/system-site.ts";
import type { HeadQueryResult } from "../../store/reads/head-queries.ts";
import type { ApiKey, Site } from "../../system/system-records.ts";
import type { SystemSiteIndex } from "../../system/system-site-index.ts";
import type { WireResponse } from "../../wire/response.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";
import { authenticate, findSentKey } from "./authenticate.ts";
import { clientNetwork } from "./client-network.ts";
import { KeyUseTracker } from "./key-use-tracker.ts";
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

type Respond = (authorized: AuthorizedView) => MaybePromise<WireResponse>;

/** Maximum attempts to do the work of a request whose authorization or view becomes outdated. */
const maxAttempts = 3;

/** Operations of a batch request that count as one further request. */
const operationsPerToken = 100;

/** Maximum rounding error of a number of tokens. */
const roundingTokens = 1e-6;

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
   * Responds to a request. Checks it in the order of contract section 1: first the host, then what `check` checks, then the key and its rate limit. Then
   * calls what `check` has returned with the key, and an up-to-date view of the site that host and key select.
   * @param check may also return a response, for which no key is needed
   * @throws ProblemError `wrong-site`, `site-suspended`, `unauthorized`, `forbidden`, `too-many-requests`, or `unavailable` if the database doesn't respond
   *   or its file was replaced; the errors of `check` and of what it returns
   */
  authorize(context: RequestContext, check: () => WireResponse | Respond): MaybePromise<WireResponse> {
    return this.#dependencies.siteViews.checkSystemSiteUpToDate()
      ? this.#authorizeAsOf(undefined, context, check)
      : this.#catchUpSystemSite(context).then((heads) => this.#authorizeAsOf(heads, context, check));
  }

  /** @param heads those that the system site has caught up to; undefined if it was up to date in memory, and nothing was awaited since */
  #authorizeAsOf(
    heads: HeadQueryResult | undefined,
    context: RequestContext,
    check: () => WireResponse | Respond,
  ): MaybePromise<WireResponse> {
    const { siteViews, now } = this.#dependencies;
    const site = this.#resolveHost(context);
    const respond = check();
    if (typeof respond !== "function") return respond;
    const at = now();
    const key = this.#authenticateFirst(context, site, at);
    this.#countRequest(context, key, at);
    const siteView = heads ? undefined : siteViews.findUpToDate(key.siteId);
    return siteView
      ? respond({ key, siteView, systemHead: siteViews.systemHead })
      : this.#viewSite(context, key, heads, respond);
  }

  /**
   * Authorizes a request again that has waited since it was authorized, and calls `use`. The request doesn't count again.
   * @throws ProblemError as `authorize` does, except `too-many-requests`
   */
  async reauthorize<T>(context: RequestContext, use: (authorized: AuthorizedView) => MaybePromise<T>): Promise<T> {
    const isUpToDate = this.#dependencies.siteViews.checkSystemSiteUpToDate();
    const heads = isUpToDate ? undefined : await this.#catchUpSystemSite(context);
    return this.#viewSite(context, this.#authenticate(context, this.#resolveHost(context)), heads, use);
  }

  /**
   * Authorizes again from memory, without a database read. Use it when the engine has read the head of the system site together with the record, or for
   * a long poll, which every change of the system site wakes. The request doesn't count again.
   * @param siteId the site of the record
   * @throws ProblemError as `reauthorize` does; OutdatedError if host and key select another site now
   */
  reauthorizeInMemory(context: RequestContext, siteId: number): void {
    if (this.#authenticate(context, this.#resolveHost(context)).siteId !== siteId) throw new OutdatedError("key");
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
    if (context.sandbox !== undefined || context.route?.kind === "public") return;
    context.key ??= findSentKey(context, this.#index, isKey);
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

  stop(): Promise<void> {
    return this.#keyUses.stop();
  }

  /** Catches the system site up, and reads the head of the site that host and key probably select with the same query. */
  #catchUpSystemSite(context: RequestContext): Promise<HeadQueryResult> {
    const hostSite = this.#findHostSite(context);
    const provisionalSite = (hostSite && this.#findSandbox(context, hostSite)) ?? hostSite;
    return this.#dependencies.siteViews.catchUpSystemSite(provisionalSite?.id ?? systemSite);
  }

  /**
   * Views the site that the key selects. The key may have been revoked or the site removed during the wait for the view. So checks the key again, and
   * then calls `use` synchronously. If host and key select another site by then, views that site instead.
   */
  async #viewSite<T>(
    context: RequestContext,
    { siteId }: ApiKey,
    heads: HeadQueryResult | undefined,
    use: (authorized: AuthorizedView) => MaybePromise<T>,
  ): Promise<T> {
    const { siteViews } = this.#dependencies;
    const siteView = await siteViews.getUpToDate(siteId, heads);
    const key = this.#authenticate(context, this.#resolveHost(context));
    if (key.siteId !== siteView.siteId) return this.#viewSite(context, key, undefined, use);
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
    const key = findSentKey(context, this.#index, isSandboxKey);
    return key && this.#dependencies.now() < key.endsAt ? this.#index.findSandbox(key.siteId, hostSite.id) : undefined;
  }

  /**
   * Returns the site of the request's host, and sets it in the request context. The sandbox of an earlier check is not valid any more.
   * @throws ProblemError `wrong-site` or `site-suspended`
   */
  #resolveHost(context: RequestContext): Site {
    context.sandbox = undefined;
    const site = this.#findHostSite(context);
    if (!site) throw unknownHostError(this.#hostOf(context));
    context.site = site;
    if (site.isSuspended) throw new ProblemError("site-suspended", "this site is suspended");
    return site;
  }

  #authenticate(context: RequestContext, site: Site): ApiKey {
    return authenticate(context, site, this.#index, this.#dependencies.now());
  }

  /** Authenticates a request that was not authenticated before. An invalid key counts for the limit of the client's network. */
  #authenticateFirst(context: RequestContext, site: Site, now: number): ApiKey {
    try {
      return authenticate(context, site, this.#index, now);
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "unauthorized") throw error;
      const { trustProxy, failureLimit } = this.#options;
      const network = clientNetwork(context.request, trustProxy);
      if (this.#failureBuckets.consumeToken(network, failureLimit, now) !== undefined) throw error;
      throw tooManyRequestsError(failureLimit, "too many requests with an invalid API key came from this address");
    }
  }

  /** Tracks the use of the key, and counts the request for its rate limit. @throws ProblemError `too-many-requests` */
  #countRequest(context: RequestContext, key: ApiKey, now: number): void {
    this.#keyUses.trackUse(key.id, now);
    const limit = this.#limitOf(key);
    if (!limit) return;
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

  #limitOf({ rate }: ApiKey): Limit | undefined {
    return rate === undefined ? this.#options.keyLimit : { tokensPerSecond: rate, maxTokens: rate };
  }

  /** Adds to the debt of the key's bucket, and sets the header fields. Returns the tokens that the bucket lacks. */
  #addDebt(context: RequestContext, key: ApiKey, limit: Limit, tokens: number, now: number): number {
    const missingTokens = this.#keyBuckets.addDebt(key.id, tokens, limit, now);
    context.rateLimit = rateLimitHeaders(limit, Math.floor(limit.maxTokens - missingTokens + roundingTokens));
    return missingTokens;
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

/**
 * Returns the header fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). During debt, no token remains, and the time until
 * the bucket is full includes the debt.
 * @param remainingTokens whole tokens in the bucket; negative during debt
 */
export function rateLimitHeaders(
  { tokensPerSecond, maxTokens }: Limit,
  remainingTokens: number,
): Record<string, string> {
  const window = Math.max(1, Math.round(maxTokens / tokensPerSecond));
  const secondsToFull = Math.ceil((maxTokens - remainingTokens) / tokensPerSecond);
  return {
    "RateLimit-Policy": `"key";q=${maxTokens};w=${window}`,
    RateLimit: `"key";r=${Math.max(0, remainingTokens)};t=${secondsToFull}`,
  };
}

/**
 * Returns the error of a request for which the bucket had no token. `Retry-After` is the time until one token has refilled, at least 1 s.
 * @param missingTokens the tokens that the bucket lacks, if it may have debt
 */
export function tooManyRequestsError(limit: Limit, detail: string, missingTokens = limit.maxTokens): ProblemError {
  const lacking = Math.max(1, missingTokens - limit.maxTokens + 1);
  return new ProblemError("too-many-requests", detail, {
    retryAfterSeconds: Math.max(1, Math.ceil(lacking / limit.tokensPerSecond)),
  });
}
