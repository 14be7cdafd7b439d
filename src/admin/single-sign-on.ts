// Single sign-on with OpenID Connect (contract section 13): Authorization Code with PKCE, `state` and `nonce`.
//
// A browser that signs in has a cookie with a random secret. `state`, `nonce` and the code verifier are digests of it, so the server doesn't have to
// remember anything, and any server on the database can finish what another has started. When the browser comes back from the provider, it gets no session
// yet, because cookies that are `SameSite=Strict` aren't sent along from another site. Instead, the same secret works like a link: the console's page
// redeems it (session.ts), asks before it replaces another operator's session, and goes to where the person was.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import * as oauth from "oauth4webapi";
import type { Logger } from "pino";
import { errorMessage } from "../lib/errors-for-log.ts";
import { createLogRateLimiter } from "../lib/logging.ts";
import { isLoopback } from "../lib/networks.ts";
import { randomText } from "../lib/text.ts";
import { TokenBuckets } from "../lib/token-buckets.ts";
import { ProblemError } from "../model/errors.ts";
import {
  type Claims,
  hasOverage,
  isEmailVerified,
  lacksClaims,
  type SingleSignOnSettings,
  toAccess,
} from "../model/single-sign-on.ts";
import { type SignedOnPerson, saveSignedOnOperator } from "../operator/operators/operators.ts";
import { allowSingleSignOn } from "../operator/operators/sessions.ts";
import { readSystemRecords } from "../system/read-system-records.ts";
import { withActor } from "../system/with-actor.ts";
import type { HeaderFields } from "../wire/header-fields.ts";
import type { AdminContent, AdminRequestContext, AdminRoute } from "./handler.ts";
import { browserAddress, type SessionDependencies } from "./session.ts";

/** Why someone couldn't sign in, as the console's page tells them (`session.failed_...` in its texts). The log has the reason. */
type Failure = "expired" | "denied" | "rejected" | "no_access" | "not_saved" | "down" | "busy";

class SignInFault extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, reason: string) {
    super(reason);
    this.failure = failure;
  }
}

interface Dependencies extends SessionDependencies {
  readonly log: Logger;
  /** Called with an operator's ID when they no longer have access. */
  readonly onRefused: (operator: number) => Promise<void>;
  /** Aborted when the admin listener stops. */
  readonly stopping: AbortSignal;
}

const callbackPath = "/sign-in/callback";

/** How long someone can take at the provider. */
const transactionSeconds = 600;

/** Beyond these, browsers that come back are told to try again, so that nobody can make us flood the provider. */
const maxRunning = 16;
const exchangeLimit = { tokensPerSecond: 5, maxTokens: 50 };

/** Between the provider's clock and ours. */
const toleranceSeconds = 30;

export class SingleSignOn {
  readonly #settings: SingleSignOnSettings;
  readonly #dependencies: Dependencies;
  readonly #provider: Provider;
  readonly #cookie: string;
  readonly #buckets = new TokenBuckets<"exchange">();
  readonly #logLimit: ReturnType<typeof createLogRateLimiter>;
  #running = 0;

  /** @throws ProblemError `bad-request` if the client secret can't be read */
  constructor(settings: SingleSignOnSettings, dependencies: Dependencies) {
    readSecret(settings);
    const { protocol, port } = new URL(settings.consoleUrl);
    // No other host can set a cookie with this prefix (RFC 6265bis section 4.1.3.2). Browsers send cookies to all ports of a host.
    this.#cookie = protocol === "https:" ? "__Host-storefront_sign-in" : `storefront_sign-in_${port}`;
    this.#settings = settings;
    this.#dependencies = dependencies;
    this.#logLimit = createLogRateLimiter(dependencies.now);
    this.#provider = new Provider(settings, dependencies);
    void this.#warnOfUnknownSites();
  }

  get state(): "ready" | "down" {
    return this.#provider.isReady ? "ready" : "down";
  }

  get hasSignOut(): boolean {
    return this.#provider.known?.end_session_endpoint !== undefined;
  }

  /** How long a session lasts. */
  get sessionMs(): number {
    return this.#settings.sessionMs;
  }

