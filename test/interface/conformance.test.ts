// The conformance client (scripts/checks/conformance) is written from the contract alone. The server passes all its cases.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Outcome, runCases } from "../../scripts/checks/conformance/run.ts";
import { isSandbox } from "../../scripts/checks/conformance/sandbox.ts";
import { createKey, revokeKey } from "../../src/operator/sites/keys.ts";
import { createSite, getSite, setSite } from "../../src/operator/sites/sites.ts";
import { listWebhooks } from "../../src/operator/webhooks/webhook-list.ts";
import { engines } from "../support/engine/engines.ts";
import { type LocalDemoServer, startDemo } from "../support/programs/demo-server.ts";
import { startReceiver } from "../support/webhooks/receiver.ts";
import { createTestWebhook } from "../support/webhooks/test-webhook.ts";

setDefaultTimeout(120_000);

/** Settings of a run that has everything a case can need, so that none is skipped. */
async function everything({ url, key, engine, openSandbox }: LocalDemoServer) {
  const now = Date.now();
  const site = await getSite(engine, "demo");
  const other = await createSite(engine, "other", { hostnames: ["other.example"] }, now);
  await createSite(engine, "closed", { hostnames: ["closed.example"] }, now);
  await setSite(engine, "closed", { isSuspended: true }, now);
  const newKey = async (settings = {}, of = site) => (await createKey(engine, of, settings, now)).key;
  const revokedKey = await newKey();
  await revokeKey(engine, revokedKey.slice(0, 12), now);
  const receiver = await startReceiver();
  await receiver.stop();
  const webhook = await createTestWebhook(engine, site.ID, receiver.url);
  const extras = {
    sandboxKey: await openSandbox(),
    readKey: await newKey({ rights: ["read"] }),
    otherKey: await newKey({}, other),
    revokedKey,
    limitedKey: await newKey({ rate: 1 }),
    suspendedHost: "closed.example",
    webhookPort: new URL(receiver.url).port,
    webhookSecret: webhook.secret,
    webhookKey: await newKey({ rights: ["read", "webhooks:write"] }),
  };
  return { url, key, extras, formats: ["json", "xml"] as const, signal: new AbortController().signal };
}

describe.each(engines)("conformance run against a demo on $name", (kind) => {
  let demo: LocalDemoServer;
  beforeAll(async () => {
    await kind.open();
    demo = await startDemo(await kind.newDatabase());
  });
  afterAll(async () => {
    await demo.stop();
    await kind.close();
  });

  test("passes, and leaves the records as they were", async () => {
    const settings = await everything(demo);
    // Only writes, the feed and batch requests depend on the database.
    const parts = kind.name === "SQLite" ? [undefined] : ["7", "10", "14"];
    const read = async (key: string) =>
      (await fetch(`${demo.url}/restapi/brands.json`, { headers: { "X-API-AUTH": key } })).text();
    const webhookIds = async () => (await listWebhooks(demo.engine)).map(({ ID }) => ID);
    const before = [await read(demo.key), await read(settings.extras.sandboxKey), await webhookIds()];
    for (const only of parts) {
      const outcomes = await runCases({ ...settings, only });
      expect(outcomes.filter(({ result }) => result !== "passed")).toEqual([]);
      expect(outcomes.length).toBeGreaterThan(only ? 25 : 250);
    }
    expect([await read(demo.key), await read(settings.extras.sandboxKey), await webhookIds()]).toEqual(before);
  });
});

describe("conformance run", () => {
  let demo: LocalDemoServer;
  beforeAll(async () => {
    demo = await startDemo();
  });
  afterAll(() => demo.stop());

  test("stopped midway: removes its records", async () => {
    const stop = new AbortController();
    const headers = { "X-API-AUTH": demo.key };
    const names = async () => (await fetch(`${demo.url}/restapi/orderstatuses.json`, { headers })).text();
    const feed = `${demo.url}/restapi/changes.json?resource=orderstatuses`;
    const { Next } = (await (await fetch(`${feed}&since=now`, { headers })).json()) as { Next: string };
    const waitsFor = fetch(`${feed}&wait=30&since=${Next}`, { headers });
    const outcomes: Promise<Outcome[]> = runCases({
      ...{ url: demo.url, key: demo.key, extras: {}, formats: ["json"], only: "7", signal: stop.signal },
    });
    expect(await (await waitsFor).text()).toContain("conformance-");
    stop.abort();
    expect((await outcomes).length).toBeLessThan(3);
    expect(await names()).not.toContain("conformance-");
  });

  test("part of the cases: selected by number or text, and names the options they need", async () => {
    const run = (only: string) =>
      runCases({
        ...{ url: demo.url, key: demo.key, extras: {}, formats: ["json"], only, signal: new AbortController().signal },
      });
    expect((await run("2.1b")).map(({ number }) => number)).toEqual(["2.1b"]);
    expect(await run("a 403 that names the right")).toMatchObject([
      { result: "not tested", reason: "needs --read-key" },
    ]);
    expect(await run("no such case")).toEqual([]);
  });

  test("sandbox keys are recognized from responses, so that the command can refuse a live key", async () => {
    expect(await isSandbox(demo.url, demo.key)).toBe(false);
    expect(await isSandbox(demo.url, await demo.openSandbox())).toBe(true);
    await expect(isSandbox(demo.url, "sfk_test_x")).rejects.toThrow("401");
  });
});
