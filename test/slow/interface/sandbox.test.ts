// The key selects the sandbox at the live site's host, `X-Sandbox` says so, and a renewal applies from the next response.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import type { Engine } from "../../../src/model/engine.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey, revokeKey } from "../../../src/operator/sites/keys.ts";
import { removeSite } from "../../../src/operator/sites/site-removal.ts";
import { createSite, setSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { readSystemRecords } from "../../../src/system/read-system-records.ts";
import { engines } from "../../support/engine/engines.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { createBrokenResource, fail } from "../../support/http/broken-resource.ts";
import { type CallOptions, call, startTestServer, type TestServer, waitForPolls } from "../../support/http/server.ts";
import { openClient, toRequest } from "../../support/wire/client.ts";

const brands = "/restapi/brands.json";
const feed = "/restapi/changes.json";

const sandboxIn = ({ headers }: { headers: Headers }) => headers.get("X-Sandbox");

describe.each(engines)("sandbox on $name", (kind) => {
  let server: TestServer;
  /** Another process on the same database. */
  let other: Engine;
  let key: string;
  const now = Date.now();
  beforeAll(() => kind.open());
  afterAll(() => kind.close());
  beforeEach(async () => {
    server = await startTestServer({ settings: { DATABASE: await kind.newDatabase() }, now: () => now });
    other = await openEngine(server.database, allResources);
    await server.call("POST", brands, { body: { Name: "live" } });
    const { site } = await renew();
    key = (await createKey(other, site, {}, now)).key;
    await server.call("PUT", "/restapi/brands/1.json", { key, body: { Name: "copy" } });
  });
  afterEach(async () => {
    await other.close();
    await server.stop();
  });

  const send = (method: string, path: string, options: CallOptions = {}) =>
    server.call(method, path, { key, ...options });
  const renew = async () => {
    const { sites } = await readSystemRecords(other);
    const { Name } = sites.find(({ ID }) => ID === server.site.ID) ?? server.site;
    return makeSandbox(other, Name, { now: () => now });
  };
  const emptyLiveSite = () => server.call("DELETE", "/restapi/brands/1.json");
  const names = async (options: CallOptions = {}) =>
    (await send("GET", brands, options)).json.map(({ Name }: { Name: string }) => Name);
  const live = () => ({ key: server.key });

  test("at the same host, a live key reads and writes the live site, and a sandbox key its sandbox", async () => {
    expect([await names(), await names(live())]).toEqual([["copy"], ["live"]]);
    expect((await send("PUT", "/restapi/brands/1.json", { body: { Name: "changed" } })).json.Name).toBe("changed");
    expect((await send("POST", brands, { body: { Name: "new" } })).json.ID).toBe(2);
    expect((await send("DELETE", "/restapi/brands/1.xml")).status).toBe(200);
    expect([await names(), await names(live())]).toEqual([["new"], ["live"]]);
    await send("PUT", "/restapi/brands/1.json", { ...live(), body: { Name: "still live" } });
    expect([await names(), await names(live())]).toEqual([["new"], ["still live"]]);
    expect(await server.engine.findInconsistencies()).toEqual([]);
  });
  if (kind.name === "PostgreSQL") return;

  test("every response to a sandbox key has X-Sandbox, even an error, and no other response does", async () => {
    const reader = (await createKey(other, await sandboxOf(server), { rights: ["read"] }, now)).key;
    const limited = (await createKey(other, await sandboxOf(server), { rate: 1 }, now)).key;
    const revoked = (await createKey(other, await sandboxOf(server), {}, now)).key;
    await revokeKey(other, revoked.slice(0, 17), now);
    const ended = (await createKey(other, await sandboxOf(server), { expiresAt: now }, now)).key;
    await createSite(other, "other", { hostnames: ["other.example"] }, now);
    const etag = (await send("GET", brands)).headers.get("ETag") ?? "";
    const since = (await send("GET", `${feed}?since=now`)).json.Next;
    const Name = "x";
    const retried = { "Idempotency-Key": "a" };
    const requests: [status: number, line: string, options?: CallOptions][] = [
      [200, "GET /restapi/brands.json"],
      [200, "GET /restapi/brands.xml?limit=1"],
      [200, "GET /restapi/brands/1.xml"],
      [200, "HEAD /restapi/brands/1.json"],
      [200, "GET /restapi/locations.json"],
      [304, "GET /restapi/brands.json", { headers: { "If-None-Match": etag } }],
      [200, "GET /restapi/changes.xml"],
      [200, `GET /restapi/changes.json?since=${since}&wait=1`],
      [201, "POST /restapi/brands.json", { body: { Name }, headers: retried }],
      [201, "POST /restapi/brands.json", { body: { Name }, headers: retried }],
      [422, "POST /restapi/brands.json", { body: { Name: "y" }, headers: retried }],
      [200, "PATCH /restapi/brands/2.json", { body: { Name: "z" } }],
      [200, "DELETE /restapi/brands/2.json"],
      [400, "POST /restapi/brands.json", { body: "{" }],
      [400, "GET /restapi/changes.json?since=null"],
      [400, "POST /restapi/brands.json", { body: {}, headers: { "X-HTTP-Method-Override": "GET" } }],
      [403, "POST /restapi/brands.json", { key: reader, body: { Name } }],
      [404, "GET /restapi/brands/99.xml"],
      [404, "GET /restapi/nothing.json"],
      [404, "GET /nothing", { headers: { Accept: "text/html" } }],
      [405, "PUT /restapi/locations.json"],
      [410, "GET /restapi/changes.json?since=000000000000.1"],
      [412, "PUT /restapi/brands/1.json", { body: { Name }, headers: { "If-Match": '"other.1.json"' } }],
      [413, "POST /restapi/brands.json", { body: "x".repeat(2 ** 20 + 1) }],
      [
        415,
        "POST /restapi/brands.json",
        { body: "{}", headers: { "Content-Type": "application/json; charset=latin1" } },
      ],
      [200, "GET /restapi/brands.json", { key: limited }],
      [429, "GET /restapi/brands.json", { key: limited }],
    ];
    for (const [status, line, options = {}] of requests) {
      const [method = "", path = ""] = line.split(" ");
      const response = await send(method, path, options);
      expect([line, response.status, sandboxIn(response)]).toEqual([line, status, "shop-sandbox"]);
    }
    const without: [status: number, line: string, options?: CallOptions][] = [
      [200, "GET /restapi/brands.json", live()],
      [404, "GET /restapi/brands/99.json", live()],
      [404, "GET /restapi/nothing.json", live()],
      [401, "GET /restapi/brands.json", { key: null }],
      [401, "GET /restapi/brands.json", { key: revoked }],
      [401, "GET /restapi/brands.json", { key: ended }],
      [401, "GET /restapi/brands.json", { key: key.replace(/.$/, (last) => (last === "0" ? "1" : "0")) }],
      [404, "GET /restapi/nothing.json", { key: ended }],
      [403, "GET /restapi/brands.json", { headers: { Host: "other.example" } }],
      [404, "GET /restapi/nothing.json", { headers: { Host: "other.example" } }],
      [204, "OPTIONS /restapi/brands.json"],
      [200, "GET /healthz"],
      [405, "POST /healthz"],
      [200, "GET /docs/problems/gone"],
      [404, "GET /docs/problems/nothing"],
    ];
    for (const [status, line, options = {}] of without) {
      const [method = "", path = ""] = line.split(" ");
      const response = await send(method, path, options);
      expect([line, response.status, sandboxIn(response)]).toEqual([line, status, null]);
    }
  });

  test("the sandbox is suspended and resumed with its live site, and X-Sandbox follows a rename", async () => {
    const seen = async (options: CallOptions = {}) => {
      const response = await send("GET", brands, options);
      return [response.status, sandboxIn(response)];
    };
    await setSite(other, "shop", { isSuspended: true }, now);
    expect([await seen(), await seen(live())]).toEqual([
      [403, "shop-sandbox"],
      [403, null],
    ]);
    expect((await send("GET", "/restapi/nothing.json")).json.type).toBe("/docs/problems/site-suspended");
    await setSite(other, "shop", { isSuspended: false }, now);
    expect(await seen()).toEqual([200, "shop-sandbox"]);
    await setSite(other, "shop", { name: "park" }, now);
    await renew();
    expect(await seen()).toEqual([200, "park-sandbox"]);
  });

  test("after a renewal, the same key reads the new copy from the next request", async () => {
    expect(await names()).toEqual(["copy"]);
    await renew();
    expect([await names(), await names(live())]).toEqual([["live"], ["live"]]);
    expect((await send("GET", "/restapi/brands/1.json")).json.Name).toBe("live");
    await send("PUT", "/restapi/brands/1.json", { body: { Name: "changed" } });
    expect(await names(live())).toEqual(["live"]);
  });

  test("cursors and ETags of the live site, the sandbox and the sandbox before a renewal aren't valid for each other", async () => {
    const read = async (options: CallOptions = {}) => {
      const { headers } = await send("GET", "/restapi/brands/1.json", options);
      const { json } = await send("GET", feed, options);
      return { etag: headers.get("ETag") ?? "", next: json.Next };
    };
    const [ofLive, ofFormer] = [await read(live()), await read()];
    const crossed = async ({ etag, next }: typeof ofLive, options: CallOptions = {}) => {
      const headers = { "If-None-Match": etag };
      const unread = await send("GET", "/restapi/brands/1.json", { ...options, headers });
      const body = { Name: "crossed" };
      const write = await send("PUT", "/restapi/brands/1.json", { ...options, body, headers: { "If-Match": etag } });
      const page = await send("GET", `${feed}?since=${next}`, options);
      return [unread.status, write.status, page.status];
    };
    expect([await crossed(ofLive), await crossed(ofFormer, live())]).toEqual([
      [200, 412, 410],
      [200, 412, 410],
    ]);
    await renew();
    expect(await crossed(ofFormer)).toEqual([200, 412, 410]);
    expect((await send("GET", `${feed}?since=0.0`)).json.Changes).toHaveLength(1);
  });

  test("an Idempotency-Key is replayed before a renewal, and runs again after it", async () => {
    const create = async () => {
      const headers = { "Idempotency-Key": "a" };
      const response = await send("POST", brands, { body: { Name: "once" }, headers });
      return [response.status, response.headers.get("Idempotency-Replayed"), response.json.ID];
    };
    expect([await create(), await create()]).toEqual([
      [201, null, 2],
      [201, "true", 2],
    ]);
    await emptyLiveSite();
    await renew();
    expect([await create(), await names()]).toEqual([[201, null, 1], ["once"]]);
  });

  test("a renewal ends the sandbox's long polls with a 410, but not the live site's", async () => {
    const since = (await send("GET", `${feed}?since=now`)).json.Next;
    const liveSince = (await send("GET", `${feed}?since=now`, live())).json.Next;
    const poll = send("GET", `${feed}?since=${since}&wait=50`);
    const ofLive = send("GET", `${feed}?since=${liveSince}&wait=50`, live());
    await waitForPolls(server, 2);
    await renew();
    const ended = await poll;
    expect([ended.status, ended.json.type, sandboxIn(ended)]).toEqual([410, "/docs/problems/gone", "shop-sandbox"]);
    await waitForPolls(server, 1);
    await server.call("POST", brands, { body: { Name: "b" } });
    expect((await ofLive).json.Changes).toHaveLength(1);
  });

  test("a poll for an empty sandbox's first change gets the records of its renewal", async () => {
    await emptyLiveSite();
    await renew();
    const poll = send("GET", `${feed}?since=0.0&wait=50`);
    await waitForPolls(server, 1);
    await server.call("POST", brands, { body: { Name: "first" } });
    await renew();
    expect((await poll).json.Changes).toMatchObject([{ Operation: "create", ID: 2, Record: { Name: "first" } }]);
  });

  test("removing just the sandbox ends its long polls with a 401", async () => {
    const since = (await send("GET", `${feed}?since=now`)).json.Next;
    const poll = send("GET", `${feed}?since=${since}&wait=50`);
    await waitForPolls(server, 1);
    await removeSite(other, "shop-sandbox", now);
    const ended = await poll;
    expect([ended.status, sandboxIn(ended)]).toEqual([401, null]);
  });

  test("a write whose body arrives slowly is stored in the new sandbox if there was a renewal meanwhile", async () => {
    const client = await openClient(server.port);
    const body = '{"Name":"late"}';
    const lines = [`X-API-AUTH: ${key}`, `Content-Length: ${body.length}`, "Expect: 100-continue"];
    client.send(toRequest("POST /restapi/brands.json HTTP/1.1", lines));
    await client.until((received) => received.includes("100 Continue"));
    client.send(body.slice(0, 5));
    await renew();
    client.send(body.slice(5));
    const [, created] = await client.responses(2);
    client.socket.destroy();
    expect([created?.status, created?.headers["x-sandbox"]]).toEqual([201, "shop-sandbox"]);
    expect([await names(), await names(live())]).toEqual([["live", "late"], ["live"]]);
  });
});

/** Returns the sandbox's site record. */
async function sandboxOf(server: TestServer) {
  const { sites } = await readSystemRecords(server.engine);
  const sandbox = sites.find(({ SandboxOf }) => SandboxOf === String(server.site.ID));
  if (!sandbox) throw new Error("the site has no sandbox");
  return sandbox;
}

describe("server errors have X-Sandbox too", () => {
  test("500, and 503 while the database is unreachable", async () => {
    const broken = createBrokenResource();
    const server = await startTestServer({ resources: broken.resources });
    await server.engine.commit([createIntent({ site: server.site.ID })]);
    const { site } = await makeSandbox(server.engine, "shop", { now: Date.now });
    const { key } = await createKey(server.engine, site, {}, Date.now());
    const send = async (method: string) => {
      const response = await call(`${server.url}/restapi/brands/1.xml`, method, { key });
      return [response.status, sandboxIn(response)];
    };
    broken.whenUsed = fail;
    expect(await send("GET")).toEqual([500, "shop-sandbox"]);
    broken.whenUsed = () => {};
    expect(await send("GET")).toEqual([200, "shop-sandbox"]);
    const file = server.database.replace("sqlite:", "");
    renameSync(file, `${file}.away`);
    expect(await send("DELETE")).toEqual([503, "shop-sandbox"]);
    renameSync(`${file}.away`, file);
    await server.stop();
  });
});
