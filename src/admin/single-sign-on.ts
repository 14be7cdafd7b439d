// Single sign-on with OpenID Connect (contract section 13): Authorization Code with PKCE, `state` and `nonce`.
//
// A browser that signs in has a cookie with a random secret. `state`, `nonce` and the code verifier are digests of it, so the server doesn't have to
// remember anything, and any server on the database can finish what another has started. That cookie is `SameSite=Lax`, because browsers don't send
// `Strict` ones when the provider sends them back. They do accept them, so the response to that request starts the session. Where people were before is
// something only the console's page knows (console/session/session.tsx).

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import * as oauth from "oauth4webapi";
import type { Logger } from "pino";
import { clientNetwork } from "../http/common/client-network.ts";
import { errorMessage } from "../lib/errors-for-log.ts";
import { createLogRateLimiter } from "../lib/logging.ts";
import { randomText } from "../lib/text.ts";
import { TokenBuckets } from "../lib/token-buckets.ts";
import { ProblemError } from "../model/errors.ts";
import {
  type Claims,
  isEmailVerified,
  lacksClaims,
  type SingleSignOnSettings,
  toAccess,
} from "../model/single-sign-on.ts";
import { type AuditEvent, recordSignIn } from "../operator/journal/events.ts";
import { saveSignedOnOperator } from "../operator/operators/operators.ts";
import { startSession } from "../operator/operators/sessions.ts";
import { withActor } from "../system/with-actor.ts";
import type { WireRequest } from "../wire/request.ts";
import type { AdminContent, AdminRequestContext, AdminRoute } from "./handler.ts";
import { browserAddress, cookieName, type SessionDependencies, secretsIn, toCookie } from "./session.ts";

/** Why someone couldn't sign in, as the console's page tells them (`session.failed_...` in its texts). The log has the reason. */
type Failure = "expired" | "rejected" | "no_access" | "down";

class SignInFault extends Error {
  readonly failure: Failure;
  /** Whom it's about, if that's known. */
  readonly who: Pick<AuditEvent, "operator" | "name">;

