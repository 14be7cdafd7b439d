// Signing in to the console with OpenID Connect (contract section 13). The provider is in this process, so that it can misbehave.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setSystemTime, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionInfo, SessionResponse } from "../../../src/admin/api/types.ts";
import {
  listOperators,
  removeOperator,
  saveSignedOnOperator,
  setOperator,
} from "../../../src/operator/operators/operators.ts";
import { createSignInLink } from "../../../src/operator/operators/sessions.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import {
  CookieJar,
  clientId,
  clientSecret,
  encode,
  startIssuer,
  type TestIssuer,
} from "../../support/console/issuer.ts";
import { startTestConsole, type TestConsole } from "../../support/console/server.ts";
import { type EngineKind, engines } from "../../support/engine/engines.ts";

const consoleUrl = "https://console.example";
const roles = [
  "groups=storefront-admins:admin",
  "groups=shop-garden:editor@garden,orchard",
  "groups=shop-toys:editor@toys",
  "groups=viewers:viewer",
  "email=anna@shop.example:viewer",
  "email=kim@shop.example:Admin",
  "realm_access.roles=shop:admin:admin",
  "hd=shop.example:viewer@garden",
];
const minute = 60_000;

const folder = mkdtempSync(join(tmpdir(), "storefront-sso-"));
const secretFile = join(folder, "secret");
writeFileSync(secretFile, `${clientSecret}\n`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Settings = Record<string, string | undefined>;

/** Of most tests, because a server takes a while to start. */
let shared: { readonly issuer: TestIssuer; readonly server: TestConsole };
let issuer: TestIssuer;
let server: TestConsole;
let log: { level: number; msg: string; reason?: string }[] = [];

/** Starts a server for one test. */
async function open(more: Settings = {}): Promise<void> {
  if (server !== shared.server) await server.stop();
  server = shared.server;
  server = await start(more);
}

function start(more: Settings = {}): Promise<TestConsole> {
  const settings = {
    LOG: "info",
    ADMIN_URL: consoleUrl,
    OIDC_ISSUER: issuer.url,
    OIDC_CLIENT_ID: clientId,
    OIDC_SECRET_FILE: secretFile,
    OIDC_ROLE: roles.join(";"),
    ...more,
  };
  return startTestConsole({ settings, onLog: (line) => log.push(JSON.parse(line)) });
}

beforeAll(async () => {
  issuer = await startIssuer();
  shared = { issuer, server: await start() };
  for (const name of ["garden", "orchard", "toys"]) await createSite(shared.server.engine, name, {}, Date.now());
});
afterAll(async () => {
  setSystemTime();
  await shared.server.stop();
  await shared.issuer.stop();
});
beforeEach(() => {
  ({ issuer, server } = shared);
  issuer.reset();
  issuer.claims = { sub: "u1", preferred_username: "anna", groups: ["viewers"] };
  log = [];
  // The same reason is only logged once per second.
  setSystemTime(Date.now() + 2000);
});
afterEach(async () => {
  if (server !== shared.server) return server.stop();
  for (const { Name } of await listOperators(server.engine))
    await removeOperator(server.engine, Name, Date.now(), { mayBeLast: true });
});

/** Sends a request as a browser at `consoleUrl` does, through a proxy that terminates TLS. */
async function send(jar: CookieJar, method: string, path: string, body?: unknown, host = "console.example") {
  const headers = {
    Host: host,
    Cookie: jar.header,
    ...(method === "GET" ? {} : { Origin: `https://${host}`, "Content-Type": "application/json" }),
  };
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${server.adminUrl}${path}`, { method, headers, redirect: "manual", ...text });
  jar.keep(response);
  return response;
}

const locationOf = (response: Response) => response.headers.get("Location") ?? "";

/** Goes to the provider and returns the address it sends the browser to. */
async function visitProvider(jar: CookieJar): Promise<string> {
  const start = await send(jar, "GET", "/sign-in");
  const back = await fetch(locationOf(start), { redirect: "manual" });
  return locationOf(back).replace(consoleUrl, "");
}

/** Follows all redirects. @returns where the console's page ends up */
async function comeBack(jar: CookieJar): Promise<string> {
  return locationOf(await send(jar, "GET", await visitProvider(jar)));
}

/** Signs in, and returns the session as the page sees it. */
async function signIn(jar = new CookieJar()) {
  expect(await comeBack(jar)).toBe("/#/");
  return sessionOf(jar);
}

const sessionOf = async (jar: CookieJar) =>
  (await (await send(jar, "GET", "/operator/session")).json()) as SessionInfo & Pick<SessionResponse, "ways">;
const reasons = () => log.flatMap(({ reason }) => reason ?? []);

test("a person with a mapped group gets an operator, a role and a session of one hour", async () => {
  const jar = new CookieJar();
  const started = Date.now();
  expect(await signIn(jar)).toMatchObject({ operator: "anna", role: "viewer", sites: null });
  const session = await sessionOf(jar);
  expect(session).toMatchObject({ operator: "anna", ways: { singleSignOn: true, links: true } });
  const lifetime = Date.parse(session.expires) - started;
  expect(lifetime).toBeWithin(59 * minute, 61 * minute);
  expect(await listOperators(server.engine)).toMatchObject([
    { Name: "anna", Subject: `${issuer.url}/ u1`, role: "viewer" },
  ]);
});

test("the request to the provider has PKCE, state, nonce and the registered address, and the cookie is out of reach", async () => {
  const start = await send(new CookieJar(), "GET", "/sign-in?return=https://evil.example/");
  const url = new URL(locationOf(start));
  expect(Object.fromEntries(url.searchParams)).toEqual({
    client_id: clientId,
    redirect_uri: `${consoleUrl}/sign-in/callback`,
    response_type: "code",
    scope: "openid profile email groups",
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: "S256",
  });
  expect(start.headers.get("Set-Cookie")).toMatch(
    /^__Host-storefront_sign-in=[0-9A-Za-z]{32}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  );
});

test("an address other than the configured one is sent there first, and an unknown one is refused", async () => {
  const start = (host: string, path = "/sign-in") => send(new CookieJar(), "GET", path, undefined, host);
  expect(locationOf(await start("127.0.0.1:8081"))).toBe(`${consoleUrl}/sign-in?moved`);
  // Behind a proxy that doesn't pass on Host, this must not loop.
  expect(locationOf(await start("127.0.0.1:8081", "/sign-in?moved"))).toStartWith(`${issuer.url}/authorize`);
  expect((await start("evil.example")).status).toBe(421);
  expect((await send(new CookieJar(), "GET", "/sign-in/callback", undefined, "evil.example")).status).toBe(421);
});

describe("what the mappings allow", () => {
  const entraGroup = "5f2b1c9e-0000-4a4a-9b9b-1234567890ab";
  const people: [string, object, [string, string[] | null] | undefined][] = [
    ["one group with sites", { groups: ["x", "shop-garden"] }, ["editor", ["garden", "orchard"]]],
    [
      "two groups with the same role",
      { groups: ["shop-toys", "shop-garden"] },
      ["editor", ["garden", "orchard", "toys"]],
    ],
    ["the strongest of several roles", { groups: ["viewers", "shop-toys"] }, ["editor", ["toys"]]],
    ["a single group as text", { groups: "storefront-admins" }, ["admin", null]],
    ["no group", { groups: [] }, undefined],
    ["no claim", {}, undefined],
    ["a group that only starts the same", { groups: ["viewers2", "storefront-admin"] }, undefined],
    ["Keycloak's nested roles", { realm_access: { roles: ["shop:admin"] } }, ["admin", null]],
    ["Google's domain", { hd: "shop.example", email: "x@shop.example", email_verified: true }, ["viewer", ["garden"]]],
    ["a verified address", { email: "Anna@shop.example", email_verified: true }, ["viewer", null]],
    [
      "a letter that only looks the same in lower case",
      { email: "\u212aim@shop.example", email_verified: true },
      undefined,
    ],
    ["an unverified address", { email: "anna@shop.example", email_verified: false }, undefined],
    ["an address without a word on whether it's verified, as from Entra", { email: "anna@shop.example" }, undefined],
    ["nested members that only look like a path", { realm_access: "roles" }, undefined],
  ];
  test.each(people)("%s", async (_, claims, expected) => {
    issuer.claims = { sub: "u1", preferred_username: "anna", ...claims };
    const jar = new CookieJar();
    if (expected) {
      const [role, sites] = expected;
      expect(await signIn(jar)).toMatchObject({ role, sites });
    } else {
      expect(await comeBack(jar)).toBe("/#sign-in-failed=no_access");
      expect((await sessionOf(jar)).operator).toBeNull();
      expect(await listOperators(server.engine)).toEqual([]);
      expect(reasons()).toEqual([expect.stringMatching(/ u1 matches no --oidc-role$/)]);
    }
  });

  test("Entra's object IDs, and its overage, which the log explains", async () => {
    await open({ OIDC_ROLE: `groups=${entraGroup}:editor` });
    issuer.claims = { sub: "u1", oid: "o1", preferred_username: "anna@shop.example", groups: [entraGroup] };
    expect(await signIn()).toMatchObject({ operator: "anna@shop.example", role: "editor" });
    issuer.claims = {
      sub: "u2",
      _claim_names: { groups: "src1" },
      _claim_sources: { src1: { endpoint: `${issuer.url}/graph` } },
    };
    expect(await comeBack(new CookieJar())).toBe("/#sign-in-failed=no_access");
    expect(reasons()).toEqual([expect.stringContaining("too many groups")]);
    expect(issuer.requests).not.toContain("/graph");
  });

  test("a provider that keeps tokens short is asked for userinfo, which must be about the same person", async () => {
    issuer.claims = { sub: "u1" };
    issuer.userinfo = { sub: "u1", name: "Anna Meyer", groups: ["viewers"] };
    await open();
    expect(await signIn()).toMatchObject({ operator: "Anna Meyer", role: "viewer" });
    issuer.userinfo = { sub: "u2", groups: ["storefront-admins"] };
    expect(await comeBack(new CookieJar())).toBe("/#sign-in-failed=rejected");
  });

  test("only sites that exist, no sandboxes, and nobody gets all sites because none exists", async () => {
    await open({ OIDC_ROLE: "groups=viewers:admin@garden,garden-sandbox,gone" });
    const { engine } = server;
    await createSite(engine, "other", {}, Date.now());
    expect(await comeBack(new CookieJar())).toBe("/#sign-in-failed=no_access");
    expect(reasons()).toEqual([expect.stringContaining("no site that exists")]);
    await createSite(engine, "garden", {}, Date.now());
    await (await server.signIn("root")).call("POST", "/sites/garden/sandbox", {});
    expect((await signIn()).sites).toEqual(["garden"]);
  });
});

describe("the operator", () => {
  test("is found by issuer and subject, whatever they're called, and updated at each sign-in", async () => {
    const { id } = await signIn();
    issuer.claims = { sub: "u1", preferred_username: "someone else", groups: ["storefront-admins"] };
    expect(await signIn()).toMatchObject({ id, operator: "anna", role: "admin" });
    issuer.claims = { sub: "u1", groups: ["viewers"] };
    expect(await signIn()).toMatchObject({ id, operator: "anna", role: "viewer" });
  });

  test("never takes over another one's name, even capitalized or with invisible characters", async () => {
    await server.addOperator("anna");
    const names: string[] = [];
    for (const [i, preferred_username] of ["anna", "ANNA", "an\u200bna ", "\u202eanna", "anna\ufe0f\u034f"].entries()) {
      issuer.claims = { sub: `u${i}`, preferred_username, groups: ["viewers"] };
      names.push((await signIn()).operator);
    }
    expect(names).toEqual(["anna 2", "ANNA 3", "an na", "anna 4", "anna 5"]);
    expect(await listOperators(server.engine)).toHaveLength(6);
  });

  test.each([
    ["x".repeat(500), "x".repeat(59)],
    ["👩".repeat(100), "👩".repeat(59)],
    ["line\r\nbreak\u0000", "line break"],
    ["  ", "operator"],
    [7, "operator"],
    [undefined, "operator"],
  ])("with the name %j is called %j", async (preferred_username, expected) => {
    issuer.claims = { sub: "u1", preferred_username, groups: ["viewers"] };
    expect((await signIn()).operator).toBe(expected);
  });

  test.each(["a b", " a", "a ", "a@b:c;d", "~"])("is the same at each sign-in with the subject %j", async (sub) => {
    issuer.claims = { sub, preferred_username: "anna", groups: ["viewers"] };
    const { id } = await signIn();
    expect(await signIn()).toMatchObject({ id, operator: "anna" });
  });

  test("stays the same if the provider spells its issuer differently", async () => {
    await open();
    const { id } = await signIn();
    issuer.metadata = { issuer: `${issuer.url}/` };
    issuer.alter = (claims) => ({ ...claims, iss: `${issuer.url}/` });
    setSystemTime(Date.now() + 61 * minute);
    expect((await signIn()).id).toBe(id);
  });

  test("at another provider is another operator", async () => {
    const access = { role: "admin", sites: undefined } as const;
    const other = { subject: "https://other.example u1", name: "anna", access };
    const { operator } = await saveSignedOnOperator(server.engine, other, Date.now());
    const signedIn = await signIn();
    expect([signedIn.id === operator?.ID, signedIn.operator, signedIn.role]).toEqual([false, "anna 2", "viewer"]);
  });

  test("who no longer has a group is refused, and loses open sessions", async () => {
    const jar = new CookieJar();
    await signIn(jar);
    issuer.claims = { sub: "u1", groups: ["other"] };
    expect(await comeBack(new CookieJar())).toBe("/#sign-in-failed=no_access");
    expect((await sessionOf(jar)).operator).toBeNull();
  });

  test("can't be changed here or get an ordinary link, and a removed one comes back", async () => {
    const jar = new CookieJar();
    issuer.claims = { sub: "u1", preferred_username: "anna", groups: ["storefront-admins"] };
    const { id } = await signIn(jar);
    const { call } = await server.signIn("root");
    expect((await call("PATCH", `/operators/${id}`, { sites: null, role: "viewer" })).json).toMatchObject({
      status: 409,
      detail: expect.stringContaining("managed by single sign-on"),
    });
    await expect(setOperator(server.engine, "anna", { role: "viewer" }, Date.now())).rejects.toThrow("--oidc-role");
    expect((await call("POST", `/operators/${id}/link`, {})).status).toBe(409);
    expect((await call("GET", "/operators")).json.operators).toMatchObject([
      { name: "anna", singleSignOn: { issuer: `${issuer.url}/`, subject: "u1" } },
      { name: "root", singleSignOn: null },
    ]);
    expect((await call("DELETE", `/operators/${id}`, {})).status).toBe(200);
    expect((await sessionOf(jar)).operator).toBeNull();
    expect((await signIn()).id).not.toBe(id);
  });
});

describe("an answer that isn't the provider's, or isn't for this browser, is refused", () => {
  const now = () => Math.floor(Date.now() / 1000);
  const forgeries: [string, () => void, string][] = [
    ["another issuer", () => (issuer.alter = (claims) => ({ ...claims, iss: "https://evil.example" })), "rejected"],
    ["another audience", () => (issuer.alter = (claims) => ({ ...claims, aud: "other" })), "rejected"],
    ["several audiences", () => (issuer.alter = (claims) => ({ ...claims, aud: [clientId, "other"] })), "rejected"],
    ["another nonce", () => (issuer.alter = (claims) => ({ ...claims, nonce: "x" })), "rejected"],
    ["no nonce", () => (issuer.alter = ({ nonce: _, ...claims }) => claims), "rejected"],
    ["no subject", () => (issuer.alter = ({ sub: _, ...claims }) => claims), "rejected"],
    ["an odd subject", () => (issuer.alter = (claims) => ({ ...claims, sub: "a\nb" })), "rejected"],
    ["a huge subject", () => (issuer.alter = (claims) => ({ ...claims, sub: "a".repeat(256) })), "rejected"],
    ["an expired token", () => (issuer.alter = (claims) => ({ ...claims, exp: now() - 31 })), "rejected"],
    ["a token of the future", () => (issuer.alter = (claims) => ({ ...claims, nbf: now() + 40 })), "rejected"],
    ["alg=none", () => (issuer.sign = (claims) => `${encode({ alg: "none" })}.${encode(claims)}.`), "rejected"],
    ["a token signed with the client secret", () => (issuer.sign = (claims) => signWithSecret(claims)), "rejected"],
    ["RFC 9207: another issuer's answer", () => (issuer.parameters = { iss: "https://evil.example" }), "rejected"],
    ["another state", () => (issuer.parameters = { state: "x".repeat(43) }), "expired"],
    ["a refusal", () => (issuer.parameters = { error: "access_denied" }), "rejected"],
    ["an error", () => (issuer.parameters = { error: "server_error", error_description: "no" }), "rejected"],
    [
      "a token with no signature at all",
      () => (issuer.sign = (claims) => `${encode({ alg: "RS256" })}.${encode(claims)}.`),
      "rejected",
    ],
    ["something that isn't a token", () => (issuer.sign = () => "x"), "rejected"],
  ];
  test.each(forgeries)("%s", async (_, forge, failure) => {
    forge();
    const jar = new CookieJar();
    expect(await comeBack(jar)).toBe(`/#sign-in-failed=${failure}`);
    expect((await sessionOf(jar)).operator).toBeNull();
    expect(await listOperators(server.engine)).toEqual([]);
    expect(reasons()).toHaveLength(1);
    expect(log.map((line) => JSON.stringify(line)).join()).not.toContain("code=");
  });

  test("a token without a real signature, even from a provider that announces such ones", async () => {
    issuer.metadata = { id_token_signing_alg_values_supported: ["none", "HS256", "RS256"] };
    await open();
    issuer.sign = (claims) => `${encode({ alg: "none" })}.${encode(claims)}.`;
    expect(await comeBack(new CookieJar())).toBe("/#sign-in-failed=rejected");
    issuer.sign = signWithSecret;
    expect(await comeBack(new CookieJar())).toBe("/#sign-in-failed=rejected");
    issuer.sign = undefined;
    await signIn();
  });

  async function signWithSecret(claims: object): Promise<string> {
    const input = `${encode({ alg: "HS256" })}.${encode(claims)}`;
    const hmac = new Bun.CryptoHasher("sha256", clientSecret).update(input).digest("base64url");
    return `${input}.${hmac}`;
  }

  test("clocks may differ by 30 seconds", async () => {
    issuer.alter = (claims) => ({ ...claims, exp: now() - 25, nbf: now() + 25 });
    await signIn();
  });

  test("no iss, although the provider announces that it sends it", async () => {
    issuer.metadata = { authorization_response_iss_parameter_supported: true };
    await open();
    expect(await comeBack(new CookieJar())).toBe("/#sign-in-failed=rejected");
    issuer.parameters = { iss: issuer.url };
    await signIn();
  });

  test("an answer without the browser's cookie, or with another sign-in's", async () => {
    const [victim, attacker] = [new CookieJar(), new CookieJar()];
    const stolen = await visitProvider(attacker);
    await visitProvider(victim);
    for (const jar of [new CookieJar(), victim])
      expect(locationOf(await send(jar, "GET", stolen))).toBe("/#sign-in-failed=expired");
    expect(issuer.requests.filter((path) => path === "/token")).toEqual([]);
  });

  test("an answer for a cookie that another host could put into the value of its own", async () => {
    const [victim, attacker] = [new CookieJar(), new CookieJar()];
    const stolen = await visitProvider(attacker);
    victim.keep(new Response(null, { headers: { "Set-Cookie": `x=1,${attacker.header}` } }));
    expect(locationOf(await send(victim, "GET", stolen))).toBe("/#sign-in-failed=expired");
  });

  test("many times, which is only logged once a second, whatever the browser says", async () => {
    const jar = new CookieJar();
    const back = new URL(await visitProvider(jar), consoleUrl);
    for (let i = 0; i < 5; i++) {
      const query = new URLSearchParams({
        state: back.searchParams.get("state") ?? "",
        error: "x",
        error_description: `${i}`,
      });
      await send(jar, "GET", `/sign-in/callback?${query}`);
    }
    expect(reasons()).toEqual(["the provider says x: 0"]);
  });

  test("a code that was used before", async () => {
    const jar = new CookieJar();
    const back = await visitProvider(jar);
    expect(locationOf(await send(jar, "GET", back))).toBe("/#/");
    expect(locationOf(await send(jar, "GET", back))).toBe("/#sign-in-failed=rejected");
    expect(reasons()).toEqual([expect.stringContaining("invalid_grant")]);
  });
});

