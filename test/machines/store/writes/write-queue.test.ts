// The write queue, on an engine that commits when the test says so.

import { describe, expect, test } from "bun:test";
import { nextImmediate } from "../../../../src/lib/yielding.ts";
import type { Intent, Outcome } from "../../../../src/model/change.ts";
import { ProblemError } from "../../../../src/model/errors.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { SiteViews } from "../../../../src/store/reads/site-views.ts";
import { WriteQueue } from "../../../../src/store/writes/write-queue.ts";
import { createIntent } from "../../../support/engine/intents.ts";
import { createManualEngine, waitForOtherWork } from "../../../support/engine/manual-engine.ts";

/** The limits of the queue and of a batch. */
const [longestQueue, longestBatch] = [10_000, 512];

function createQueue() {
  const manual = createManualEngine();
  return { ...manual, writes: new WriteQueue(manual.engine, new SiteViews(manual.engine, allResources, 1 << 20)) };
}

const intentOf = (number: number) => createIntent({ at: number });
/** Outcomes that identify their intents. */
const outcomesOf = (intents: readonly Intent[]): Outcome[] =>
  intents.map(({ at }) => ({ kind: "unchanged", operation: "update", id: at, epoch: "a", revision: 1, body: "{}" }));

test("write queue: writes arriving during a commit form the next batches, of up to 512", async () => {
  const { writes, next, waiting } = createQueue();
  const count = 1 + 2 * longestBatch + 7;
  const written = Array.from({ length: count }, (_, i) => writes.enqueue(intentOf(i)));
  const sizes: number[] = [];
  while ((await waiting()).length > 0) {
    const commit = await next("commit");
    expect(await waiting()).toEqual([]);
    sizes.push(commit.args[0].length);
    commit.resolve(outcomesOf(commit.args[0]));
  }
  expect(sizes).toEqual([1, longestBatch, longestBatch, 7]);
  const outcomes = await Promise.all(written);
  expect(outcomes.map((outcome) => (outcome.kind === "unchanged" ? outcome.id : undefined))).toEqual(
    Array.from({ length: count }, (_, i) => i),
  );
});

describe("a batch's outcomes", () => {
  /** Returns how many of 40 writes got their outcome in each tick of the event loop. */
  async function perTick(whileCommitting: (writes: WriteQueue) => void): Promise<number[]> {
    const { writes, next } = createQueue();
    let done = 0;
    const written = Array.from({ length: 41 }, (_, i) => writes.enqueue(intentOf(i)).then(() => void done++));
    const first = await next("commit");
    first.resolve(outcomesOf(first.args[0]));
    const commit = await next("commit");
    whileCommitting(writes);
    done = 0;
    commit.resolve(outcomesOf(commit.args[0]));
    const ticks: number[] = [];
    for (let before = 0; done < 40; before = done) {
      await new Promise((resolve) => setImmediate(resolve));
      ticks.push(done - before);
    }
    await Promise.all(written);
    return ticks.filter((count) => count > 0);
  }

  test("in parts while reads arrive, so that none waits for all the responses", async () => {
    expect(await perTick((writes) => writes.countRead())).toEqual([8, 8, 8, 8, 8]);
  });

  test("all at once without reads", async () => {
    expect(await perTick(() => {})).toEqual([40]);
  });
});

test("write queue: after reads arrived, waits for 60 per write, but not for ever", async () => {
  const { writes, next, waiting } = createQueue();
  const written = [1, 2].map((number) => writes.enqueue(intentOf(number)));
  const first = await next("commit");
  let reads = 0;
  const read = () => {
    writes.countRead();
    reads++;
    reader = setImmediate(read);
  };
  let reader = setImmediate(read);
  await nextImmediate();
  first.resolve(outcomesOf(first.args[0]));
  while ((await waiting()).length === 0);
  clearImmediate(reader);
  expect(reads).toBeGreaterThan(60);
  const second = await next("commit");
  second.resolve(outcomesOf(second.args[0]));
  await Promise.all(written);
});

