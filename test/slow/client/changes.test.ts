// The client follows a real server's feed while others write to it, restart it and prune it.

import { afterAll, describe, expect, test } from "bun:test";
import {
  type ChangesOptions,
  type ClientOptions,
  createClient,
  etagOf,
  type StorefrontChange,
  StorefrontGone,
  StorefrontProblem,
} from "../../../src/client/client.ts";
import { pruneJournals } from "../../../src/operator/journal/prune-journals.ts";
import { revokeKey } from "../../../src/operator/sites/keys.ts";
import { startTestServer, waitForPolls } from "../../support/http/server.ts";
import { startRestartableServer } from "../../support/programs/restartable-server.ts";
import { ticks, waitUntil } from "../../support/time.ts";
import { startFlakyProxy } from "../../support/wire/flaky-proxy.ts";

const server = await startTestServer();
const proxy = await startFlakyProxy(server.url);
const client = createClient({ url: server.url, key: server.key });
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

const throughProxy = (options: Partial<ClientOptions> = {}) =>
  createClient({ url: proxy.url, key: server.key, ...options });

/** The current cursor. */
async function now(): Promise<string> {
  let cursor = "";
  const onCursor = (next: string) => {
    cursor = next;
  };
  expect(await Array.fromAsync(client.changes({ since: "now", wait: 0, onCursor }))).toEqual([]);
  return cursor;
}

/** The next `count` changes. */
async function take(changes: AsyncIterable<StorefrontChange>, count: number): Promise<StorefrontChange[]> {
  const taken: StorefrontChange[] = [];
  for await (const change of changes) if (taken.push(change) === count) break;
  return taken;
}

const tagOf = (record: object) => etagOf(record) as string;
const thrownBy = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
const named = (changes: readonly StorefrontChange[]) =>
  changes.map(({ Operation, Record }) => `${Operation} ${Record?.Name}`);

