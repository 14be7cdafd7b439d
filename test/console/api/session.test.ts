// Signing in to the console, and the rights of a session (contract section 13).

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Credential } from "../../../src/model/credentials.ts";
import { ProblemError } from "../../../src/model/errors.ts";
import { removeOperator, setOperator } from "../../../src/operator/operators/operators.ts";
import { signIn, signOutEverywhere } from "../../../src/operator/operators/sessions.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { startTestConsole, type TestConsole } from "../../support/console/server.ts";
import { openClient } from "../../support/wire/client.ts";

let server: TestConsole;
let time = Date.parse("2026-01-31T12:00:00Z");
beforeEach(async () => {
  server = await startTestConsole({ now: () => time });
});
afterEach(() => server.stop());

const secretIn = (link: string) => link.split("sign-in=")[1] as string;
const minute = 60_000;

async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${server.adminUrl}/operator${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: server.adminUrl, ...headers },
    body: JSON.stringify(body),
  });
}

describe("signing in", () => {
  test("succeeds once with a link", async () => {
    await server.addOperator("anna");
    const link = secretIn(await server.link("anna"));
    const first = await post("/session", { link });
    expect(first.status).toBe(200);
    expect(await first.json()).toEqual({
      id: 1,
      operator: "anna",
      sites: null,
      role: "admin",
      rights: ["read", "read-settings", "records", "settings"],
      expires: expect.any(String),
      ways: { singleSignOn: false, signOutUrl: null, links: true },
    });
    expect(first.headers.get("Set-Cookie")).toMatch(
      /^storefront_\d+=[0-9A-Za-z]{32}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect((await post("/session", { link })).status).toBe(401);
  });

  test("succeeds in one of two browsers that use a link at the same time", async () => {
    await server.addOperator("anna");
    const link = secretIn(await server.link("anna"));
    const both = await Promise.all([post("/session", { link }), post("/session", { link })]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
  });

  test("stores the secret only in the cookie, and only its digest in the database", async () => {
    const { cookie } = await server.signIn();
    const secret = cookie.split("=")[1] as string;
    const file = Buffer.from(await Bun.file(server.database.replace("sqlite:", "")).arrayBuffer());
    const log = Buffer.from(await Bun.file(`${server.database.replace("sqlite:", "")}-wal`).arrayBuffer());
    expect(file.includes(secret) || log.includes(secret)).toBe(false);
    expect(log.includes(Bun.SHA256.hash(secret, "hex"))).toBe(true);
  });

  test("fails if the operator is signed out everywhere at the same time", async () => {
    const { engine } = server;
    await server.addOperator("anna");
    const link = secretIn(await server.link("anna"));
    let digest = "";
    const late = async (session: Credential, now: number) => {
      ({ digest } = session);
      await signOutEverywhere(engine, "anna", Date.now());
      await engine.saveCredential(session, now);
    };
    const result = await signIn({ ...engine, saveCredential: late }, link, time).catch((error) => error.code);
    expect(result).toBe("unauthorized");
    expect(await engine.findCredential(digest)).toBeUndefined();
  });

  test("keeps the link valid if the session cannot be stored", async () => {
    const { engine } = server;
    await server.addOperator("anna");
    const link = secretIn(await server.link("anna"));
    const failing = async () => {
      throw new ProblemError("unavailable", "the disk is full");
    };
    const result = await signIn({ ...engine, saveCredential: failing }, link, time).catch((error) => error.code);
    expect(result).toBe("unavailable");
    expect((await post("/session", { link })).status).toBe(200);
  });

  test("writes nothing to the database if the link is invalid", async () => {
    const { cookie } = await server.signIn();
    const session = cookie.split("=")[1] as string;
    const { engine } = server;
    const writes: string[] = [];
    const counted = async (digest: string) => {
      writes.push(digest);
      return engine.consumeCredential(digest);
    };
    for (const link of [session, "b".repeat(32), ""]) {
      const result = await signIn({ ...engine, consumeCredential: counted }, link, time).catch((error) => error.code);
      expect([result, writes]).toEqual(["unauthorized", []]);
    }
  });

  const bad: [string, unknown, number][] = [
    ["no link", {}, 400],
    ["a link that is not text", { link: 7 }, 400],
    ["an unknown link", { link: "a".repeat(32) }, 401],
    ["an empty link", { link: "" }, 401],
    ["a list", [], 400],
    ["null", null, 400],
  ];
  test.each(bad)("fails with %s", async (_, body, status) => {
    expect((await post("/session", body)).status).toBe(status);
  });

  test("needs a link of the last ten minutes, and lasts twelve hours", async () => {
    await server.addOperator("anna");
    const link = secretIn(await server.link("anna"));
    time += 10 * minute;
    expect((await post("/session", { link })).status).toBe(401);
    const client = await server.signIn("anna");
    time += 12 * 60 * minute - 1;
    expect((await client.call("GET", "/sites")).status).toBe(200);
    time += 1;
    expect((await client.call("GET", "/sites")).status).toBe(401);
  });

  test("is throttled after failed attempts, but a valid link always succeeds", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) statuses.push((await post("/session", { link: "b".repeat(32) })).status);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    expect((await post("/session", { link: "b".repeat(32) })).headers.get("Retry-After")).toBe("60");
    // One more attempt in five seconds.
    time += 5000;
    for (const status of [401, 429]) expect((await post("/session", { link: "b".repeat(32) })).status).toBe(status);
    expect((await (await server.signIn()).call("GET", "/sites")).status).toBe(200);
  });
});

