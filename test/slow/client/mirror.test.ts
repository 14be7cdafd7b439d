// The client keeps a copy of a real server's list while others write, and while the server is stopped, pruned and renewed.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Brand,
  createClient,
  type MirrorOptions,
  type RecordVersion,
  type StorefrontClient,
} from "../../../src/client/client.ts";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { pruneJournals } from "../../../src/operator/journal/prune-journals.ts";
import { engines } from "../../support/engine/engines.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { startTestServer, type TestServer } from "../../support/http/server.ts";
import { startRestartableServer } from "../../support/programs/restartable-server.ts";
import { ticks, waitUntil } from "../../support/time.ts";
import { type FlakyProxy, startFlakyProxy } from "../../support/wire/flaky-proxy.ts";

let server: TestServer;
let client: StorefrontClient;
beforeEach(async () => {
  server = await startTestServer();
  client = createClient({ url: server.url, key: server.key });
});
afterEach(() => server.stop());

const thrownBy = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** A copy, and every call made to it. */
function createCopy(first: readonly Brand[] = []) {
  const records = new Map(first.map((brand) => [brand.ID, brand]));
  const calls: string[] = [];
  let cursor: string | undefined;
  const options: MirrorOptions<Brand> = {
    ids: () => records.keys(),
    store: (brand) => {
      calls.push(`store ${brand.ID} ${brand.Name}`);
      records.set(brand.ID, brand);
    },
    remove: (id) => {
      calls.push(`remove ${id}`);
      records.delete(id);
    },
    onCursor: (next) => {
      calls.push("cursor");
      cursor = next;
    },
  };
  return { records, calls, options, cursor: () => cursor };
}

/** The list's records, without their versions. */
async function listed(): Promise<Brand[]> {
  return JSON.parse(JSON.stringify(await client.brands.list()));
}

const inOrder = (records: ReadonlyMap<number, Brand>) => [...records.values()].sort((a, b) => a.ID - b.ID);

/** Writes `count` changes, 50 at a time. */
async function write(count: number, change: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const writer = async () => {
    while (next < count) await change(next++);
  };
  await Promise.all(Array.from({ length: 50 }, writer));
}

