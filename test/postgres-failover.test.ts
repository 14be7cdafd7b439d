// A primary that hangs, is replaced by its standby, and comes back without knowing it: what each process makes of that.

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Engine, Head } from "../src/model/engine.ts";
import type { Intent } from "../src/model/intent.ts";
import { allResources } from "../src/resources/all.ts";
import { loadSite } from "../src/store/load-site.ts";
import { openEngine } from "../src/store/open.ts";
import { Snapshots } from "../src/store/snapshots.ts";
import { createIntent } from "./support/intents.ts";
import { type PostgresPair, startPostgresPair } from "./support/postgres.ts";
import { loadFresh } from "./support/snapshots.ts";

setDefaultTimeout(60_000);

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

/** @param timeout in milliseconds; by default one that a busy machine keeps, and that a test can wait for */
async function open(timeout = 1500): Promise<Engine> {
  const one = await openEngine(`${pair.url}?pool_size=${poolSize}&statement_timeout=${timeout}`, allResources);
  opened.push(one);
  return one;
}

/** Leaves as many idle connections as the pool may have. */
async function fillPool(one: Engine): Promise<void> {
  await Promise.all(Array.from({ length: poolSize - 1 }, () => loadSite(one, 1)));
  await one.heads([1]);
}

test("a primary that hangs delays one write only, however many connections to it are idle", async () => {
  await pair.primary.signal("SIGSTOP");
  await pair.standby.run("select pg_promote()");
  expect(await codeOf(engine.commit([create(1, "lost")]))).toBe("unavailable");
  expect(await codeOf(engine.commit([create(1, "second")]))).toBe("done");
});

test("a primary that hangs delays one read only, whichever part of the engine noticed it", async () => {
  await pair.primary.signal("SIGSTOP");
  await pair.standby.run("select pg_promote()");
  expect(await codeOf(engine.heads([1]))).toBe("unavailable");
  expect(((await engine.heads([1])) as Head[])[0]?.revision).toBe(1);
  expect((await loadSite(engine, 1)).rows).toHaveLength(1);
  expect(await codeOf(engine.commit([create(1, "second")]))).toBe("done");
});

test("a standby that is promoted while the primary hangs is found by searches under way", async () => {
  await pair.primary.signal("SIGSTOP");
  const fresh = open(10_000);
  await Bun.sleep(500);
  await pair.standby.run("select pg_promote()");
  expect(((await (await fresh).heads([1])) as Head[])[0]?.revision).toBe(1);
});

test("no read comes from a primary that was replaced, although connections to it are idle and it runs again", async () => {
  const snapshots = new Snapshots(engine, allResources, 1e9);
  expect((await loadFresh(snapshots, 1)).revision).toBe(1);
  await fillPool(engine);
  await failOver();
  // The query for the head of the site reaches the new primary.
  expect(await codeOf(engine.heads([1]))).toBe("unavailable");
  expect(((await engine.heads([1])) as Head[])[0]?.revision).toBe(2);
  await pair.primary.signal("SIGCONT");
  for (let i = 0; i < poolSize; i++) {
    expect((await engine.since(1, 1))?.map(({ revision }) => revision)).toEqual([2]);
    expect((await loadSite(engine, 1)).rows).toHaveLength(2);
  }
  expect((await loadFresh(snapshots, 1)).revision).toBe(2);
});

test("of two hosts that act as primary, the one that was promoted is used", async () => {
  await failOver();
  await pair.primary.signal("SIGCONT");
  for (let i = 0; i < 10; i++) {
    const fresh = await open(10_000);
    expect(((await fresh.heads([1])) as Head[])[0]?.revision).toBe(2);
    await fresh.close();
  }
});

test("a primary that was replaced is refused, although it is the only one that is left", async () => {
  await failOver();
  expect(await codeOf(engine.heads([1]))).toBe("unavailable");
  expect(((await engine.heads([1])) as Head[])[0]?.revision).toBe(2);
  await pair.primary.signal("SIGCONT");
  await pair.standby.signal("SIGKILL");
  for (let i = 0; i < 3; i++) {
    const error = await Promise.resolve(engine.heads([1])).catch((reason) => reason);
    expect(error.message).toMatch(/timeline 1\b.* 2 has been seen|was lost/);
  }
  const error = await Promise.resolve(engine.heads([1])).catch((reason) => reason);
  expect(error.message).toContain(`127.0.0.1:${pair.primary.port}: it is on timeline 1`);
  expect(error.message).toContain(`127.0.0.1:${pair.standby.port}: `);
});

test("commits that wait for a standby hold no more connections than the pool has, and reads go on", async () => {
  await pair.standby.signal("SIGSTOP");
  for (let i = 0; i < poolSize + 2; i++) {
    expect(await codeOf(engine.commit([create(10 + i, "a")]))).toBe("unavailable");
    expect(await codeOf(engine.noteKeyUse(new Map([[i, 1]])))).toMatch(/done|unavailable/);
    expect((await loadSite(engine, 1)).rows).toHaveLength(1);
  }
  expect(await backEnds()).toBeLessThanOrEqual(poolSize);
  await pair.standby.signal("SIGCONT");
  await until(async () => (await codeOf(engine.commit([create(1, "second")]))) === "done");
  await fillPool(engine);
  expect(await backEnds()).toBeLessThanOrEqual(poolSize);
});

test("a write with an unknown outcome is reported as such", async () => {
  await pair.standby.signal("SIGSTOP");
  const error = await engine.commit([create(1, "a")]).catch((reason) => reason);
  expect(error.message).toMatch(/did not respond within 1500 ms; the write may have been done/);
});

/** The primary hangs, the standby is promoted, and another process writes there. */
async function failOver(): Promise<void> {
  await pair.primary.signal("SIGSTOP");
  await pair.standby.run("select pg_promote()");
  const other = await open(10_000);
  expect(await codeOf(other.commit([create(1, "second")]))).toBe("done");
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

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isTrue()); tries++) {
    if (tries === 400) throw new Error("it did not happen");
    await Bun.sleep(50);
  }
}
