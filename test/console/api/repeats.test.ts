// A request of the console that is sent twice has its effect once.

import { afterAll, describe, expect, test } from "bun:test";
import { IdempotentResponses } from "../../../src/admin/idempotent-responses.ts";
import { AbandonedWorkError } from "../../../src/lib/work-limiter.ts";
import { removeOperator, setOperator } from "../../../src/operator/operators/operators.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { type ConsoleClient, startTestConsole } from "../../support/console/server.ts";

let now = Date.now();
const server = await startTestConsole({ now: () => now });
const anna = await server.signIn("anna");
afterAll(() => server.stop());

const keyed = (key: string) => ({ "Idempotency-Key": key });
const brands = "/sites/shop/records/brands";
const numberOf = async (path: string, list: string) => (await anna.call("GET", path)).json[list].length;

test("a request with the same key gets the first response, also while the first request is in flight", async () => {
  const send = () => anna.call("POST", "/sites/shop/keys", { label: "till", scope: "read" }, keyed("a"));
  const before = await numberOf("/sites/shop/keys", "keys");
  const [first, second] = await Promise.all([send(), send()]);
  const third = await send();
  expect([first.status, second.text, third.text]).toEqual([200, first.text, first.text]);
  expect(await numberOf("/sites/shop/keys", "keys")).toBe(before + 1);
});

test("a key belongs to one operator and one request", async () => {
  const before = await numberOf(brands, "records");
  const ben = await server.signIn("ben");
  await anna.call("POST", brands, { Name: "of anna" }, keyed("b"));
  await ben.call("POST", brands, { Name: "of ben" }, keyed("b"));
  expect(await numberOf(brands, "records")).toBe(before + 2);
  const other = await anna.call("POST", "/sites/shop/records/locations", { Name: "Mill" }, keyed("b"));
  expect([other.status, other.json.code]).toEqual([422, "idempotency-key-reused"]);
  expect((await anna.call("POST", brands, { Name: "x" }, keyed("x".repeat(256)))).status).toBe(400);
});

test("a failed request is executed again, and so is a request after ten minutes", async () => {
  const before = await numberOf(brands, "records");
  expect((await anna.call("POST", brands, { Name: "" }, keyed("c"))).status).toBe(400);
  expect((await anna.call("POST", brands, { Name: "c" }, keyed("c"))).status).toBe(200);
  expect((await anna.call("POST", brands, { Name: "c" }, keyed("c"))).status).toBe(200);
  expect(await numberOf(brands, "records")).toBe(before + 1);
  now += 10 * 60_000;
  await anna.call("POST", brands, { Name: "c" }, keyed("c"));
  expect(await numberOf(brands, "records")).toBe(before + 2);
});

test("a key of a removed operator does not belong to a later operator with the same name", async () => {
  const create = (client: ConsoleClient) =>
    client.call("POST", "/sites/shop/keys", { label: "till", scope: "read" }, keyed("d"));
  const first = await create(await server.signIn("carl"));
  await removeOperator(server.engine, "carl", now);
  const second = await create(await server.signIn("carl"));
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(second.json.key).not.toBe(first.json.key);
});

test("an operator who had to sign in again gets the first response", async () => {
  const before = await numberOf(brands, "records");
  for (let i = 0; i < 2; i++) await (await server.signIn("dora")).call("POST", brands, { Name: "d" }, keyed("e"));
  expect(await numberOf(brands, "records")).toBe(before + 1);
});

test("an operator who may no longer manage or change the site gets no response", async () => {
  await createSite(server.engine, "toys", {}, now);
  const emil = await server.signIn("emil", ["shop"]);
  const send = () => emil.call("POST", "/sites/shop/keys", { label: "till", scope: "read" }, keyed("f"));
  expect((await send()).status).toBe(200);
  await setOperator(server.engine, "emil", { sites: ["toys"] }, now);
  const again = await send();
  expect([again.status, again.text.includes("sfk_")]).toEqual([404, false]);
  await setOperator(server.engine, "emil", { sites: ["shop"], role: "editor" }, now);
  const limited = await send();
  expect([limited.status, limited.text.includes("sfk_")]).toEqual([403, false]);
});