describe("a link in a browser with the session of another operator", () => {
  const signedIn = async (cookie: string) =>
    (await fetch(`${server.adminUrl}/operator/session`, { headers: { Cookie: cookie } })).json();
  const cookieOf = (response: Response) => response.headers.get("Set-Cookie")?.split(";", 1)[0] ?? "";

  test("replaces the session only if the request names its operator, and is valid until then", async () => {
    const [anna, ben] = [await server.signIn("anna"), await server.signIn("ben")];
    const link = secretIn(await server.link("ben"));
    const beside = { Cookie: anna.cookie };
    for (const insteadOf of [undefined, null, ben.id, String(anna.id), true]) {
      const asked = await post("/session", { link, insteadOf }, beside);
      expect([insteadOf, asked.status, asked.headers.get("X-Operator")]).toEqual([insteadOf, 409, String(anna.id)]);
      expect(asked.headers.has("Set-Cookie")).toBe(false);
    }
    const replaced = await post("/session", { link, insteadOf: anna.id }, beside);
    expect(await replaced.json()).toMatchObject({ id: ben.id, operator: "ben" });
    expect(await signedIn(cookieOf(replaced))).toMatchObject({ operator: "ben" });
    // The replaced session has ended.
    expect(await signedIn(anna.cookie)).toMatchObject({ operator: null });
  });

  test("is 401 if it is invalid, and does not end the session", async () => {
    const anna = await server.signIn("anna");
    const beside = { Cookie: anna.cookie };
    expect((await post("/session", { link: "a".repeat(32) }, beside)).status).toBe(401);
    expect(await signedIn(anna.cookie)).toMatchObject({ operator: "anna" });
  });

  test("signs in without a question if both operators are the same", async () => {
    const anna = await server.signIn("anna");
    const again = await post("/session", { link: secretIn(await server.link("anna")) }, { Cookie: anna.cookie });
    expect([again.status, await again.json()]).toEqual([200, expect.objectContaining({ id: anna.id })]);
  });
});

