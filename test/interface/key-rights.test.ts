// What a key may do, and from where (contract section 1), in combination with everything that reads or writes: single requests, batch requests, undo, the
// feed, agents, sandboxes, rotation and the operator's list of requests.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { RequestsAnswer } from "../../src/http/common/activity.ts";
import { makeSandbox } from "../../src/operator/sandbox/make-sandbox.ts";
import { createKey, revokeKey, rotateKey, setKey } from "../../src/operator/sites/keys.ts";
import { engines } from "../support/engine/engines.ts";
import { sendBatch, toCreate, toUpdate } from "../support/http/batch.ts";
import { callTool, sendMessage } from "../support/http/mcp.ts";
import { startTestServer, type TestServer, useServer, waitForPolls } from "../support/http/server.ts";

const day = 24 * 60 * 60_000;

describe.each(engines)("rights on $name", (kind) => {
  let server: TestServer;
  useServer(kind, (started) => {
    server = started;
  });
  const call = (method: string, path: string, key: string, body?: unknown) =>
    server.call(method, `/restapi/${path}`, { key, body });
  const statusOf = async (method: string, path: string, key: string, body?: unknown) =>
    (await call(method, path, key, body)).status;
  const keyFor = (...rights: string[]) => server.issueKey({ rights });
  beforeAll(async () => {
    await call("POST", "brands.json", server.key, { Name: "Acme" });
    await call("POST", "orderstatuses.json", server.key, { Name: "New" });
  });

  test("single requests need the right to their resource, and writing includes reading", async () => {
    const key = await keyFor("brands:write", "orderstatuses:read");
    expect(await statusOf("POST", "brands.json", key, { Name: "Bolt" })).toBe(201);
    for (const path of ["brands.json", "brands/1.xml", "orderstatuses.xml", "orderstatuses/1.json"])
      expect([path, await statusOf("GET", path, key)]).toEqual([path, 200]);
    for (const [method, path, right] of [
      ["GET", "locations.json", "locations:read"],
      ["HEAD", "locations.json", ""],
      ["POST", "orderstatuses.json", "orderstatuses:write"],
      ["PUT", "orderstatuses/1.xml", "orderstatuses:write"],
      ["DELETE", "orderstatuses.json?dryRun=1", "orderstatuses:write"],
      ["GET", "changes.xml", "changes:read"],
    ] as const) {
      const { status, text } = await call(method, path, key, method === "GET" || method === "HEAD" ? undefined : "x");
      expect([method, path, status]).toEqual([method, path, 403]);
      expect(text).toContain(right);
    }
  });

  test("scopes are short for everything but webhooks, and a list of requests shows what was denied", async () => {
    const key = await keyFor("read");
    expect((await call("GET", "key.json", key)).json.Rights).toEqual([
      "brands:read",
      "orderstatuses:read",
      "locations:read",
      "changes:read",
    ]);
    const whole = (await call("GET", "key.json", server.key)).json.Rights;
    expect([whole.includes("brands:write"), whole.includes("webhooks:write")]).toEqual([true, false]);
    const both = await keyFor("write", "webhooks:write");
    expect((await call("GET", "key.json", both)).json.Rights).toEqual([...whole, "webhooks:write"]);
    await call("POST", "brands.json", key, {});
    const { requests } = server.answer({
      kind: "requests",
      site: server.site.ID,
      key: key.slice(0, 12),
    }) as RequestsAnswer;
    expect(requests[0]).toMatchObject({ status: 403 });
    expect(requests[0]?.problem?.detail).toContain("`brands:write`");
  });

  test("a batch request needs the rights of all operations, even if they're independent", async () => {
    const key = await keyFor("brands:write");
    const mixed = [toCreate({ Name: "Never" }), toCreate({ Name: "Never" }, "orderstatuses")];
    const before = (await call("GET", "brands.json", key)).text;
    for (const query of ["", "atomic=0", "dryRun=1"]) {
      const { status, json } = await sendBatch(server, mixed, { query, key });
      expect([status, json.errors.map(({ operation, code }: never) => [operation, code])]).toEqual([
        403,
        [[2, "forbidden"]],
      ]);
      expect(json.detail).toMatch(/^operation 2: .*`orderstatuses:write`/);
    }
    expect((await call("GET", "brands.json", key)).text).toBe(before);
    const xml = '<Batch><Operation Method="DELETE" Resource="orderstatuses" ID="1"/></Batch>';
    const refused = await server.call("POST", "/restapi/batch.xml", { key, body: xml });
    expect([refused.status, refused.text.includes("<code>forbidden</code>")]).toEqual([403, true]);
    expect((await sendBatch(server, [toUpdate(1, { AccountNumber: "A" })], { key })).status).toBe(200);
    const reading = await sendBatch(server, mixed, { key: await keyFor("read") });
    expect(reading.json.detail).toContain("`brands:write` or `orderstatuses:write`");
  });

  test("an undo needs the rights to everything the run changed, also when it's repeated", async () => {
    const key = await keyFor("brands:write", "orderstatuses:write");
    const operations = [toCreate({ Name: "Undone" }), toCreate({ Name: "Undone" }, "orderstatuses")];
    const { Run } = (await sendBatch(server, operations, { key })).json;
    const undo = () =>
      server.call("POST", "/restapi/undo.json", { key, body: { Run }, headers: { "Idempotency-Key": Run } });
    await setKey(server.engine, key.slice(0, 12), { rights: ["brands:write"] }, Date.now());
    const refused = await undo();
    expect([refused.status, refused.json.detail]).toEqual([403, expect.stringContaining("`orderstatuses:write`")]);
    await setKey(server.engine, key.slice(0, 12), { rights: ["write"] }, Date.now());
    expect((await undo()).json).toMatchObject({ Deleted: 2 });
    await setKey(server.engine, key.slice(0, 12), { rights: ["brands:write"] }, Date.now());
    expect((await undo()).status).toBe(403);
  });

  test("the feed only has changes that the key can read, with the same cursors", async () => {
    const key = await keyFor("orderstatuses:read", "changes:read");
    const { json: mine } = await call("GET", "changes.json", key);
    const { json: all } = await call("GET", "changes.json?limit=1000", server.key);
    const changes = all.Changes.filter(({ Resource }: { Resource: string }) => Resource === "orderstatuses");
    expect([mine.Changes, mine.Next, mine.More]).toEqual([changes, all.Next, false]);
    expect(changes.length).toBeGreaterThan(0);
    expect((await call("GET", "changes.xml?collapse=1", key)).text).not.toContain("<Brand");
    const refused = await call("GET", "changes.json?resource=orderstatuses,brands", key);
    expect([refused.status, refused.json.detail]).toEqual([403, expect.stringContaining("`brands:read`")]);
  });

  test("a long poll isn't woken by changes it can't see, and ends when the key loses the feed", async () => {
    const key = await keyFor("read");
    const start = (await call("GET", "changes.json?since=now", key)).json.Next;
    const poll = () => call("GET", `changes.json?since=${start}&wait=50`, key);
    const narrowed = poll();
    await waitForPolls(server, 1);
    await setKey(server.engine, key.slice(0, 12), { rights: ["orderstatuses:read", "changes:read"] }, Date.now());
    await call("POST", "brands.json", server.key, { Name: "Unseen" });
    await call("POST", "orderstatuses.json", server.key, { Name: "Seen" });
    const { json } = await narrowed;
    expect(json.Changes.map(({ Resource }: { Resource: string }) => Resource)).toEqual(["orderstatuses"]);
    const ending = call("GET", `changes.json?since=${json.Next}&wait=50`, key);
    await waitForPolls(server, 1);
    await setKey(server.engine, key.slice(0, 12), { rights: ["orderstatuses:read"] }, Date.now());
    expect((await ending).status).toBe(403);
  });

  test("agents have the tools and resources that the key can use", async () => {
    const toolsOf = async (key: string) => {
      const { json } = await sendMessage(server, { jsonrpc: "2.0", id: 1, method: "tools/list" }, { key });
      return json.result.tools as { name: string; inputSchema: { properties: Record<string, { enum?: string[] }> } }[];
    };
    const namesOf = async (...rights: string[]) => (await toolsOf(await keyFor(...rights))).map(({ name }) => name);
    expect(await namesOf("webhooks:write")).toEqual([]);
    expect(await namesOf("changes:read")).toEqual([]);
    expect(await namesOf("locations:read")).toEqual(["list", "get"]);
    expect(await namesOf("brands:write", "changes:read")).toEqual(["list", "get", "changes", "batch", "undo"]);
    const key = await keyFor("brands:write", "orderstatuses:read");
    const [list] = await toolsOf(key);
    expect(list?.inputSchema.properties.resource?.enum).toEqual(["brands", "orderstatuses"]);
    expect(JSON.stringify((await toolsOf(key)).find(({ name }) => name === "batch"))).not.toContain("orderstatuses");
    const operations = [{ Method: "DELETE", Resource: "orderstatuses", ID: 1 }];
    const { data, isError } = await callTool(server, "batch", { operations }, { key });
    expect([isError, data.status]).toEqual([true, 403]);
    expect(data.detail).toContain("`orderstatuses:write`");
    expect((await callTool(server, "list", { resource: "locations" }, { key })).isError).toBe(true);
    expect((await callTool(server, "batch", { operations: [toCreate({ Name: "x" })] }, { key })).isError).toBe(false);
  });

  test("rotation keeps rights and networks, and sandbox keys have their own", async () => {
    const key = await server.issueKey({ rights: ["brands:read"], networks: ["127.0.0.0/8", "::1"] });
    const rotated = await rotateKey(server.engine, key.slice(0, 12), 0, Date.now());
    const { json } = await call("GET", "key.json", rotated.key);
    expect(json).toMatchObject({ Rights: ["brands:read"], Networks: ["127.0.0.0/8", "::1/128"] });
    const { site } = await makeSandbox(server.engine, "shop", { now: Date.now });
    const sandbox = (await createKey(server.engine, site, { rights: ["brands:read"], label: "try" }, Date.now())).key;
    const described = await call("GET", "key.xml", sandbox);
    expect(described.headers.get("X-Sandbox")).toBe("shop-sandbox");
    expect(described.text).toContain(
      `<Label>try</Label><Site>shop-sandbox</Site><SiteID>${site.ID}</SiteID><Sandbox>true</Sandbox><Rights><Right>brands:read</Right></Rights>`,
    );
    const refused = await call("GET", "orderstatuses.json", sandbox);
    expect([refused.status, refused.headers.get("X-Sandbox")]).toEqual([403, "shop-sandbox"]);
  });

  test("a write while its key loses the right is stored if and only if it's confirmed, and later ones aren't", async () => {
    const key = await keyFor("brands:write");
    const writes = Array.from({ length: 20 }, () => statusOf("POST", "brands.json", key, { Name: "Racing" }));
    await setKey(server.engine, key.slice(0, 12), { rights: ["brands:read"] }, Date.now());
    expect(await statusOf("POST", "brands.json", key, { Name: "Racing" })).toBe(403);
    const statuses = await Promise.all(writes);
    expect(statuses.filter((status) => status === 201)).toHaveLength(
      (await call("GET", "brands.json?filter[Name]=Racing", key)).json.length,
    );
  });
});

