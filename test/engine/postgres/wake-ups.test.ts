// Processes on PostgreSQL hear of each other's commits by LISTEN and NOTIFY, if the database supports these. Nothing fails without them.

import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import type { Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { startPostgres } from "../../support/postgres/server.ts";
import { waitUntil } from "../../support/time.ts";
import { startTcpProxy, type TcpProxy } from "../../support/wire/tcp-proxy.ts";

let proxies: TcpProxy[];
let url: string;
let opened: Engine[];

const server = await startPostgres();
afterAll(() => server.remove());
beforeEach(async () => {
  [opened, proxies] = [[], []];
  url = await server.createDatabase();
});
afterEach(async () => {
  for (const engine of opened) await engine.close();
  for (const proxy of proxies) await proxy.stop();
});

async function open(address = url): Promise<Engine> {
  const engine = await openEngine(address, allResources);
  opened.push(engine);
  return engine;
}

const [listen, notify] = ["listen storefront", "pg_notify("];

/** The response of the server to unknown words is the response of a server without LISTEN. */
const unsupported = { [listen]: "lixten storefront", [notify]: "pg_notifx(" };

/** Starts a proxy that changes these words. `address` is the address of the database through it. */
async function startLimited(words: Readonly<Record<string, string>>): Promise<TcpProxy & { address: string }> {
  const proxy = await startTcpProxy(server.port, words);
  proxies.push(proxy);
  return { ...proxy, address: url.replace(`:${server.port}`, `:${proxy.port}`) };
}

/** Subscribes to the commits of `engine`. `next` waits for a call that names `site`. */
function watch(engine: Engine): {
  next(site: number): Promise<void>;
  readonly calls: (readonly number[] | undefined)[];
} {
  const calls: (readonly number[] | undefined)[] = [];
  engine.subscribeToCommits((sites) => void calls.push(sites));
  return {
    calls,
    async next(site) {
      calls.length = 0;
      await waitUntil(() => calls.some((sites) => sites?.includes(site)), `a call for site ${site}`);
    },
  };
}

const listening = "select pid from pg_stat_activity where (query like 'listen storefront%' or query = 'select 1')";

const listeners = () => server.run(`${listening} and datname = '${new URL(url).pathname.slice(1)}'`);

/** Waits until a session listens, other than `before`. Returns its process ID. */
async function listener(before?: unknown): Promise<unknown> {
  const other = async () => (await listeners()).find(({ pid }) => pid !== before);
  return (await waitUntil(other, "a session that listens")).pid;
}

test("listening connection ended: listens again, and assumes it missed commits", async () => {
  const [one, other] = [await open(), await open()];
  const seen = watch(one);
  const first = await listener();
  seen.calls.length = 0;
  await server.run(`select pg_terminate_backend(${first})`);
  await listener(first);
  await waitUntil(() => seen.calls.includes(undefined), "a call for any site");
  const next = seen.next(7);
  await other.commit([createIntent({ site: 7 })]);
  await next;
});

test("server restarted: listens again", async () => {
  const [one, other] = [await open(), await open()];
  const seen = watch(one);
  const first = await listener();
  await server.halt();
  await server.start();
  await listener(first);
  const next = seen.next(7);
  await other.commit([createIntent({ site: 7 })]);
  await next;
});

test("no LISTEN and NOTIFY: commits work, and neither is tried again and again", async () => {
  const without = await startLimited(unsupported);
  // Here, both fail for another reason, and are tried again after a pause.
  const failing = await startLimited({ [listen]: "select 1/0       ", [notify]: "to_number(" });
  const [one, other, unlucky] = [await open(without.address), await open(without.address), await open(failing.address)];
  const seen = watch(one);
  watch(unlucky);
  for (let attempts = 1; attempts <= 3; attempts++) {
    for (const engine of [other, unlucky]) await engine.commit([createIntent({ site: 7 })]);
    await waitUntil(() => failing.count(listen) >= attempts, "another attempt to listen");
  }
  await waitUntil(() => failing.count(notify) > 1, "another attempt to notify");
  expect((await one.readHeads([7]))[0]?.revision).toBe(6);
  expect([without.count(listen), without.count(notify)]).toEqual([1, 1]);
  // Its own commits need no server.
  const next = seen.next(8);
  await one.commit([createIntent({ site: 8 })]);
  await next;
});

test("behind a transaction pooler: doesn't listen, but others still get notifications", async () => {
  const pooler = await startLimited(unsupported);
  const [direct, pooled] = [await open(), await open(`${pooler.address}?prepare=no`)];
  const [heard, own] = [watch(direct), watch(pooled)];
  await listener();
  await direct.commit([createIntent({ site: 7 })]);
  await (await open(`${url}?prepare=no`)).commit([createIntent({ site: 8 })]);
  await waitUntil(() => heard.calls.some((sites) => sites?.includes(8)), "a call for site 8");
  expect(own.calls).toStrictEqual([]);
  expect(pooler.count(listen)).toBe(0);
});

test("another program's notification: counts as a commit to any site", async () => {
  const seen = watch(await open());
  await listener();
  for (const payload of ["", "x", "1; drop table sites", "-1", "9".repeat(5000), "1,2"]) {
    seen.calls.length = 0;
    await server.run(`select pg_notify('storefront_commits', '${payload}')`, new URL(url).pathname.slice(1));
    await waitUntil(() => seen.calls.length > 0, "a call");
    expect(seen.calls).toStrictEqual([undefined]);
  }
});

test("commits to many sites at once: one notification for any site", async () => {
  const [one, other] = [await open(), await open()];
  const seen = watch(one);
  await listener();
  seen.calls.length = 0;
  await other.commit(Array.from({ length: 450 }, (_, site) => createIntent({ site: site + 1 })));
  await waitUntil(() => seen.calls.length > 0, "a call");
  expect(seen.calls).toStrictEqual([undefined]);
});

test("commit right before closing: still notifies", async () => {
  const seen = watch(await open());
  await listener();
  const next = seen.next(7);
  const other = await open();
  await other.commit([createIntent({ site: 7 })]);
  await other.close();
  await next;
});

test("closed engine: doesn't listen, even with a subscription left", async () => {
  const one = await open();
  watch(one);
  await listener();
  await one.close();
  await waitUntil(async () => (await listeners()).length === 0, "the end of the session");
});
