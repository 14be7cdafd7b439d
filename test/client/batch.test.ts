// The client's `batch`, `undo` and `upsert`, which splits long lists and survives lost responses.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import {
  type ClientOptions,
  createClient,
  etagOf,
  type StorefrontClient,
  StorefrontFailure,
  StorefrontProblem,
  type UpsertProgress,
} from "../../src/client/client.ts";
import { makeSandbox } from "../../src/operator/sandbox/make-sandbox.ts";
import { createKey } from "../../src/operator/sites/keys.ts";
import { startTestServer } from "../support/http/server.ts";
import { startFlakyProxy } from "../support/wire/flaky-proxy.ts";

let client: StorefrontClient;
const server = await startTestServer();
const proxy = await startFlakyProxy(server.url);
beforeEach(async () => {
  client = createClient({ url: server.url, key: server.key });
  const { results } = await client.batch(
    (await client.brands.list()).map(({ ID }) => ({ Method: "DELETE", Resource: "brands", ID }) as const),
  );
  expect(results.every(({ Status }) => Status === 200)).toBe(true);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

async function problemOf(work: Promise<unknown>): Promise<StorefrontProblem> {
  const error = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StorefrontProblem);
  return error as StorefrontProblem;
}

/** Brands with the account numbers 1 to `count`. */
const brandsUpTo = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ Name: `Brand ${index + 1}`, AccountNumber: `A${index + 1}` }));
const byAccount = { match: "AccountNumber" } as const;

/** The number of changes since a cursor. */
async function countChanges(since: string): Promise<number> {
  let count = 0;
  for await (const _ of client.changes({ since, wait: 0, limit: 1000 })) count++;
  return count;
}

async function readCursor(): Promise<string> {
  return (await server.call("GET", "/restapi/changes.json?since=now")).json.Next;
}