test("the audit log has the way and the reason of sign-ins and refusals", async () => {
  await open();
  await signIn();
  issuer.claims = { sub: "u1", groups: [] };
  await comeBack(new CookieJar());
  issuer.claims = { sub: "u2", groups: [] };
  await comeBack(new CookieJar());
  issuer.parameters = { error: "x" };
  await comeBack(new CookieJar());
  const { call } = await server.signIn("root");
  const { entries } = (await call("GET", "/audit-log")).json as { entries: { after: Record<string, string> }[] };
  const events = entries.map(({ after: { Kind, Detail, Name } }) => [Kind, Detail, Name]);
  expect(events.filter(([kind, detail]) => kind?.includes("sign-in") && detail !== "link")).toEqual([
    ["refused-sign-in", "single-sign-on: rejected", ""],
    ["refused-sign-in", "single-sign-on: no_access", `${issuer.url}/ u2`],
    ["refused-sign-in", "single-sign-on: no_access", "anna"],
    ["sign-in", "single-sign-on", "anna"],
  ]);
});

describe("the session", () => {
  test("has a new secret at each sign-in, in a cookie for this site only", async () => {
    const jar = new CookieJar();
    const back = await send(jar, "GET", await visitProvider(jar));
    expect(back.headers.get("Set-Cookie")).toMatch(
      /^storefront_default=\w{32}; Path=\/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure$/,
    );
    const first = jar.header;
    await signIn(jar);
    const secrets = [first, jar.header].map((header) => /storefront_default=(\w+)/.exec(header)?.[1]);
    expect(new Set(secrets).size).toBe(2);
  });

  test("replaces another operator's, whose open pages then can't change anything", async () => {
    const jar = new CookieJar();
    const { id } = await signIn(jar);
    issuer.claims = { sub: "u2", preferred_username: "ben", groups: ["storefront-admins"] };
    expect((await signIn(jar)).operator).toBe("ben");
    const headers = { Host: "console.example", Origin: consoleUrl, Cookie: jar.header, "X-Operator": String(id) };
    const late = await fetch(`${server.adminUrl}/operator/sessions`, { method: "DELETE", headers });
    expect(late.status).toBe(409);
  });

  test("ends after --oidc-session, without any word from the provider", async () => {
    await open({ OIDC_SESSION: "5" });
    const jar = new CookieJar();
    const at = Date.now();
    await signIn(jar);
    setSystemTime(at + 4 * minute);
    expect((await sessionOf(jar)).operator).toBe("anna");
    await issuer.goDown();
    setSystemTime(at + 6 * minute);
    expect((await sessionOf(jar)).operator).toBeNull();
  });

  test("ends here when signing out, and the provider's own way to sign out is offered", async () => {
    const jar = new CookieJar();
    const { id } = await signIn(jar);
    const headers = { Host: "console.example", Origin: consoleUrl, Cookie: jar.header, "X-Operator": String(id) };
    const out = await fetch(`${server.adminUrl}/operator/session`, { method: "DELETE", headers });
    expect(out.status).toBe(204);
    expect((await sessionOf(jar)).operator).toBeNull();
    const there = new URL((await sessionOf(jar)).ways.signOutUrl ?? "");
    expect(there.href).toStartWith(`${issuer.url}/end?`);
    expect(Object.fromEntries(there.searchParams)).toEqual({
      client_id: clientId,
      post_logout_redirect_uri: `${consoleUrl}/`,
    });
  });
});