describe("changes()", () => {
  test("yields every change in order with its record, and ends after the last one if told not to wait", async () => {
    const since = await now();
    const brand = await client.brands.create({ Name: "Acme" });
    const renamed = await client.brands.update(brand, { Name: "Acme Ltd" });
    const status = await client.orderStatuses.create({ Name: "Sent" });
    await client.brands.delete(renamed);
    const changes = await Array.fromAsync(client.changes({ since, wait: 0, limit: 3 }));
    const first = Number(since.split(".")[1]) + 1;
    const any = (n: number) => ({
      Cursor: expect.any(String),
      Revision: first + n,
      Time: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const created = { Operation: "create" as const, Resource: "brands" as const, ID: brand.ID };
    const added = { Operation: "create" as const, Resource: "orderstatuses" as const, ID: status.ID };
    expect(changes).toEqual([
      { ...any(0), ...created, ETag: tagOf(brand), Record: JSON.parse(JSON.stringify(brand)) },
      { ...any(1), ...created, Operation: "update", ETag: tagOf(renamed), Record: JSON.parse(JSON.stringify(renamed)) },
      { ...any(2), ...added, ETag: tagOf(status), Record: { ID: status.ID, Name: "Sent" } },
      { ...any(3), ...created, Operation: "delete", ETag: null, Record: null },
    ]);
    for (const [index, { Cursor }] of changes.entries()) {
      expect(await Array.fromAsync(client.changes({ since: Cursor, wait: 0 }))).toEqual(changes.slice(index + 1));
    }
  });

  test("starts with the first change if there's no cursor", async () => {
    for (const since of [undefined, null]) {
      const [first] = await take(client.changes({ since }), 1);
      expect(first).toMatchObject({ Operation: "create", ID: 1 });
    }
  });

  test("passes a cursor to onCursor once all changes before it were processed, and when only other resources changed", async () => {
    const since = await now();
    for (const Name of ["One", "Two", "Three"]) await client.brands.create({ Name });
    const steps: string[] = [];
    const onCursor = async (cursor: string) => {
      await ticks(2);
      steps.push(`store ${Number(cursor.split(".")[1]) - Number(since.split(".")[1])}`);
    };
    for await (const { Record } of client.changes({ since, wait: 0, limit: 2, onCursor }))
      steps.push(`${Record?.Name}`);
    expect(steps).toEqual(["One", "Two", "store 2", "Three", "store 3"]);
    steps.length = 0;
    await Array.fromAsync(client.changes({ since, wait: 0, resources: ["locations"], onCursor }));
    expect(steps).toEqual(["store 3"]);
    steps.length = 0;
    await Array.fromAsync(client.changes({ since: await now(), wait: 0, onCursor }));
    expect(steps).toEqual([]);
  });

  test("follows only some resources, and collapses several changes to a record", async () => {
    const since = await now();
    const brand = await client.brands.create({ Name: "A" });
    const status = await client.orderStatuses.create({ Name: "S" });
    await client.brands.update(brand, { Name: "B" });
    await client.orderStatuses.delete(status);
    const read = (options: ChangesOptions) => Array.fromAsync(client.changes({ since, wait: 0, ...options }));
    expect(named(await read({ resources: ["brands"] }))).toEqual(["create A", "update B"]);
    expect(named(await read({ resources: ["brands", "orderstatuses"] }))).toHaveLength(4);
    expect(named(await read({ collapse: true }))).toEqual(["update B", "delete undefined"]);
  });

  test("waits for the next change in one request that the server holds", async () => {
    let responses = 0;
    const watched = createClient({ url: server.url, key: server.key, onResponse: () => void responses++ });
    const since = await now();
    const taking = take(watched.changes({ since }), 2);
    await waitForPolls(server, 1);
    expect(responses).toBe(0);
    await client.brands.create({ Name: "One" });
    await waitUntil(() => responses === 1, "a response");
    await waitForPolls(server, 1);
    await client.brands.create({ Name: "Two" });
    expect(named(await taking)).toEqual(["create One", "create Two"]);
    expect(responses).toBe(2);
  });

  test("waits again when the time is up, and its cursor moves with changes to other resources", async () => {
    const since = await now();
    const [cursors, stop] = [[] as string[], new AbortController()];
    const onCursor = (cursor: string) => {
      if (cursors.push(cursor) === 2) stop.abort();
    };
    const ended = thrownBy(
      take(client.changes({ since, resources: ["locations"], wait: 1, onCursor, signal: stop.signal }), 1),
    );
    await client.brands.create({ Name: "Another" });
    await waitUntil(() => cursors.length === 1, "the end of the time");
    await client.brands.create({ Name: "And another" });
    expect(await ended).toMatchObject({ name: "AbortError" });
    expect(cursors.at(-1)).toBe(await now());
  });

  test("gets every change even if more polls of its key wait than the server allows", async () => {
    const small = await startTestServer({ settings: { CONNECTIONS: "6" } });
    const statuses: number[] = [];
    const followers = Array.from({ length: 4 }, () => {
      const follower = createClient({
        url: small.url,
        key: small.key,
        onRetry: ({ error }) => void statuses.push("status" in error ? error.status : 0),
      });
      return take(follower.changes(), 1);
    });
    await waitUntil(() => statuses.length > 0, "an error response");
    await small.call("POST", "/restapi/brands.json", { body: { Name: "One" } });
    for (const changes of await Promise.all(followers)) expect(named(changes)).toEqual(["create One"]);
    expect(new Set(statuses)).toEqual(new Set([429]));
    await small.stop();
  });

  test("continues through lost, cut and rejected responses, more of them than a call retries, and repeats nothing", async () => {
    const since = await now();
    for (const Name of ["One", "Two", "Three"]) await client.brands.create({ Name });
    proxy.misbehave("lose the response", "cut the response short", "lose the response");
    const waits: number[] = [];
    const distant = throughProxy({ retries: 0, onRetry: ({ wait }) => void waits.push(wait) });
    expect(named(await Array.fromAsync(distant.changes({ since, wait: 0, limit: 1 })))).toEqual([
      "create One",
      "create Two",
      "create Three",
    ]);
    expect(waits).toHaveLength(3);
    proxy.misbehave("respond 503");
    expect(await take(distant.changes({ since }), 3)).toHaveLength(3);
    expect(waits).toHaveLength(4);
    await expect(distant.brands.list()).resolves.toBeDefined();
  });

  test("slows down to its key's rate limit", async () => {
    const since = await now();
    // More than it can read in one second, plus the two that a busy machine may stall.
    for (let n = 1; n <= 8; n++) await client.brands.create({ Name: `Brand ${n}` });
    const statuses: number[] = [];
    const key = await server.issueKey({ rate: 5 });
    const limited = createClient({ url: server.url, key, onResponse: ({ status }) => void statuses.push(status) });
    const started = performance.now();
    expect(await Array.fromAsync(limited.changes({ since, wait: 0, limit: 1 }))).toHaveLength(8);
    expect(performance.now() - started).toBeGreaterThan(590);
    expect(statuses.filter((status) => status === 200)).toHaveLength(8);
  });

  test("continues after the server was stopped and started again", async () => {
    const restartable = await startRestartableServer();
    let retries = 0;
    const distant = createClient({ url: restartable.url, key: restartable.key, onRetry: () => void retries++ });
    const taking = take(distant.changes(), 2);
    await distant.brands.create({ Name: "Before" });
    await restartable.stop();
    const creating = distant.brands.create({ Name: "After" });
    await waitUntil(() => retries > 0, "an attempt while the server is stopped");
    await restartable.start();
    await creating;
    expect(named(await taking)).toEqual(["create Before", "create After"]);
    await restartable.remove();
  });

  test("ends at once with its signal's reason: before it starts, while it waits, and in the loop", async () => {
    const reason = new Error("the user left");
    expect(await thrownBy(take(client.changes({ signal: AbortSignal.abort(reason) }), 1))).toBe(reason);
    const waiting = new AbortController();
    const ended = thrownBy(take(client.changes({ since: await now(), signal: waiting.signal }), 1));
    await waitForPolls(server, 1);
    waiting.abort(reason);
    expect(await ended).toBe(reason);
    await waitForPolls(server, 0);
    const looping = new AbortController();
    let seen = 0;
    const loop = async () => {
      for await (const _ of client.changes({ signal: looping.signal })) if (++seen === 2) looping.abort(reason);
    };
    expect(await thrownBy(loop())).toBe(reason);
    expect(seen).toBe(2);
  });

  test("throws errors that waiting can't fix", async () => {
    const key = await server.issueKey();
    const distant = createClient({ url: server.url, key });
    const ended = thrownBy(take(distant.changes({ since: await now() }), 1));
    await waitForPolls(server, 1);
    await revokeKey(server.engine, key, Date.now());
    await client.brands.create({ Name: "Wakes it" });
    expect(await ended).toMatchObject({ status: 401, code: "unauthorized" });
    const unknown = client.changes({ resources: ["orders" as "brands"] });
    expect(await thrownBy(unknown.next())).toMatchObject({ status: 400, code: "bad-request" });
  });
});

describe("a cursor that can no longer be used", () => {
  test.each([
    "x.1",
    "0.1",
    "000000000000.1",
    `${"f".repeat(12)}.999999`,
  ])("throws StorefrontGone, like %p", async (since) => {
    const error = await thrownBy(client.changes({ since }).next());
    expect(error).toBeInstanceOf(StorefrontGone);
    expect(error).toBeInstanceOf(StorefrontProblem);
    expect(error).toMatchObject({ name: "StorefrontGone", status: 410, code: "gone" });
  });

  test.each([
    "x",
    "é\n",
    "0.0.0",
    "undefined",
  ])("differs from the invalid cursor %p, which gets a 400", async (since) => {
    const error = await thrownBy(client.changes({ since }).next());
    expect(error).not.toBeInstanceOf(StorefrontGone);
    expect(error).toMatchObject({ status: 400, code: "bad-request" });
    const calls = { ids: () => [], store: () => {}, remove: () => {} };
    expect(await thrownBy(client.mirror("brands", { ...calls, since, wait: 0 }))).toMatchObject({ status: 400 });
  });

  test("throws StorefrontGone if the changes after it were pruned, even midway", async () => {
    const own = await startTestServer();
    const owner = createClient({ url: own.url, key: own.key });
    for (const Name of ["One", "Two", "Three", "Four"]) await owner.brands.create({ Name });
    const seen: string[] = [];
    const loop = async () => {
      for await (const { Record } of owner.changes({ limit: 1 })) {
        if (seen.push(`${Record?.Name}`) === 2) await pruneJournals(own.engine, [own.site.ID], { revision: 4 });
      }
    };
    expect(await thrownBy(loop())).toBeInstanceOf(StorefrontGone);
    expect(seen).toEqual(["One", "Two"]);
    expect(await thrownBy(owner.changes().next())).toBeInstanceOf(StorefrontGone);
    await own.stop();
  });

  test("throws StorefrontGone even if a proxy replaced the body", async () => {
    const replaced = createClient({
      url: server.url,
      key: "k",
      fetch: async () => new Response("<p>", { status: 410 }),
    });
    expect(await thrownBy(replaced.changes().next())).toBeInstanceOf(StorefrontGone);
  });
});

/** A client that always gets the same page. */
function scripted(page: unknown) {
  const urls: URL[] = [];
  const fetch = async (url: string) => {
    urls.push(new URL(url));
    return Response.json(page as object);
  };
  return { client: createClient({ url: "http://shop.example", key: "k", fetch }), urls };
}

describe("changes() requests", () => {
  test("have the options as parameters, but only those that differ from the server's default", async () => {
    const { client: any, urls } = scripted({ Changes: [], Next: "a.1", More: false });
    await Array.fromAsync(any.changes({ wait: 0 }));
    await Array.fromAsync(
      any.changes({ since: "a.0", resources: ["brands", "locations"], collapse: true, limit: 5, wait: 0 }),
    );
    const stop = new AbortController();
    void thrownBy(any.changes({ since: "now", signal: stop.signal }).next());
    await waitUntil(() => urls.length >= 3, "the request");
    stop.abort();
    expect(urls[0]?.search).toBe("");
    expect(Object.fromEntries(urls[1]?.searchParams ?? [])).toEqual({
      since: "a.0",
      resource: "brands,locations",
      collapse: "1",
      limit: "5",
    });
    expect(urls[2]?.search).toBe("?since=now&wait=25");
  });

  test.each([
    ["does not wait", { Changes: [], Next: "a.1", More: false }],
    ["never moves on", { Changes: [], Next: "a.1", More: true }],
  ])("are slowed down if a server %s", async (_, page) => {
    const { client: any, urls } = scripted(page);
    const signal = AbortSignal.timeout(1200);
    await thrownBy(any.changes({ since: "a.1", signal }).next());
    expect(urls.length).toBeLessThan(5);
    expect(urls.length).toBeGreaterThan(0);
  });

  test.each([
    ["a list", []],
    ["a page without its cursor", { Changes: [], More: false }],
    ["a page with an empty cursor", { Changes: [], Next: "", More: false }],
    ["a page whose changes aren't a list", { Changes: {}, Next: "a.1", More: false }],
  ])("fail if the response is %s", async (_, page) => {
    expect(await thrownBy(scripted(page).client.changes().next())).toMatchObject({ reason: "unreadable" });
  });

  // biome-ignore lint/suspicious/noExplicitAny: JavaScript callers can pass anything
  const mistakes: [string, any][] = [
    ["an unknown option", { resource: "brands" }],
    ["an empty cursor", { since: "" }],
    ["a cursor that is a number", { since: 7 }],
    ["no resources", { resources: [] }],
    ["a resource that is a string", { resources: "brands" }],
    ["a limit of 0", { limit: 0 }],
    ["a limit of 1001", { limit: 1001 }],
    ["a negative wait", { wait: -1 }],
    ["a wait of 56 seconds", { wait: 56 }],
    ["a wait that isn't a number", { wait: Number.NaN }],
  ];
  test.each(mistakes)("aren't sent with %s, a mistake in the call", (_, options) => {
    const { client: any, urls } = scripted({ Changes: [], Next: "a.1", More: false });
    expect(() => any.changes(options)).toThrow(TypeError);
    expect(urls).toHaveLength(0);
  });

  test("wait as long as the server may hold them, then time out", async () => {
    const started = performance.now();
    const never = createClient({
      url: "http://shop.example",
      key: "k",
      onRetry: ({ error }) => {
        throw error;
      },
      fetch: (_, { signal }) =>
        new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
    });
    expect(await thrownBy(never.changes({ wait: 1, timeout: 50 }).next())).toMatchObject({ reason: "timeout" });
    expect(performance.now() - started).toBeGreaterThan(1040);
  });
});