describe("networks", () => {
  let server: TestServer;
  let clock = Date.parse("2026-01-01T00:00:00Z");
  beforeAll(async () => {
    server = await startTestServer({ now: () => clock, settings: { TRUST_PROXY: "yes" } });
  });
  afterAll(() => server.stop());

  const from = (key: string, address: string, path = "/restapi/brands.json") =>
    server.call("GET", path, { key, headers: { "X-Forwarded-For": `192.0.2.1, ${address}` } });

  test.each([
    ["203.0.113.0/24", "203.0.113.7", 200],
    ["203.0.113.0/24", "203.0.113.7:4711", 200],
    ["203.0.113.0/24", "203.0.114.7", 403],
    ["203.0.113.0/24", "::ffff:203.0.113.7", 200],
    ["::ffff:203.0.113.0/120", "203.0.113.7", 200],
    ["203.0.113.7", "203.0.113.7", 200],
    ["203.0.113.7", "203.0.113.8", 403],
    ["2001:db8::/32", "[2001:DB8:1::7]:443", 200],
    ["2001:db8::/32", "2001:db9::7", 403],
    ["2001:db8::7", "2001:db8:0::7", 200],
    ["0.0.0.0/0", "2001:db8::7", 403],
    ["::/0", "203.0.113.7", 403],
  ])("%s from %s: %i", async (network, address, status) => {
    const key = await server.issueKey({ networks: [network] });
    const response = await from(key, address);
    expect(response.status).toBe(status);
    if (status === 403) expect(response.text).not.toContain(network);
  });

  test.each(["unknown", "", "1.2.3"])("don't include the proxy if it forwards '%s' as the address", async (address) => {
    const key = await server.issueKey({ networks: ["127.0.0.0/8", "::1"] });
    expect((await from(key, address)).status).toBe(403);
  });

  test("are checked for every path that needs a key, and before its rate and use are counted", async () => {
    const key = await server.issueKey({ networks: ["203.0.113.0/24"], rate: 1, expiresAt: clock + day });
    for (const path of ["/restapi/key.xml", "/restapi/changes.json", "/restapi/locations/1.json"]) {
      const response = await from(key, "198.51.100.7", path);
      expect([path, response.status]).toEqual([path, 403]);
      expect(response.text).toContain("198.51.100.7");
      expect([response.headers.get("RateLimit"), response.headers.get("X-Key-Expires")]).toEqual([null, null]);
    }
    const headers = { "X-Forwarded-For": "198.51.100.7" };
    expect((await sendMessage(server, {}, { key, headers })).status).toBe(403);
    expect((await server.call("POST", "/restapi/batch.json", { key, headers, body: {} })).status).toBe(403);
    expect((await from(key, "203.0.113.9")).status).toBe(200);
  });

  test("end a long poll that the key may no longer make", async () => {
    const key = await server.issueKey({ networks: ["203.0.113.0/24"] });
    const { json } = await from(key, "203.0.113.1", "/restapi/changes.json?since=now");
    const poll = from(key, "203.0.113.1", `/restapi/changes.json?since=${json.Next}&wait=50`);
    await waitForPolls(server, 1);
    await setKey(server.engine, key.slice(0, 12), { networks: ["198.51.100.0/24"] }, clock);
    expect((await poll).status).toBe(403);
  });

  const rejected: [string, string[], RegExp][] = [
    ["a network with host bits", ["203.0.113.7/24"], /did you mean `203\.0\.113\.0\/24`, or .* `203\.0\.113\.7`/],
    ["an IPv6 network with host bits", ["2001:db8::1/32"], /`2001:db8::\/32`/],
    ["text", ["office"], /`office` isn't a network/],
    ["too many bits", ["203.0.113.0/33"], /isn't a network/],
    ["nothing", [""], /isn't a network/],
    ["too many networks", Array.from({ length: 17 }, (_, i) => `10.0.${i}.0/24`), /up to 16 networks/],
  ];
  test.each(rejected)("can't be %s", async (_, networks, message) => {
    expect(await server.issueKey({ networks }).catch((error) => error.message)).toMatch(message);
  });

  test("rights that don't exist get the nearest one", async () => {
    for (const [right, meant] of [
      ["brand:write", "brands:write"],
      ["brands:wirte", "brands:write"],
      ["brands", "brands:read"],
      ["locations:write", "locations:read"],
      ["webhooks:read", "webhooks:write"],
      ["Brands:Read", "brands:read"],
    ] as const)
      expect(await server.issueKey({ rights: [right] }).catch((error) => error.message)).toContain(`\`${meant}\``);
    expect(await server.issueKey({ rights: [] }).catch((error) => error.message)).toContain("at least one right");
  });

  test("in its last 30 days, every response to a key says when it expires, errors included", async () => {
    const expiresAt = clock + 40 * day;
    const key = await server.issueKey({ expiresAt });
    const expires = async (path: string) => (await server.call("GET", path, { key })).headers.get("X-Key-Expires");
    const paths = [
      "/restapi/brands.json",
      "/restapi/brands/7.xml",
      "/restapi/nothing.json",
      "/restapi/brands.json?x=1",
    ];
    for (const path of paths) expect(await expires(path)).toBe(null);
    clock += 11 * day;
    for (const path of paths) expect([path, await expires(path)]).toEqual([path, new Date(expiresAt).toISOString()]);
    const { json } = await server.call("GET", "/restapi/key.json", { key });
    expect(json.Expires).toBe(new Date(expiresAt).toISOString());
    clock = expiresAt;
    const { status, headers } = await server.call("GET", "/restapi/brands.json", { key });
    expect([status, headers.get("X-Key-Expires")]).toEqual([401, null]);
  });

  test("who am I: tells the limits, and what's left of the rate", async () => {
    const key = await server.issueKey({ rate: 3, label: "a <b> & c\r\n" });
    const { json, headers } = await server.call("GET", "/restapi/key.json", { key });
    expect(json).toMatchObject({ Prefix: key.slice(0, 12), Rate: 3, Burst: 3, Remaining: 2, Expires: null });
    expect([headers.get("Cache-Control"), headers.get("ETag")]).toEqual(["no-cache, no-store, must-revalidate", null]);
    const xml = await server.call("GET", "/restapi/key.xml", { key });
    expect(xml.text).toContain("<Label>a &lt;b&gt; &amp; c&#13;\n</Label>");
    expect(xml.text).not.toContain("<Expires");
    await revokeKey(server.engine, key.slice(0, 12), clock);
    expect((await server.call("GET", "/restapi/key.json", { key })).status).toBe(401);
    expect((await server.call("PUT", "/restapi/key.json", { body: "" })).status).toBe(405);
    expect((await server.call("GET", "/restapi/key.json?ID=3")).status).toBe(400);
  });
});
