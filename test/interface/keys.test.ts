// Sites and keys (contract section 1). Sites never see each other's data, and an operator's change applies from the very next request, even if
// another process made it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../src/config.ts";
import { createApiKey } from "../../src/model/api-key.ts";
import type { Engine } from "../../src/model/engine.ts";
import { systemSite } from "../../src/model/system-site.ts";
import { createKey, listKeys, revokeKey, rotateKey } from "../../src/operator/sites/keys.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite, setSite } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { start } from "../../src/start.ts";
import { openEngine } from "../../src/store/open.ts";
import { createIntent } from "../support/engine/intents.ts";
import { call, startTestServer, type TestServer } from "../support/http/server.ts";

let server: TestServer;
let clock = Date.parse("2026-01-01T00:00:00Z");
/** A second engine on the same database. It stands in for another process: the server shares no memory with it. */
let elsewhere: Engine;

beforeAll(async () => {
  server = await startTestServer({ now: () => clock });
  elsewhere = await openEngine(server.database, allResources);
});
afterAll(async () => {
  await elsewhere.close();
  await server.stop();
});

const list = (key: string | null, headers?: Record<string, string>) =>
  server.call("GET", "/restapi/brands.json", { key, ...(headers ? { headers } : {}) });

test.each([
  ["a live site", false],
  ["a sandbox", true],
] as const)("problems never quote in full a key of %s that was sent in the wrong place", async (_, isForSandbox) => {
  const { key, prefix } = createApiKey(isForSandbox);
  const shown = `${prefix}...`;
  const unknown = await server.call("GET", `/restapi/brands.xml?sort=${key}`);
  const record = await server.call("POST", "/restapi/brands.json", { body: { [key]: "", Country: key } });
  const condition = await server.call("PUT", "/restapi/brands/1.json", { body: {}, headers: { "If-Match": key } });
  const resource = await server.call("GET", `/restapi/changes.json?resource=${key}`);
  const problems = [unknown, record, condition, resource];
  expect(problems.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  for (const { text } of problems) expect([text.includes(shown), text.includes(key)]).toEqual([true, false]);
  expect(record.json.errors[0].field).toBe(shown);
});

describe("a key", () => {
  test("that is unknown, revoked or expired gets the same 401", async () => {
    const revoked = await server.issueKey();
    await revokeKey(elsewhere, revoked.slice(0, 12), clock);
    const expired = await server.issueKey({ expiresAt: clock });
    const responses = await Promise.all([createApiKey().key, revoked, expired].map((key) => list(key)));
    for (const { status, json } of responses) {
      expect([status, json.detail]).toEqual([401, expect.stringContaining("ask the site's operator")]);
      expect({ ...json, instance: "" }).toEqual({ ...responses[0]?.json, instance: "" });
    }
  });

  test("stops working the moment it expires", async () => {
    const key = await server.issueKey({ expiresAt: clock + 1000 });
    expect((await list(key)).status).toBe(200);
    clock += 1000;
    expect((await list(key)).status).toBe(401);
  });

  test("revoked by another process is rejected on the very next request", async () => {
    for (let i = 0; i < 50; i++) {
      const key = (await createKey(elsewhere, server.site, {}, clock)).key;
      expect((await list(key)).status).toBe(200);
      await revokeKey(elsewhere, key.slice(0, 12), clock);
      expect((await list(key)).status).toBe(401);
    }
  });

  test("revoked on a machine whose clock is ahead is rejected on the very next request", async () => {
    const key = await server.issueKey();
    await revokeKey(elsewhere, key.slice(0, 12), clock + 600_000);
    expect((await list(key)).status).toBe(401);
  });

  test.each([
    ["revoked long before it would expire", { expiresAt: clock + 1e9 }],
    ["revoked, and would never expire", {}],
  ])("%s is rejected, even by a server started later", async (_, settings) => {
    const key = await server.issueKey(settings);
    await revokeKey(elsewhere, key.slice(0, 12), clock);
    expect((await list(key)).status).toBe(401);
    const later = await start(readConfig({ DATABASE: server.database, PORT: "0", LOG: "silent" }), {
      now: () => clock,
    });
    expect((await call(`${later.url}/restapi/brands.json`, "GET", { key })).status).toBe(401);
    await later.stop();
  });

  test("that was rotated stops working at once, or after the overlap", async () => {
    const first = await server.issueKey({ label: "till", rights: ["read"] });
    const second = await rotateKey(elsewhere, first.slice(0, 12), 0, clock);
    expect([(await list(first)).status, (await list(second.key)).status]).toEqual([401, 200]);
    expect([second.record.Label, second.record.Scope]).toEqual(["till", "read"]);
    const third = await rotateKey(elsewhere, second.record.Prefix, 60_000, clock);
    expect([(await list(second.key)).status, (await list(third.key)).status]).toEqual([200, 200]);
    clock += 60_000;
    expect([(await list(second.key)).status, (await list(third.key)).status]).toEqual([401, 200]);
  });

  test("with the scope read can't write, and the problem names the missing right", async () => {
    const key = await server.issueKey({ rights: ["read"] });
    expect((await list(key)).status).toBe(200);
    for (const [method, path, right] of [
      ["POST", "brands.json", "`brands:write`"],
      ["PUT", "brands/1.json", "`brands:write`"],
      ["DELETE", "orderstatuses/1.json", "`orderstatuses:write`"],
    ] as const) {
      const response = await server.call(method, `/restapi/${path}`, { key, body: "not even JSON" });
      expect(response.status).toBe(403);
      expect(response.json.detail).toContain(right);
    }
  });

  test("is only stored as a digest", async () => {
    const secret = server.key.slice(12);
    for await (const { row } of elsewhere.dump()) expect(JSON.stringify(row)).not.toContain(secret);
  });

  test("has its time of last use stored when the server stops", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-test-"));
    const other = await startTestServer({
      settings: { DATABASE: `sqlite:${join(folder, "kept.db")}` },
      now: () => clock,
    });
    await other.call("GET", "/restapi/brands.json");
    await other.stop();
    const engine = await openEngine(other.database, allResources);
    expect((await listKeys(engine, other.site))[0]?.lastUsed).toEqual(new Date(clock));
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });
});