describe("the page of another operator", () => {
  const brands = "/sites/shop/records/brands";

  test("makes no change in the name of the signed-in operator", async () => {
    const [anna, ben] = [await server.signIn("anna"), await server.signIn("ben")];
    const ofAnna = { "X-Operator": String(anna.id) };
    const requests: [method: string, path: string, body?: object][] = [
      ["POST", brands, { Name: "Acme" }],
      ["POST", `${brands}/changes`, { changes: [{ id: 1, values: { Name: "Acme" } }] }],
      ["DELETE", brands, { ids: [1] }],
      ["DELETE", "/session"],
      ["DELETE", "/sessions"],
      ["GET", brands],
    ];
    for (const [method, path, body] of requests) {
      const { status, headers, json } = await ben.call(method, path, body, ofAnna);
      expect([method, path, status, headers.get("X-Operator")]).toEqual([method, path, 409, String(ben.id)]);
      expect(json.detail).toContain("someone else opened this page, and ben is now signed in");
    }
    for (const wrong of ["", "0", "ben", `${ben.id} `.padEnd(3, "x"), "99"])
      expect([wrong, (await ben.call("POST", brands, { Name: "x" }, { "X-Operator": wrong })).status]).toEqual([
        wrong,
        409,
      ]);
    expect((await ben.call("GET", brands)).json.total).toBe(0);
    expect((await ben.call("POST", brands, { Name: "Acme" })).status).toBe(200);
  });

  test("is recognized by X-Operator: a change without this header is rejected", async () => {
    const { cookie } = await server.signIn("anna");
    const rejected = await post(brands, { Name: "Acme" }, { Cookie: cookie });
    expect([rejected.status, await rejected.text()]).toEqual([400, expect.stringContaining("X-Operator")]);
    const read = await fetch(`${server.adminUrl}/operator${brands}`, { headers: { Cookie: cookie } });
    expect(await read.json()).toMatchObject({ total: 0 });
  });
});

