// When we read for a site's followers, and up to which head. A rest lasts until the test ends it.

import { expect, test } from "bun:test";
import { FollowerRounds } from "../../../../src/http/feed/follower-rounds.ts";
import { nextImmediate } from "../../../../src/lib/yielding.ts";
import type { Head } from "../../../../src/model/head.ts";
import { waitUntil } from "../../../support/time.ts";

const site = 1;
const headAt = (revision: number) => ({ revision, epoch: "e" });

function start() {
  const calls: [name: string, revision: number][] = [];
  const rests: { ms: number; end: () => void }[] = [];
  let notify: ((head: Head) => unknown) | undefined;
  const subscribe = (_: number, __: Head, onChange: (head: Head) => unknown) => {
    notify = onChange;
    return () => {
      notify = undefined;
    };
  };
  const rounds = new FollowerRounds({ subscribe }, (ms, end) => {
    const rest = Promise.withResolvers<void>();
    rests.push({ ms, end: rest.resolve });
    return Promise.race([rest.promise, end]);
  });
  const add = (name: string, head: Head, blockMs = 0) =>
    rounds.add(site, head, ({ revision }) => {
      calls.push([name, revision]);
      for (const end = performance.now() + blockMs; performance.now() < end; );
    });
  /** Waits for the rest after the round `count`. */
  const resting = (count: number) => waitUntil(() => rests.length === count, "the rest");
  return {
    rounds,
    add,
    calls,
    rests,
    resting,
    notify: (head: Head) => notify?.(head),
    isSubscribed: () => notify !== undefined,
  };
}

test("follower rounds: newcomers on a changing site wait for the rest to end, then get the newest head", async () => {
  const { rounds, add, calls, rests, resting, notify, isSubscribed } = start();
  expect(rounds.hasRounds(site)).toBe(false);
  add("a", headAt(1));
  add("b", headAt(1));
  await resting(1);
  expect(rounds.hasRounds(site)).toBe(true);
  add("c", headAt(3));
  // A request that's a little behind.
  add("d", headAt(2));
  notify(headAt(5));
  await nextImmediate();
  expect(calls).toEqual([
    ["a", 1],
    ["b", 1],
  ]);
  rests[0]?.end();
  await resting(2);
  expect(calls.slice(2)).toEqual([
    ["c", 5],
    ["d", 5],
  ]);
  rests[1]?.end();
  await waitUntil(() => !isSubscribed(), "the end of the rounds");
  expect(rounds.hasRounds(site)).toBe(false);
});

test("follower rounds: nobody waits on a quiet site, but the next change waits for the rest", async () => {
  const { add, calls, rests, resting } = start();
  const startedAt = performance.now();
  add("a", headAt(1), 50);
  await resting(1);
  add("b", headAt(1));
  await resting(2);
  expect(calls.map(([name]) => name)).toEqual(["a", "b"]);
  // The rest of the first round goes on.
  expect(rests[1]?.ms).toBeGreaterThanOrEqual((rests[0]?.ms ?? 0) - (performance.now() - startedAt));
  add("c", headAt(2));
  await nextImmediate();
  expect(calls).toHaveLength(2);
});

test("follower rounds: a rest is several times its round, and longer if changes outpace pages", async () => {
  const { add, rests, resting } = start();
  add("a", headAt(1), 5);
  add("b", headAt(1), 5);
  await resting(1);
  expect(rests[0]?.ms).toBeGreaterThanOrEqual(6 * 10);
  add("a", headAt(9), 5);
  add("b", headAt(9), 5);
  rests[0]?.end();
  await resting(2);
  expect(rests[1]?.ms).toBeGreaterThanOrEqual(40 * 10);
});

test("follower rounds: skip followers who have left", async () => {
  const { add, calls, rests, resting } = start();
  add("a", headAt(1));
  await resting(1);
  const leave = add("b", headAt(2));
  add("c", headAt(2));
  leave();
  leave();
  rests[0]?.end();
  await resting(2);
  expect(calls.map(([name]) => name)).toEqual(["a", "c"]);
});

test("follower rounds: work settles on its own", async () => {
  const { rounds } = start();
  expect(await rounds.run(site, headAt(1), async () => 7)).toBe(7);
  expect(rounds.run(site, headAt(1), () => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
});
