// The write queue, on an engine that commits when the test decides.

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

test("writes that arrive while a batch commits form the next batches, of at most 512, and each gets its outcome", async () => {
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

describe("the outcomes of a batch", () => {
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

  test("come in parts while reads arrive, so that no read waits for all their responses", async () => {
    expect(await perTick((writes) => writes.countRead())).toEqual([8, 8, 8, 8, 8]);
  });

  test("come at once without reads", async () => {
    expect(await perTick(() => {})).toEqual([40]);
  });
});

test("after a batch during which reads arrived, the next batch waits for 60 reads per write, but not for ever", async () => {
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

test("a full queue rejects writes with Retry-After, loses no queued write, and accepts more when it is shorter", async () => {
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

test("when a commit fails, the queued writes fail with it, and later ones are tried", async () => {
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

test("an error of the program fails the writes of its batch, and no others", async () => {
  const { writes, next } = createQueue();
  const early = writes.enqueue(intentOf(1)).catch((error) => error.message);
  const late = writes.enqueue(intentOf(2));
  (await next("commit")).reject(new Error("a bug"));
  expect(await early).toBe("a bug");
  const commit = await next("commit");
  commit.resolve(outcomesOf(commit.args[0]));
  expect(await late).toMatchObject({ id: 2 });
});

describe("transactions of many writes", () => {
  const together = (writes: WriteQueue) => writes.commitAtomically(1, [[intentOf(1)]], () => {});
  const committed = { kind: "committed", run: null } as const;

  test("run one after the other, also after a failure, and single writes do not wait for them", async () => {
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

  test("of which 16 run or wait: another one is rejected, and accepted when one is done", async () => {
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