  constructor(failure: Failure, reason: string, who: SignInFault["who"] = {}) {
    super(reason);
    this.failure = failure;
    this.who = who;
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
const transactionMs = 600_000;

/** Of one network. Beyond this, browsers that come back are told to try again, so that nobody can make us flood the provider, or lock others out. */
const exchangeLimit = { tokensPerSecond: 5, maxTokens: 50 };

/** Between the provider's clock and ours. */
const toleranceSeconds = 30;

/** How long the provider's metadata is used, and when to ask again if that failed. */
const [maxAgeMs, pauseMs] = [60 * 60_000, 5000];

/** Of one response, with its body. A sign-in needs up to four, and the listener ends a request after 30 s without a word. */
const fetchTimeoutMs = 7000;
const maxResponseBytes = 512 * 1024;

export class SingleSignOn {
  readonly #settings: SingleSignOnSettings;
  readonly #dependencies: Dependencies;
  readonly #cookie: string;
  readonly #isSecure: boolean;
  readonly #options: oauth.DiscoveryRequestOptions & oauth.TokenEndpointRequestOptions;
  readonly #buckets = new TokenBuckets<string>();
  readonly #logLimit: ReturnType<typeof createLogRateLimiter>;
  /** The last request for the provider's metadata, and when to send the next. */
  #asked: Promise<oauth.AuthorizationServer> | undefined;
  #askAgainAt = 0;
  /** Where people sign out at the provider; null if that isn't known. */
  signOutUrl: string | null = null;

  /** @throws ProblemError `bad-request` if the client secret can't be read */
  constructor(settings: SingleSignOnSettings, dependencies: Dependencies) {
    readSecret(settings);
    const { protocol, port } = new URL(settings.consoleUrl);
    this.#isSecure = protocol === "https:";
    // No other host can set a cookie with this prefix (RFC 6265bis section 4.1.3.2). Browsers send cookies to all ports of a host.
    this.#cookie = this.#isSecure ? "__Host-storefront_sign-in" : `storefront_sign-in_${port}`;
    this.#settings = settings;
    this.#dependencies = dependencies;
    this.#logLimit = createLogRateLimiter(dependencies.now);
    this.#options = {
      [oauth.customFetch]: (url: string, init: object) => fetchWithLimits(url, init, dependencies.stopping),
      // Only for a provider on this machine (config.ts).
      [oauth.allowInsecureRequests]: settings.issuer.startsWith("http:"),
    };
    this.#discover().catch(() => {});
  }

  routes(): [path: string, route: AdminRoute][] {
    return [
      ["/sign-in", { GET: (context) => this.#redirect(context, () => this.#begin(context)) }],
      [callbackPath, { GET: (context) => this.#redirect(context, () => this.#finish(context)) }],
    ];
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
      const fault = toFault(error);
      this.#report(fault, request);
      return { status: 303, body: null, headers: { Location: `/#sign-in-failed=${fault.failure}` } };
    }
  }

  #report({ failure, message, who }: SignInFault, request: WireRequest): void {
    const { log, repeatedEvents } = this.#dependencies;
    const address = browserAddress(this.#dependencies, request);
    // Browsers can send any reason.
    this.#logLimit(`${failure} ${who.name}`, (suppressed) =>
      log.warn({ reason: message, address, suppressed }, "single sign-on failed"),
    );
    if (failure === "no_access" || failure === "rejected")
      void repeatedEvents.add(
        { kind: "refused-sign-in", detail: `single-sign-on: ${failure}`, ...who, address },
        "console",
      );
  }

  async #begin({ request, query }: AdminRequestContext) {
    const { consoleUrl, clientId } = this.#settings;
    // The cookie has to be set where the provider sends the browser back to. A proxy that changes `Host` mustn't cause a loop.
    const host = request.headers.get("host")?.toLowerCase();
    if (host !== new URL(consoleUrl).host && !query.has("moved")) return { to: `${consoleUrl}/sign-in?moved` };
    const server = await this.#discover();
    const secret = randomText(32);
    const url = new URL(server.authorization_endpoint ?? "");
    const parameters = {
      client_id: clientId,
      redirect_uri: consoleUrl + callbackPath,
      response_type: "code",
      scope: `openid profile email${server.scopes_supported?.includes("groups") ? " groups" : ""}`,
      state: derive("state", secret),
      nonce: derive("nonce", secret),
      code_challenge: await oauth.calculatePKCECodeChallenge(derive("verifier", secret)),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return { to: url.href, cookie: toCookie(this.#cookie, secret, transactionMs, this.#isSecure, "Lax") };
  }

  async #finish({ request, query }: AdminRequestContext) {
    const { engine, now, onRefused, trustProxy } = this.#dependencies;
    const { mappings, issuer, sessionMs } = this.#settings;
    const state = query.get("state");
    const secret = secretsIn(request.headers, this.#cookie).find((one) => derive("state", one) === state);
    if (!secret) throw new SignInFault("expired", "the browser didn't send the cookie of this sign-in");
    if (this.#buckets.consumeToken(clientNetwork(request, trustProxy), exchangeLimit, now()) === undefined)
      throw new SignInFault("down", "too many sign-ins from this network");
    const claims = await this.#identify(query, secret);
    const person = { subject: `${issuer} ${claims.sub}`, name: nameIn(claims), access: toAccess(claims, mappings) };
    const actor = withActor(engine, "operator:single sign-on", randomText(8));
    const { operator, isAllowed } = await saveSignedOnOperator(actor, person, now());
    if (!operator || !isAllowed) {
      if (operator) await onRefused(operator.ID);
      const who = { operator: operator?.ID, name: operator?.Name ?? person.subject };
      throw new SignInFault("no_access", `${person.subject} ${whyNoAccess(claims, person.access !== undefined)}`, who);
    }
    const session = await startSession(engine, operator.ID, sessionMs, now());
    const address = browserAddress(this.#dependencies, request);
    await recordSignIn(engine, { operator, way: "single-sign-on", address }, now());
    // With a fragment, because a browser would keep the one of the provider's redirect.
    return { to: "/#/", cookie: toCookie(cookieName(request.headers), session, sessionMs, this.#isSecure) };
  }

  /** Returns what the provider says about the person whom the code is for. @throws SignInFault, or an error of oauth4webapi */
  async #identify(query: URLSearchParams, secret: string): Promise<oauth.IDToken> {
    const { clientId, consoleUrl, mappings } = this.#settings;
    const [server, options] = [await this.#discover(), this.#options];
    const client = { client_id: clientId, [oauth.clockTolerance]: toleranceSeconds };
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
    if (!/^[\x20-\x7e]{1,255}$/.test(claims.sub))
      throw new SignInFault("rejected", "the subject isn't 1 to 255 ASCII characters");
    if (!server.userinfo_endpoint || !lacksClaims(claims, mappings)) return claims;
    // Some providers keep tokens short.
    const answer = await oauth.userInfoRequest(server, client, tokens.access_token, options);
    return { ...(await oauth.processUserInfoResponse(server, client, claims.sub, answer)), ...claims };
  }

  /** Returns what the provider says about itself (`/.well-known/openid-configuration`). @throws SignInFault */
  #discover(): Promise<oauth.AuthorizationServer> {
    const now = this.#dependencies.now();
    if (this.#asked && now < this.#askAgainAt) return this.#asked;
    this.#askAgainAt = now + maxAgeMs;
    this.#asked = this.#askProvider();
    return this.#asked;
  }

  async #askProvider(): Promise<oauth.AuthorizationServer> {
    const { log, now, stopping } = this.#dependencies;
    const { issuer, clientId, consoleUrl } = this.#settings;
    try {
      const response = await oauth.discoveryRequest(new URL(issuer), { ...this.#options, algorithm: "oidc" });
      const server = await oauth.processDiscoveryResponse(new URL(issuer), response);
      const { authorization_endpoint: start = "", end_session_endpoint: end } = server;
      const isHttps = issuer.startsWith("https:");
      oauth.checkProtocol(new URL(start), isHttps);
      const signOut = end === undefined ? undefined : new URL(end);
      if (signOut) oauth.checkProtocol(signOut, isHttps);
      signOut?.searchParams.set("client_id", clientId);
      signOut?.searchParams.set("post_logout_redirect_uri", `${consoleUrl}/`);
      this.signOutUrl = signOut?.href ?? null;
      log.info({ issuer, redirectUri: consoleUrl + callbackPath }, "single sign-on is ready");
      return server;
    } catch (error) {
      this.#askAgainAt = now() + pauseMs;
      const reason = toFault(error).message;
      if (!stopping.aborted) log.warn({ issuer, reason }, "the single sign-on provider can't be used");
      throw new SignInFault("down", reason);
    }
  }
}

/** What to call someone who's new. */
function nameIn(claims: Claims): string {
  const { preferred_username, email, name } = claims;
  const names = [preferred_username, isEmailVerified(claims) ? email : undefined, name];
  return names.find((one): one is string => typeof one === "string" && one.trim() !== "") ?? "";
}

/** @param isMapped whether they'd have access to sites that don't exist */
function whyNoAccess({ _claim_names: others }: Claims, isMapped: boolean): string {
  if (isMapped) return "has access to no site that exists";
  // Entra's group overage.
  if (others === undefined) return "matches no --oidc-role";
  return "has too many groups for its provider to list; assign fewer groups to the application, or map roles";
}

/** Follows no redirects. @throws SignInFault */
async function fetchWithLimits(url: string, init: RequestInit, stopping: AbortSignal): Promise<Response> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(fetchTimeoutMs)]);
  try {
    const headers = new Headers(init.headers);
    // A few compressed bytes can become any number of others.
    headers.set("Accept-Encoding", "identity");
    const response = await fetch(url, { ...init, headers, decompress: false, redirect: "manual", signal });
    if (response.status >= 500) throw new Error(`it responded with ${response.status}`);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > maxResponseBytes) throw new Error(`it sent more than ${maxResponseBytes} bytes`);
      chunks.push(chunk);
    }
    return new Response(Buffer.concat(chunks), { status: response.status, headers: response.headers });
  } catch (error) {
    throw new SignInFault("down", `no usable response from ${new URL(url).origin}: ${errorMessage(error)}`);
  }
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
function derive(purpose: "state" | "nonce" | "verifier", secret: string): string {
  return createHash("sha256").update(`${purpose} ${secret}`).digest("base64url");
}

/** The message has nothing secret: no tokens, codes or claims. @throws ProblemError `unavailable`, for which the server has its own page */
function toFault(error: unknown): SignInFault {
  if (error instanceof SignInFault) return error;
  if (error instanceof ProblemError) {
    if (error.code === "unavailable") throw error;
    return new SignInFault("down", error.message);
  }
  let reason = errorMessage(error);
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    reason = `the provider says ${error.error}: ${error.error_description ?? ""}`;
  const { issuer } = (error as { readonly cause?: { readonly body?: Claims } }).cause?.body ?? {};
  if (typeof issuer === "string") reason += `: it calls itself ${issuer}`;
  return new SignInFault("rejected", reason.slice(0, 300));
}