describe("keys of the provider", () => {
  test("are fetched again after a rotation, but at most once a minute for unknown ones", async () => {
    const fetched = () => issuer.requests.filter((path) => path === "/keys").length;
    await open();
    await signIn();
    await issuer.rotateKey(false);
    for (let i = 0; i < 5; i++) expect(await comeBack(new CookieJar())).toBe("/#sign-in-failed=rejected");
    expect(fetched()).toBe(1);
    await issuer.rotateKey();
    setSystemTime(Date.now() + 61_000);
    await signIn();
    expect(fetched()).toBe(2);
    // The shared server still has the old key.
    setSystemTime(Date.now() + 61_000);
  });
});

describe("a provider that's down", () => {
  test("doesn't stop the server, and is used as soon as it answers", async () => {
    await issuer.goDown();
    await open();
    const jar = new CookieJar();
    expect(locationOf(await send(jar, "GET", "/sign-in"))).toBe("/#sign-in-failed=down");
    const { call } = await server.signIn("root");
    expect((await call("GET", "/sites")).status).toBe(200);
    issuer.reset();
    issuer.claims = { sub: "u1", groups: ["viewers"] };
    setSystemTime(Date.now() + 6000);
    await signIn(jar);
  });

  test("isn't asked more than once in five seconds", async () => {
    issuer.intercept = () => new Response("busy", { status: 503 });
    issuer.requests.length = 0;
    await open();
    for (let i = 0; i < 20; i++) await send(new CookieJar(), "GET", "/sign-in");
    expect(issuer.requests).toHaveLength(1);
  });

  test("during a session leaves it alone", async () => {
    const jar = new CookieJar();
    await signIn(jar);
    const back = await visitProvider(jar);
    await issuer.goDown();
    expect(locationOf(await send(jar, "GET", back))).toBe("/#sign-in-failed=down");
    expect((await sessionOf(jar)).operator).toBe("anna");
  });

  const bad: [string, (path: string) => Response | undefined][] = [
    ["answers with a redirect", () => Response.redirect("http://127.0.0.1:1/", 302)],
    ["sends without end", () => new Response("x".repeat(600_000), { headers: { "Content-Type": "application/json" } })],
    ["sends nonsense", () => new Response("<html>")],
    ["isn't the issuer", () => Response.json({ issuer: "https://login.example/{tenantid}/v2.0" })],
  ];
  test.each(bad)("or %s counts as down", async (_, answer) => {
    issuer.intercept = answer;
    await open();
    expect(locationOf(await send(new CookieJar(), "GET", "/sign-in"))).toBe("/#sign-in-failed=down");
    expect(log.filter(({ msg }) => msg === "the single sign-on provider can't be used")).toHaveLength(1);
  });

  test.each([
    "authorization_endpoint",
    "end_session_endpoint",
  ])("or has a script as its %s is refused", async (name) => {
    issuer.metadata = { [name]: "javascript:alert(1)" };
    await open();
    expect(locationOf(await send(new CookieJar(), "GET", "/sign-in"))).toBe("/#sign-in-failed=down");
    expect((await sessionOf(new CookieJar())).ways.signOutUrl).toBeNull();
  });
});