describe("batch()", () => {
  test("creates, updates and deletes records, which can then be updated without reading them", async () => {
    const old = await client.brands.create({ Name: "Old" });
    const { run, results, replayed } = await client.batch([
      { Method: "POST", Resource: "brands", Record: { Name: "Acme" } },
      { Method: "POST", Resource: "orderstatuses", Record: { Name: "Sent" } },
      { Method: "PUT", Resource: "brands", ID: old.ID, IfMatch: etagOf(old) as string, Record: { AccountNumber: "A" } },
      { Method: "PATCH", Resource: "brands", ID: old.ID, Record: { AccountNumber: "A" } },
      { Method: "DELETE", Resource: "brands", ID: old.ID },
    ]);
    expect(results.map(({ Status, Changed }) => [Status, Changed])).toEqual([
      [201, true],
      [201, true],
      [200, true],
      [200, false],
      [200, true],
    ]);
    expect([run?.length, replayed]).toEqual([expect.any(Number), false]);
    expect(etagOf(results[4].Record)).toBeUndefined();
    const [{ Record: acme }, { Record: sent }] = results;
    expect(await client.brands.get(acme.ID)).toEqual(acme);
    await client.brands.update(acme, { Name: "Acme Ltd" });
    expect((await problemOf(client.brands.update(acme, { Name: "x" }))).code).toBe("precondition-failed");
    await client.orderStatuses.delete(sent);
  });

  test("with one wrong operation stores nothing, and its problem names each wrong one", async () => {
    const operations = [
      { Method: "POST", Resource: "brands", Record: { Name: "Acme" } },
      { Method: "POST", Resource: "brands", Record: { Name: "" } },
      { Method: "DELETE", Resource: "orderstatuses", ID: 999 },
    ] as const;
    const problem = await problemOf(client.batch(operations));
    expect([problem.status, problem.code, problem.runs]).toEqual([400, "invalid-record", []]);
    expect(problem.errors.map(({ operation, field }) => [operation, field])).toEqual([
      [2, "Name"],
      [3, ""],
    ]);
    expect((await client.brands.list()).total).toBe(0);

    const { results } = await client.batch(operations, { atomic: false });
    expect(results.map(({ Status, Problem }) => [Status, Problem?.type])).toEqual([
      [201, undefined],
      [400, "/docs/problems/invalid-record"],
      [404, "/docs/problems/not-found"],
    ]);
    expect((await client.brands.list()).map(({ Name }) => Name)).toEqual(["Acme"]);
  });

  test("deletes the record that has the match value", async () => {
    await client.brands.upsert(brandsUpTo(2), byAccount);
    const { results } = await client.batch(
      [{ Method: "DELETE", Resource: "brands", Record: { AccountNumber: "A2" } }],
      byAccount,
    );
    expect([results[0].Record.Name, (await client.brands.list()).map(({ Name }) => Name)]).toEqual([
      "Brand 2",
      ["Brand 1"],
    ]);
  });

  test("as a dry run stores nothing", async () => {
    const { run, results } = await client.batch([{ Method: "POST", Resource: "brands", Record: { Name: "Acme" } }], {
      dryRun: true,
    });
    expect([run, results[0].Status, results[0].Record.Name]).toEqual([undefined, 201, "Acme"]);
    expect((await client.brands.list()).total).toBe(0);
  });

  test("runs once even if its response is lost or the caller repeats it", async () => {
    const distant = createClient({ url: proxy.url, key: server.key });
    const send = () =>
      distant.batch([{ Method: "POST", Resource: "brands", Record: { Name: "Once" } }], { idempotencyKey: "once" });
    proxy.misbehave("lose the response");
    const first = await send();
    const second = await send();
    expect([first.replayed, second.replayed]).toEqual([true, true]);
    expect(second).toEqual(first);
    expect((await client.brands.list()).total).toBe(1);
  });

  test("with a mistake in the call sends nothing", async () => {
    const before = proxy.seen.length;
    const distant = createClient({ url: proxy.url, key: server.key });
    await expect(distant.batch([], { dryrun: true } as object)).rejects.toThrow("unknown option `dryrun`");
    const many = Array.from({ length: 10_001 }, () => ({ Method: "DELETE", Resource: "brands", ID: 1 }) as const);
    await expect(distant.batch(many)).rejects.toThrow("at most 10000 operations");
    const equal = [...brandsUpTo(1200), { Name: "Again", AccountNumber: "A7" }];
    await expect(distant.brands.upsert(equal, byAccount)).rejects.toThrow(
      'records 7 and 1201 have the same `AccountNumber`: "A7"',
    );
    await expect(distant.brands.upsert(brandsUpTo(1), {} as typeof byAccount)).rejects.toThrow("`match` must be");
    await expect(distant.brands.upsert(brandsUpTo(1), undefined as never)).rejects.toThrow("`match` must be");
    await expect(distant.brands.upsert({ Name: "A" } as never, byAccount)).rejects.toThrow("must be an array");
    await expect(distant.brands.upsert(brandsUpTo(1), { ...byAccount, dryrun: 1 } as object as never)).rejects.toThrow(
      "unknown option `dryrun`",
    );
    expect(proxy.seen).toHaveLength(before);
  });
});

