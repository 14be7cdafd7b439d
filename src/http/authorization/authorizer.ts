// Decides whether a request may go ahead: finds the site by its host, checks the API key and applies the rate limits (contract sections 1 and 9). The key
// then selects that site or its sandbox.
//
// Every request to a site goes through `authorize` once. Its host or key can become invalid while it waits or works, so it calls `reauthorize` after
// waiting for a slow body, a long poll or a list. That doesn't count the request again.
//
// Neither awaits anything if the system site and the site are up to date in memory. Otherwise they wait until the site has caught up, check the key
// again and call the callback synchronously, so the key can't change in between.
//
// Invariants:
// - Until we know the key, we view only the system site, because the key helps select the other one. At most, we read the likely site's head along with
//   the system site's.
// - The key and the site are valid as of the data in the response. Revoking a key or suspending a site takes effect with the next response, even for
//   requests in flight.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { type Limit, TokenBuckets } from "../../lib/token-buckets.ts";
import { isKey, isSandboxKey } from "../../model/api-key.ts";
import { OutdatedError, ProblemError } from "../../model/errors.ts";
import { systemSite } from "../../model/system-site.ts";
import type { HeadQueryResult } from "../../store/reads/head-queries.ts";
import type { ApiKey, Site } from "../../system/system-records.ts";
import type { SystemSiteIndex } from "../../system/system-site-index.ts";
import type { WireResponse } from "../../wire/response.ts";
import { clientNetwork } from "../common/client-network.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { AuthorizedView, RequestContext, SiteRoute } from "../request-context.ts";
import { authenticate, findSentKey, noteExpiry } from "./authenticate.ts";
import { KeyUseTracker } from "./key-use-tracker.ts";
import { requestedHost, toHostname, unknownHostError } from "./requested-host.ts";

export interface AuthorizerOptions {
  /** Whether a proxy adds the client's address to `X-Forwarded-For`, so that its last entry can be trusted. */
  readonly trustProxy: boolean;
  /** Whether a proxy adds the requested host to `X-Forwarded-Host`, so that its last entry can be trusted. */
  readonly trustForwardedHost: boolean;
  /** The limit for keys without their own rate; undefined for none. */
  readonly keyLimit: Limit | undefined;
  /** The limit on requests with an invalid key, per client network. */
  readonly failureLimit: Limit;
}

/** What comes between the host and the key. Returns the route that responds, or a response that needs no key. */
type CheckRoute = (context: RequestContext) => SiteRoute | WireResponse;

/** How often a request's work is attempted while its authorization or view keeps becoming outdated. */
const maxAttempts = 3;

/** How many batch operations count as another request. */
const operationsPerToken = 100;

/** Covers rounding errors in token counts. */
const roundingTokens = 1e-6;

export class RequestAuthorizer {
  readonly #options: AuthorizerOptions;
  readonly #dependencies: HttpDependencies;
  readonly #index: SystemSiteIndex;
  readonly keyUses: KeyUseTracker;
  readonly #keyBuckets = new TokenBuckets<number>();
  readonly #failureBuckets = new TokenBuckets<string>();

  constructor(options: AuthorizerOptions, dependencies: HttpDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.keyUses = new KeyUseTracker(dependencies);
    this.#index = dependencies.systemSiteIndex;
  }

  /**
   * Checks a request in the order of contract section 1: the host, whatever `check` checks, then the key and its rate limit. The route that `check`
   * returned then responds, with the key and an up-to-date view of the site it selects.
   * @throws ProblemError `wrong-site`, `site-suspended`, `unauthorized`, `forbidden`, `too-many-requests`, or `unavailable` if the database doesn't respond
   *   or its file was replaced; the errors of `check` and of the route
   */
  authorize(context: RequestContext, check: CheckRoute): MaybePromise<WireResponse> {
    return this.#dependencies.siteViews.checkSystemSiteUpToDate()
      ? this.#authorizeAsOf(undefined, context, check)
      : this.#catchUpSystemSite(context).then((heads) => this.#authorizeAsOf(heads, context, check));
  }