describe("without ordinary links", () => {
  beforeEach(async () => {
    await open({ SIGN_IN_LINKS: "none" });
  });

  test("they don't work, and the console can't make any", async () => {
    await server.addOperator("root");
    const link = await createSignInLink(server.engine, "root", Date.now());
    const refused = await send(new CookieJar(), "POST", "/operator/session", { link });
    expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([
      401,
      expect.stringContaining("--break-glass"),
    ]);
    issuer.claims = { sub: "u1", groups: ["storefront-admins"] };
    const jar = new CookieJar();
    const { id } = await signIn(jar);
    expect((await sessionOf(jar)).ways.links).toBe(false);
    const headers = { Host: "console.example", Origin: consoleUrl, Cookie: jar.header, "X-Operator": String(id) };
    const body = { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: "{}" };
    expect((await fetch(`${server.adminUrl}/operator/operators/1/link`, body)).status).toBe(409);
  });

  test("break-glass links do, for any operator, once, for an hour, and the log says so", async () => {
    const { operator } = await signIn();
    const link = await createSignInLink(server.engine, operator, Date.now(), "break-glass");
    const jar = new CookieJar();
    const response = await send(jar, "POST", "/operator/session", { link });
    expect(await response.json()).toMatchObject({ operator: "anna", role: "viewer" });
    expect(response.headers.get("Set-Cookie")).toContain("Max-Age=3600;");
    expect((await send(new CookieJar(), "POST", "/operator/session", { link })).status).toBe(401);
    expect(log).toContainEqual(
      expect.objectContaining({ level: 40, msg: "signed in with a break-glass link", operator: "anna" }),
    );
  });
});

