// A request that had to wait is authorized again before it takes effect (contract section 1).

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { tickBudgetMs } from "../../src/lib/tick-budgets.ts";
import { revokeKey, rotateKey } from "../../src/operator/sites/keys.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite, setSite } from "../../src/operator/sites/sites.ts";
import { createIntent } from "../support/engine/intents.ts";
import { createBrokenResource } from "../support/http/broken-resource.ts";
import { call, startTestServer, type TestServer } from "../support/http/server.ts";
import { block } from "../support/time.ts";
import { openClient, toRequest } from "../support/wire/client.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
let clock: number;
let server: TestServer;
beforeEach(async () => {
  clock = start;
  server = await startTestServer({ now: () => clock });
});
afterEach(() => server.stop());

const body = '{"Name":"late"}';

/** Sends a create without the end of its body, waits until the server has read that much, runs `meanwhile`, and sends the rest. */
async function createSlowly(key: string, meanwhile: () => unknown, host = "x"): Promise<number | undefined> {
  const client = await openClient(server.port);
  const lines = [`Host: ${host}`, `X-API-AUTH: ${key}`, `Content-Length: ${body.length}`, "Expect: 100-continue"];
  client.send(toRequest("POST /restapi/brands.json HTTP/1.1", lines));
  // The server only asks for the body once it has found the key.
  await client.until((received) => received.includes("100 Continue"));
  client.send(body.slice(0, 5));
  await meanwhile();
  client.send(body.slice(5));
  const responses = await client.responses(2);
  client.socket.destroy();
  return responses[1]?.status;
}

const names = async () =>
  (await server.call("GET", "/restapi/brands.json")).json.map(({ Name }: { Name: string }) => Name);

describe("a write whose body arrives slowly", () => {
  test("is done if nothing has changed", async () => {
    expect(await createSlowly(server.key, () => {})).toBe(201);
    expect(await names()).toEqual(["late"]);
  });

  test.each<[string, number, (key: string) => unknown]>([
    ["its key was revoked", 401, (key) => revokeKey(server.engine, key.slice(0, 12), clock)],
    ["its key was rotated", 401, (key) => rotateKey(server.engine, key.slice(0, 12), 0, clock)],
    ["its key has expired", 401, () => (clock += 60_000)],
    [
      "its host now belongs to another site",
      403,
      () => createSite(server.engine, "other", { hostnames: ["x"] }, clock),
    ],
    ["no site has its host any more", 421, () => setSite(server.engine, "shop", { isDefault: false }, clock)],
  ])("is not done if meanwhile %s: %s %i", async (_, status, meanwhile) => {
    const key = await server.issueKey({ expiresAt: start + 60_000 });
    expect(await createSlowly(key, () => meanwhile(key))).toBe(status);
    clock = start;
    await setSite(server.engine, "shop", { isDefault: true }, clock);
    expect(await names()).toEqual([]);
  });

  test("is not done if its site was removed meanwhile", async () => {
    const { key } = server;
    expect(await createSlowly(key, () => removeSite(server.engine, "shop", clock))).toBe(421);
    const rows = [];
    for await (const { table, row } of server.engine.dump())
      if (row.site_id !== 0 && row.id !== 0) rows.push([table, row]);
    // Only the site's row stays, without a journal.
    expect(rows).toEqual([["sites", expect.objectContaining({ id: server.site.ID, epoch: "", revision: 0 })]]);
  });

  test("takes one token from its key's rate", async () => {
    const key = await server.issueKey({ rate: 1 });
    expect(await createSlowly(key, () => {})).toBe(201);
  });
});

describe("a list that takes several ticks to render", () => {
  test.each([
    ["expired before it's done", 60_000, 401],
    ["is still valid", 59_999, 200],
  ])("with a key that %s (%i ms) gets a %i", async (_, passing, status) => {
    const slow = createBrokenResource();
    const other = await startTestServer({ now: () => clock, resources: slow.resources });
    await other.engine.commit(new Array(2000).fill(createIntent({ site: other.site.ID })));
    const key = await other.issueKey({ expiresAt: start + 60_000 });
    slow.whenUsed = () => {
      if (clock > start) return;
      clock += passing;
      // Longer than a slice.
      block(tickBudgetMs.firstSlices);
    };
    const response = await call(`${other.url}/restapi/brands.xml`, "GET", { key });
    expect(clock).toBe(start + passing);
    expect([response.status, response.text.includes("<Brand ")]).toEqual([status, status === 200]);
    await other.stop();
  });
});
