// The built client in Node, as it is, and without what React Native lacks.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestServer } from "../support/http/server.ts";

const built = mkdtempSync(join(tmpdir(), "storefront-client-"));
const server = await startTestServer();
const build = join(import.meta.dir, "../../scripts/build/client.ts");
expect(await Bun.spawn([process.execPath, build, built]).exited).toBe(0);
afterAll(async () => {
  await server.stop();
  rmSync(built, { recursive: true, force: true });
});

async function runInNode(script: string): Promise<unknown> {
  const file = join(built, "script.mjs");
  writeFileSync(file, script);
  const running = Bun.spawn(["node", file, server.url, server.key], { stdout: "pipe", stderr: "pipe" });
  const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
  if ((await running.exited) !== 0) throw new Error(complaint);
  return JSON.parse(output);
}

test("without crypto, DOMException, throwIfAborted and a signal's reason, everything works, and a stopped call throws an AbortError", async () => {
  const seen = await runInNode(`
    delete globalThis.crypto;
    delete AbortSignal.prototype.throwIfAborted;
    Object.defineProperty(AbortSignal.prototype, "reason", { get: () => undefined });
    const { createClient } = await import("./client.js");
    const [url, key] = process.argv.slice(2);
    const keys = new Set();
    const client = createClient({ url, key, fetch: (to, init) => {
      if (init.headers["Idempotency-Key"]) keys.add(init.headers["Idempotency-Key"]);
      return fetch(to, init);
    } });
    const brand = await client.brands.create({ Name: "Acme" });
    await client.brands.update(brand, { Name: "Acme Ltd" });
    const { run } = await client.brands.upsert([{ Name: "Other", AccountNumber: "1" }], { match: "AccountNumber" });
    const copy = new Map();
    await client.mirror("brands", { ids: () => copy.keys(), store: (one) => copy.set(one.ID, one.Name), remove: () => {}, wait: 0 });
    const controller = new AbortController();
    const following = (async () => { for await (const _ of client.changes({ since: "now", signal: controller.signal })); })();
    setTimeout(() => controller.abort(), 20);
    const aborted = await following.catch(({ name }) => name);
    const early = await client.brands.list({}, { signal: controller.signal }).catch(({ name }) => name);
    delete globalThis.DOMException; // Node's own fetch needs it.
    const slow = createClient({ url, key, timeout: 1, retries: 0, fetch: (to, { signal }) => new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    }) });
    const late = await slow.brands.list().catch(({ reason }) => reason);
    console.log(JSON.stringify([[...copy.values()], [...keys].every((one) => one.length >= 32) && keys.size, aborted, early, late]));
  `);
  expect(seen).toEqual([["Acme Ltd", "Other"], 3, "AbortError", "AbortError", "timeout"]);
});

test("a refused connection is a StorefrontError that has the URL and the reason", async () => {
  const seen = await runInNode(`
    const { createClient, StorefrontError, StorefrontFailure } = await import("./client.js");
    const client = createClient({ url: "http://127.0.0.1:1", key: "k", retries: 0 });
    const error = await client.brands.list({ limit: 5 }).catch((error) => error);
    const server = createClient({ url: process.argv[2], key: process.argv[3] });
    const problem = await server.brands.get(999).catch((error) => error);
    const both = [error, problem].map((one) => one instanceof StorefrontError && one instanceof Error);
    console.log(JSON.stringify([error.message, error.reason, problem.message.includes("999"), both]));
  `);
  const message = "no response from http://127.0.0.1:1/restapi/brands.json?limit=5: fetch failed (";
  expect(seen).toEqual([expect.stringContaining(message), "network", true, [true, true]]);
  expect((seen as string[])[0]).toMatch(/ECONNREFUSED|bad port/);
});