  /** @param heads what the system site caught up to; undefined if it was up to date in memory, so that nothing has been awaited */
  #authorizeAsOf(
    heads: HeadQueryResult | undefined,
    context: RequestContext,
    check: CheckRoute,
  ): MaybePromise<WireResponse> {
    const { siteViews, now } = this.#dependencies;
    const site = this.#resolveHost(context);
    const route = check(context);
    if (!("kind" in route)) return route;
    const at = now();
    const key = this.#authenticateFirst(context, site, at);
    this.#countRequest(context, key, at);
    const siteView = heads ? undefined : siteViews.findUpToDate(key.siteId);
    return siteView
      ? route.respond(context, { key, siteView, systemHead: siteViews.systemHead })
      : this.#viewSite(context, key, heads, (authorized) => route.respond(context, authorized));
  }

  /**
   * Authorizes a request again after it has waited, and calls `use`. Doesn't count it again.
   * @throws ProblemError as `authorize` does, except `too-many-requests`
   */
  async reauthorize<T>(context: RequestContext, use: (authorized: AuthorizedView) => MaybePromise<T>): Promise<T> {
    const isUpToDate = this.#dependencies.siteViews.checkSystemSiteUpToDate();
    const heads = isUpToDate ? undefined : await this.#catchUpSystemSite(context);
    return this.#viewSite(context, this.#authenticate(context, this.#resolveHost(context)), heads, use);
  }

  /**
   * Authorizes a request again without reading the database. Only for when the engine has read the system site's head along with the record, or for a long
   * poll, which every change to the system site wakes. Doesn't count the request again.
   * @param siteId the site that was read
   * @throws ProblemError as `reauthorize` does; OutdatedError if host and key now select another site
   */
  reauthorizeInMemory(context: RequestContext, siteId: number): void {
    if (this.#authenticate(context, this.#resolveHost(context)).siteId !== siteId) throw new OutdatedError("key");
  }

  /**
   * Runs `work`. If the site's epoch, the key or the site changes in the meantime, authorizes the request again and repeats it, for up to three attempts.
   * Doesn't count the request again.
   * @param first the result of the first authorization, or the part of it `work` uses
   * @throws OutdatedError from the last attempt; the errors of `work` and of `reauthorize`
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
   * Fills in the context's site, key and sandbox if an error was thrown before the key was checked, so that the response still has `X-Sandbox` and
   * `X-Key-Expires`, and the site's request log shows the key. Only looks in memory, doesn't throw and counts nothing.
   */
  identifyKey(context: RequestContext): void {
    if (context.sandbox !== undefined || context.route?.kind === "public") return;
    context.key ??= findSentKey(context, this.#index, isKey);
    const hostSite = this.#findHostSite(context);
    if (!hostSite) return;
    context.site ??= hostSite;
    context.sandbox = this.#findSandbox(context, hostSite)?.name;
    const isOfHost = context.key?.siteId === hostSite.id || context.sandbox !== undefined;
    if (isOfHost && context.keyRejection === undefined) noteExpiry(context, this.#dependencies.now());
  }

  /**
   * Charges a batch or an undo to the key's rate limit: one more request per 100 operations (contract section 9). A key that can't afford it goes into
   * debt, and is rejected until that has refilled. Sets the rate limit headers.
   */
  countOperations(context: RequestContext, key: ApiKey, operations: number): void {
    const limit = this.#limitOf(key);
    if (limit)
      this.#addDebt(context, key, limit, Math.floor(operations / operationsPerToken), this.#dependencies.now());
  }

  stop(): Promise<void> {
    return this.keyUses.stop();
  }

  /** Brings the system site up to date, and reads the head of the site that host and key probably select in the same query. */
  #catchUpSystemSite(context: RequestContext): Promise<HeadQueryResult> {
    const hostSite = this.#findHostSite(context);
    const provisionalSite = (hostSite && this.#findSandbox(context, hostSite)) ?? hostSite;
    return this.#dependencies.siteViews.catchUpSystemSite(provisionalSite?.id ?? systemSite);
  }

  /**
   * Views the site the key selects. By the time we have the view, the key may have been revoked or the site removed, so we check the key again and then
   * call `use` synchronously. If host and key now select another site, we view that one instead.
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

  /** Returns the sandbox that the request's key seems to select, before it's authorized; undefined for a live or invalid key. */
  #findSandbox(context: RequestContext, hostSite: Site): Site | undefined {
    const key = findSentKey(context, this.#index, isSandboxKey);
    return key && this.#dependencies.now() < key.endsAt ? this.#index.findSandbox(key.siteId, hostSite.id) : undefined;
  }

  /**
   * Returns the host's site and puts it into the context. Clears the sandbox from an earlier check.
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
    return authenticate(context, site, this.#index, this.#dependencies.now(), this.#options.trustProxy);
  }

  /** Authenticates a request for the first time. An invalid key counts towards the limit of the client's network. */
  #authenticateFirst(context: RequestContext, site: Site, now: number): ApiKey {
    try {
      return authenticate(context, site, this.#index, now, this.#options.trustProxy);
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "unauthorized") throw error;
      const { trustProxy, failureLimit } = this.#options;
      const network = clientNetwork(context.request, trustProxy);
      if (this.#failureBuckets.consumeToken(network, failureLimit, now) !== undefined) throw error;
      throw tooManyRequestsError(failureLimit, "too many requests with invalid API keys from this address");
    }
  }

  /** Records that the key was used, and counts the request towards its rate limit. @throws ProblemError `too-many-requests` */
  #countRequest(context: RequestContext, key: ApiKey, now: number): void {
    this.keyUses.trackUse(key.id, now);
    const limit = this.#limitOf(key);
    if (!limit) return;
    const remainingTokens = this.#keyBuckets.consumeToken(key.id, limit, now);
    if (remainingTokens !== undefined) {
      context.rateLimit = { limit, remaining: remainingTokens };
      return;
    }
    const missingTokens = this.#addDebt(context, key, limit, 0, now);
    context.keyRejection = "over its rate";
    const detail = `this API key is limited to ${limit.tokensPerSecond} requests per second`;
    const debt = missingTokens > limit.maxTokens ? ", and batch operations count too" : "";
    throw tooManyRequestsError(limit, detail + debt, missingTokens);
  }

  #limitOf({ rate }: ApiKey): Limit | undefined {
    return rate === undefined ? this.#options.keyLimit : { tokensPerSecond: rate, maxTokens: rate };
  }

  /** Adds to the key's debt and sets the rate limit headers. Returns how many tokens are missing from the bucket. */
  #addDebt(context: RequestContext, key: ApiKey, limit: Limit, tokens: number, now: number): number {
    const missingTokens = this.#keyBuckets.addDebt(key.id, tokens, limit, now);
    context.rateLimit = { limit, remaining: Math.floor(limit.maxTokens - missingTokens + roundingTokens) };
    return missingTokens;
  }
}

/**
 * Makes sure that host and key still select the site a request has read. They don't if the key's sandbox was renewed in the meantime.
 * @param siteId the site that was read
 * @throws OutdatedError if they select another site
 */
export function requireSameSite({ siteView }: AuthorizedView, siteId: number): void {
  if (siteView.siteId !== siteId) throw new OutdatedError("key");
}

/**
 * `Retry-After` is the time until one token has refilled, and at least 1 s.
 * @param missingTokens how many tokens the bucket needs to be full, which may be more than it holds for a key in debt
 */
export function tooManyRequestsError(limit: Limit, detail: string, missingTokens = limit.maxTokens): ProblemError {
  const lacking = Math.max(1, missingTokens - limit.maxTokens + 1);
  return new ProblemError("too-many-requests", detail, {
    retryAfterSeconds: Math.max(1, Math.ceil(lacking / limit.tokensPerSecond)),
  });
}
