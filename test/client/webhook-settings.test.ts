// The client manages webhooks, and repeats only what's safe to repeat.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type CallOptions, createClient, type StorefrontClient, StorefrontProblem } from "../../src/client/client.ts";
import { startTestServer } from "../support/http/server.ts";
import { startFlakyProxy } from "../support/wire/flaky-proxy.ts";

const server = await startTestServer();
const proxy = await startFlakyProxy(server.url);
const URL = "https://erp.example.invalid/hooks";
let client: StorefrontClient;
beforeAll(async () => {
  const key = await server.issueKey({ rights: ["write", "webhooks:write"] });
  client = createClient({ url: proxy.url, key });
});
afterEach(async () => {
  for (const { ID } of await client.webhooks.list()) await client.webhooks.delete(ID);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

describe("client.webhooks", () => {
  test("creates, lists, changes, pauses, resumes, rotates, tests, retries and deletes webhooks", async () => {
    const { webhooks } = client;
    const { Secret, ...made } = await webhooks.create({ URL, Resources: "brands" });
    expect(made).toMatchObject({ URL, Resources: "brands", Status: "active" });
    expect(Secret).toMatch(/^whsec_/);
    expect(await webhooks.list()).toEqual([{ ...made, Secret: "" }]);
    expect(await webhooks.get(made.ID)).toEqual({ ...made, Secret: "" });
    expect((await webhooks.update(made.ID, { URL: `${URL}/new` })).URL).toBe(`${URL}/new`);
    expect((await webhooks.pause(made.ID)).Status).toBe("paused");
    expect((await webhooks.resume(made.ID)).Status).toBe("active");
    const rotated: `whsec_${string}` = (await webhooks.rotate(made.ID)).Secret;
    expect(rotated).not.toBe(Secret);
    const attempt = await webhooks.test(made.ID);
    expect(attempt).toMatchObject({ ID: 1, Status: "", Fault: expect.stringMatching(/./) });
    expect(await webhooks.deliveries(made.ID)).toEqual([attempt]);
    expect((await webhooks.retry(made.ID)).ID).toBe(made.ID);
    expect((await webhooks.delete(made.ID)).ID).toBe(made.ID);
    expect(await webhooks.list()).toEqual([]);
  });

  test("works through proxies that only let GET and POST through", async () => {
    const key = await server.issueKey({ rights: ["read", "webhooks:write"] });
    const { webhooks } = createClient({ url: server.url, key, methodOverride: true });
    const { ID } = await webhooks.create({ URL });
    expect((await webhooks.update(ID, { URL: `${URL}/new` })).URL).toBe(`${URL}/new`);
    expect((await webhooks.delete(ID)).ID).toBe(ID);
  });

  test("says which right is missing", async () => {
    const other = createClient({ url: server.url, key: server.key });
    const error = await other.webhooks.list().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StorefrontProblem);
    expect(error).toMatchObject({ code: "forbidden", message: expect.stringContaining("webhooks:write") });
  });

  test("rotates only once, so that the old secret stays valid, even if the response is lost", async () => {
    const { ID } = await client.webhooks.create({ URL });
    const before = proxy.seen.length;
    proxy.misbehave("lose the response");
    await expect(client.webhooks.rotate(ID)).rejects.toMatchObject({ reason: "network" });
    expect(proxy.seen.slice(before)).toEqual([`POST /restapi/webhooks/${ID}/rotate.json`]);
    proxy.misbehave("lose the response");
    expect((await client.webhooks.pause(ID)).Status).toBe("paused");
  });

  test("says which webhook a lost response was about", async () => {
    proxy.misbehave("lose the response");
    await expect(client.webhooks.create({ URL })).rejects.toMatchObject({ reason: "network" });
    const [made] = await client.webhooks.list();
    await expect(client.webhooks.create({ URL })).rejects.toMatchObject({
      code: "bad-request",
      message: expect.stringContaining(`webhook ${made?.ID}`),
    });
  });

  const mistakes: [string, () => Promise<unknown>][] = [
    ["an unknown option", () => client.webhooks.create({ URL }, { dryRun: true } as CallOptions)],
    ["a path as an ID", () => client.webhooks.delete("1/../2" as never)],
    ["a webhook instead of an ID", () => client.webhooks.get({ ID: 1 } as never)],
  ];
  test.each(mistakes)("rejects %s before it sends anything", async (_, call) => {
    const before = proxy.seen.length;
    await expect(call()).rejects.toBeInstanceOf(TypeError);
    expect(proxy.seen.length).toBe(before);
  });
});
