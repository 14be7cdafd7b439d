// Webhooks by API (contract section 12): a key with the right manages its own site's webhooks, and nothing else.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { makeSandbox } from "../../src/operator/sandbox/make-sandbox.ts";
import { createKey, revokeKey } from "../../src/operator/sites/keys.ts";
import { setSite } from "../../src/operator/sites/sites.ts";
import { createWebhook } from "../../src/operator/webhooks/webhook-creation.ts";
import { getWebhook, listWebhooks, listWebhooksMadeBy } from "../../src/operator/webhooks/webhook-list.ts";
import { pauseWebhook, resumeWebhook } from "../../src/operator/webhooks/webhooks.ts";
import { engines } from "../support/engine/engines.ts";
import { startTestServer, type TestServer, useServer } from "../support/http/server.ts";
import { openClient, toRequest } from "../support/wire/client.ts";

const policy = { allow: [], isLoopbackAllowed: true, lookup: async () => [] };
const URL = "https://192.0.2.1.example.invalid/hooks/secret-that-is-quite-long-indeed";

describe.each(engines)("webhooks by API on $name", (kind) => {
  let server: TestServer;
  let key: string;
  useServer(kind, (started) => {
    server = started;
  });
  beforeAll(async () => {
    key = await server.issueKey({ rights: ["write", "webhooks:write"] });
  });
  const call = (method: string, path: string, body?: unknown, as = key) =>
    server.call(method, `/restapi/webhooks${path}`, { key: as, body });
  const idOf = ({ json }: { json: { ID: number } }) => json.ID;

  test("need their right, which no scope has", async () => {
    for (const [method, path] of [
      ["GET", ".json"],
      ["POST", ".xml"],
      ["DELETE", "/1.json"],
      ["POST", "/1/rotate.xml"],
    ] as const) {
      const { status, text } = await call(method, path, undefined, server.key);
      expect([method, path, status]).toEqual([method, path, 403]);
      expect(text).toContain("`webhooks:write`");
    }
  });

  test("are created with a secret, listed, changed, paused, resumed, rotated, tested and deleted", async () => {
    const created = await call("POST", ".json", { URL });
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject({ URL, Resources: "", Status: "active", Key: key.slice(0, 12) });
    expect(created.json.Secret).toMatch(/^whsec_/);
    const id = idOf(created);
    expect(created.headers.get("Location")).toBe(`/restapi/webhooks/${id}.json`);
    expect((await call("GET", ".json")).json).toEqual([{ ...created.json, Secret: "" }]);
    expect((await call("GET", ".xml")).text).toContain(`<Results><Webhook ID="${id}"><URL>${URL}</URL>`);
    const repeated = await call("POST", ".json", { URL });
    expect([repeated.status, repeated.json.detail]).toEqual([400, expect.stringContaining(`webhook ${id}`)]);
    const moved = await call("PUT", `/${id}.xml`, "<Webhook><URL>https://example.invalid/new</URL></Webhook>");
    expect(moved.text).toContain("<URL>https://example.invalid/new</URL>");
    expect((await call("POST", `/${id}/pause.json`)).json).toMatchObject({
      Status: "paused",
      Detail: `paused by the API key ${key.slice(0, 12)}`,
    });
    expect((await call("POST", `/${id}/resume.json`)).json.Status).toBe("active");
    const { Secret } = (await call("POST", `/${id}/rotate.json`)).json;
    expect(Secret).toMatch(/^whsec_/);
    expect(Secret).not.toBe(created.json.Secret);
    const tested = (await call("POST", `/${id}/test.json`)).json;
    expect(tested).toMatchObject({ ID: 1, Status: "", Fault: expect.stringMatching(/./) });
    expect((await call("GET", `/${id}/deliveries.json`)).json).toEqual([tested]);
    expect((await call("GET", `/${id}/deliveries.xml`)).text).toContain('<Results><Delivery ID="1">');
    expect((await call("POST", `/${id}/retry.json`)).status).toBe(200);
    expect((await call("DELETE", `/${id}.json`)).json.ID).toBe(id);
    expect((await call("GET", `/${id}.json`)).status).toBe(404);
  });

  const rejected: [string, unknown, number][] = [
    ["an address of the server's own machine", { URL: "https://127.0.0.1/x" }, 400],
    ["an internal address", { URL: "https://10.0.0.1/x" }, 400],
    ["http", { URL: "http://example.invalid/x" }, 400],
    ["no URL", {}, 400],
    ["an unknown member", { URL, url: "x" }, 400],
    ["an unknown resource", { URL, Resources: "brand" }, 400],
    ["a secret of its own", { URL, Secret: "x" }, 400],
  ];
  test.each(rejected)("aren't created with %s", async (_, body, status) => {
    expect((await call("POST", ".json", body)).status).toBe(status);
  });

  test("only get what the key can read, and can't be used to get more", async () => {
    const narrow = await server.issueKey({ rights: ["brands:read", "webhooks:write"] });
    const asked = await call("POST", ".json", { URL, Resources: "brands orderstatuses" }, narrow);
    expect([asked.status, asked.json.detail]).toEqual([403, expect.stringContaining("`orderstatuses:read`")]);
    const made = await call("POST", ".json", { URL: `${URL}/narrow` }, narrow);
    expect(made.json.Resources).toBe("brands");
    const nothing = await server.issueKey({ rights: ["webhooks:write"] });
    expect((await call("POST", ".json", { URL: `${URL}/none` }, nothing)).status).toBe(403);
    const settings = { url: "https://example.invalid/aB3dE5fG7hI9jK1lM3nO5pQ7", resources: [], since: "now" as const };
    const { webhook } = await createWebhook(server.engine, server.site, settings, policy, Date.now());
    for (const [method, path, body] of [
      ["PUT", `/${webhook.ID}.json`, { URL: "https://thief.invalid/" }],
      ["POST", `/${webhook.ID}/rotate.json`, undefined],
      ["DELETE", `/${webhook.ID}.json`, undefined],
    ] as const)
      expect((await call(method, path, body, narrow)).status).toBe(403);
    // An operator's URL may have a secret in it.
    expect((await call("GET", `/${webhook.ID}.json`)).json).toMatchObject({
      Key: "",
      URL: "https://example.invalid/...",
    });
    await pauseWebhook(server.engine, webhook.ID, Date.now());
    expect((await call("POST", `/${webhook.ID}/resume.json`)).status).toBe(403);
    for (const one of await listWebhooks(server.engine, server.site)) await call("DELETE", `/${one.ID}.json`);
  });

  test("belong to the key's own site, or its sandbox", async () => {
    const { site } = await makeSandbox(server.engine, "shop", { now: Date.now });
    const rights = ["read", "webhooks:write"];
    const sandbox = (await createKey(server.engine, site, { rights }, Date.now())).key;
    const id = idOf(await call("POST", ".json", { URL }));
    expect((await call("GET", ".json", undefined, sandbox)).json).toEqual([]);
    expect((await call("DELETE", `/${id}.json`, undefined, sandbox)).status).toBe(404);
    const inside = await call("POST", ".json", { URL }, sandbox);
    expect([inside.status, inside.headers.get("X-Sandbox")]).toEqual([201, "shop-sandbox"]);
    expect((await getWebhook(server.engine, idOf(inside))).siteName).toBe("shop-sandbox");
    await call("DELETE", `/${id}.json`);
  });

  test("are known by the key that made them, in the journal too, and the operator can forbid them", async () => {
    const own = await server.issueKey({ rights: ["write", "webhooks:write"] });
    const id = idOf(await call("POST", ".json", { URL }, own));
    const { head } = await server.engine.readSite(0, async (contents) => contents);
    const { entries } = await server.engine.readJournalPage(0, head.revision - 1, 1);
    expect(entries[0]).toMatchObject({ resource: "webhook", id, actor: own.slice(0, 12) });
    const revoked = await revokeKey(server.engine, own.slice(0, 12), Date.now());
    expect((await listWebhooksMadeBy(server.engine, revoked)).map(({ ID }) => ID)).toEqual([id]);
    expect((await call("DELETE", `/${id}.json`, undefined, own)).status).toBe(401);
    await setSite(server.engine, "shop", { allowsWebhooksByKey: false }, Date.now());
    expect((await call("GET", ".json")).status).toBe(403);
    await setSite(server.engine, "shop", { allowsWebhooksByKey: true }, Date.now());
    expect((await call("DELETE", `/${id}.json`)).status).toBe(200);
  });
});

