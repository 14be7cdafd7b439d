// Which followers of a site may read, and in which order the others follow. The clock and the CPU time are those of the test.

import { expect, test } from "bun:test";
import { FollowerPacing } from "../../../../src/http/feed/follower-pacing.ts";
import type { Head } from "../../../../src/model/head.ts";
import { waitUntil } from "../../../support/time.ts";

/** A pacing whose process uses a whole core, so that the followers have a share of it and nothing else. */
function start() {
  const clock = { now: 1_000_000, cpu: 0 };
  const subscribed = new Map<number, (head: Head) => unknown>();
  const subscribe = (site: number, _: Head, onChange: (head: Head) => unknown) => {
    subscribed.set(site, onChange);
    return () => void subscribed.delete(site);
  };
  const pacing = new FollowerPacing({ subscribe }, { now: () => clock.now, usedMs: () => clock.cpu });
  const pass = (ms: number, cores = 1) => {
    clock.now += ms;
    clock.cpu += ms * cores;
  };
  const spend = (ms: number) => {
    clock.cpu += ms;
  };
  const revisions = new Map<number, number>();
  const headOf = (site: number) => ({ revision: revisions.get(site) ?? 1, epoch: "e" });
  const move = (site: number) => revisions.set(site, headOf(site).revision + 1);
  /** Whether a follower of the site may read after `count` writes, 10 ms apart. */
  const afterWrites = (site: number, count: number) => {
    let may = pacing.mayRead(site, headOf(site));
    for (let i = 0; i < count; i++) {
      pass(10);
      move(site);
      may = pacing.mayRead(site, headOf(site));
    }
    return may;
  };
  const useUpBudget = (site: number) => {
    while (pacing.mayRead(site, headOf(site)));
  };
  const read: string[] = [];
  const defer = (site: number, name: string) => pacing.defer(site, headOf(site), { run: () => void read.push(name) });
  return { pacing, pass, spend, move, headOf, afterWrites, useUpBudget, defer, read, subscribed };
}

test("a follower may always read if its site rests, or has moved once", () => {
  const { pacing, headOf, afterWrites } = start();
  const results = Array.from({ length: 10_000 }, () => pacing.mayRead(1, headOf(1)));
  expect(results).not.toContain(false);
  expect(afterWrites(2, 1)).toBe(true);
  expect(Array.from({ length: 10_000 }, () => pacing.mayRead(2, headOf(2)))).not.toContain(false);
});

test("the head of a snapshot, which advances in place, moves like any other", () => {
  const { pacing, pass } = start();
  const head = { revision: 1, epoch: "e" };
  pacing.mayRead(1, head);
  for (let i = 0; i < 2; i++) {
    pass(10);
    head.revision++;
    pacing.mayRead(1, head);
  }
  expect(Array.from({ length: 10_000 }, () => pacing.mayRead(1, head))).toContain(false);
});

test("under steady writes, at most a tenth of the CPU time of the process is for pages", () => {
  const { pacing, pass, move, headOf, afterWrites, useUpBudget } = start();
  afterWrites(1, 2);
  useUpBudget(1);
  let pages = 0;
  for (let ms = 0; ms < 1000; ms += 10) {
    pass(10);
    move(1);
    while (pacing.mayRead(1, headOf(1))) pages++;
  }
  // A page without changes takes about 100 µs.
  expect(pages).toBeGreaterThan(500);
  expect(pages * 0.1).toBeLessThan(100);
});

test("in a process with little to do, pages may take a fifth of a core", () => {
  const { pacing, pass, spend, move, headOf, afterWrites, useUpBudget } = start();
  afterWrites(1, 2);
  useUpBudget(1);
  let pages = 0;
  for (let ms = 0; ms < 1000; ms += 10) {
    pass(10, 0.02);
    move(1);
    for (; pacing.mayRead(1, headOf(1)); pages++) spend(0.1);
  }
  expect(pages * 0.1).toBeGreaterThan(100);
  expect(pages * 0.1).toBeLessThan(300);
});

test("deferred polls of several sites take turns, each site in the order in which they came", async () => {
  const { pass, move, headOf, afterWrites, useUpBudget, defer, read, subscribed, pacing } = start();
  for (const site of [1, 2]) afterWrites(site, 2);
  for (const site of [1, 2]) useUpBudget(site);
  for (const name of ["a", "b", "c"]) defer(1, name);
  const leave = defer(2, "left");
  defer(2, "x");
  leave();
  leave();
  // Nobody passes those who wait.
  expect(pacing.mayRead(1, headOf(1))).toBe(false);
  expect([...subscribed.keys()]).toEqual([1, 2]);
  pass(50);
  for (const site of [1, 2]) {
    move(site);
    subscribed.get(site)?.(headOf(site));
  }
  await waitUntil(() => read.length === 4, "the reads");
  expect(read.filter((name) => name !== "x")).toEqual(["a", "b", "c"]);
  expect(read.indexOf("x")).toBeLessThan(3);
  expect(subscribed.size).toBe(0);
});

test("when the writes end, all deferred polls read, whatever the budget", async () => {
  const { pass, afterWrites, useUpBudget, defer, read, subscribed } = start();
  afterWrites(1, 2);
  useUpBudget(1);
  for (let i = 0; i < 1000; i++) defer(1, `${i}`);
  pass(300, 0);
  await waitUntil(() => read.length === 1000, "the reads");
  expect(subscribed.size).toBe(0);
});
