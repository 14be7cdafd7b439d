// A primary that hangs, is replaced by its standby, and runs again without being informed: how each process reacts.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Intent } from "../../../../src/model/change.ts";
import type { Engine } from "../../../../src/model/engine.ts";
import type { Head } from "../../../../src/model/head.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { readAllRows } from "../../../../src/store/database/read-all-rows.ts";
import { openEngine } from "../../../../src/store/open.ts";
import { parseAddress } from "../../../../src/store/postgres/address.ts";
import { Pool } from "../../../../src/store/postgres/pool.ts";
import { createPrimary } from "../../../../src/store/postgres/primary.ts";
import { SiteViews } from "../../../../src/store/reads/site-views.ts";
import { createIntent } from "../../../support/engine/intents.ts";
import { loadUpToDate } from "../../../support/engine/snapshots.ts";
import { failureOf } from "../../../support/failure.ts";
import { type PostgresPair, startPostgresPair } from "../../../support/postgres/server.ts";
import { waitUntil } from "../../../support/time.ts";
import { startTcpProxy, type TcpProxy } from "../../../support/wire/tcp-proxy.ts";

const poolSize = 5;
let pair: PostgresPair;
let engine: Engine;
const opened: Engine[] = [];
beforeEach(async () => {
  pair = await startPostgresPair();
  engine = await open();
  await engine.commit([create(1, "first")]);
  await fillPool(engine);
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
  await pair.remove();
});

/** @param timeout in milliseconds; by default long enough for a busy machine, and short enough for a test */
async function open(timeout = 1500, url = pair.url): Promise<Engine> {
  const one = await openEngine(`${url}?pool_size=${poolSize}&statement_timeout=${timeout}`, allResources);
  opened.push(one);
  return one;
}

/** Opens the maximum number of connections of the pool, which are then idle. */
async function fillPool(one: Engine): Promise<void> {
  await Promise.all(Array.from({ length: poolSize - 1 }, () => readAllRows(one, 1)));
  await one.readHeads([1]);
}

/** The possible results of the first call after a primary hangs. The engine may have noticed it before, because it compares the hosts every second. */
const firstResults = ["unavailable", "done"];

test("a primary that hangs delays one write only, however many connections to it are idle", async () => {
  await pair.primary.signal("SIGSTOP");
  await pair.standby.run("select pg_promote()");
  expect(await codeOf(engine.commit([create(1, "first")]))).toBeOneOf(firstResults);
  expect(await codeOf(engine.commit([create(1, "second")]))).toBe("done");
});

test("a primary that hangs delays one read only, whichever part of the engine noticed it", async () => {
  await pair.primary.signal("SIGSTOP");
  await pair.standby.run("select pg_promote()");
  expect(await codeOf(engine.readHeads([1]))).toBeOneOf(firstResults);
  expect(((await engine.readHeads([1])) as Head[])[0]?.revision).toBe(1);
  expect((await readAllRows(engine, 1)).rows).toHaveLength(1);
  expect(await codeOf(engine.commit([create(1, "second")]))).toBe("done");
});

test("a standby that is promoted while the primary hangs is found by searches in flight", async () => {
  await pair.primary.signal("SIGSTOP");
  const [address, proxy] = await behindProxy();
  const reopened = open(10_000, address);
  await waitUntil(() => proxy.count(connecting) > 1, "a second attempt with the standby");
  await pair.standby.run("select pg_promote()");
  expect(((await (await reopened).readHeads([1])) as Head[])[0]?.revision).toBe(1);
  await proxy.stop();
});

test("no read comes from a primary that was replaced, although connections to it are idle and it runs again", async () => {
  const siteViews = new SiteViews(engine, allResources, 1e9);
  expect((await loadUpToDate(siteViews, 1)).revision).toBe(1);
  await fillPool(engine);
  await failOver();
  await waitUntil(async () => (await revision()) === 2, "the new primary");
  await pair.primary.signal("SIGCONT");
  for (let i = 0; i < poolSize; i++) {
    expect((await engine.readChangesSince(1, 1))?.map(({ revision }) => revision)).toEqual([2]);
    expect((await readAllRows(engine, 1)).rows).toHaveLength(2);
  }
  expect((await loadUpToDate(siteViews, 1)).revision).toBe(2);
});

