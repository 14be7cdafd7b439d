// An OpenID Connect provider in this process, which signs whatever a test wants. Tests of the real protocol are in test/packaging, with a certified provider.

import { createHash } from "node:crypto";
import { randomText } from "../../../src/lib/text.ts";

type Json = Record<string, unknown>;

/** What a test can change. */
interface Behaviour {
  /** What the provider says about the person who signs in, in the ID token. */
  claims: Json;
  /** Returned by userinfo; undefined for a provider without it. */
  userinfo: Json | undefined;
  /** Replaces or removes members of the metadata. */
  metadata: Json;
  /** Changes the ID token's claims just before it's signed. */
  alter: (claims: Json) => Json;
  /** Parameters added to the response to the browser, or replaced in it. */
  parameters: Record<string, string>;
  /** Makes the ID token, instead of signing the claims with RS256. */
  sign: ((claims: Json) => Promise<string> | string) | undefined;
  /** Responds to a request instead of the provider. */
  intercept: (path: string) => Response | Promise<Response> | undefined;
}

export interface TestIssuer extends Behaviour {
  readonly url: string;
  /** Paths of all requests. */
  readonly requests: string[];
  /** Creates another signing key. @param isPublished whether it replaces the old one in the key set */
  rotateKey(isPublished?: boolean): Promise<void>;
  /** Stops listening, until `reset`. */
  goDown(): Promise<void>;
  /** Starts listening again at the same address, and undoes all changes of the behaviour. */
  reset(): void;
  stop(): Promise<void>;
}

export const clientId = "storefront";
export const clientSecret = "a secret: with / unusual & characters";

export async function startIssuer(now: () => number = Date.now): Promise<TestIssuer> {
  const codes = new Map<string, URLSearchParams>();
  let key = await makeKey();
  let published = [key];
  let isDown = false;
  const normal = (): Behaviour => ({
    ...{ claims: { sub: "1" }, userinfo: undefined, metadata: {}, parameters: {} },
    ...{ alter: (claims) => claims, sign: undefined, intercept: () => undefined },
  });
  const issuer: TestIssuer = {
    ...normal(),
    url: "",
    requests: [],
    async rotateKey(isPublished = true) {
      key = await makeKey();
      if (isPublished) published = [key];
    },
    async goDown() {
      isDown = true;
      await server.stop(true);
    },
    reset() {
      Object.assign(issuer, normal());
      issuer.requests.length = 0;
      if (isDown) server = Bun.serve({ hostname: "127.0.0.1", port: Number(new URL(issuer.url).port), fetch: respond });
      isDown = false;
    },
    stop: () => server.stop(true),
  };

  async function respond(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    issuer.requests.push(pathname);
    const instead = await issuer.intercept(pathname);
    if (instead) return instead;
    if (pathname === "/.well-known/openid-configuration") return Response.json(metadata());
    if (pathname === "/keys") return Response.json({ keys: await Promise.all(published.map(toJwk)) });
    if (pathname === "/authorize") return authorize(searchParams);
    if (pathname === "/userinfo") return Response.json(issuer.userinfo);
    if (pathname === "/token") return exchange(new URLSearchParams(await request.text()));
    return new Response(null, { status: 404 });
  }

  function metadata(): Json {
    const all: Json = {
      issuer: issuer.url,
      authorization_endpoint: `${issuer.url}/authorize`,
      token_endpoint: `${issuer.url}/token`,
      jwks_uri: `${issuer.url}/keys`,
      ...(issuer.userinfo && { userinfo_endpoint: `${issuer.url}/userinfo` }),
      end_session_endpoint: `${issuer.url}/end`,
      token_endpoint_auth_methods_supported: ["client_secret_post"],
      id_token_signing_alg_values_supported: ["RS256"],
      scopes_supported: ["openid", "groups"],
      ...issuer.metadata,
    };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  }

  function authorize(asked: URLSearchParams): Response {
    const code = randomText(20);
    codes.set(code, asked);
    const to = new URL(asked.get("redirect_uri") ?? "");
    const parameters = { code, state: asked.get("state") ?? "", ...issuer.parameters };
    for (const [name, value] of Object.entries(parameters)) to.searchParams.set(name, value);
    return Response.redirect(to.href, 303);
  }

  async function exchange(sent: URLSearchParams): Promise<Response> {
    const code = sent.get("code") ?? "";
    const asked = codes.get(code);
    codes.delete(code);
    const fail = (error: string) =>
      Response.json({ error, error_description: "see the provider's log" }, { status: 400 });
    if (sent.get("client_id") !== clientId || sent.get("client_secret") !== clientSecret) return fail("invalid_client");
    const challenge = createHash("sha256")
      .update(sent.get("code_verifier") ?? "")
      .digest("base64url");
    if (asked?.get("code_challenge") !== challenge || asked.get("redirect_uri") !== sent.get("redirect_uri"))
      return fail("invalid_grant");
    const seconds = Math.floor(now() / 1000);
    const times = { iat: seconds, exp: seconds + 300 };
    const claims = { iss: issuer.url, aud: clientId, nonce: asked.get("nonce"), ...times, ...issuer.claims };
    const id_token = await (issuer.sign ?? signWith)(issuer.alter(claims));
    return Response.json({ access_token: randomText(20), token_type: "Bearer", id_token });
  }

  async function signWith(claims: Json): Promise<string> {
    const input = `${encode({ alg: "RS256", kid: key.kid })}.${encode(claims)}`;
    const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key.pair.privateKey, Buffer.from(input));
    return `${input}.${Buffer.from(signature).toString("base64url")}`;
  }

  let server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: respond });
  return Object.assign(issuer, { url: `http://127.0.0.1:${server.port}` });
}

/** Encodes part of a token. */
export function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

interface SigningKey {
  readonly kid: string;
  readonly pair: CryptoKeyPair;
}

async function makeKey(): Promise<SigningKey> {
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048 };
  const exponent = { publicExponent: new Uint8Array([1, 0, 1]) };
  const pair = await crypto.subtle.generateKey({ ...algorithm, ...exponent }, true, ["sign", "verify"]);
  return { kid: randomText(8), pair };
}

async function toJwk({ kid, pair }: SigningKey): Promise<Json> {
  const { kty, n, e } = await crypto.subtle.exportKey("jwk", pair.publicKey);
  return { kty, n, e, kid, use: "sig", alg: "RS256" };
}

/** A browser's cookies, for one host. */
export class CookieJar {
  readonly #cookies = new Map<string, string>();

  keep(response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";", 1);
      const [name = "", value = ""] = pair.split(/=(.*)/s, 2);
      if (/Max-Age=0(?:;|$)/.test(line)) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
  }

  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }
}