describe("a site", () => {
  test("is picked by Host, ignoring case and port; the default site serves other hosts", async () => {
    const garden = await createSite(
      elsewhere,
      "garden",
      { hostnames: ["Garden.Example", "www.garden.example"] },
      clock,
    );
    const { key } = await createKey(elsewhere, garden, {}, clock);
    for (const host of ["garden.example", "GARDEN.example:8080", "www.garden.example"]) {
      expect((await list(key, { Host: host })).status).toBe(200);
    }
    expect((await list(key)).status).toBe(403);
    expect((await list(server.key, { Host: "garden.example" })).status).toBe(403);
    expect((await list(server.key, { Host: "anything.example" })).status).toBe(200);
  });

  test("never sees another site's records, IDs or lists", async () => {
    const site = await createSite(elsewhere, "other", { hostnames: ["other.example"] }, clock);
    const { key } = await createKey(elsewhere, site, {}, clock);
    const headers = { Host: "other.example" };
    await server.call("POST", "/restapi/brands.json", { body: { Name: "mine" } });
    expect((await list(key, headers)).json).toEqual([]);
    const theirs = await server.call("POST", "/restapi/brands.json", { body: { Name: "theirs" }, key, headers });
    expect(theirs.json.ID).toBe(1);
    expect((await server.call("GET", "/restapi/brands/1.json")).json.Name).toBe("mine");
    await server.call("DELETE", "/restapi/brands/1.json", { key, headers });
    expect((await server.call("GET", "/restapi/brands/1.json")).json.Name).toBe("mine");
  });

  test("renamed, moved or removed by another process is so from the very next request", async () => {
    const site = await createSite(elsewhere, "moving", { hostnames: ["a.example"] }, clock);
    const { key } = await createKey(elsewhere, site, {}, clock);
    expect((await list(key, { Host: "a.example" })).status).toBe(200);
    await setSite(elsewhere, "moving", { name: "moved", hostnames: ["b.example"] }, clock);
    expect((await list(key, { Host: "a.example" })).status).toBe(403);
    expect((await list(key, { Host: "b.example" })).status).toBe(200);
    expect((await list(null, { Host: "b.example" })).headers.get("WWW-Authenticate")).toContain('realm="moved"');
    await removeSite(elsewhere, "moved", clock);
    expect((await list(key, { Host: "b.example" })).status).toBe(401);
  });

  test("can't be picked by an unknown host, which gets a 421", async () => {
    await setSite(elsewhere, "shop", { isDefault: false, hostnames: ["shop.example"] }, clock);
    const response = await list(server.key);
    expect([response.status, response.json.type]).toEqual([421, "/docs/problems/wrong-site"]);
    expect((await server.call("OPTIONS", "/restapi/brands.json", { key: null })).status).toBe(421);
    expect((await server.call("GET", "/healthz", { key: null })).status).toBe(200);
    await setSite(elsewhere, "shop", { isDefault: true }, clock);
  });

  test("that is suspended answers every request with 403 from the very next one, until it's resumed", async () => {
    const site = await createSite(elsewhere, "closed", { hostnames: ["closed.example"] }, clock);
    const { key } = await createKey(elsewhere, site, {}, clock);
    const headers = { Host: "closed.example" };
    const requests: [string, string, string | null][] = [
      ["GET", "/restapi/brands.json", key],
      ["GET", "/restapi/brands.xml", null],
      ["POST", "/restapi/brands.json", key],
      ["OPTIONS", "/restapi/brands.json", null],
      ["PATCH", "/restapi/locations.json", server.key],
      ["GET", "/nothing", null],
    ];
    const statuses = async () => {
      const sent = requests.map(([method, path, sentKey]) => server.call(method, path, { key: sentKey, headers }));
      return (await Promise.all(sent)).map(({ status }) => status);
    };
    expect(await statuses()).toEqual([200, 401, 400, 204, 405, 404]);
    await setSite(elsewhere, "closed", { isSuspended: true }, clock);
    const response = await list(key, headers);
    expect([response.status, response.json.type]).toEqual([403, "/docs/problems/site-suspended"]);
    expect(await statuses()).toEqual(requests.map(() => 403));
    expect((await list(server.key)).status).toBe(200);
    expect((await server.call("GET", "/healthz", { headers })).status).toBe(200);
    await setSite(elsewhere, "closed", { isSuspended: false }, clock);
    expect(await statuses()).toEqual([200, 401, 400, 204, 405, 404]);
  });

  test("isn't picked by X-Forwarded-Host unless the proxy is trusted", async () => {
    const headers = { "X-Forwarded-Host": "garden.example" };
    expect((await list(server.key, headers)).status).toBe(200);
    const behindProxy = await startTestServer({ settings: { TRUST_FORWARDED_HOST: "yes" } });
    await createSite(behindProxy.engine, "garden", { hostnames: ["garden.example"] }, 0);
    expect((await behindProxy.call("GET", "/restapi/brands.json", { headers })).status).toBe(403);
    expect((await behindProxy.call("GET", "/restapi/brands.json")).status).toBe(200);
    await behindProxy.stop();
  });

  test("sharing a hostname, as earlier versions allowed, keeps it when the other site is removed", async () => {
    const first = await createSite(elsewhere, "twin", { hostnames: ["twin.example"] }, clock);
    const second = await createSite(elsewhere, "other-twin", {}, clock);
    const { key } = await createKey(elsewhere, second, {}, clock);
    const values = { Hostnames: "TWIN.example." };
    const stored = { site: systemSite, resource: "site", operation: "update", id: second.ID, values } as const;
    await elsewhere.commit([createIntent(stored)]);
    expect((await list(key, { Host: "twin.example" })).status).toBe(200);
    await removeSite(elsewhere, first.Name, clock);
    expect((await list(key, { Host: "twin.example" })).status).toBe(200);
  });

  test("is checked first, then route, key, scope and body", async () => {
    const readOnly = await server.issueKey({ rights: ["read"] });
    const bad = { key: null, body: "{" };
    expect((await server.call("POST", "/restapi/nothing.json", bad)).status).toBe(404);
    expect((await server.call("POST", "/restapi/locations.json", bad)).status).toBe(405);
    expect((await server.call("POST", "/restapi/brands.json", bad)).status).toBe(401);
    expect((await server.call("POST", "/restapi/brands.json", { ...bad, key: readOnly })).status).toBe(403);
    expect((await server.call("POST", "/restapi/brands.json", { body: "{" })).status).toBe(400);
  });
});