describe("a session", () => {
  test("ends when the operator signs out, in one browser or everywhere", async () => {
    const [one, two, other] = [await server.signIn(), await server.signIn(), await server.signIn("ben")];
    expect((await one.call("DELETE", "/session")).status).toBe(204);
    expect((await one.call("GET", "/sites")).status).toBe(401);
    expect((await two.call("DELETE", "/sessions")).status).toBe(204);
    expect((await two.call("GET", "/sites")).status).toBe(401);
    expect((await other.call("GET", "/sites")).status).toBe(200);
  });

  test("tells only the removed operator's own browsers that their access was revoked, until it would have ended", async () => {
    const [ben, carl] = [await server.signIn("ben"), await server.signIn("carl")];
    const [unused, name] = [secretIn(await server.link("ben")), ben.cookie.split("=")[0]];
    await removeOperator(server.engine, "ben", time);
    await signOutEverywhere(server.engine, "carl", time);
    const of = async (cookie: string) =>
      (await fetch(`${server.adminUrl}/operator/session`, { headers: { Cookie: cookie } })).json();
    const [revoked, unknown] = [true, false].map((isRevoked) => ({ operator: null, isRevoked })) as [object, object];
    expect(await of(ben.cookie)).toMatchObject(revoked);
    expect((await ben.call("GET", "/sites")).json.detail).toContain("your access was revoked");
    for (const cookie of ["", `${name}=${"a".repeat(32)}`, carl.cookie, `${name}=${unused}`])
      expect([cookie, await of(cookie)]).toMatchObject([cookie, unknown]);
    expect((await post("/session", { link: unused })).status).toBe(401);
    // Somebody else of the same name isn't signed in by that cookie.
    await server.addOperator("ben");
    expect((await ben.call("GET", "/sites")).status).toBe(401);
    time += 12 * 60 * minute;
    expect(await of(ben.cookie)).toMatchObject(unknown);
  });

  test("is needed for every action", async () => {
    for (const path of ["/resources", "/sites", "/sites/shop/records/brands"]) {
      const response = await fetch(`${server.adminUrl}/operator${path}`);
      expect([path, response.status]).toEqual([path, 401]);
    }
  });

  test("is found also if another server of the machine has set cookies with the same name", async () => {
    const { cookie } = await server.signIn();
    const name = cookie.split("=")[0];
    const statusOf = async (sent: string) =>
      (await fetch(`${server.adminUrl}/operator/sites`, { headers: { Cookie: sent } })).status;
    for (const other of ["", "x", "a".repeat(32), "a".repeat(3000), '"quoted"', "=", "%00"])
      expect([other, await statusOf(`${name}=${other}; ${cookie}`)]).toEqual([other, 200]);
    expect(await statusOf(`${name}x=${cookie.split("=")[1]}`)).toBe(401);
  });

  const ends: [string, () => Promise<unknown>, number][] = [
    ["was removed", () => removeOperator(server.engine, "ben", time), 401],
    ["was signed out", () => signOutEverywhere(server.engine, "ben", Date.now()), 401],
    ["may no longer manage the site", () => setOperator(server.engine, "ben", { sites: ["toys"] }, time), 404],
    ["may only read", () => setOperator(server.engine, "ben", { role: "viewer" }, time), 403],
  ];
  test.each(ends)("does not make a change whose body arrives after the operator %s", async (_, end, status) => {
    await createSite(server.engine, "toys", {}, time);
    const { cookie, id } = await server.signIn("ben", ["shop"]);
    await server.signIn("anna");
    const body = JSON.stringify({ Name: "late" });
    const { host, port } = new URL(server.adminUrl);
    const lines = [
      `Host: ${host}`,
      `Origin: ${server.adminUrl}`,
      `Cookie: ${cookie}`,
      `X-Operator: ${id}`,
      "Content-Type: application/json",
      "Expect: 100-continue",
    ];
    const client = await openClient(Number(port));
    client.send(
      `POST /operator/sites/shop/records/brands HTTP/1.1\r\n${lines.join("\r\n")}\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    // The server asks for the body when it has found the session.
    await client.until((received) => received.includes("100 Continue"));
    await end();
    client.send(body);
    expect((await client.responses(2))[1]?.status).toBe(status);
    client.socket.destroy();
  });

  const origins: [string, number, (url: string) => string | undefined][] = [
    ["the origin of its page", 200, (url) => url],
    ["no origin", 403, () => undefined],
    ["the origin of another website", 403, () => "https://evil.example"],
    ["the origin `null`", 403, () => "null"],
    ["the origin of another port", 403, (url) => url.replace(/\d+$/, "1")],
    ["the origin of its page and a path", 403, (url) => `${url}/`],
  ];
  test.each(origins)("makes changes only with the origin of its page: %s is %i", async (_, status, origin) => {
    const { cookie, id } = await server.signIn();
    const sent = origin(server.adminUrl);
    const response = await fetch(`${server.adminUrl}/operator/sites/shop/records/brands`, {
      method: "POST",
      headers: {
        Cookie: cookie,
        "X-Operator": String(id),
        "Content-Type": "application/json",
        ...(sent ? { Origin: sent } : {}),
      },
      body: JSON.stringify({ Name: "Acme" }),
    });
    expect(response.status).toBe(status);
  });

  test("makes no change that an HTML form sends", async () => {
    const { call } = await server.signIn();
    const form = { "Content-Type": "text/plain" };
    expect((await call("POST", "/sites/shop/records/brands", "{}", form)).status).toBe(415);
  });
});

describe("an operator of some sites", () => {
  test("can list and use only these sites", async () => {
    await createSite(server.engine, "toys", {}, time);
    const { call } = await server.signIn("ben", ["toys"]);
    const { sites } = (await call("GET", "/sites")).json;
    expect(sites.map(({ name }: { name: string }) => name)).toEqual(["toys"]);
    expect((await call("GET", "/sites/toys/records/brands")).status).toBe(200);
    for (const [method, path] of [
      ["GET", "/sites/shop/records/brands"],
      ["POST", "/sites/shop/records/brands"],
      ["DELETE", "/sites/shop/records/brands"],
      ["GET", "/sites/shop/records/brands/1"],
      ["POST", "/sites/shop/records/brands/changes"],
    ] as const) {
      const response = await call(method, path, method === "GET" ? undefined : {});
      expect([method, path, response.status]).toEqual([method, path, 404]);
    }
  });
});