test("on PostgreSQL, operators and sessions work the same", async () => {
  const kind = engines.find(({ name }) => name === "PostgreSQL") as EngineKind;
  await kind.open();
  try {
    await open({ DATABASE: await kind.newDatabase() });
    const jar = new CookieJar();
    const { id } = await signIn(jar);
    issuer.claims = { sub: "u1", preferred_username: "x", groups: ["storefront-admins"] };
    expect(await signIn(jar)).toMatchObject({ id, operator: "anna", role: "admin" });
    issuer.claims = { sub: "u1", groups: [] };
    expect(await comeBack(new CookieJar())).toBe("/#sign-in-failed=no_access");
    expect((await sessionOf(jar)).operator).toBeNull();
    await server.stop();
    server = shared.server;
  } finally {
    await kind.close();
  }
});

test("the client secret is read for each sign-in, and must be there at the start", async () => {
  await signIn();
  const other = join(folder, "other");
  await expect(open({ OIDC_SECRET_FILE: other })).rejects.toThrow(/--oidc-secret-file .*no such file/);
  writeFileSync(other, "wrong");
  await open({ OIDC_SECRET_FILE: other });
  expect(await comeBack(new CookieJar())).toBe("/#sign-in-failed=rejected");
  expect(reasons()).toEqual([expect.stringContaining("invalid_client")]);
  writeFileSync(other, clientSecret);
  await signIn();
});
