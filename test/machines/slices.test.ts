// Long work in slices: what is new in a turn of the event loop has a bound together, however much of it there is.

import { expect, test } from "bun:test";
import { nextImmediate, runInSlices, type Steps } from "../../src/lib/event-loop.ts";

/** Work of two steps of at least a millisecond each. */
function* longWork(begun: number[], id: number): Steps<number> {
  begun.push(id);
  for (let step = 0; step < 2; step++) {
    const start = performance.now();
    while (performance.now() - start < 1);
    yield;
  }
  return id;
}

// biome-ignore lint/correctness/useYield: work that needs no pause
function* shortWork(): Steps<string> {
  return "done";
}

test("of a hundred long works that begin in one turn, two begin before the event loop gets its turn", async () => {
  const begun: number[] = [];
  const all = Array.from({ length: 100 }, (_, id) => runInSlices(longWork(begun, id)));
  expect(begun.length).toBeLessThanOrEqual(2);
  const others: number[] = [];
  while (begun.length < 100) {
    const before = begun.length;
    await nextImmediate();
    others.push(begun.length - before);
  }
  expect(Math.max(...others)).toBeLessThanOrEqual(2);
  expect(await Promise.all(all)).toEqual(Array.from({ length: 100 }, (_, id) => id));
});

test("short work returns at once, also in the turn after one that was full", async () => {
  expect(runInSlices(shortWork())).toBe("done");
  const works = Array.from({ length: 3 }, (_, id) => runInSlices(longWork([], id)));
  expect(await runInSlices(shortWork())).toBe("done");
  await Promise.all(works);
  await nextImmediate();
  expect(runInSlices(shortWork())).toBe("done");
});

test("work that fails leaves the turns of others as they are", async () => {
  // biome-ignore lint/correctness/useYield: work that fails in its first step
  const failing = function* (): Steps<never> {
    throw new Error("broken");
  };
  // On a busy machine, the ten may take more than a turn has for them; then the rest fail in the next one.
  const attempts = Array.from({ length: 10 }, async () => runInSlices(failing()));
  for (const { reason } of (await Promise.allSettled(attempts)) as PromiseRejectedResult[])
    expect(reason.message).toBe("broken");
  await nextImmediate();
  expect(runInSlices(shortWork())).toBe("done");
});