describe("mirror()", () => {
  test("reads the list, then applies each change, and ends after the last one if told not to wait", async () => {
    const [one, two] = [await client.brands.create({ Name: "One" }), await client.brands.create({ Name: "Two" })];
    const copy = createCopy();
    await client.mirror("brands", { ...copy.options, wait: 0 });
    expect(copy.calls).toEqual(["store 1 One", "store 2 Two", "cursor"]);
    copy.calls.length = 0;
    await client.brands.update(one, { Name: "First" });
    await client.orderStatuses.create({ Name: "Not a brand" });
    await client.brands.delete(two);
    await client.brands.create({ Name: "Three" });
    await client.mirror("brands", { ...copy.options, since: copy.cursor(), wait: 0 });
    expect(copy.calls).toEqual(["store 1 First", "remove 2", "store 3 Three", "cursor"]);
    expect(inOrder(copy.records)).toEqual(await listed());
  });

  test("follows until its signal is aborted if it may wait", async () => {
    const [copy, stop, reason] = [createCopy(), new AbortController(), new Error("stop")];
    const running = thrownBy(client.mirror("brands", { ...copy.options, signal: stop.signal }));
    await client.brands.create({ Name: "One" });
    await waitUntil(() => copy.records.size === 1, "the record");
    await client.brands.delete(1);
    await waitUntil(() => copy.records.size === 0, "the removal");
    stop.abort(reason);
    expect(await running).toBe(reason);
  });

  test("calls one function at a time, and waits for its promise", async () => {
    const copy = createCopy();
    let active = 0;
    const alone = async (work: () => unknown) => {
      expect(++active).toBe(1);
      await ticks(2);
      work();
      active--;
    };
    const slow: MirrorOptions<Brand> = {
      ids: copy.options.ids,
      store: (...args) => alone(() => copy.options.store(...args)),
      remove: (...args) => alone(() => copy.options.remove(...args)),
      onCursor: (cursor) => alone(() => copy.options.onCursor?.(cursor)),
    };
    for (const Name of ["One", "Two", "Three"]) await client.brands.create({ Name });
    await client.mirror("brands", { ...slow, wait: 0 });
    for (const ID of [1, 2]) await client.brands.delete(ID);
    await client.brands.update(3, { Name: "Last" });
    await client.mirror("brands", { ...slow, since: copy.cursor(), wait: 0, limit: 1 });
    expect(copy.calls.slice(4)).toEqual(["remove 1", "cursor", "remove 2", "cursor", "store 3 Last", "cursor"]);
  });

  test("passes each change's cursor, so that it can be stored in one transaction with the record", async () => {
    const seen: (string | undefined)[] = [];
    const copy = createCopy();
    const options: MirrorOptions<Brand> = { ...copy.options, wait: 0, store: (_, cursor) => seen.push(cursor) };
    await client.brands.create({ Name: "One" });
    await client.mirror("brands", options);
    expect(seen).toEqual([undefined]);
    for (const Name of ["Two", "Three"]) await client.brands.create({ Name });
    await client.mirror("brands", { ...options, since: copy.cursor() });
    const [, second] = seen;
    expect(seen[2]).toBe(copy.cursor() as string);
    await client.mirror("brands", { ...copy.options, wait: 0, since: second });
    expect(copy.calls.at(-2)).toBe("store 3 Three");
  });

  test("passes each change's version, so that a copy can be written back without overwriting", async () => {
    const versions = new Map<string, RecordVersion | undefined>();
    const copy = createCopy();
    const store: MirrorOptions<Brand>["store"] = ({ Name }, _, version) => versions.set(Name, version);
    await client.brands.create({ Name: "Listed" });
    await client.mirror("brands", { ...copy.options, store, wait: 0 });
    const { ID } = await client.brands.create({ Name: "Followed" });
    await client.mirror("brands", { ...copy.options, store, wait: 0, since: copy.cursor() });
    expect(versions.get("Listed")).toBeUndefined();
    const { ETag = "", Revision } = versions.get("Followed") ?? {};
    expect(Revision).toBe(Number(copy.cursor()?.split(".")[1]));
    expect(await client.brands.update(ID, { Name: "Mine" }, { ifMatch: ETag })).toMatchObject({ Name: "Mine" });
    const late = client.brands.update(ID, { Name: "Late" }, { ifMatch: ETag });
    expect(await thrownBy(late)).toMatchObject({ code: "precondition-failed" });
  });

  test("ends with a function's exception, and repeats that record when started again", async () => {
    const copy = createCopy();
    await client.mirror("brands", { ...copy.options, wait: 0 });
    for (const Name of ["One", "Two"]) await client.brands.create({ Name });
    const fault = new Error("the disk is full");
    const store = (brand: Brand) => {
      if (brand.ID === 2) throw fault;
      copy.options.store(brand, undefined);
    };
    const since = copy.cursor();
    expect(await thrownBy(client.mirror("brands", { ...copy.options, store, since, wait: 0 }))).toBe(fault);
    expect(copy.cursor()).toBe(since);
    await client.mirror("brands", { ...copy.options, since, wait: 0 });
    expect(copy.calls).toEqual(["cursor", "store 1 One", "store 1 One", "store 2 Two", "cursor"]);
  });
});