  routes(): [path: string, route: AdminRoute][] {
    return [
      ["/sign-in", { GET: (context) => this.#redirect(context, () => this.#begin(context)) }],
      [callbackPath, { GET: (context) => this.#redirect(context, () => this.#finish(context)) }],
      ["/sign-out", { GET: (context) => this.#redirect(context, () => this.#signOut()) }],
    ];
  }

  /** Returns the secret with which a browser that has come back can start a session; undefined if its sign-in has expired. */
  secretIn(headers: HeaderFields): string | undefined {
    const secret = this.#transactionIn(headers);
    return secret && derive("session", secret);
  }

  /** Goes to where `step` says, or says on the console's page that it failed. */
  async #redirect(
    { request }: AdminRequestContext,
    step: () => Promise<{ readonly to: string; readonly cookie?: string }>,
  ): Promise<AdminContent> {
    try {
      const { to, cookie } = await step();
      return { status: 303, body: null, headers: { Location: to, ...(cookie ? { "Set-Cookie": cookie } : {}) } };
    } catch (error) {
      const { failure, reason } = describeFailure(error);
      if (failure === "no_access" || failure === "rejected") {
        const address = browserAddress(this.#dependencies, request);
        void this.#dependencies.repeatedEvents.add(
          { kind: "refused-sign-in", detail: "single-sign-on", address },
          "console",
        );
      }
      this.#logLimit(reason, (suppressed) =>
        this.#dependencies.log.warn({ reason, address: request.address, suppressed }, "single sign-on failed"),
      );
      return { status: 303, body: null, headers: { Location: `/#sign-in-failed=${failure}` } };
    }
  }

  async #begin({ request, query }: AdminRequestContext) {
    const { consoleUrl, clientId, mappings } = this.#settings;
    // The cookie has to be set where the provider sends the browser back to. A proxy that changes `Host` mustn't cause a loop.
    const host = request.headers.get("host")?.toLowerCase();
    if (host !== new URL(consoleUrl).host && !query.has("moved")) return { to: `${consoleUrl}/sign-in?moved` };
    const server = await this.#provider.get();
    const secret = randomText(43);
    const url = toSafeUrl(server.authorization_endpoint);
    const needsGroups = mappings.some(({ claim }) => claim === "groups") && server.scopes_supported?.includes("groups");
    const parameters = {
      client_id: clientId,
      redirect_uri: consoleUrl + callbackPath,
      response_type: "code",
      scope: `openid profile email${needsGroups ? " groups" : ""}`,
      state: derive("state", secret),
      nonce: derive("nonce", secret),
      code_challenge: await oauth.calculatePKCECodeChallenge(derive("verifier", secret)),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    const secure = consoleUrl.startsWith("https:") ? "; Secure" : "";
    const attributes = `Path=/; Max-Age=${transactionSeconds}; HttpOnly; SameSite=Lax${secure}`;
    return { to: url.href, cookie: `${this.#cookie}=${secret}; ${attributes}` };
  }

  async #finish({ request, query }: AdminRequestContext) {
    const { engine, now, onRefused } = this.#dependencies;
    const secret = this.#transactionIn(request.headers);
    if (!secret) throw new SignInFault("expired", "the browser didn't send the cookie of its sign-in");
    if (query.get("state") !== derive("state", secret))
      throw new SignInFault("expired", "the state is another sign-in's");
    const { claims, server } = await this.#limitExchanges(() => this.#identify(query, secret));
    const person = this.#toPerson(claims, server);
    const actor = withActor(engine, "operator:single sign-on", randomText(8));
    const { id, refused } = await saveSignedOnOperator(actor, person, now());
    if (refused !== undefined) await onRefused(refused);
    if (id === undefined) throw new SignInFault("no_access", this.#whyNoAccess(claims, person));
    await allowSingleSignOn(engine, derive("session", secret), id, now());
    return { to: "/#sign-in=single-sign-on" };
  }

  async #limitExchanges<T>(work: () => Promise<T>): Promise<T> {
    const isOver = this.#buckets.consumeToken("exchange", exchangeLimit, this.#dependencies.now()) === undefined;
    if (isOver || this.#running >= maxRunning) throw new SignInFault("busy", "too many people are signing in at once");
    this.#running++;
    try {
      return await work();
    } finally {
      this.#running--;
    }
  }

  /** Returns what the provider says about the person whom the code is for. @throws SignInFault, or an error of oauth4webapi */
  async #identify(query: URLSearchParams, secret: string) {
    const { clientId, consoleUrl, mappings } = this.#settings;
    const server = await this.#provider.get();
    const skew = (this.#dependencies.now() - Date.now()) / 1000;
    const client = { client_id: clientId, [oauth.clockSkew]: skew, [oauth.clockTolerance]: toleranceSeconds };
    const options = this.#provider.options;
    const code = oauth.validateAuthResponse(server, client, query, derive("state", secret));
    const clientSecret = readSecret(this.#settings);
    // Basic is the default, but providers disagree on how to encode the secret in it.
    const authentication = server.token_endpoint_auth_methods_supported?.includes("client_secret_post")
      ? oauth.ClientSecretPost(clientSecret)
      : oauth.ClientSecretBasic(clientSecret);
    const [redirectUri, verifier] = [consoleUrl + callbackPath, derive("verifier", secret)];
    const response = await oauth.authorizationCodeGrantRequest(
      ...([server, client, authentication, code, redirectUri, verifier, options] as const),
    );
    const expected = { expectedNonce: derive("nonce", secret), requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected);
    await oauth.validateApplicationLevelSignature(server, response, options);
    const claims = oauth.getValidatedIdTokenClaims(tokens) as oauth.IDToken;
    if (!server.userinfo_endpoint || !lacksClaims(claims, mappings)) return { claims, server };
    // Some providers keep tokens short.
    const answer = await oauth.userInfoRequest(server, client, tokens.access_token, options);
    const others = await oauth.processUserInfoResponse(server, client, claims.sub, answer);
    return { claims: { ...others, ...claims }, server };
  }

  #toPerson(claims: Claims & { readonly sub: string }, { issuer }: oauth.AuthorizationServer): SignedOnPerson {
    const { sub, preferred_username, email, name } = claims;
    if (!/^[\x20-\x7e]{1,255}$/.test(sub))
      throw new SignInFault("rejected", "the subject isn't 1 to 255 ASCII characters");
    const names = [preferred_username, isEmailVerified(claims) ? email : undefined, name];
    return {
      subject: `${issuer} ${sub}`,
      name: names.find((one): one is string => typeof one === "string" && one.trim() !== "") ?? "",
      access: toAccess(claims, this.#settings.mappings),
    };
  }

  #whyNoAccess(claims: Claims, { subject, access }: SignedOnPerson): string {
    if (access) return `none of the sites that --oidc-role gives ${subject} exists`;
    const overage =
      "has too many groups for its provider to list; assign fewer groups to the application, or map roles";
    return `${subject} ${hasOverage(claims, this.#settings.mappings) ? overage : "matches no --oidc-role"}`;
  }

  async #signOut() {
    const { end_session_endpoint: endpoint } = await this.#provider.get();
    const { consoleUrl, clientId } = this.#settings;
    if (endpoint === undefined) return { to: "/" };
    const url = toSafeUrl(endpoint);
    url.searchParams.set("client_id", clientId);
    url.searchParams.set("post_logout_redirect_uri", `${consoleUrl}/`);
    return { to: url.href };
  }

  #transactionIn(headers: HeaderFields): string | undefined {
    const cookies = (headers.get("cookie") ?? "").split(/[;,]/).map((cookie) => cookie.trim());
    const value = cookies.find((cookie) => cookie.startsWith(`${this.#cookie}=`))?.slice(this.#cookie.length + 1);
    return value && /^[0-9A-Za-z]{43}$/.test(value) ? value : undefined;
  }

  async #warnOfUnknownSites(): Promise<void> {
    const { engine, log } = this.#dependencies;
    const system = await readSystemRecords(engine).catch(() => undefined);
    const live = new Set(system?.sites.filter(({ SandboxOf }) => SandboxOf === "").map(({ Name }) => Name));
    const named = this.#settings.mappings.flatMap(({ sites = [] }) => sites);
    const unknown = [...new Set(named)].filter((name) => !live.has(name));
    if (system && unknown.length > 0) log.warn({ sites: unknown }, "--oidc-role names sites that don't exist");
  }
}

/** What the provider says about itself, from `/.well-known/openid-configuration`. Asked again after an hour, and until it answers. */
class Provider {
  readonly options: {
    readonly [oauth.customFetch]: (url: string, init: object) => Promise<Response>;
    readonly [oauth.allowInsecureRequests]: true;
  };
  readonly #settings: SingleSignOnSettings;
  readonly #dependencies: Dependencies;
  #known: { readonly server: oauth.AuthorizationServer; readonly at: number } | undefined;
  #failed: { readonly fault: SignInFault; readonly at: number } | undefined;
  #search: Promise<oauth.AuthorizationServer> | undefined;

  constructor(settings: SingleSignOnSettings, dependencies: Dependencies) {
    const { stopping } = dependencies;
    this.#settings = settings;
    this.#dependencies = dependencies;
    this.options = {
      [oauth.customFetch]: (url, init) => fetchWithLimits(url, init, stopping),
      // `fetchWithLimits` only allows it on this machine.
      [oauth.allowInsecureRequests]: true,
    };
    this.get().catch(() => {});
  }

  get known(): oauth.AuthorizationServer | undefined {
    return this.#known?.server;
  }

  /** Whether signing in is worth a try. If it isn't, asks the provider again in the background. */
  get isReady(): boolean {
    if (!this.#known && this.#failed) this.get().catch(() => {});
    return this.#known !== undefined || this.#failed === undefined;
  }

  /** @throws SignInFault */
  async get(): Promise<oauth.AuthorizationServer> {
    const at = this.#dependencies.now();
    if (this.#known && at - this.#known.at < maxAgeMs) return this.#known.server;
    if (this.#failed && at - this.#failed.at < pauseMs)
      return this.#known?.server ?? Promise.reject(this.#failed.fault);
    this.#search ??= this.#discover().finally(() => {
      this.#search = undefined;
    });
    return this.#search.catch((fault) => this.#known?.server ?? Promise.reject(fault));
  }

  async #discover(): Promise<oauth.AuthorizationServer> {
    const { log, now } = this.#dependencies;
    const { issuer, consoleUrl } = this.#settings;
    try {
      const response = await oauth.discoveryRequest(new URL(issuer), { ...this.options, algorithm: "oidc" });
      const server = await oauth.processDiscoveryResponse(new URL(issuer), response);
      if (!this.#known) log.info({ issuer, redirectUri: consoleUrl + callbackPath }, "single sign-on is ready");
      this.#known = { server, at: now() };
      this.#failed = undefined;
      return server;
    } catch (error) {
      const { reason } = describeFailure(error);
      this.#failed = { fault: new SignInFault("down", reason), at: now() };
      if (!this.#dependencies.stopping.aborted)
        log.warn({ issuer, reason }, "the single sign-on provider can't be used");
      throw this.#failed.fault;
    }
  }
}

const maxAgeMs = 60 * 60_000;
/** After a failure. */
const pauseMs = 5000;

/** Of one response, with its body. */
const fetchTimeoutMs = 10_000;
const maxResponseBytes = 512 * 1024;

/** Follows no redirects. @throws SignInFault */
async function fetchWithLimits(url: string, init: RequestInit, stopping: AbortSignal): Promise<Response> {
  const { href, origin } = toSafeUrl(url);
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(fetchTimeoutMs)]);
  try {
    const response = await fetch(href, { ...init, redirect: "manual", signal });
    if (response.status >= 500) throw new Error(`it responded with ${response.status}`);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > maxResponseBytes) throw new Error(`it sent more than ${maxResponseBytes} bytes`);
      chunks.push(chunk);
    }
    const { status, headers } = response;
    return new Response(Buffer.concat(chunks), { status, headers });
  } catch (error) {
    throw new SignInFault("down", `no usable response from ${origin}: ${errorMessage(error)}`);
  }
}