describe("webhooks by API", () => {
  let server: TestServer;
  let key: string;
  beforeAll(async () => {
    server = await startTestServer();
    key = await server.issueKey({ rights: ["write", "webhooks:write"] });
  });
  afterAll(() => server.stop());
  const call = (method: string, path: string, body?: unknown, as = key) =>
    server.call(method, `/restapi/webhooks${path}`, { key: as, body });
  const idOf = ({ json }: { json: { ID: number } }) => json.ID;

  test("are only created once per URL, even at the same time", async () => {
    const created = await Promise.all(Array.from({ length: 6 }, () => call("POST", ".json", { URL })));
    const one = created.filter(({ status }) => status === 201);
    expect([one.length, created.filter(({ status }) => status === 400).length]).toEqual([1, 5]);
    await call("DELETE", `/${idOf(one[0] as never)}.json`);
  });

  test("aren't created once the operator has forbidden it, even if the body arrives slowly", async () => {
    const body = JSON.stringify({ URL });
    const client = await openClient(server.port);
    const lines = ["Host: x", `X-API-AUTH: ${key}`, `Content-Length: ${body.length}`, "Expect: 100-continue"];
    client.send(toRequest("POST /restapi/webhooks.json HTTP/1.1", lines));
    await client.until((received) => received.includes("100 Continue"));
    await setSite(server.engine, "shop", { allowsWebhooksByKey: false }, Date.now());
    client.send(body);
    expect((await client.responses(2))[1]?.status).toBe(403);
    client.socket.destroy();
    await setSite(server.engine, "shop", { allowsWebhooksByKey: true }, Date.now());
    expect((await call("GET", ".json")).json).toEqual([]);
  });

  test("of a key without a scope don't get resources that are added later", async () => {
    const rights = ["brands:read", "orderstatuses:read", "locations:read", "webhooks:write"];
    const made = await call("POST", ".json", { URL }, await server.issueKey({ rights }));
    expect(made.json.Resources).toBe("brands orderstatuses locations");
    await call("DELETE", `/${idOf(made)}.json`);
  });

  test("that an operator pauses during a resume stay paused", async () => {
    const id = idOf(await call("POST", ".json", { URL }));
    const slow = {
      ...server.engine,
      compareAndSetWebhook: async (...sent: Parameters<typeof server.engine.compareAndSetWebhook>) => {
        const isSet = await server.engine.compareAndSetWebhook(...sent);
        await pauseWebhook(server.engine, id, Date.now());
        return isSet;
      },
    };
    const refuse = ({ Paused }: { Paused: string }) => {
      if (Paused !== "") throw new Error("paused");
    };
    expect(resumeWebhook(slow, id, policy, Date.now(), refuse)).rejects.toThrow("paused");
    expect((await call("POST", `/${id}/resume.json`)).status).toBe(403);
    expect((await getWebhook(server.engine, id)).status).toBe("paused");
    await call("DELETE", `/${id}.json`);
  });

  test("have no dry runs or conditions, and their errors don't suggest what wouldn't work", async () => {
    const dry = await call("POST", ".json?dryRun=1", { URL });
    expect([dry.status, dry.json.detail]).toEqual([400, expect.not.stringContaining("`dryRun=1`")]);
    for (const [format, several] of [
      ["json", [{ URL }]],
      ["json", { Webhooks: [{ URL }] }],
      ["xml", "<Webhooks><Webhook/><Webhook/></Webhooks>"],
    ] as const) {
      const { status, text } = await call("POST", `.${format}`, several);
      expect([status, text]).toEqual([400, expect.not.stringContaining("batch")]);
    }
    const internal = await call("POST", ".json", { URL: "https://10.0.0.1/x" });
    expect(internal.json.detail).toContain("only the server's operator");
    const headers = { "If-None-Match": "*" };
    const sent = { key, body: { URL }, headers };
    expect((await server.call("POST", "/restapi/webhooks.json", sent)).status).toBe(412);
  });
});

test("are limited to 20 per site, and in how often they change", async () => {
  // With a stopped clock, because a busy machine may need longer for the requests than the server takes to allow more.
  const stoppedAt = Date.now();
  const server = await startTestServer({ now: () => stoppedAt });
  try {
    const key = await server.issueKey({ rights: ["write", "webhooks:write"] });
    const statuses: number[] = [];
    for (let i = 0; i < 35; i++) {
      const body = { URL: `https://example.invalid/${i}` };
      statuses.push((await server.call("POST", "/restapi/webhooks.json", { key, body })).status);
    }
    expect(statuses).toEqual([...Array(20).fill(201), ...Array(10).fill(400), ...Array(5).fill(429)]);
  } finally {
    await server.stop();
  }
});