describe("a copy whose cursor can no longer be used", () => {
  /** A copy of three brands, of which one is then deleted and one renamed. A fourth is created. */
  async function createLate() {
    for (const Name of ["One", "Two", "Three"]) await client.brands.create({ Name });
    const copy = createCopy();
    await client.mirror("brands", { ...copy.options, wait: 0 });
    await client.brands.delete(2);
    await client.brands.update(3, { Name: "Third" });
    await client.brands.create({ Name: "Four" });
    copy.calls.length = 0;
    return copy;
  }
  const again = ["store 1 One", "store 3 Third", "store 4 Four", "remove 2", "cursor"];

  test("is brought up to date from the list after pruning, and records missing there are removed", async () => {
    const copy = await createLate();
    await pruneJournals(server.engine, [server.site.ID], { revision: 6 });
    await client.mirror("brands", { ...copy.options, since: copy.cursor(), wait: 0 });
    expect(copy.calls).toEqual(again);
    await client.brands.delete(1);
    await client.mirror("brands", { ...copy.options, since: copy.cursor(), wait: 0 });
    expect(inOrder(copy.records)).toEqual(await listed());
  });

  test("is brought up to date from the list if the history is a new one", async () => {
    const copy = await createLate();
    await server.engine.replaceEpochs();
    await client.mirror("brands", { ...copy.options, since: copy.cursor(), wait: 0 });
    expect(copy.calls).toEqual(again);
  });

  test("is brought up to date from the list even while it follows, and continues to follow", async () => {
    const copy = createCopy();
    const [signal, stop] = [new AbortController(), new Error("stop")];
    const running = thrownBy(client.mirror("brands", { ...copy.options, signal: signal.signal }));
    for (const Name of ["One", "Two"]) await client.brands.create({ Name });
    await waitUntil(() => copy.records.size === 2, "2 records");
    copy.records.set(99, { ...(copy.records.get(1) as Brand), ID: 99 });
    await server.engine.replaceEpochs();
    await client.brands.create({ Name: "Three" });
    await waitUntil(() => copy.records.size === 3 && !copy.records.has(99), "the records of the list");
    signal.abort(stop);
    expect(await running).toBe(stop);
  });

  test("or has none removes everything that's not in the list", async () => {
    await client.brands.create({ Name: "One" });
    const [one] = await listed();
    const copy = createCopy([7, 8, 1].map((ID) => ({ ...(one as Brand), ID, Name: "Old" })));
    await client.mirror("brands", { ...copy.options, since: null, wait: 0 });
    expect(copy.calls).toEqual(["store 1 One", "remove 7", "remove 8", "cursor"]);
    expect(inOrder(copy.records)).toEqual(await listed());
  });

  test("takes the IDs from a promise or an asynchronous source", async () => {
    const [one] = [await client.brands.create({ Name: "One" })];
    async function* stored() {
      yield* [1, 5];
    }
    for (const ids of [() => Promise.resolve([1, 5]), stored]) {
      const copy = createCopy([one]);
      await client.mirror("brands", { ...copy.options, ids, wait: 0 });
      expect(copy.calls).toEqual(["store 1 One", "remove 5", "cursor"]);
    }
  });

  test("isn't emptied if its IDs are strings, as many databases return them", async () => {
    const [one] = [await client.brands.create({ Name: "One" })];
    const copy = createCopy([one]);
    const ids = () => ["1"] as unknown as number[];
    const error = await thrownBy(client.mirror("brands", { ...copy.options, ids, wait: 0 }));
    expect(String(error)).toBe('TypeError: an ID must be a whole number from 1, not "1"');
    expect(copy.calls).toEqual(["store 1 One"]);
  });

  test("is correct if the site gets its first record and is restored to before that while the copy starts", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-mirror-"));
    await backUp(server.engine, join(folder, "empty"), 0);
    const copy = createCopy([{ ID: 7, Name: "Old" } as Brand]);
    const store = async (brand: Brand) => {
      copy.options.store(brand, undefined);
      await restore(server.engine, join(folder, "empty"), join(folder, "kept"), 0);
    };
    const fetch = async (url: string, init: RequestInit) => {
      const response = await globalThis.fetch(url, init);
      if (url.includes("since=now") && !copy.calls.includes("store 1 Lost"))
        await client.brands.create({ Name: "Lost" });
      return response;
    };
    const hurried = createClient({ url: server.url, key: server.key, fetch });
    await hurried.mirror("brands", { ...copy.options, store, wait: 0 });
    expect(copy.calls).toContain("store 1 Lost");
    await client.mirror("brands", { ...copy.options, since: copy.cursor(), wait: 0 });
    expect(inOrder(copy.records)).toEqual(await listed());
    rmSync(folder, { recursive: true, force: true });
  });

  test("isn't confused by a 410 thrown in one of its functions", async () => {
    await client.brands.create({ Name: "One" });
    const retired = createClient({ url: server.url, key: "k", fetch: async () => new Response("", { status: 410 }) });
    const store = (brand: Brand) => retired.brands.create({ Name: brand.Name });
    const copy = createCopy();
    for (const since of [undefined, "0.0"]) {
      const error = await thrownBy(client.mirror("brands", { ...copy.options, store, since, wait: 0 }));
      expect(error).toMatchObject({ name: "StorefrontProblem", status: 410 });
    }
  });

  test("reads the list again at once the first time", async () => {
    let [ticks, lists, isRunning] = [0, 0, true];
    const count = () => {
      ticks++;
      if (isRunning) setImmediate(count);
    };
    let ticksBetween = 0;
    const stop = new AbortController();
    const fetch = async (url: string) => {
      if (url.includes("since=now")) return Response.json({ Changes: [], Next: "a.1", More: false });
      if (url.includes("changes.json")) {
        if (lists === 1) ticks = 0;
        return new Response("", { status: 410 });
      }
      if (++lists === 2) {
        ticksBetween = ticks;
        stop.abort();
      }
      return Response.json([]);
    };
    const restored = createClient({ url: "http://shop.example", key: "k", fetch });
    count();
    await thrownBy(restored.mirror("brands", { ...createCopy().options, signal: stop.signal }));
    isRunning = false;
    // 100 ms would be thousands of ticks.
    expect([lists, ticksBetween < 20]).toEqual([2, true]);
  });

  test("reads the list again with pauses if it keeps happening", async () => {
    let lists = 0;
    const stop = new AbortController();
    const fetch = async (url: string) => {
      if (url.includes("since=now")) return Response.json({ Changes: [], Next: "a.1", More: false });
      if (url.includes("changes.json")) return new Response("", { status: 410 });
      if (++lists === 3) stop.abort();
      return Response.json([]);
    };
    const fated = createClient({ url: "http://shop.example", key: "k", fetch });
    const copy = createCopy();
    const started = performance.now();
    await thrownBy(fated.mirror("brands", { ...copy.options, since: "a.0", signal: stop.signal }));
    // At least 200 ms before the second time, and 400 ms before the third.
    expect(performance.now() - started).toBeGreaterThan(590);
  });
});

