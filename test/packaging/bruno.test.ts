// Imports the Postman collection into Bruno, and runs it with Bruno's command line.

import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LocalDemoServer, startDemo } from "../support/programs/demo-server.ts";
import { runOutside } from "../support/programs/packing.ts";
import { tool } from "./tools/tools.ts";

const collection = JSON.parse(readFileSync(join(import.meta.dir, "../../docs/postman.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "storefront-bruno-"));
let server: LocalDemoServer;
// Each run has its own server, because a site's webhooks can't be changed as often as both together do.
beforeEach(async () => {
  server = await startDemo();
});
afterEach(() => server.stop());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What Bruno reports about one request. */
interface Result {
  readonly response: { readonly status: number };
}

test.each(["bru", "yml"])("Postman collection: every request succeeds in Bruno, imported as %s", async (format) => {
  const values: Record<string, string> = { url: server.url, key: await server.issueWebhookKey() };
  const variable = collection.variable.map((one: { key: string }) => ({ ...one, value: values[one.key] ?? "" }));
  const imported = join(folder, format);
  const importing = ["node", join(import.meta.dir, "tools/import-into-bruno.mjs"), imported, format];
  await runOutside(importing, folder, JSON.stringify({ ...collection, variable }));
  const report = join(folder, `${format}.json`);
  const bruno = tool("@usebruno/cli/bin/bru.js");
  await runOutside(["node", bruno, "run", "-r", "--noproxy", "--reporter-json", report], imported);
  const [{ results }] = JSON.parse(readFileSync(report, "utf8")) as [{ results: Result[] }];
  const sent = collection.item.flatMap(({ item }: { item: unknown[] }) => item);
  expect(results.length).toBe(sent.length);
  expect(results.filter(({ response: { status } }) => !(status >= 200 && status < 300))).toEqual([]);
});
