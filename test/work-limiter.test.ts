// Long work on the records of a site: a bounded number at a time, shared, in order, and dropped when no client waits for it.

import { beforeEach, expect, test } from "bun:test";
import type { Steps } from "../src/lib/slices.ts";
import { AbandonedWork, WorkLimiter } from "../src/lib/work-limiter.ts";

const wanted = () => true;
const most = 4;

let lane: WorkLimiter;
let begun: string[];
let underWay: Set<string>;
let mostUnderWay: number;
let isHeld: boolean;

beforeEach(() => {
  lane = new WorkLimiter();
  begun = [];
  underWay = new Set();
  mostUnderWay = 0;
  isHeld = true;
});

/** Work that takes as long as `isHeld`. */
function* held(name: string): Steps<string> {
  begun.push(name);
  underWay.add(name);
  mostUnderWay = Math.max(mostUnderWay, underWay.size);
  try {
    while (isHeld) yield;
    return name;
  } finally {
    underWay.delete(name);
  }
}

const run = (name: string, isWanted = wanted) => lane.run(name, () => held(name), isWanted);

// biome-ignore lint/correctness/useYield: work that needs no pause
function* short(): Steps<number> {
  return 1;
}

/** As many works as go on at once. */
const fill = () => Array.from({ length: most }, (_, index) => run(`first ${index}`));

test("of 500 works a few go on at once, and all are done in the order in which they were asked for", async () => {
  const results = Array.from({ length: 500 }, (_, index) => run(`${index}`));
  // One more for the moment in which it is tried whether a work is short.
  expect(mostUnderWay).toBe(most + 1);
  expect(underWay.size).toBe(most);
  begun = [];
  isHeld = false;
  expect(await Promise.all(results)).toEqual(Array.from({ length: 500 }, (_, index) => `${index}`));
  expect(begun).toEqual(Array.from({ length: 500 - most }, (_, index) => `${index + most}`));
  expect(lane.waiting).toBe(0);
});

test("work of the same name is done once, whether it goes on or waits", async () => {
  const first = fill();
  begun = [];
  const results = [run("first 0"), run("second"), run("second"), run("first 0")];
  expect(lane.waiting).toBe(1);
  isHeld = false;
  expect(await Promise.all(results)).toEqual(["first 0", "second", "second", "first 0"]);
  await Promise.all(first);
  // Once to see whether it is short, and once to do it.
  expect(begun).toEqual(["second", "second"]);
});

test("short work is done at once, also while much else goes on", async () => {
  const others = [...fill(), run("waits")];
  expect(lane.run("short", short, wanted)).toBe(1);
  isHeld = false;
  await Promise.all(others);
});

test("work that waits is not begun when its client has gone, but when one of two is still there", async () => {
  const first = fill();
  let isThere = true;
  const gone = run("gone", () => isThere);
  const shared = [run("shared", () => isThere), run("shared")];
  isThere = false;
  begun = [];
  isHeld = false;
  const isDropped = expect(gone).rejects.toBeInstanceOf(AbandonedWork);
  expect(await Promise.all(shared)).toEqual(["shared", "shared"]);
  await Promise.all(first);
  await isDropped;
  expect(begun).toEqual(["shared"]);
});

test("what clients that have gone asked for does not pile up while nothing ends", async () => {
  const first = fill();
  const gone = Array.from({ length: 600 }, (_, index) => run(`${index}`, () => false));
  expect(lane.waiting).toBeLessThan(256);
  isHeld = false;
  const results = await Promise.allSettled(gone);
  expect(results.map(({ status }) => status)).toEqual(Array(600).fill("rejected"));
  await Promise.all(first);
});

test("work that fails makes room for the next", async () => {
  function* failing(): Steps<string> {
    while (isHeld) yield;
    throw new Error("failed");
  }
  const all = Array.from({ length: 20 }, (_, index) => lane.run(`${index}`, failing, wanted));
  isHeld = false;
  const results = await Promise.allSettled(all);
  expect(results.map(({ status }) => status)).toEqual(Array(20).fill("rejected"));
  expect(await run("next")).toBe("next");
});
