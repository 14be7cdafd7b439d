// Long tasks in slices. A tick's first slices share a budget, and so do later ones. The clock advances with each step, so the number of steps per tick doesn't
// depend on the machine.

import { beforeEach, expect, test } from "bun:test";
import { SliceScheduler, type Steps } from "../../../src/lib/slices.ts";
import { tickBudgetMs } from "../../../src/lib/tick-budgets.ts";
import { nextImmediate } from "../../../src/lib/yielding.ts";

/** Milliseconds of a step. */
const stepMs = 0.25;

let clockMs: number;
let steps: number;
let slices: SliceScheduler;
beforeEach(() => {
  clockMs = 0;
  steps = 0;
  slices = new SliceScheduler(() => clockMs);
});

function countStep(): void {
  steps++;
  clockMs += stepMs;
}

/** A task of ten steps, such as the first list of a site in XML. */
function* longTask(result: number): Steps<number> {
  for (let step = 0; step < 10; step++) {
    countStep();
    yield;
  }
  return result;
}

// biome-ignore lint/correctness/useYield: a task of one step
function* shortTask(): Steps<string> {
  countStep();
  return "done";
}

test("slices: a hundred tasks at once stay within every tick's budget", async () => {
  const all = Array.from({ length: 100 }, (_, number) => slices.run(longTask(number)));
  expect(steps).toBe(tickBudgetMs.firstSlices / stepMs);
  let isDone = false;
  const results = Promise.all(all).finally(() => {
    isDone = true;
  });
  let most = 0;
  for (let before = steps; !isDone; before = steps) {
    await nextImmediate();
    most = Math.max(most, steps - before);
  }
  expect(most).toBe(tickBudgetMs.slices / stepMs);
  expect(await results).toEqual(Array.from({ length: 100 }, (_, number) => number));
  expect(steps).toBe(1000);
});

test("slices: waiting tasks start in order, within each tick's budget", async () => {
  const started: number[] = [];
  const start = (number: number) =>
    slices.whenFirstMayRun(() => {
      started.push(number);
      slices.runFirst(longTask(number));
    });
  for (let number = 0; number < 6; number++) void start(number);
  const perTick = [started.length];
  while (started.length < 6) {
    const before = started.length;
    await nextImmediate();
    perTick.push(started.length - before);
  }
  // Each takes the whole budget, because it has more steps.
  expect([started, perTick]).toEqual([
    [0, 1, 2, 3, 4, 5],
    [1, 1, 1, 1, 1, 1],
  ]);
});

test("slices: a short task returns right away, unless the tick's time is used up", async () => {
  expect(slices.run(shortTask())).toBe("done");
  const long = slices.run(longTask(1));
  expect(await slices.run(shortTask())).toBe("done");
  await long;
  await nextImmediate();
  expect(slices.run(shortTask())).toBe("done");
});

test("slices: a failing task takes no time from others", async () => {
  // biome-ignore lint/correctness/useYield: a task that fails in its first step
  const failing = function* (): Steps<never> {
    throw new Error("broken");
  };
  for (let count = 0; count < 10; count++) expect(() => slices.run(failing())).toThrow("broken");
  expect(slices.run(shortTask())).toBe("done");
});