describe("upsert()", () => {
  test.each([
    ["AccountNumber", "a value is required to find the record by it"],
    ["accountNumber", "did you mean `AccountNumber`?"],
  ])("of two records without a value for %s fails with the server's message", async (match, detail) => {
    const options = { match, dryRun: true } as typeof byAccount;
    await expect(client.brands.upsert([{ Name: "A" }, { Name: "B" }], options)).rejects.toThrow(detail);
  });

  test("10,000 records on a key with 40 requests per second: waits out the debt and reports progress", async () => {
    const progress: UpsertProgress[] = [];
    const options = { url: server.url, key: await server.issueKey({ rate: 40 }), retries: 0 };
    const slow = createClient(options);
    const started = performance.now();
    const { created, updated, unchanged, runs, results } = await slow.brands.upsert(brandsUpTo(10_000), {
      ...byAccount,
      onProgress: (now) => void progress.push(now),
    });
    // 110 tokens, of which 40 were available. It doesn't wait out the last request's debt.
    expect(performance.now() - started).toBeGreaterThan(1400);
    expect([created, updated, unchanged, runs.length]).toEqual([10_000, 0, 0, 10]);
    expect(results.map(({ Record }) => Record.AccountNumber)).toEqual(
      brandsUpTo(10_000).map((one) => one.AccountNumber),
    );
    expect(progress).toEqual(runs.map((run, index) => ({ done: 1000 * (index + 1), total: 10_000, run })));
    expect((await client.brands.list({ limit: 1 })).total).toBe(10_000);
  });

  test("updates the records that differ", async () => {
    await client.brands.upsert(brandsUpTo(3), byAccount);
    const [first, ...others] = brandsUpTo(4);
    const changed = [{ ...first, Name: "Changed", AccountNumber: "A1" }, ...others];
    const tried = await client.brands.upsert(changed, { ...byAccount, dryRun: true });
    expect([tried.created, tried.updated, tried.unchanged, tried.runs]).toEqual([1, 1, 2, []]);
    expect((await client.brands.list()).total).toBe(3);
    const { created, updated, unchanged, runs } = await client.brands.upsert(changed, byAccount);
    expect([created, updated, unchanged, runs.length]).toEqual([1, 1, 2, 1]);
    const again = await client.brands.upsert(changed, byAccount);
    expect([again.created, again.updated, again.unchanged, again.runs]).toEqual([0, 0, 4, []]);
  });

  test("stores each record once even if responses are lost midway", async () => {
    const since = await readCursor();
    const distant = createClient({ url: proxy.url, key: server.key });
    const { created, runs } = await distant.brands.upsert(brandsUpTo(3000), {
      ...byAccount,
      onProgress: ({ done }) => {
        if (done === 1000) proxy.misbehave("lose the response", "cut the response short");
      },
    });
    expect([created, runs.length]).toEqual([3000, 3]);
    expect((await client.brands.list({ limit: 1 })).total).toBe(3000);
    expect(await countChanges(since)).toBe(3000);
  });

  test("that failed continues when called again with the same key, and stores nothing twice", async () => {
    const since = await readCursor();
    const call = (options: Partial<ClientOptions> = {}) =>
      createClient({ url: proxy.url, key: server.key, retries: 0, ...options }).brands.upsert(brandsUpTo(3000), {
        ...byAccount,
        idempotencyKey: "file of november",
        onProgress: ({ done }) => {
          if (done === 1000 && options.retries === undefined) proxy.misbehave("lose the response");
        },
      });
    const failure = await call().catch((error: unknown) => error as StorefrontFailure);
    if (!(failure instanceof StorefrontFailure)) throw failure;
    expect([failure.reason, failure.runs.length]).toEqual(["network", 1]);
    const { created, updated, runs } = await call({ retries: 1 });
    expect([created, updated, runs.length]).toEqual([3000, 0, 3]);
    expect(runs[0]).toBe(failure.runs[0] as string);
    expect(await countChanges(since)).toBe(3000);
  });

  test("splits long records into requests of at most 1 MiB", async () => {
    const sizes: number[] = [];
    const counting = createClient({
      url: server.url,
      key: server.key,
      fetch: (url, init) => {
        sizes.push(new TextEncoder().encode(String(init.body)).length);
        return fetch(url, init);
      },
    });
    const long = "é".repeat(255);
    const records = brandsUpTo(900).map((one) => ({ ...one, Address: { AddressLine1: long, AddressLine2: long } }));
    expect((await counting.brands.upsert(records, byAccount)).created).toBe(900);
    expect(sizes.length).toBeGreaterThan(1);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(1 << 20);
  });

  test("names rejected records by their position in the whole list, and the runs already stored", async () => {
    const records = brandsUpTo(2500).map((one, index) => ([1501, 1999].includes(index) ? { ...one, Name: "" } : one));
    const problem = await problemOf(client.brands.upsert(records, byAccount));
    expect([problem.code, problem.runs.length]).toEqual(["invalid-record", 1]);
    expect(problem.errors.map(({ operation, field }) => [operation, field])).toEqual([
      [1502, "Name"],
      [2000, "Name"],
    ]);
    expect(problem.message).toStartWith("operation 1502: ");
    expect(problem.message).toContain("nothing of 1001 to 2000 was stored");
    expect(problem.detail).toBe(problem.message);
    expect((await client.brands.list({ limit: 1 })).total).toBe(1000);
  });

  test("as a dry run names the rejected records of the whole list", async () => {
    const records = brandsUpTo(2500).map((one, index) => ([1501, 2400].includes(index) ? { ...one, Name: "" } : one));
    const progress: number[] = [];
    const problem = await problemOf(
      client.brands.upsert(records, { ...byAccount, dryRun: true, onProgress: ({ done }) => void progress.push(done) }),
    );
    expect(problem.errors.map(({ operation, field }) => [operation, field])).toEqual([
      [1502, "Name"],
      [2401, "Name"],
    ]);
    expect(progress).toEqual([1000, 2000, 2500]);
    expect((await client.brands.list({ limit: 1 })).total).toBe(0);
    const forbidden = createClient({ url: server.url, key: await server.issueKey({ rights: ["read"] }) });
    expect((await problemOf(forbidden.brands.upsert(records, { ...byAccount, dryRun: true }))).code).toBe("forbidden");
  });

  test("with a sandbox key only changes the sandbox", async () => {
    const { site } = await makeSandbox(server.engine, "shop", { now: Date.now });
    const { key } = await createKey(server.engine, site, {}, Date.now());
    const trying = createClient({ url: server.url, key });
    const { created, runs } = await trying.brands.upsert(brandsUpTo(2), byAccount);
    expect([created, (await trying.brands.list()).total, (await client.brands.list()).total]).toEqual([2, 2, 0]);
    expect((await problemOf(client.undo(runs[0] as string))).code).toBe("not-found");
    expect(await trying.undo(runs[0] as string)).toMatchObject({ deleted: 2, skipped: [] });
  });
});