test("of two hosts that act as primary, the promoted host is used", async () => {
  await failOver();
  await pair.primary.signal("SIGCONT");
  for (let i = 0; i < 10; i++) {
    const reopened = await open(10_000);
    expect(((await reopened.readHeads([1])) as Head[])[0]?.revision).toBe(2);
    await reopened.close();
  }
});

test("a primary that was replaced is rejected, although it is the only host", async () => {
  await failOver();
  await waitUntil(async () => (await revision()) === 2, "the new primary");
  await pair.primary.signal("SIGCONT");
  await pair.standby.signal("SIGKILL");
  for (let i = 0; i < 3; i++) {
    const error = await Promise.resolve(engine.readHeads([1])).catch((reason) => reason);
    expect(error.message).toMatch(/timeline 1\b.* seen 2|was lost/);
  }
  const error = await Promise.resolve(engine.readHeads([1])).catch((reason) => reason);
  expect(error.message).toContain(`127.0.0.1:${pair.primary.port}: it's on timeline 1`);
  expect(error.message).toContain(`127.0.0.1:${pair.standby.port}: `);
});

test("any call on a primary that was replaced and still runs ends before its timeout, and the process uses the new primary", async () => {
  await pair.primary.run("alter system set synchronous_standby_names = 'nobody'");
  await pair.primary.run("select pg_reload_conf()");
  const [waiting, locked, listening] = [await open(30_000), await open(30_000), await open(30_000)];
  const proxy = await startTcpProxy(pair.primary.port);
  // The database of the address exists on both.
  const database = /[^/]+$/.exec(pair.url)?.[0] as string;
  const behindName = await open(1500, pair.primary.url(database, `127.0.0.1:${proxy.port}`));
  await fillPool(behindName);
  listening.subscribeToCommits(() => {});
  const waits = (event: string) => pair.primary.run(`select 1 from pg_stat_activity where wait_event = '${event}'`);
  const commit = failureOf(waiting.commit([create(1, "lost")]));
  await waitUntil(async () => (await waits("SyncRep")).length === 1, "a commit that waits for the standby");
  const write = failureOf(locked.commit([create(1, "never done")]));
  await waitUntil(async () => (await waits("transactionid")).length === 1, "a write that waits for a lock");
  const trial = failureOf(waiting.probeWrite());
  await waitUntil(async () => (await waits("SyncRep")).length === 2, "both commits that wait for the standby");
  await pair.standby.run("select pg_promote()");
  expect((await commit).message).toMatch(/is no longer the primary; the write may have gone through anyway$/);
  expect((await trial).message).toMatch(/is no longer the primary; the write may have gone through anyway$/);
  expect((await write).message).toMatch(/is no longer the primary$/);
  // The standby had received the first write.
  expect(await locked.commit([create(1, "third")])).toMatchObject([{ kind: "done", revision: 3 }]);
  // An engine that only reads.
  await waitUntil(async () => (await revision()) === 3, "the new primary");
  // An engine with a single name, which now leads to the new primary, waits for the lock of the abandoned commit.
  proxy.lead(pair.standby.port);
  expect((await failureOf(behindName.commit([create(1, "never done")]))).message).toContain("lock timeout");
  await waitUntil(async () => ((await behindName.readHeads([1])) as Head[])[0]?.revision === 3, "the new primary");
  expect(await codeOf(behindName.commit([create(1, "fourth")]))).toBe("done");
  const isIdle = `datname = '${database}' and state = 'idle' and query not like '%pg_is_in_recovery%'`;
  const left = () => pair.primary.run(`select 1 from pg_stat_activity where ${isIdle}`);
  await waitUntil(async () => (await left()).length === 0, "the end of the idle sessions");
  await proxy.stop();
});

