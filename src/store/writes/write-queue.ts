// Commits the writes of clients in batches. A batch takes one transaction and one flush to disk for all its writes. It needs no timer.
//
// A batch starts when a write arrives and no batch is in progress, or when the batch before is done. If the batch before had several writes,
// the next batch first waits until a tick brings no further write, for at most 8 ticks.
//
// Reads go before writes. While reads arrive, the next batch waits for at most 60 reads per write of the previous batch, and ends its wait when
// 4 ticks bring no read. At most 8 outcomes per tick are sent to clients meanwhile. Without reads, writes do not wait. See "Reads go before writes" in
// docs/decisions/storage.md.

import { Semaphore } from "../../lib/concurrency.ts";
import { Histogram } from "../../lib/metrics.ts";
import { nextImmediate } from "../../lib/yielding.ts";
import type { Intent, Outcome } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, Engine, OnOutcomes } from "../../model/engine.ts";
import { ProblemError, RetryableError } from "../../model/errors.ts";
import type { SiteViews } from "../reads/site-views.ts";

/** Maximum writes in one transaction. */
const maxBatchWrites = 512;
/** Maximum writes that wait for a transaction. */
const maxQueuedWrites = 10_000;
/** Maximum transactions of many writes that run or wait. The writes are in memory, and each transaction takes up to a quarter of a second. */
const maxAtomicCommits = 16;
/** Maximum ticks that a batch waits for more writes. */
const maxGatherTicks = 8;
/**
 * While reads arrive, a batch waits for at most this number of reads per write of the last batch. A write costs as much as four to six look-ups,
 * so writes get about a tenth of the time.
 */
const readsPerWrite = 60;
/** A batch stops waiting for reads after this number of ticks without a read. */
const quietTicks = 4;
/** Maximum outcomes that are sent to clients in one tick, while reads arrive. */
const responsesPerTick = 8;

type DoneOutcome = Extract<Outcome, { readonly kind: "done" }>;