describe("a mirror survives", () => {
  test("lost and rejected responses, in the list and after it, more of them than a call retries", async () => {
    const proxy: FlakyProxy = await startFlakyProxy(server.url);
    const distant = createClient({ url: proxy.url, key: server.key, retries: 0 });
    for (const Name of ["One", "Two"]) await client.brands.create({ Name });
    const copy = createCopy();
    proxy.misbehave("lose the response", "cut the response short", "respond 503", "lose the response");
    const store = (brand: Brand) => {
      copy.options.store(brand, undefined);
      proxy.misbehave("cut the response short", "lose the response");
    };
    await distant.mirror("brands", { ...copy.options, store, wait: 0 });
    expect(inOrder(copy.records)).toEqual(await listed());
    await proxy.stop();
  });

  test("a restart of the server in the middle of the list, and another while it follows", async () => {
    const restartable = await startRestartableServer();
    let isStopped = false;
    const onRetry = () => {
      if (isStopped) void restartable.start();
      isStopped = false;
    };
    const writer = createClient({ url: restartable.url, key: restartable.key, retries: 10, onRetry });
    await write(600, (index) => writer.brands.create({ Name: `Brand ${index}` }));
    const [copy, stop] = [createCopy(), new AbortController()];
    const store = async (brand: Brand) => {
      copy.options.store(brand, undefined);
      if (brand.ID !== 400) return;
      await restartable.stop();
      isStopped = true;
    };
    const running = thrownBy(writer.mirror("brands", { ...copy.options, store, signal: stop.signal }));
    await waitUntil(() => copy.records.size === 600 && copy.cursor() !== undefined, "the list");
    await restartable.stop();
    await restartable.start();
    await writer.brands.delete(7);
    await waitUntil(() => copy.records.size === 599, "599 records");
    stop.abort();
    await running;
    await restartable.remove();
  });

  test("an abort in one of its functions: it ends afterwards, with the reason", async () => {
    const reason = new Error("the user left");
    for (const Name of ["One", "Two"]) await client.brands.create({ Name });
    const [copy, stop] = [createCopy(), new AbortController()];
    const store = (brand: Brand) => {
      copy.options.store(brand, undefined);
      stop.abort(reason);
    };
    const options = { ...copy.options, store, signal: stop.signal };
    expect(await thrownBy(client.mirror("brands", options))).toBe(reason);
    expect(copy.calls).toEqual(["store 1 One"]);
    expect(await thrownBy(client.mirror("brands", { ...options, since: "0.0" }))).toBe(reason);
    expect(copy.calls).toEqual(["store 1 One"]);
  });
});