test("write queue, full: rejects with Retry-After, and loses nothing", async () => {
  const { writes, next, waiting } = createQueue();
  // The first is committed at once and does not wait.
  const taken = Array.from({ length: 1 + longestQueue }, (_, i) => writes.enqueue(intentOf(i)));
  const problem = await writes.enqueue(intentOf(-1)).catch((error) => error);
  expect(problem).toBeInstanceOf(ProblemError);
  expect([problem.code, problem.retryAfterSeconds]).toEqual(["unavailable", 1]);
  let later: Promise<Outcome> | undefined;
  while ((await waiting()).length > 0) {
    const commit = await next("commit");
    commit.resolve(outcomesOf(commit.args[0]));
    await waitForOtherWork();
    later ??= writes.enqueue(intentOf(-2));
  }
  expect((await Promise.all(taken)).every(({ kind }) => kind === "unchanged")).toBe(true);
  expect(await later).toMatchObject({ kind: "unchanged", id: -2 });
});

test("write queue: a failed commit fails queued writes, but not later ones", async () => {
  const { writes, next, waiting } = createQueue();
  const first = writes.enqueue(intentOf(0));
  const batch = [1, 2, 3].map((i) => writes.enqueue(intentOf(i)));
  const commit = await next("commit");
  commit.resolve(outcomesOf(commit.args[0]));
  await first;
  const failing = await next("commit");
  expect(failing.args[0]).toHaveLength(3);
  const outcomes = Promise.allSettled([...batch, writes.enqueue(intentOf(4)), writes.enqueue(intentOf(5))]);
  failing.reject(new ProblemError("unavailable", "down"));
  expect((await outcomes).map((one) => (one as PromiseRejectedResult).reason?.code)).toEqual(
    new Array(5).fill("unavailable"),
  );
  expect(await waiting()).toEqual([]);
  const later = writes.enqueue(intentOf(6));
  const last = await next("commit");
  last.resolve(outcomesOf(last.args[0]));
  expect(await later).toMatchObject({ id: 6 });
});

test("write queue: a bug only fails its batch", async () => {
  const { writes, next } = createQueue();
  const early = writes.enqueue(intentOf(1)).catch((error) => error.message);
  const late = writes.enqueue(intentOf(2));
  (await next("commit")).reject(new Error("a bug"));
  expect(await early).toBe("a bug");
  const commit = await next("commit");
  commit.resolve(outcomesOf(commit.args[0]));
  expect(await late).toMatchObject({ id: 2 });
});

describe("large transactions", () => {
  const together = (writes: WriteQueue) => writes.commitAtomically(1, [[intentOf(1)]], () => {});
  const committed = { kind: "committed", run: null } as const;

  test("one after another, even after a failure, and single writes don't wait for them", async () => {
    const { writes, next, waiting } = createQueue();
    const results = [together(writes), together(writes), together(writes)].map((result) =>
      result.catch(() => "failed"),
    );
    const first = await next("commitAtomically");
    expect(await waiting()).toEqual([]);
    const single = writes.enqueue(intentOf(2));
    const commit = await next("commit");
    commit.resolve(outcomesOf(commit.args[0]));
    expect((await single).kind).toBe("unchanged");
    first.reject(new ProblemError("unavailable", "the disk is full"));
    (await next("commitAtomically")).resolve({ kind: "aborted" });
    (await next("commitAtomically")).resolve(committed);
    expect(await Promise.all(results)).toEqual(["failed", { kind: "aborted" }, committed]);
  });

  test("16 can run or wait; another is rejected until one is done", async () => {
    const { writes, next } = createQueue();
    const results = Array.from({ length: 16 }, () => together(writes));
    await expect(together(writes)).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    (await next("commitAtomically")).resolve(committed);
    await results[0];
    results.push(together(writes));
    for (let left = 16; left > 0; left--) (await next("commitAtomically")).resolve(committed);
    expect(await Promise.all(results)).toEqual(new Array(17).fill(committed));
  });
});