interface QueuedWrite {
  readonly intent: Intent;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export class WriteQueue {
  /** The number of writes per transaction so far, failed transactions included. */
  readonly batchSizes = new Histogram([1, 2, 4, 8, 16, 32, 64, 128, 256, maxBatchWrites]);
  readonly #engine: Engine;
  readonly #siteViews: SiteViews;
  readonly #atomicCommits = new Semaphore(1);
  /** The number of transactions of `commitAtomically` that run or wait. */
  #atomicCommitCount = 0;
  #queue: QueuedWrite[] = [];
  #committing = false;
  /** The number of writes in the last batch. */
  #lastSize = 0;
  #reads = 0;

  constructor(engine: Engine, siteViews: SiteViews) {
    this.#engine = engine;
    this.#siteViews = siteViews;
  }

  /** Number of writes that wait for a transaction. */
  get length(): number {
    return this.#queue.length;
  }

  /**
   * Commits `intent` with the next batch. Resolves when the outcome is on durable storage, and applied to the snapshot of this process.
   * @throws RetryableError if too many writes wait; nothing was written
   * @throws ProblemError `unavailable` as `Engine.commit` does. If the result of the commit did not arrive, it is unknown whether the change was
   *   stored; it was stored completely or not at all
   */
  enqueue(intent: Intent): Promise<Outcome> {
    if (this.#queue.length >= maxQueuedWrites) return Promise.reject(new RetryableError("too many writes are waiting"));
    const outcome = new Promise<Outcome>((resolve, reject) => void this.#queue.push({ intent, resolve, reject }));
    if (!this.#committing) void this.#commitBatches();
    return outcome;
  }

  /**
   * Commits the batches of a request for many records in one transaction, as `Engine.commitAtomically` does. Such transactions of this process run one
   * after the other, so that all other writers are served in between. Resolves when the result is on durable storage. The
   * changes are applied to the snapshot of this process in the background.
   * @throws RetryableError if too many of these transactions wait; nothing was written
   * @throws as `enqueue` and `Engine.commitAtomically`
   */
  async commitAtomically(
    site: number,
    batches: Iterable<readonly Intent[]>,
    onOutcomes: OnOutcomes,
    options?: AtomicCommitOptions,
  ): Promise<AtomicCommitResult> {
    if (this.#atomicCommitCount >= maxAtomicCommits) throw new RetryableError("too many batches of writes are waiting");
    this.#atomicCommitCount++;
    try {
      return await this.#atomicCommits.run(() => this.#commitAll(site, batches, onOutcomes, options));
    } finally {
      this.#atomicCommitCount--;
    }
  }

  async #commitAll(
    site: number,
    batches: Iterable<readonly Intent[]>,
    onOutcomes: OnOutcomes,
    options?: AtomicCommitOptions,
  ): Promise<AtomicCommitResult> {
    const done: DoneOutcome[] = [];
    const collect: OnOutcomes = (outcomes) => {
      for (const outcome of outcomes) if (outcome.kind === "done") done.push(outcome);
      return onOutcomes(outcomes);
    };
    const result = await this.#engine.commitAtomically(batches, collect, options);
    const last = done.at(-1);
    if (result.kind === "committed" && last) {
      const changes = done.map(({ change }) => change);
      this.#siteViews.applyOwnCommits(site, changes, last.epoch, last.timeline);
    }
    return result;
  }

  /** Counts a read, because reads go before writes. */
  countRead(): void {
    this.#reads++;
  }

  async #commitBatches(): Promise<void> {
    this.#committing = true;
    while (this.#queue.length > 0) {
      // A single client that sends one write after another never waits.
      if (this.#lastSize > 1) await this.#waitForMoreWrites();
      const batch = this.#queue.splice(0, maxBatchWrites);
      this.#lastSize = batch.length;
      this.batchSizes.add(batch.length);
      const readsBefore = this.#reads;
      const outcomes = await this.#commit(batch);
      const readsAfter = this.#reads;
      await this.#resolveOutcomes(batch, outcomes, readsAfter > readsBefore);
      if (readsAfter > readsBefore) await this.#yieldToReads(readsAfter + batch.length * readsPerWrite);
    }
    this.#committing = false;
  }

  /**
   * Waits until a tick brings no further write. Clients that got their responses together write again together. Without this wait, they would
   * be split into two batches that alternate, with two transactions and two flushes.
   */
  async #waitForMoreWrites(): Promise<void> {
    let seen = 0;
    for (let tick = 0; tick < maxGatherTicks && seen < this.#queue.length && seen < maxBatchWrites; tick++) {
      seen = this.#queue.length;
      await nextImmediate();
    }
  }

  /** Waits until the number of reads so far is `until`, or no more reads arrive. */
  async #yieldToReads(until: number): Promise<void> {
    for (let quiet = 0; quiet < quietTicks && this.#reads < until; ) {
      const before = this.#reads;
      await nextImmediate();
      quiet = this.#reads === before ? quiet + 1 : 0;
    }
  }

  /**
   * Commits the batch and applies the outcomes to the cached snapshots. Returns the outcomes. If the commit fails, rejects the writes and returns
   * no outcomes.
   */
  async #commit(batch: readonly QueuedWrite[]): Promise<readonly Outcome[]> {
    try {
      const outcomes = await this.#engine.commit(batch.map(({ intent }) => intent));
      this.#applyToSnapshots(batch, outcomes);
      return outcomes;
    } catch (error) {
      for (const { reject } of batch) reject(error);
      // The storage has failed. Reject the queued writes too: their commit would fail in the same way, perhaps after a further time limit.
      if (error instanceof ProblemError) for (const { reject } of this.#queue.splice(0)) reject(error);
      return [];
    }
  }

  /** Resolves the promises of the writes. Their responses take time, so while `isReading`, yields to the event loop in between. */
  async #resolveOutcomes(
    batch: readonly QueuedWrite[],
    outcomes: readonly Outcome[],
    isReading: boolean,
  ): Promise<void> {
    for (const [index, outcome] of outcomes.entries()) {
      if (isReading && index > 0 && index % responsesPerTick === 0) await nextImmediate();
      batch[index]?.resolve(outcome);
    }
  }

  #applyToSnapshots(batch: readonly QueuedWrite[], outcomes: readonly Outcome[]): void {
    outcomes.forEach((outcome, index) => {
      if (outcome.kind !== "done") return;
      this.#siteViews.applyOwnCommit(
        batch[index]?.intent.site as number,
        outcome.change,
        outcome.epoch,
        outcome.timeline,
      );
    });
  }
}
