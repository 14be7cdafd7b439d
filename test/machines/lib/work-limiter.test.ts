// Long computations on a site's records: a few at a time, in order, shared, and only while a client is waiting.

import { beforeEach, expect, test } from "bun:test";
import type { Steps } from "../../../src/lib/slices.ts";
import { AbandonedWorkError, WorkLimiter } from "../../../src/lib/work-limiter.ts";
import { nextImmediate } from "../../../src/lib/yielding.ts";

const wanted = () => true;
const most = 4;

let limiter: WorkLimiter;
let begun: string[];
let inFlight: Set<string>;
let mostInFlight: number;
let isRunning: boolean;

beforeEach(() => {
  limiter = new WorkLimiter();
  begun = [];
  inFlight = new Set();
  mostInFlight = 0;
  isRunning = true;
});

/** A computation that ends when `isRunning` is false. */
function* work(name: string): Steps<string> {
  begun.push(name);
  inFlight.add(name);
  mostInFlight = Math.max(mostInFlight, inFlight.size);
  try {
    while (isRunning) yield;
    return name;
  } finally {
    inFlight.delete(name);
  }
}

const run = (name: string, isWanted = wanted) => limiter.run(name, () => work(name), isWanted);

// biome-ignore lint/correctness/useYield: work that needs no pause
function* short(): Steps<number> {
  return 1;
}

/** Waits until `count` computations have begun at least once, because the new tasks of a tick share a budget. */
async function untilBegun(count: number): Promise<void> {
  while (new Set(begun).size < count) await nextImmediate();
}

/** Starts the maximum number of computations that run at once. */
async function fill() {
  const works = Array.from({ length: most }, (_, index) => run(`first ${index}`));
  await untilBegun(most);
  return { works };
}

test("work limiter: 500 computations, a few at a time, in order", async () => {
  const results = Array.from({ length: 500 }, (_, index) => run(`${index}`));
  await untilBegun(500);
  // One more, because each computation runs briefly to find out whether it is short.
  expect(mostInFlight).toBe(most + 1);
  expect(inFlight.size).toBe(most);
  begun = [];
  isRunning = false;
  expect(await Promise.all(results)).toEqual(Array.from({ length: 500 }, (_, index) => `${index}`));
  expect(begun).toEqual(Array.from({ length: 500 - most }, (_, index) => `${index + most}`));
  expect(limiter.waiting).toBe(0);
});

test("work limiter: same name done once, running or waiting", async () => {
  const { works } = await fill();
  begun = [];
  const results = [run("first 0"), run("second"), run("second"), run("first 0")];
  await untilBegun(1);
  expect(limiter.waiting).toBe(1);
  isRunning = false;
  expect(await Promise.all(results)).toEqual(["first 0", "second", "second", "first 0"]);
  await Promise.all(works);
  // Once to find out whether it is short, and once to its end.
  expect(begun).toEqual(["second", "second"]);
});

test("work limiter: short computations finish right away or in the next ticks, even while others wait", async () => {
  expect(limiter.run("short", short, wanted)).toBe(1);
  const { works } = await fill();
  const waits = run("waits");
  expect(await limiter.run("short", short, wanted)).toBe(1);
  expect(limiter.waiting).toBe(1);
  isRunning = false;
  await Promise.all([...works, waits]);
});

test("work limiter: abandoned once all clients have left", async () => {
  const { works } = await fill();
  let isThere = true;
  const gone = run("gone", () => isThere);
  const shared = [run("shared", () => isThere), run("shared")];
  await untilBegun(most + 2);
  isThere = false;
  begun = [];
  isRunning = false;
  const isDropped = expect(gone).rejects.toBeInstanceOf(AbandonedWorkError);
  expect(await Promise.all(shared)).toEqual(["shared", "shared"]);
  await Promise.all(works);
  await isDropped;
  expect(begun).toEqual(["shared"]);
});

test("work limiter: abandoned computations don't pile up", async () => {
  const { works } = await fill();
  const leaving = () => {
    let asked = 0;
    return () => asked++ === 0;
  };
  const gone = Promise.allSettled(Array.from({ length: 600 }, (_, index) => run(`${index}`, leaving())));
  await untilBegun(most + 600);
  expect(limiter.waiting).toBeLessThan(256);
  isRunning = false;
  const results = await gone;
  expect(results.map(({ status }) => status)).toEqual(Array(600).fill("rejected"));
  await Promise.all(works);
});

test("work limiter: next one starts after a failure", async () => {
  function* failing(): Steps<string> {
    while (isRunning) yield;
    throw new Error("failed");
  }
  const all = Array.from({ length: 20 }, (_, index) => limiter.run(`${index}`, failing, wanted));
  isRunning = false;
  const results = await Promise.allSettled(all);
  expect(results.map(({ status }) => status)).toEqual(Array(20).fill("rejected"));
  expect(await run("next")).toBe("next");
});