test("a process that is not used asks no other host", async () => {
  const processes = await Promise.all(
    [1, 2].map(async () => {
      const [address, proxy] = await behindProxy();
      const primary = createPrimary(parseAddress(address), 20);
      const pool = new Pool(primary, 1);
      return { primary, pool, proxy, use: () => pool.use((connection) => connection.script("select 1")) };
    }),
  );
  const [idle, busy] = processes as [(typeof processes)[number], (typeof processes)[number]];
  /** Uses a process until it has asked the standby this often from now on. */
  const untilAsked = async ({ proxy, use }: typeof idle, times: number) => {
    const enough = proxy.count(question) + times;
    const isEnough = async () => {
      await use();
      return proxy.count(question) >= enough;
    };
    await waitUntil(isEnough, "a comparison");
  };
  for (const one of processes) await untilAsked(one, 2);
  // The last use is followed by two comparisons at most. Both processes have the same interval.
  await untilAsked(busy, 4);
  const asked = idle.proxy.count(question);
  await untilAsked(busy, 4);
  expect(idle.proxy.count(question)).toBe(asked);
  await untilAsked(idle, 1);
  for (const { primary, pool, proxy } of processes) {
    await pool.close();
    primary.close();
    await proxy.stop();
  }
});

test("commits that wait for a standby use no more connections than the pool has, and reads continue", async () => {
  await pair.standby.signal("SIGSTOP");
  for (let i = 0; i < poolSize + 2; i++) {
    expect(await codeOf(engine.commit([create(10 + i, "a")]))).toBe("unavailable");
    expect(await codeOf(engine.saveKeyUses(new Map([[i, 1]])))).toMatch(/done|unavailable/);
    expect((await readAllRows(engine, 1)).rows).toHaveLength(1);
  }
  expect(await backEnds()).toBeLessThanOrEqual(poolSize);
  await pair.standby.signal("SIGCONT");
  await waitUntil(async () => (await codeOf(engine.commit([create(1, "second")]))) === "done", "a commit");
  await fillPool(engine);
  expect(await backEnds()).toBeLessThanOrEqual(poolSize);
});

test("a write with an unknown outcome is reported as such", async () => {
  await pair.standby.signal("SIGSTOP");
  const error = await engine.commit([create(1, "a")]).catch((reason) => reason);
  expect(error.message).toMatch(/did not respond within 1500 ms; the write may have gone through anyway/);
});

/** The primary hangs, the standby is promoted, and another process writes there. */
async function failOver(): Promise<void> {
  await pair.primary.signal("SIGSTOP");
  await pair.standby.run("select pg_promote()");
  const other = await open(10_000);
  expect(await codeOf(other.commit([create(1, "second")]))).toBe("done");
}

/** Returns the revision of the site; undefined while no primary is available. */
async function revision(): Promise<number | undefined> {
  return Promise.resolve(engine.readHeads([1])).then(
    ([head]) => head?.revision,
    () => undefined,
  );
}

async function backEnds(): Promise<number> {
  const rows = await pair.primary.run("select 1 from pg_stat_activity where application_name = 'storefront'");
  return rows.length;
}

/** `done`, or the code of the error. */
async function codeOf(work: unknown): Promise<string> {
  return Promise.resolve(work).then(
    () => "done",
    ({ code }) => code,
  );
}

function create(site: number, name: string): Intent {
  return createIntent({ site, values: { Name: name } });
}

/** The part of a statement by which a process asks a host for its timeline. */
const question = "pg_walfile_name";
/** A part of the first message on each connection. */
const connecting = "application_name";

/** The address of the database, in which a proxy leads to the standby. The proxy counts both texts. */
async function behindProxy(): Promise<[address: string, proxy: TcpProxy]> {
  const proxy = await startTcpProxy(pair.standby.port, { [question]: question, [connecting]: connecting });
  const database = /[^/]+$/.exec(pair.url)?.[0] as string;
  return [pair.primary.url(database, `127.0.0.1:${pair.primary.port},127.0.0.1:${proxy.port}`), proxy];
}
