// Requests of the console that are sent twice: nothing is done twice.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type ConsoleClient, startTestConsole, type TestConsole } from "../support/console.ts";

let server: TestConsole;
let anna: ConsoleClient;
let now = Date.now();
beforeAll(async () => {
  server = await startTestConsole({ now: () => now });
  anna = await server.signIn("anna");
});
afterAll(() => server.stop());

const keyed = (key: string) => ({ "Idempotency-Key": key });
const brands = "/sites/shop/records/brands";
const numberOf = async (path: string, list: string) => (await anna.call("GET", path)).json[list].length;

test("a request with the same key gets the first response, also while the first one runs", async () => {
  const send = () => anna.call("POST", "/sites/shop/keys", { label: "till", scope: "read" }, keyed("a"));
  const before = await numberOf("/sites/shop/keys", "keys");
  const [first, second] = await Promise.all([send(), send()]);
  const third = await send();
  expect([first.status, second.text, third.text]).toEqual([200, first.text, first.text]);
  expect(await numberOf("/sites/shop/keys", "keys")).toBe(before + 1);
});

test("a key is one operator's, and names one request", async () => {
  const before = await numberOf(brands, "records");
  const ben = await server.signIn("ben");
  await anna.call("POST", brands, { Name: "of anna" }, keyed("b"));
  await ben.call("POST", brands, { Name: "of ben" }, keyed("b"));
  expect(await numberOf(brands, "records")).toBe(before + 2);
  const other = await anna.call("POST", "/sites/shop/records/locations", { Name: "Mill" }, keyed("b"));
  expect([other.status, other.json.code]).toEqual([422, "idempotency-key-reused"]);
  expect((await anna.call("POST", brands, { Name: "x" }, keyed("x".repeat(256)))).status).toBe(400);
});

test("what failed is done again, and what is older than ten minutes is new", async () => {
  const before = await numberOf(brands, "records");
  expect((await anna.call("POST", brands, { Name: "" }, keyed("c"))).status).toBe(400);
  expect((await anna.call("POST", brands, { Name: "c" }, keyed("c"))).status).toBe(200);
  expect((await anna.call("POST", brands, { Name: "c" }, keyed("c"))).status).toBe(200);
  expect(await numberOf(brands, "records")).toBe(before + 1);
  now += 10 * 60_000;
  await anna.call("POST", brands, { Name: "c" }, keyed("c"));
  expect(await numberOf(brands, "records")).toBe(before + 2);
});