describe("undo", () => {
  test("undoes a run, leaves later changes alone, and can itself be undone", async () => {
    const kept = await client.brands.create({ Name: "Kept", AccountNumber: "A1" });
    const { runs } = await client.brands.upsert(brandsUpTo(4), byAccount);
    const [run = ""] = runs;
    const [changed] = await client.brands.list({ filter: { AccountNumber: "A3" } });
    await client.brands.update(changed?.ID as number, { Name: "Changed by somebody" });
    const expected = { deleted: 2, restored: 1, unchanged: 0 };
    const skipped = [{ Resource: "brands" as const, ID: changed?.ID as number, Revision: expect.any(Number) }];
    expect(await client.undo(run, { dryRun: true })).toEqual({ run: undefined, ...expected, skipped });
    const undone = await client.undo(run);
    expect(undone).toEqual({ run: expect.any(String), ...expected, skipped });
    const names = async () => (await client.brands.list()).map(({ Name }) => Name).sort();
    expect(await names()).toEqual(["Changed by somebody", "Kept"]);
    await client.undo(undone.run as string);
    expect(await names()).toEqual(["Brand 1", "Brand 2", "Brand 4", "Changed by somebody"]);
    expect((await client.brands.get(kept.ID)).Name).toBe("Brand 1");
    expect((await problemOf(client.undo("no run"))).code).toBe("not-found");
    await expect(client.undo(run, { dryrun: true } as object)).rejects.toThrow("unknown option `dryrun`");
  });
});