test("a request that renames or removes a site can be repeated", async () => {
  await createSite(server.engine, "games", {}, now);
  const fred = await server.signIn("fred", ["games"]);
  const rename = () => fred.call("PATCH", "/sites/games", { name: "plays" }, keyed("g"));
  const remove = () => anna.call("DELETE", "/sites/plays", { name: "plays" }, keyed("h"));
  for (const send of [rename, remove]) {
    const first = await send();
    expect([first.status, (await send()).text]).toEqual([200, first.text]);
  }
});

test("a sandbox that is renewed twice with one key is renewed once, and a third time with another key", async () => {
  const renew = (key: string) => anna.call("POST", "/sites/shop/sandbox", {}, keyed(key));
  const [first, second] = await Promise.all([renew("renewal"), renew("renewal")]);
  expect([first.status, second.text]).toEqual([200, first.text]);
  expect((await renew("renewal")).text).toBe(first.text);
  expect((await renew("another renewal")).json).toMatchObject({ isNew: false });
});

test("a key that was used with another request is rejected", async () => {
  const key = keyed("i");
  expect((await anna.call("POST", brands, { Name: "y" }, key)).status).toBe(200);
  const other = await anna.call("POST", brands, { Name: "z" }, key);
  expect([other.status, other.json.code]).toEqual([422, "idempotency-key-reused"]);
});

describe("the cache of responses", () => {
  const content = (body: string) => ({ content: { body, headers: {} }, site: undefined });
  const attempt = (key: string, operator = 1) => ({ operator, systemEpoch: "a", key, request: "POST /" });
  let runs = 0;
  const run = async () => content(`run ${++runs}`);

  test("has the last hundred responses of an operator, who cannot evict the responses of other operators", async () => {
    const repeats = new IdempotentResponses(() => now);
    const [other, first] = [
      await repeats.respondOnce(attempt("a", 2), run),
      await repeats.respondOnce(attempt("a"), run),
    ];
    for (let i = 0; i < 99; i++) await repeats.respondOnce(attempt(`b${i}`), run);
    expect(await repeats.respondOnce(attempt("a"), run)).toBe(first);
    for (let i = 0; i < 1000; i++) await repeats.respondOnce(attempt(`c${i}`), run);
    expect(await repeats.respondOnce(attempt("a"), run)).not.toBe(first);
    expect(await repeats.respondOnce(attempt("a", 2), run)).toBe(other);
  });

  test("has all requests in flight", async () => {
    const repeats = new IdempotentResponses(() => now);
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof content>>();
    const first = repeats.respondOnce(attempt("a"), () => promise);
    for (let i = 0; i < 200; i++) await repeats.respondOnce(attempt(`b${i}`), run);
    now += 20 * 60_000;
    const second = repeats.respondOnce(attempt("a"), run);
    resolve(content("first"));
    expect(await Promise.all([first, second])).toEqual([content("first"), content("first")]);
  });

  test("runs a repeated request whose first request was discarded because its client had left", async () => {
    const repeats = new IdempotentResponses(() => now);
    const { promise, reject } = Promise.withResolvers<ReturnType<typeof content>>();
    const first = repeats.respondOnce(attempt("a"), () => promise);
    const others = [repeats.respondOnce(attempt("a"), run), repeats.respondOnce(attempt("a"), run)];
    const before = runs;
    reject(new AbandonedWorkError());
    await expect(first).rejects.toBeInstanceOf(AbandonedWorkError);
    const shared = content(`run ${before + 1}`);
    expect(await Promise.all(others)).toEqual([shared, shared]);
  });

  test("has no long responses", async () => {
    const repeats = new IdempotentResponses(() => now);
    const long = async () => content("x".repeat(64 * 1024 + 1));
    const first = await repeats.respondOnce(attempt("a"), long);
    expect(await repeats.respondOnce(attempt("a"), long)).not.toBe(first);
  });
});
