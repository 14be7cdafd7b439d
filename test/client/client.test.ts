import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Brand, type Collections, createClient, StorefrontProblem } from "../../src/client/client.ts";
import { type FlakyProxy, startFlakyProxy } from "../support/flaky-proxy.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let proxy: FlakyProxy;
let client: Collections;
beforeAll(async () => {
  server = await startTestServer();
  proxy = await startFlakyProxy(server.url);
});
beforeEach(async () => {
  client = createClient({ url: server.url, key: server.key });
  for (const brand of await client.brands.list()) await client.brands.delete(brand);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

/** What `work` throws, which must be a problem. */
async function problemOf(work: Promise<unknown>): Promise<StorefrontProblem> {
  const error = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StorefrontProblem);
  return error as StorefrontProblem;
}

describe("the client", () => {
  test("creates, looks up, lists, updates and deletes brands and order statuses", async () => {
    const brand = await client.brands.create({ Name: "Acme", Address: { Town: "Leeds" } });
    expect(brand.Address).toMatchObject({ Town: "Leeds", Country: "" });
    expect(await client.brands.get(brand.ID)).toEqual(brand);
    expect(await client.brands.update(brand.ID, { AccountNumber: "A1" })).toEqual({ ...brand, AccountNumber: "A1" });
    expect((await client.brands.list()).map(({ AccountNumber }) => AccountNumber)).toEqual(["A1"]);
    expect((await client.brands.delete(brand.ID)).ID).toBe(brand.ID);
    const status = await client.orderStatuses.create({ Name: "Sent" });
    status.Name = "Dispatched";
    expect(await client.orderStatuses.update(status)).toEqual({ ID: status.ID, Name: "Dispatched" });
    expect(await client.locations.list()).toMatchObject({ length: 0, total: 0 });
  });

  test("asks for less, in another order, and knows how many there are", async () => {
    for (const Name of ["Beta & Co", "Acme", "Acme Two"]) await client.brands.create({ Name });
    const some = await client.brands.list({
      filter: { Name: { contains: "acme" } },
      sort: "-Name",
      limit: 1,
      fields: ["Name"],
    });
    expect([...some]).toEqual([{ ID: expect.any(Number), Name: "Acme Two" }]);
    expect(some.total).toBe(2);
    expect((await client.brands.list({ filter: { Name: "Beta & Co" } })).total).toBe(1);
    expect((await client.brands.list({ sort: ["Address.Town", "-ID"] }))[0]?.Name).toBe("Acme Two");
  });

  test("goes through all records in pages, and neither misses nor repeats one when others are deleted meanwhile", async () => {
    for (let i = 0; i < 20; i++) await client.brands.create({ Name: `Brand ${i}` });
    const before = await client.brands.list();
    const seen: Brand[] = [];
    for await (const brand of client.brands.all({}, { pageSize: 4 })) {
      seen.push(brand);
      if (seen.length === 8) for (const gone of before.slice(0, 7)) await client.brands.delete(gone.ID);
    }
    expect(seen.map(({ ID }) => ID)).toEqual(before.map(({ ID }) => ID));
    for (const pageSize of [1, 2, 500]) {
      const all = await Array.fromAsync(client.brands.all({ filter: { Name: { contains: "1" } } }, { pageSize }));
      expect(all).toHaveLength(10);
    }
  });

  test("tells a problem with its code, its faults and the request's id", async () => {
    const problem = await problemOf(client.brands.create({ Name: "", Address: { Country: "Britain" } }));
    expect(problem).toMatchObject({ status: 400, code: "invalid-record", requestId: expect.any(String) });
    expect(problem.faults.map(({ field }) => field)).toEqual(["Name", "Address.Country"]);
    expect(problem.type).toBe(`${server.url}/docs/problems/invalid-record`);
    expect((await problemOf(client.brands.get(999_999))).code).toBe("not-found");
    const stranger = createClient({ url: server.url, key: "wrong" });
    expect((await problemOf(stranger.brands.list())).code).toBe("unauthorized");
  });

  test("does not overwrite what somebody else changed since the record was read", async () => {
    const brand = await client.brands.create({ Name: "Acme" });
    const mine = await client.brands.update(brand, { AccountNumber: "A1" });
    expect((await problemOf(client.brands.update(brand, { Name: "Late" }))).code).toBe("precondition-failed");
    expect((await problemOf(client.brands.delete(brand))).code).toBe("precondition-failed");
    const changed = await client.brands.update(brand, { Name: "Late" }, { ifUnchanged: false });
    expect(changed).toMatchObject({ Name: "Late", AccountNumber: "A1" });
    expect((await problemOf(client.brands.delete(mine))).status).toBe(412);
    await client.brands.delete(changed);
  });

  test("refuses an address that is none at once", () => {
    expect(() => createClient({ url: "shop.example", key: server.key })).toThrow();
  });
});

describe("the client behind a network that fails", () => {
  test("writes once, though the answer is lost", async () => {
    const distant = createClient({ url: proxy.url, key: server.key });
    proxy.misbehave("lose the answer", "lose the answer");
    const brand = await distant.brands.create({ Name: "Once" });
    expect((await client.brands.list()).length).toBe(1);
    proxy.misbehave("lose the answer");
    expect((await distant.brands.update(brand, { Name: "Twice" })).Name).toBe("Twice");
    proxy.misbehave("lose the answer");
    expect((await distant.brands.delete(brand.ID)).Name).toBe("Twice");
    expect((await client.brands.list()).length).toBe(0);
  });

  test("waits as long as Retry-After says", async () => {
    const distant = createClient({ url: proxy.url, key: server.key });
    proxy.misbehave("answer 503");
    const started = performance.now();
    expect((await distant.brands.list()).total).toBe(0);
    expect(performance.now() - started).toBeGreaterThan(990);
  });

  test("gives up after its retries, and at once when the wait would be too long", async () => {
    const impatient = createClient({ url: proxy.url, key: server.key, longestWait: 500 });
    const before = proxy.seen.length;
    proxy.misbehave("answer 503");
    expect(await problemOf(impatient.brands.list())).toMatchObject({ status: 503, code: undefined, retryAfter: 1000 });
    expect(proxy.seen.length).toBe(before + 1);
    const nobody = createClient({ url: "http://127.0.0.1:1", key: server.key, retries: 1 });
    await expect(nobody.brands.list()).rejects.toThrow();
  });

  test("tries again when an answer takes too long", async () => {
    const hasty = createClient({ url: proxy.url, key: server.key, timeout: 200 });
    proxy.misbehave("dawdle");
    expect((await hasty.brands.list()).total).toBe(0);
  });

  test("stops when it is told to, during an attempt and between two", async () => {
    const distant = createClient({ url: proxy.url, key: server.key });
    for (const misbehaviour of ["dawdle", "answer 503"] as const) {
      const before = proxy.seen.length;
      proxy.misbehave(misbehaviour);
      const call = distant.brands.list({}, { signal: AbortSignal.timeout(100) });
      await expect(call).rejects.toMatchObject({ name: "TimeoutError" });
      expect(proxy.seen.length).toBe(before + 1);
    }
  });
});
