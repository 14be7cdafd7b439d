// When our own code throws, the client gets a problem, the log gets the details, and nothing is cached.

import { afterAll, afterEach, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { tickBudgetMs } from "../../src/lib/tick-budgets.ts";
import { createIntent } from "../support/engine/intents.ts";
import { createBrokenResource, fail, secret } from "../support/http/broken-resource.ts";
import { type CallOptions, call, startTestServer, type TestResponse } from "../support/http/server.ts";
import { block, waitUntil } from "../support/time.ts";

const broken = createBrokenResource();
const server = await startTestServer({ resources: broken.resources });
const create = createIntent({ site: server.site.ID });
await server.engine.commit(new Array(2000).fill(create));
afterEach(() => {
  broken.whenUsed = () => {};
});
afterAll(() => server.stop());

function expectNothingInside({ status, text, headers }: TestResponse): void {
  expect(status).toBe(500);
  const everything = text + JSON.stringify([...headers]);
  for (const inside of [secret, "secret", "private", "Error", ".ts", "node_modules", "    at "]) {
    expect(everything).not.toContain(inside);
  }
}

/** `call` checks responses against the real resources. */
const send = (method: string, path: string, options: CallOptions = {}) =>
  call(server.url + path, method, { key: server.key, ...options });

/** Changes these brands, so that the next request has to render their XML again. */
async function change(...ids: number[]): Promise<void> {
  for (const id of ids) await send("PUT", `/restapi/brands/${id}.json`, { body: { Name: `changed ${Math.random()}` } });
}

const reads: [string, string][] = [
  ["GET", "/restapi/brands/1.xml"],
  ["HEAD", "/restapi/brands/1.xml"],
  ["GET", "/restapi/brands.xml"],
  ["GET", "/restapi/brands.xml?limit=5"],
  ["GET", "/restapi/brands.xml?fields=Name"],
];

test.each(
  reads,
)("an error in %s %s gets a 500 without internals, and the next request succeeds", async (method, path) => {
  await change(1);
  broken.whenUsed = fail;
  const failed = await send(method, path);
  expectNothingInside(failed);
  expect(failed.headers.get("Content-Type")).toBe("application/problem+xml");
  expect(failed.headers.get("Cache-Control")).toContain("no-store");
  const id = failed.headers.get("X-Request-Id") as string;
  if (method === "GET") {
    expect(failed.text).toContain("<type>/docs/problems/internal</type>");
    expect(failed.text).toContain(`<detail>see the server's log for details of request ${id}</detail>`);
    expect(failed.text).toContain(`<instance>${id}</instance>`);
  }
  expect((await send("GET", "/restapi/brands/1.json")).status).toBe(200);
  broken.whenUsed = () => {};
  expect((await send(method, path)).status).toBe(200);
});

test.each<[string, Record<string, string>]>([
  ["a long list", {}],
  ["a long list that is compressed", { "Accept-Encoding": "gzip" }],
])("an error late in %s fails every request waiting for it, and isn't cached", async (_, headers) => {
  const path = "/restapi/brands.xml";
  await send("GET", path, { headers });
  await change(1, 2000);
  let items = 0;
  let isLater = false;
  broken.whenUsed = () => {
    items++;
    if (isLater) fail();
    if (items > 1) return;
    // Longer than a slice.
    block(tickBudgetMs.firstSlices);
    setImmediate(() => {
      isLater = true;
    });
  };
  const failed = await Promise.all([send("GET", path, { headers }), send("GET", path, { headers })]);
  for (const response of failed) expectNothingInside(response);
  expect([isLater, items > 2]).toEqual([true, true]);
  broken.whenUsed = () => {};
  const list = await send("GET", path, { headers });
  expect([list.status, list.text.match(/<Brand /g)?.length]).toEqual([200, 2000]);
});

test("an error in a write gets a 500, and nothing is stored", async () => {
  broken.whenUsed = fail;
  const before = (await send("GET", "/restapi/brands.json")).headers.get("ETag");
  const body = '<Brand ID="1"><Name>changed</Name></Brand>';
  for (const [method, path] of [
    ["PUT", "/restapi/brands/1.xml"],
    ["POST", "/restapi/brands.xml"],
    ["DELETE", "/restapi/brands.xml"],
  ] as const) {
    expectNothingInside(await send(method, path, { body }));
  }
  expect((await send("GET", "/restapi/brands.json")).headers.get("ETag")).toBe(before);
});

test("the log has each error's message, stack and request, but no key", async () => {
  const program = fileURLToPath(new URL("../support/http/broken-server.ts", import.meta.url));
  const child = Bun.spawn([process.execPath, program, server.database], { stdout: "pipe", stderr: "pipe" });
  const onExit = () => void child.kill("SIGKILL");
  process.on("exit", onExit);
  void child.exited.then(() => process.off("exit", onExit));
  let log = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const part of child.stderr) log += decoder.decode(part, { stream: true });
  })();
  const url = (await child.stdout.getReader().read()).value;
  const address = Buffer.from(url ?? [])
    .toString()
    .trim();
  const failed = [];
  for (const [method, path] of reads) failed.push(await call(address + path, method, { key: server.key }));
  await waitUntil(() => log.split("\n").length > reads.length, "a line for each", { output: () => log });
  child.kill();
  await reading;
  // A broken resource's documentation can't be rendered either.
  const lines = log
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ request }) => request !== undefined);
  expect(lines.map(({ request }) => request)).toEqual(failed.map(({ headers }) => headers.get("X-Request-Id")));
  for (const { err, msg } of lines) {
    expect([msg, err.message]).toEqual(["a request failed", secret]);
    expect(err.stack).toContain("broken-resource.ts");
  }
  expect(log).not.toContain(server.key);
});