/** @throws SignInFault for a URL that others could listen in on */
function toSafeUrl(text: string | undefined): URL {
  const url = URL.parse(text ?? "");
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname))) return url;
  throw new SignInFault("down", `the provider's address ${JSON.stringify(text)} isn't an https URL`);
}

/** Read for each sign-in, so that the secret can be replaced while the server is running. @throws ProblemError `bad-request` */
function readSecret({ secretFile }: SingleSignOnSettings): string {
  const option = "--oidc-secret-file (STOREFRONT_OIDC_SECRET_FILE)";
  try {
    const secret = readFileSync(secretFile, "utf8").trim();
    if (secret !== "") return secret;
  } catch (error) {
    throw new ProblemError("bad-request", `${option}: ${errorMessage(error)}`, { cause: error });
  }
  throw new ProblemError("bad-request", `${option}: ${secretFile} is empty`);
}

/** 43 characters, from which nobody can tell the secret, or what's derived from it for another purpose. */
function derive(purpose: "state" | "nonce" | "verifier" | "session", secret: string): string {
  return createHash("sha256").update(`${purpose} ${secret}`).digest("base64url");
}

/** The reason has nothing secret: no tokens, codes or claims. @throws ProblemError `unavailable`, for which the server has its own page */
function describeFailure(error: unknown): { readonly failure: Failure; readonly reason: string } {
  if (error instanceof SignInFault) return { failure: error.failure, reason: error.message };
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
    const failure = error.error === "access_denied" ? "denied" : "rejected";
    return { failure, reason: `the provider says ${error.error}: ${error.error_description ?? ""}`.slice(0, 300) };
  }
  if (error instanceof ProblemError) {
    if (error.code === "unavailable") throw error;
    return { failure: "not_saved", reason: error.message };
  }
  const { issuer } = (error as { readonly cause?: { readonly body?: Claims } }).cause?.body ?? {};
  const actual = typeof issuer === "string" ? `: it calls itself ${issuer}` : "";
  return { failure: "rejected", reason: `${errorMessage(error)}${actual}`.slice(0, 300) };
}
