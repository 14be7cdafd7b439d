// The client's `sync`, which makes a site's records equal a list, while others write too and responses get lost.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import {
  createClient,
  etagOf,
  type StorefrontClient,
  StorefrontFailure,
  StorefrontProblem,
} from "../../src/client/client.ts";
import { startTestServer } from "../support/http/server.ts";
import { startFlakyProxy } from "../support/wire/flaky-proxy.ts";

const server = await startTestServer();
const proxy = await startFlakyProxy(server.url);
const client: StorefrontClient = createClient({ url: server.url, key: server.key });
beforeEach(async () => {
  const brands = await client.brands.list();
  await client.batch(brands.map(({ ID }) => ({ Method: "DELETE", Resource: "brands", ID }) as const));
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

const match = { match: "AccountNumber" } as const;
const removing = { ...match, removeMissing: true } as const;
const brand = (number: number, Name = `Brand ${number}`) => ({ Name, AccountNumber: `A${number}` });
const brandsUpTo = (count: number) => Array.from({ length: count }, (_, index) => brand(index + 1));
const stored = async () =>
  (await client.brands.list({ sort: "ID" })).map(({ AccountNumber, Name }) => `${AccountNumber} ${Name}`);
const readCursor = async (): Promise<string> => (await server.call("GET", "/restapi/changes.json?since=now")).json.Next;
async function changesSince(since: string): Promise<string[]> {
  const changes = await Array.fromAsync(client.changes({ since, wait: 0, limit: 1000 }));
  return changes.map(({ Operation, ID }) => `${Operation} ${ID}`);
}

/** A client that calls `before` with the path and body of each batch request, and waits for it. */
const watched = (before: (path: string, body: string) => unknown) =>
  createClient({
    url: server.url,
    key: server.key,
    fetch: async (url, init) => {
      if (url.includes("batch.json")) await before(url.replace(/.*batch\.json/, ""), String(init.body));
      return fetch(url, init);
    },
  });

describe("sync()", () => {
  test("creates, updates and removes what differs, and leaves the rest alone", async () => {
    const address = { Address: { Town: "Leeds", Country: "GB" } };
    await client.brands.upsert([brand(1), { ...brand(2), ...address }, brand(3, "Old"), brand(4)], match);
    const list = [brand(1), { ...brand(2), Address: { Town: "Leeds" } }, brand(3, "New"), brand(5)];
    const cursor = await readCursor();
    const plan = await client.brands.sync(list, { ...removing, dryRun: true });
    expect(await changesSince(cursor)).toEqual([]);
    const { runs, changes, ...counts } = await client.brands.sync(list, removing);
    expect(counts).toEqual({ created: 1, updated: 1, removed: 1, unchanged: 2, rejected: [], skipped: [] });
    expect({ ...plan, changes: [] }).toEqual({ ...counts, changes: [], runs: [] });
    const summary = (some: typeof changes) => some.map(({ Operation, Record }) => `${Operation} ${Record.Name}`);
    expect(summary(changes)).toEqual(["update New", "create Brand 5", "delete Brand 4"]);
    expect(summary(plan.changes)).toEqual(summary(changes));
    expect(await stored()).toEqual(["A1 Brand 1", "A2 Brand 2", "A3 New", "A5 Brand 5"]);
    expect((await client.brands.list())[1]?.Address.Country).toBe("GB");
    expect((await changesSince(cursor)).length).toBe(3);
    const [updated] = changes;
    expect(etagOf(updated?.Record ?? {})).toBe(etagOf(await client.brands.get(updated?.Record.ID ?? 0)));

    const again = await client.brands.sync(list, removing);
    expect([again.unchanged, again.changes, again.runs]).toEqual([4, [], []]);
    for (const run of runs.toReversed()) await client.undo(run);
    expect(await stored()).toEqual(["A1 Brand 1", "A2 Brand 2", "A3 Old", "A4 Brand 4"]);
  });

  test("without `removeMissing`, removes nothing", async () => {
    await client.brands.upsert(brandsUpTo(3), match);
    const { created, removed } = await client.brands.sync([brand(9)], match);
    expect([created, removed, (await stored()).length]).toEqual([1, 0, 4]);
    expect((await client.brands.sync([], match)).changes).toEqual([]);
  });

  test("refuses to remove more than half, or more than `allowRemovals`, before anything is stored", async () => {
    expect((await client.brands.sync([], removing)).removed).toBe(0);
    await client.brands.upsert(brandsUpTo(5), match);
    const cursor = await readCursor();
    for (const [list, options, advice] of [
      [[brand(1), brand(2), brand(9)], {}, "3 of 5 brands aren't in the list, and at most 2 may be removed"],
      [[], {}, "pass { allowRemovals: 5 }"],
      [[brand(1), brand(2)], { dryRun: true }, "pass { allowRemovals: 3 }"],
      [brandsUpTo(4), { allowRemovals: 0 }, "at most 0 may be removed"],
      [[], { allowRemovals: 4 }, "pass { allowRemovals: 5 }"],
    ] as const) {
      const failure = await client.brands.sync(list, { ...removing, ...options }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StorefrontFailure);
      expect(failure).toMatchObject({ reason: "too-many-removals", message: expect.stringContaining(advice) });
    }
    expect(await changesSince(cursor)).toEqual([]);
    expect((await client.brands.sync(brandsUpTo(3), removing)).removed).toBe(2);
    expect((await client.brands.sync([], { ...removing, allowRemovals: 3 })).removed).toBe(3);
    expect(await stored()).toEqual([]);
  });

  test.each([
    ["before their versions are read", "?dryRun=1&atomic=0"],
    ["before they are deleted", "?atomic=0"],
  ])("keeps records that someone changes %s, and doesn't mind those that someone deletes", async (_, path) => {
    await client.brands.upsert(brandsUpTo(6), match);
    const ids = (await client.brands.list()).map(({ ID }) => ID) as [number, number, number, ...number[]];
    const meanwhile = watched(async (sent) => {
      if (sent !== path) return;
      await client.brands.update(ids[0], { Name: "Changed" });
      await client.brands.delete(ids[1]);
    });
    const { removed, skipped, rejected } = await meanwhile.brands.sync(brandsUpTo(6).slice(3), removing);
    expect([removed, skipped.map(({ ID }) => ID), rejected]).toEqual([1, [ids[0]], []]);
    expect(await stored()).toEqual(["A1 Changed", "A4 Brand 4", "A5 Brand 5", "A6 Brand 6"]);
  });

  test("updates a record that someone creates meanwhile", async () => {
    const meanwhile = watched(() => client.brands.upsert([brand(1, "Theirs")], match));
    const { created, updated } = await meanwhile.brands.sync([brand(1)], removing);
    expect([created, updated, await stored()]).toEqual([0, 1, ["A1 Brand 1"]]);
  });

  test("reports the records that the server rejects, and stores the others", async () => {
    await client.brands.upsert(brandsUpTo(2), match);
    await client.brands.create(brand(2));
    const list = [brand(1), brand(2), { ...brand(3), Nmae: "x" }, brand(4, ""), brand(5)];
    for (const dryRun of [true, false]) {
      const { created, unchanged, removed, rejected } = await client.brands.sync(list, { ...removing, dryRun });
      expect([created, unchanged, removed]).toEqual([1, 1, 0]);
      expect(rejected.map(({ Record }) => Record)).toEqual(list.slice(1, 4));
      expect(rejected.map(({ Problem }) => Problem.detail)).toEqual([
        expect.stringContaining("2 records have this value"),
        expect.stringContaining("unknown field"),
        expect.stringContaining("a value is required"),
      ]);
    }
    expect((await stored()).length).toBe(4);
  });

  test("removes nothing if the server rejects a match value, because the record may stand for any of those missing", async () => {
    await client.brands.upsert(brandsUpTo(4), match);
    const [first, ...others] = brandsUpTo(3) as [ReturnType<typeof brand>, ...ReturnType<typeof brand>[]];
    for (const AccountNumber of ["A1\0", "A1\ud800", "A1".repeat(500)]) {
      const { removed, rejected, skipped } = await client.brands.sync(
        [{ ...first, AccountNumber }, ...others],
        removing,
      );
      expect([removed, rejected.length, skipped.map(({ Name }) => Name)]).toEqual([0, 1, ["Brand 1", "Brand 4"]]);
    }
    const { removed, rejected } = await client.brands.sync([...others, brand(1), brand(5, "")], removing);
    expect([removed, rejected.length, (await stored()).length]).toEqual([1, 1, 3]);
  });

  test("reports a record that's too large for a request, and stores the others", async () => {
    const list = [brand(1), brand(2, "x".repeat(2 ** 20)), brand(3)];
    const { created, rejected } = await client.brands.sync(list, removing);
    expect([created, rejected.map(({ Record, Problem }) => [Record.AccountNumber, Problem.status])]).toEqual([
      2,
      [["A2", 413]],
    ]);
  });

  test("stores everything once even if responses are lost, and reports its progress", async () => {
    await client.brands.upsert(brandsUpTo(3000), match);
    const cursor = await readCursor();
    const distant = createClient({ url: proxy.url, key: server.key });
    const progress: string[] = [];
    const list = [...brandsUpTo(1700).slice(100), ...brandsUpTo(4200).slice(3000)];
    const { created, removed, runs } = await distant.brands.sync(list, {
      ...removing,
      onProgress: ({ done, total }) => {
        progress.push(`${done} of ${total}`);
        proxy.misbehave("lose the response", "cut the response short");
      },
    });
    expect([created, removed, runs.length]).toEqual([1200, 1400, 4]);
    expect(progress).toEqual(["1000 of 2600", "1200 of 2600", "2200 of 2600", "2600 of 2600"]);
    expect((await changesSince(cursor)).length).toBe(2600);
    expect((await client.brands.sync(list, removing)).unchanged).toBe(list.length);
  });

  test("that failed says what it stored, and another call does the rest", async () => {
    await client.brands.upsert(brandsUpTo(4), match);
    const cursor = await readCursor();
    const failing = watched((path) => {
      if (path === "?atomic=0") throw new TypeError("the program was stopped");
    });
    const list = brandsUpTo(7).slice(2);
    await expect(failing.brands.sync(list, removing)).rejects.toThrow("the program was stopped");
    const readOnly = createClient({ url: server.url, key: await server.issueKey({ rights: ["read"] }) });
    expect(await readOnly.brands.sync(brandsUpTo(9), match).catch((error: unknown) => error)).toMatchObject({
      code: "forbidden",
      runs: [],
    });
    expect((await changesSince(cursor)).length).toBe(3);
    const { created, removed } = await client.brands.sync(list, removing);
    expect([created, removed, (await stored()).length]).toEqual([0, 2, 5]);
  });

  test("with a mistake in the call sends nothing", async () => {
    const distant = createClient({ url: proxy.url, key: server.key });
    const before = proxy.seen.length;
    for (const [list, options, message] of [
      [[brand(1), brand(2), brand(1)], match, 'records 1 and 3 have the same `AccountNumber`: "A1"'],
      [[brand(1), { Name: "x" }], match, "record 2 can't be matched: its `AccountNumber` must be a non-empty string"],
      [[{ Name: "x", AccountNumber: "" }], match, "record 1 can't be matched"],
      [[{ Name: "x", AccountNumber: 5 }], match, "record 1 can't be matched"],
      [[null], match, "record 1 can't be matched"],
      [[{ ...brand(1), ID: 3 }], match, "record 1 has an `ID`; leave it out"],
      [{}, match, "must be an array"],
      [[], {}, "`match` must be"],
      [[], undefined, "`match` must be"],
      [[], { ...match, dryrun: true }, "unknown option `dryrun`"],
      [[], { ...match, allowRemovals: 0.5 }, "`allowRemovals` must be a whole number"],
      [[], { ...match, idempotencyKey: "x" }, "unknown option `idempotencyKey`"],
    ] as [never, never, string][]) {
      const error = await distant.brands.sync(list, options).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as TypeError).message).toContain(message);
    }
    expect(proxy.seen).toHaveLength(before);
  });

  test("matches by a field in a group, and order statuses too", async () => {
    await client.brands.sync([{ Name: "a", Address: { Town: "Leeds" } }], { match: "Address.Town" });
    const { updated } = await client.brands.sync([{ Name: "b", Address: { Town: "Leeds" } }], {
      match: "Address.Town",
    });
    expect([updated, await stored()]).toEqual([1, [" b"]]);
    const list = [{ Name: "Sent" }, { Name: "Paid" }];
    expect((await client.orderStatuses.sync(list, { match: "Name", removeMissing: true })).created).toBe(2);
    const { removed } = await client.orderStatuses.sync([], { match: "Name", removeMissing: true, allowRemovals: 2 });
    expect(removed).toBe(2);
  });

  test("problems of a whole request are thrown", async () => {
    const problem = await client.brands
      .sync([{ Name: "x", Nmae: "y" } as never], { match: "Nmae" as never })
      .catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(StorefrontProblem);
    expect((problem as StorefrontProblem).detail).toContain("did you mean `Name`?");
  });
});
