// The client and its own API key: what it's for, and the warning before it expires.

import { afterAll, expect, spyOn, test } from "bun:test";
import { createClient } from "../../src/client/client.ts";
import { startTestServer } from "../support/http/server.ts";

const server = await startTestServer();
afterAll(() => server.stop());
const day = 24 * 60 * 60_000;

test("key() says what the key is for", async () => {
  const key = await server.issueKey({ label: "erp", rights: ["brands:read"], networks: ["127.0.0.1"], rate: 50 });
  expect(await createClient({ url: server.url, key }).key()).toEqual({
    Prefix: key.slice(0, 12),
    Label: "erp",
    Site: "shop",
    SiteID: server.site.ID,
    Sandbox: false,
    Rights: ["brands:read"],
    Networks: ["127.0.0.1/32"],
    Expires: null,
    Rate: 50,
    Burst: 50,
    Remaining: 49,
  });
});

test("warns once that the key expires, whatever it calls", async () => {
  const key = await server.issueKey({ expiresAt: Date.now() + 20 * day });
  const warned: Date[] = [];
  const client = createClient({ url: server.url, key, onKeyExpiring: (expires) => warned.push(expires) });
  await client.brands.list();
  await client.brands.get(1).catch(() => {});
  for await (const _ of client.changes({ wait: 0 }));
  expect(warned.map(Number)).toEqual([Date.parse((await client.key()).Expires as string)]);
});

test("writes the warning to the console unless told otherwise, and none for a key that doesn't expire", async () => {
  const warn = spyOn(console, "warn").mockImplementation(() => {});
  try {
    await createClient({ url: server.url, key: server.key }).brands.list();
    expect(warn).not.toHaveBeenCalled();
    const key = await server.issueKey({ expiresAt: Date.now() + 20 * day });
    const client = createClient({ url: server.url, key });
    await client.brands.list();
    await client.brands.list();
    expect(warn.mock.calls).toEqual([[expect.stringContaining("expires")]]);
  } finally {
    warn.mockRestore();
  }
});
