// Commits client writes in batches: one transaction and one flush to disk for many writes, without a timer.
//
// A batch starts when a write arrives and none is running, or when the previous one is done. If that had several writes, we first wait for a tick
// without new ones, for up to 8 ticks.
//
// Reads go first. While they keep coming, up to 60 may pass per write of the last batch, until 4 ticks bring none, and only 8 outcomes are sent per
// tick. Without reads, writes don't wait. See "Reads go before writes" in docs/decisions/storage.md.

import { Semaphore } from "../../lib/concurrency.ts";
import { Histogram } from "../../lib/metrics.ts";
import { nextImmediate } from "../../lib/yielding.ts";
import type { Intent, Outcome } from "../../model/change.ts";
import type { AtomicCommitOptions, AtomicCommitResult, Engine, OnOutcomes } from "../../model/engine.ts";
import { ProblemError, RetryableError } from "../../model/errors.ts";
import type { SiteViews } from "../reads/site-views.ts";

/** Maximum writes in a transaction. */
const maxBatchWrites = 512;
/** Maximum writes waiting for a transaction. */
const maxQueuedWrites = 10_000;
/** Maximum transactions of `commitAtomically` running or waiting. Their writes are in memory, and each takes up to a quarter of a second. */
const maxAtomicCommits = 16;
/** Maximum ticks a batch waits for more writes. */
const maxGatherTicks = 8;
/** How many reads may pass per write of the last batch. A write costs as much as four to six look-ups, so writes get about a tenth of the time. */
const readsPerWrite = 60;
/** Ticks without a read after which a batch goes ahead. */
const quietTicks = 4;
/** Outcomes per tick sent to clients while reads arrive. */
const responsesPerTick = 8;

type DoneOutcome = Extract<Outcome, { readonly kind: "done" }>;

interface QueuedWrite {
  readonly intent: Intent;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export class WriteQueue {
  /** Writes per transaction so far, including failed ones. */
  readonly batchSizes = new Histogram([1, 2, 4, 8, 16, 32, 64, 128, 256, maxBatchWrites]);
  readonly #engine: Engine;
  readonly #siteViews: SiteViews;
  readonly #atomicCommits = new Semaphore(1);
  /** Transactions of `commitAtomically`, running or waiting. */
  #atomicCommitCount = 0;
  #queue: QueuedWrite[] = [];
  #committing = false;
  #lastSize = 0;
  #reads = 0;

  constructor(engine: Engine, siteViews: SiteViews) {
    this.#engine = engine;
    this.#siteViews = siteViews;
  }

  /** Number of writes waiting for a transaction. */
  get length(): number {
    return this.#queue.length;
  }

  /**
   * Commits `intent` with the next batch. Resolves once the outcome is durable and in this process's snapshot.
   * @throws RetryableError if the queue is full; nothing was written
   * @throws ProblemError `unavailable`, like `Engine.commit`. If the result didn't arrive, the change was stored completely or not at all
   */
  enqueue(intent: Intent): Promise<Outcome> {
    if (this.#queue.length >= maxQueuedWrites) return Promise.reject(new RetryableError("too many writes are waiting"));
    const outcome = new Promise<Outcome>((resolve, reject) => void this.#queue.push({ intent, resolve, reject }));
    if (!this.#committing) void this.#commitBatches();
    return outcome;
  }

  /**
   * Commits a request for many records in one transaction. These run one at a time, so that other writers get a turn in between. Resolves once the
   * result is durable; the snapshot catches up in the background.
   * @throws RetryableError if too many are waiting; nothing was written
   * @throws the errors of `enqueue` and `Engine.commitAtomically`
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

  countRead(): void {
    this.#reads++;
  }

  async #commitBatches(): Promise<void> {
    this.#committing = true;
    while (this.#queue.length > 0) {
      // A single client that sends one write at a time never waits.
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
   * Clients whose writes were in the same batch tend to write again together. Without this wait, they'd be split into two alternating batches, with
   * two transactions and two flushes.
   */
  async #waitForMoreWrites(): Promise<void> {
    let seen = 0;
    for (let tick = 0; tick < maxGatherTicks && seen < this.#queue.length && seen < maxBatchWrites; tick++) {
      seen = this.#queue.length;
      await nextImmediate();
    }
  }

  /** Waits until the read count reaches `until` or reads stop coming. */
  async #yieldToReads(until: number): Promise<void> {
    for (let quiet = 0; quiet < quietTicks && this.#reads < until; ) {
      const before = this.#reads;
      await nextImmediate();
      quiet = this.#reads === before ? quiet + 1 : 0;
    }
  }

  /** Commits the batch and applies it to the cached snapshots. If the commit fails, rejects the writes and returns no outcomes. */
  async #commit(batch: readonly QueuedWrite[]): Promise<readonly Outcome[]> {
    try {
      const outcomes = await this.#engine.commit(batch.map(({ intent }) => intent));
      this.#applyToSnapshots(batch, outcomes);
      return outcomes;
    } catch (error) {
      for (const { reject } of batch) reject(error);
      // The storage failed. The queued writes would only fail the same way, perhaps after another timeout.
      if (error instanceof ProblemError) for (const { reject } of this.#queue.splice(0)) reject(error);
      return [];
    }
  }

  /** Sending responses takes time, so if `isReading`, this yields to the event loop in between. */
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
