import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { type Brand, createClient, etagOf, type StorefrontClient, StorefrontProblem } from "../../src/client/client.ts";
import { startTestServer } from "../support/http/server.ts";
import { startFlakyProxy } from "../support/wire/flaky-proxy.ts";

let client: StorefrontClient;
const server = await startTestServer();
const proxy = await startFlakyProxy(server.url);
beforeEach(async () => {
  client = createClient({ url: server.url, key: server.key });
  for (const { ID } of await client.brands.list()) await client.brands.delete(ID);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

/** The problem that `work` throws. */
async function problemOf(work: Promise<unknown>): Promise<StorefrontProblem> {
  const error = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StorefrontProblem);
  return error as StorefrontProblem;
}

async function createBrands(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await client.brands.create({ Name: `Brand ${i}` });
}

describe("the client", () => {
  test("creates, gets, lists, updates and deletes brands and order statuses", async () => {
    const brand = await client.brands.create({ Name: "Acme", Address: { Town: "Leeds" } });
    expect(brand.Address).toMatchObject({ Town: "Leeds", Country: "" });
    expect(await client.brands.get(brand.ID)).toEqual(brand);
    const changed = await client.brands.update(brand.ID, { AccountNumber: "A1" });
    expect(JSON.stringify(changed)).toBe(JSON.stringify({ ...brand, AccountNumber: "A1" }));
    expect((await client.brands.list()).map(({ AccountNumber }) => AccountNumber)).toEqual(["A1"]);
    expect((await client.brands.delete(brand.ID)).ID).toBe(brand.ID);
    const status = await client.orderStatuses.create({ Name: "Sent" });
    status.Name = "Dispatched";
    expect(await client.orderStatuses.update(status)).toMatchObject({ ID: status.ID, Name: "Dispatched" });
    expect(await client.locations.list()).toMatchObject({ length: 0, total: 0 });
  });

  test("makes dry runs of writes, which store nothing", async () => {
    const brand = await client.brands.create({ Name: "Acme" });
    const dryRun = true;
    const planned = await client.brands.create({ Name: "Bolt" }, { dryRun });
    expect(planned).toMatchObject({ ID: brand.ID + 1, Name: "Bolt" });
    expect(await client.brands.update(brand, { Name: "Changed" }, { dryRun })).toMatchObject({ Name: "Changed" });
    expect(await client.brands.delete(brand, { dryRun })).toMatchObject({ ID: brand.ID });
    expect((await client.brands.list()).map(({ Name }) => Name)).toEqual(["Acme"]);
    expect(await client.brands.create({ Name: "Bolt" }, { dryRun: false })).toEqual(planned);
    const misspelt = { dryrun: true } as object;
    for (const work of [client.brands.create({ Name: "x" }, misspelt), client.brands.delete(brand.ID, misspelt)])
      await expect(work).rejects.toBeInstanceOf(TypeError);
    expect((await client.brands.list()).total).toBe(2);
  });

  test("filters, sorts, pages and selects fields, and knows the total", async () => {
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
    expect((await client.brands.list({ limit: 1, offset: 2 }))[0]?.Name).toBe("Acme Two");
    const [first, , third] = [...(await client.brands.list())] as [Brand, Brand, Brand];
    const odd = ["Beta & Co", "a, b", '"q"', " padded ", "none"];
    for (const Name of odd.slice(1, 4)) await client.brands.create({ Name });
    expect((await client.brands.list({ filter: { Name: { in: odd } } })).map(({ Name }) => Name)).toEqual(
      odd.slice(0, 4),
    );
    await expect(client.brands.list({ filter: { Name: { in: [] } } })).rejects.toThrow(TypeError);
    const two = await client.brands.list({ filter: { ID: { in: [third.ID, first.ID] } } });
    expect(two.map(({ Name }) => Name)).toEqual(["Beta & Co", "Acme Two"]);
    expect((await client.brands.list({ filter: { ID: third.ID, Name: { contains: "two" } } })).total).toBe(1);
  });

  test("throws problems with all members of the document", async () => {
    const problem = await problemOf(client.brands.create({ Name: "", Address: { Country: "Britain" } }));
    expect(problem).toMatchObject({ status: 400, code: "invalid-record", instance: expect.any(String) });
    expect(problem.errors.map(({ field }) => field)).toEqual(["Name", "Address.Country"]);
    const [required, country] = problem.errors;
    // The code tells the type which parameters there are.
    expect(country?.code === "invalid-country" && (country.suggestion satisfies string | undefined)).toBe("GB");
    // @ts-expect-error this code has no parameter
    expect(required?.code === "required" && required.max).toBeUndefined();
    expect([problem.title, problem.detail]).toEqual(["The record is invalid", problem.message]);
    expect(problem.type).toBe(`${server.url}/docs/problems/invalid-record`);
    expect((await problemOf(client.brands.get(999_999))).code).toBe("not-found");
    const stranger = createClient({ url: server.url, key: "wrong" });
    expect((await problemOf(stranger.brands.list())).code).toBe("unauthorized");
  });

  test("finds the interface below a path, and the pages about its problems", async () => {
    const below = await startFlakyProxy(server.url, "/shop");
    for (const url of [`${below.url}/shop`, `${below.url}/shop/`]) {
      const distant = createClient({ url, key: server.key });
      const { ID } = await distant.brands.create({ Name: "Acme" });
      const problem = await problemOf(distant.brands.update(ID, { Name: "" }));
      expect(problem.type).toBe(`${below.url}/shop/docs/problems/invalid-record`);
    }
    expect(new Set(below.seen.map((line) => line.split("/")[1]))).toEqual(new Set(["shop"]));
    await below.stop();
  });

  test("sends PUT and DELETE, or POST for both through a proxy that only allows GET and POST", async () => {
    const before = proxy.seen.length;
    for (const methodOverride of [false, true]) {
      const distant = createClient({ url: proxy.url, key: server.key, methodOverride });
      const { ID } = await distant.brands.create({ Name: "Acme" });
      expect((await distant.brands.update(ID, { Name: "Acme Ltd" })).Name).toBe("Acme Ltd");
      expect((await distant.brands.delete(ID)).Name).toBe("Acme Ltd");
    }
    expect(proxy.seen.slice(before).map((line) => line.split(" ")[0])).toEqual([
      ...["POST", "PUT", "DELETE"],
      ...["POST", "POST", "POST"],
    ]);
  });

  test("does a write with the caller's idempotency key once, even if another client repeats it", async () => {
    const [idempotencyKey, other] = ["import 17, row 3", createClient({ url: server.url, key: server.key })];
    const first = await client.brands.create({ Name: "Acme" }, { idempotencyKey });
    expect(await other.brands.create({ Name: "Acme" }, { idempotencyKey })).toEqual(first);
    const problem = await problemOf(other.brands.create({ Name: "Bolt" }, { idempotencyKey }));
    expect(problem.code).toBe("idempotency-key-reused");
    for (const _ of "twice") await client.brands.delete(first.ID, { idempotencyKey: "delete it" });
  });
});

describe("all()", () => {
  test("neither misses nor repeats a record if others are deleted meanwhile", async () => {
    await createBrands(20);
    const before = await client.brands.list();
    const seen: Brand[] = [];
    for await (const brand of client.brands.all({}, { pageSize: 4 })) {
      seen.push(brand);
      if (seen.length === 8) for (const gone of before.slice(0, 7)) await client.brands.delete(gone.ID);
    }
    expect(seen.map(({ ID }) => ID)).toEqual(before.map(({ ID }) => ID));
  });

  test("yields every record at any page size, and only those that match its filter", async () => {
    await createBrands(11);
    for (const pageSize of [2, 3, 5, 6, 10, 11, 12, 1000]) {
      const all = await Array.fromAsync(client.brands.all({}, { pageSize }));
      expect([pageSize, all.map(({ Name }) => Name)]).toEqual([
        pageSize,
        Array.from({ length: 11 }, (_, i) => `Brand ${i}`),
      ]);
      const some = await Array.fromAsync(client.brands.all({ filter: { Name: { contains: "1" } } }, { pageSize }));
      expect(some.map(({ Name }) => Name)).toEqual(["Brand 1", "Brand 10"]);
    }
  });

  test("yields every record through a proxy that removes X-Total-Count", async () => {
    await createBrands(7);
    proxy.without("X-Total-Count");
    const distant = createClient({ url: proxy.url, key: server.key });
    for (const pageSize of [2, 7, 8]) {
      expect(await Array.fromAsync(distant.brands.all({}, { pageSize }))).toHaveLength(7);
    }
    expect((await distant.brands.list()).total).toBe(7);
    expect((await distant.brands.list({ offset: 3 })).total).toBe(7);
    expect((await distant.brands.list({ limit: 5, offset: 5 })).total).toBe(7);
    expect((await distant.brands.list({ limit: 7 })).total).toBeUndefined();
    expect((await distant.brands.list({ limit: 2, offset: 50 })).total).toBeUndefined();
    proxy.without();
    expect((await distant.brands.list({ limit: 2, offset: 50 })).total).toBe(7);
  });
});

describe("a record changed by another client since it was read can't be overwritten", () => {
  /** A record as the caller read it, and as another client then changed it. */
  async function createOutdated() {
    const brand = await client.brands.create({ Name: "Acme", AccountNumber: "A1" });
    const theirs = await client.brands.update(brand.ID, { AccountNumber: "A2" });
    return { brand, theirs };
  }

  const outdated: [string, (brand: Brand) => Promise<unknown>][] = [
    ["by the record and changes", (brand) => client.brands.update(brand, { Name: "Late" })],
    ["by the record, changed in place", (brand) => client.brands.update(Object.assign(brand, { Name: "Late" }))],
    ["by a copy", (brand) => client.brands.update({ ...brand, Name: "Late" })],
    ["by a copy of a copy", (brand) => client.brands.update({ ...Object.assign({}, brand), Name: "Late" })],
    ["by the ID and a copy as the changes", (brand) => client.brands.update(brand.ID, { ...brand, Name: "Late" })],
    ["by its ETag", (brand) => client.brands.update(brand.ID, { Name: "Late" }, { ifMatch: etagOf(brand) as string })],
    ["by deleting the record", (brand) => client.brands.delete(brand)],
    ["by deleting a copy", (brand) => client.brands.delete({ ...brand })],
  ];
  test.each(outdated)("%s", async (_, write) => {
    const { brand, theirs } = await createOutdated();
    expect((await problemOf(write(brand))).code).toBe("precondition-failed");
    expect(await client.brands.get(brand.ID)).toEqual(theirs);
    // The current version can be written.
    expect(await write(await client.brands.get(brand.ID))).toBeDefined();
  });

  const unknown: [string, (brand: Brand) => Promise<unknown>][] = [
    [
      "a record from a list",
      async () => client.brands.update((await client.brands.list())[0] as Brand, { Name: "Late" }),
    ],
    [
      "a record from all()",
      async () => {
        for await (const brand of client.brands.all()) return client.brands.update({ ...brand, Name: "Late" });
      },
    ],
    ["a copy through JSON", (brand) => client.brands.update(JSON.parse(JSON.stringify(brand)))],
    [
      "a copy through JSON as the changes",
      (brand) => client.brands.update(brand.ID, JSON.parse(JSON.stringify(brand))),
    ],
    ["a record from a list, deleted", async () => client.brands.delete((await client.brands.list())[0] as Brand)],
    ["a missing ETag", (brand) => client.brands.update(brand.ID, { Name: "Late" }, { ifMatch: etagOf({}) as string })],
  ];
  test.each(unknown)("by %s, whose version is unknown, without `ifMatch`", async (_, write) => {
    const { brand, theirs } = await createOutdated();
    await expect(write(brand)).rejects.toThrow(TypeError);
    expect(await client.brands.get(brand.ID)).toEqual(theirs);
  });

  test("except with `*` or only the ID", async () => {
    const { brand } = await createOutdated();
    const listed = (await client.brands.list())[0] as Brand;
    expect((await client.brands.update(brand, { Name: "Late" }, { ifMatch: "*" })).AccountNumber).toBe("A2");
    expect((await client.brands.update({ ...listed, Name: "Later" }, undefined, { ifMatch: "*" })).Name).toBe("Later");
    expect((await client.brands.update(brand.ID, { Name: "Last" })).Name).toBe("Last");
    await client.brands.delete(listed, { ifMatch: "*" });
  });

  test("a record's version isn't a field: JSON and Object.keys omit it", async () => {
    const brand = await client.orderStatuses.create({ Name: "Sent" });
    expect(JSON.stringify(brand)).toBe(`{"ID":${brand.ID},"Name":"Sent"}`);
    expect(Object.keys(brand)).toEqual(["ID", "Name"]);
    expect(etagOf(brand)).toMatch(/^"[^"]+"$/);
  });

  test("a tag weakened by a compressing proxy still matches", async () => {
    proxy.weakenTags(true);
    const distant = createClient({ url: proxy.url, key: server.key });
    const brand = await distant.brands.create({ Name: "Acme" });
    const renamed = await distant.brands.update(brand, { Name: "Acme Ltd" });
    expect((await problemOf(distant.brands.update(brand, { Name: "Late" }))).code).toBe("precondition-failed");
    await distant.brands.delete(renamed);
    proxy.weakenTags(false);
  });
});

test("unchanged records aren't sent again: the calls return undefined", async () => {
  const brand = await client.brands.create({ Name: "Acme" });
  const list = await client.brands.list({ sort: "Name" });
  const whole = () => client.brands.list({ sort: "Name" }, { ifNoneMatch: etagOf(list) });
  const single = () => client.brands.get(brand.ID, { ifNoneMatch: etagOf(brand) });
  expect([await whole(), await single()]).toEqual([undefined, undefined]);
  await client.brands.update(brand, { Name: "Acme Ltd" });
  expect((await whole())?.[0]?.Name).toBe("Acme Ltd");
  expect((await single())?.Name).toBe("Acme Ltd");
  expect((await client.brands.get(brand.ID, { ifNoneMatch: undefined }))?.Name).toBe("Acme Ltd");
});