describe("rate limits", () => {
  test("a key over its rate gets a 429 with Retry-After, and works again later", async () => {
    const key = await server.issueKey({ rate: 2 });
    const first = await list(key);
    expect([first.headers.get("RateLimit-Policy"), first.headers.get("RateLimit")]).toEqual([
      '"key";q=2;w=1',
      '"key";r=1;t=1',
    ]);
    await list(key);
    const rejected = await list(key);
    expect([rejected.status, rejected.headers.get("Retry-After"), rejected.json.type]).toEqual([
      429,
      "1",
      "/docs/problems/too-many-requests",
    ]);
    expect((await list(server.key)).status).toBe(200);
    clock += 1000;
    expect((await list(key)).status).toBe(200);
  });

  test.each([
    "POST",
    "PUT",
    "DELETE",
    "HEAD",
  ])("%s counts against a key's rate, and does nothing beyond it", async (method) => {
    const { ID } = (await server.call("POST", "/restapi/brands.json", { body: { Name: "before" } })).json;
    const key = await server.issueKey({ rate: 1 });
    await server.call("HEAD", "/restapi/brands.json", { key });
    const before = (await list(server.key)).text;
    const path = method === "POST" ? "brands.json" : `brands/${ID}.json`;
    const body = method === "POST" || method === "PUT" ? { Name: "beyond" } : undefined;
    const rejected = await server.call(method, `/restapi/${path}`, { key, body });
    expect([rejected.status, rejected.headers.get("RateLimit")]).toEqual([429, '"key";r=0;t=1']);
    expect((await list(server.key)).text).toBe(before);
    clock += 1000;
    const done = await server.call(method, `/restapi/${path}`, { key, body });
    expect([done.status, done.headers.get("RateLimit")]).toEqual([method === "POST" ? 201 : 200, '"key";r=0;t=1']);
  });

  test("a rejected request reports no tokens left, even as the clock advances", async () => {
    const other = await startTestServer({ now: () => (clock += 5) });
    const key = await other.issueKey({ rate: 10 });
    const rejections = new Set<string | null>();
    for (let i = 0; i < 60; i++) {
      const { status, headers } = await other.call("GET", "/restapi/brands.json", { key });
      if (status === 429) rejections.add(headers.get("RateLimit"));
    }
    expect([...rejections]).toEqual(['"key";r=0;t=1']);
    await other.stop();
  });

  test("the server's default applies to keys without a rate", async () => {
    const limited = await startTestServer({ settings: { RATE: "1", BURST: "3" }, now: () => clock });
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await limited.call("GET", "/restapi/brands.json")).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    await limited.stop();
  });

  test("an address sending many invalid keys is throttled, but valid keys still work from it", async () => {
    const other = await startTestServer({ now: () => clock });
    const statuses = new Set<number>();
    // More than the burst of 100 an address is allowed.
    for (let i = 0; i < 130; i++) statuses.add((await other.call("GET", "/restapi/brands.json", { key: null })).status);
    expect([...statuses]).toEqual([401, 429]);
    expect((await other.call("GET", "/restapi/brands.json")).status).toBe(200);
    // The address is then allowed two more per second.
    clock += 5000;
    expect((await other.call("GET", "/restapi/brands.json", { key: null })).status).toBe(401);
    await other.stop();
  });
});