describe.each(engines)("a mirror on $name", (kind) => {
  beforeAll(() => kind.open(), 60_000);
  afterAll(() => kind.close());

  test("misses none of 2,000 changes made while the list is read", async () => {
    const own = await startTestServer({ settings: { DATABASE: await kind.newDatabase() } });
    const { brands, mirror } = createClient({ url: own.url, key: own.key });
    const names = Array.from({ length: 1200 }, (_, index) => `Brand ${index}`);
    await own.engine.commit(names.map((Name) => createIntent({ site: own.site.ID, values: { Name } })));
    const copy = createCopy();
    let writing: Promise<void> | undefined;
    let made = 0;
    const change = async (index: number) => {
      if (index % 5 === 0) await brands.create({ Name: `New ${index}` });
      else if (index % 5 === 1) await brands.delete(1 + 2 * Math.floor(index / 5));
      else await brands.update(1001 + (index % 200), { AccountNumber: `${index}` });
      made++;
    };
    const store = async (brand: Brand) => {
      writing ??= write(2000, change);
      copy.options.store(brand, undefined);
      // The list is read in pages, and the changes are made between them.
      if (brand.ID % 400 === 0) await waitUntil(() => made >= brand.ID, "the changes");
      if (brand.ID === 1200) await writing;
    };
    await mirror("brands", { ...copy.options, store, wait: 0, limit: 400 });
    expect(inOrder(copy.records)).toEqual(JSON.parse(JSON.stringify(await brands.list())));
    expect(copy.records.size).toBe(1200);
    await own.stop();
  }, 120_000);
});

describe("a mistake in the call of mirror() is thrown before the first request", () => {
  const { options } = createCopy();
  // biome-ignore lint/suspicious/noExplicitAny: JavaScript callers can pass anything
  const mistakes: [string, any, any][] = [
    ["another resource", "orders", options],
    ["a path", "../brands", options],
    ["no function for the IDs", "brands", { ...options, ids: undefined }],
    ["no function to store", "brands", { ...options, store: undefined }],
    ["no function to remove", "brands", { ...options, remove: null }],
    ["an unknown option", "brands", { ...options, delete: () => {} }],
    ["following without the list", "brands", { ...options, since: "now" }],
    ["an empty cursor", "brands", { ...options, since: "" }],
    ["a wait of 56 seconds", "brands", { ...options, wait: 56 }],
    ["a limit of 0", "brands", { ...options, limit: 0 }],
    ["no options", "brands", undefined],
  ];
  test.each(mistakes)("%s", async (_, resource, wrong) => {
    let requests = 0;
    const fetch = async () => {
      requests++;
      return Response.json([]);
    };
    const careless = createClient({ url: "http://shop.example", key: "k", fetch });
    expect(await thrownBy(careless.mirror(resource, wrong))).toBeInstanceOf(TypeError);
    expect(requests).toBe(0);
  });
});
