// Many short tasks, of which only a few start per event-loop tick.

import { expect, test } from "bun:test";
import { FairQueue, type FairTask } from "../../../src/lib/fair-queue.ts";
import { tickBudgetMs } from "../../../src/lib/tick-budgets.ts";
import { nextImmediate } from "../../../src/lib/yielding.ts";

test("fair queue: groups take turns, tasks in order", async () => {
  const queue = new FairQueue<string>();
  const begun: string[] = [];
  const add = (name: string, number: number) => queue.add(name, { run: () => void begun.push(`${name}${number}`) });
  for (let number = 1; number <= 4; number++) add("a", number);
  add("b", 1);
  add("c", 1);
  add("b", 2);
  for (let tick = 0; tick < 20; tick++) await nextImmediate();
  expect(begun).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
  // The queue accepts tasks after it was empty.
  add("b", 3);
  add("a", 5);
  for (let tick = 0; tick < 20; tick++) await nextImmediate();
  expect(begun.slice(7)).toEqual(["b3", "a5"]);
});

test("fair queue: few starts per tick, and none after a long task", async () => {
  const queue = new FairQueue<number>();
  let begun = 0;
  const work: FairTask = { run: () => void begun++ };
  for (let count = 0; count < 1000; count++) queue.add(count % 3, work);
  let last = 0;
  while (begun < 1000) {
    await nextImmediate();
    // This may see two ticks of the queue at once.
    expect(begun - last).toBeLessThanOrEqual(16);
    last = begun;
  }
  const slow: FairTask = {
    run: () => {
      for (const end = performance.now() + 2; performance.now() < end; );
      begun++;
    },
  };
  for (let count = 0; count < 5; count++) queue.add(0, slow);
  for (last = begun; begun < 1005; last = begun) {
    await nextImmediate();
    expect(begun - last).toBeLessThanOrEqual(2);
  }
});

test("fair queues: take turns within a tick's budget", async () => {
  const counts = [0, 0, 0];
  counts.forEach((_, index) => {
    const queue = new FairQueue<number>();
    const task: FairTask = {
      run: () => {
        for (const end = performance.now() + tickBudgetMs.short; performance.now() < end; );
        counts[index] = (counts[index] as number) + 1;
      },
    };
    for (let count = 0; count < 6; count++) queue.add(0, task);
  });
  const started = () => counts.reduce((sum, count) => sum + count);
  for (let last = 0; started() < 18; last = started()) {
    await nextImmediate();
    // This may see two ticks of the queues at once.
    expect(started() - last).toBeLessThanOrEqual(2);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  }
});

test("fair queue: few in flight, all get done", async () => {
  const queue = new FairQueue<number>();
  const unfinished: (() => void)[] = [];
  let most = 0;
  let done = 0;
  const work: FairTask = {
    run: () =>
      new Promise<void>((resolve) => {
        unfinished.push(resolve);
        most = Math.max(most, unfinished.length);
      }),
  };
  for (let count = 0; count < 1000; count++) queue.add(0, work);
  while (done < 1000) {
    await nextImmediate();
    if (unfinished.length < 100 && done + unfinished.length < 1000) continue;
    for (const resolve of unfinished.splice(0)) {
      done++;
      resolve();
    }
  }
  expect(most).toBe(100);
});

test("fair queue: a task's promise decides its result", async () => {
  const queue = new FairQueue<number>();
  const results = await Promise.allSettled([
    queue.run(0, async () => "a"),
    queue.run(0, () => Promise.reject(new Error("b"))),
    queue.run(1, () => nextImmediate().then(() => "c")),
  ]);
  expect(results).toMatchObject([{ value: "a" }, { reason: { message: "b" } }, { value: "c" }]);
});

test("fair queue: finished results aren't kept while others wait", async () => {
  const queue = new FairQueue<number>();
  const results: WeakRef<object>[] = [];
  const addDone = () =>
    queue.run(0, async () => {
      const result = { text: "x".repeat(1000) };
      results.push(new WeakRef(result));
      return result;
    });
  for (let count = 0; count < 50; count++) void addDone();
  // Tasks that run for longer: as many as may run at once. One more waits, so that the group is not empty.
  const { promise, resolve } = Promise.withResolvers<void>();
  const others = Array.from({ length: 101 }, () => queue.run(0, () => promise));
  for (let tick = 0; tick < 50; tick++) await nextImmediate();
  expect(results).toHaveLength(50);
  Bun.gc(true);
  await nextImmediate();
  Bun.gc(true);
  expect(results.filter((result) => result.deref() !== undefined).length).toBeLessThan(10);
  resolve();
  await Promise.all(others);
});

test("fair queue: never empty, still runs each task once and forgets it", async () => {
  const queue = new FairQueue<number>();
  let done = 0;
  const addOne = () => {
    const work = { run: () => void done++ };
    queue.add(0, work);
    return new WeakRef(work);
  };
  const works = Array.from({ length: 3000 }, addOne);
  for (let tick = 0; tick < 300; tick++) {
    for (let count = 0; count < 8; count++) addOne();
    await nextImmediate();
  }
  const before = done;
  expect(before).toBeGreaterThan(1500);
  Bun.gc(true);
  await nextImmediate();
  Bun.gc(true);
  expect(works.slice(0, before - 1100).filter((work) => work.deref() !== undefined).length).toBeLessThan(20);
  while (done < 5400) await nextImmediate();
  for (let tick = 0; tick < 10; tick++) await nextImmediate();
  expect(done).toBe(5400);
});
