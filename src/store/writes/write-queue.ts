// The write queue: writes that arrive while a batch commits, and those that come right after it, form the next batch.
// One transaction, one flush, no timer.

import { eventLoopTurn } from "../../lib/event-loop.ts";
import { Histogram } from "../../lib/metrics.ts";
import type { Intent, Outcome } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { Refusal, TryAgain } from "../../model/errors.ts";
import type { Snapshots } from "../reads/site-views.ts";

const maxBatch = 512;
const maxQueue = 10_000;
/** Maximum turns of the event loop that a batch waits for more writes. */
const maxTurns = 8;
/** While reads arrive, a batch waits for this many of them per write of the last batch. A write costs as much as four to six look-ups, so this leaves writes about a tenth of the time. */
const readsPerWrite = 60;
/** Turns of the event loop without a read after which a batch waits no longer. */
const quietTurns = 4;
/** While reads arrive, this many writes of a batch get their responses in one turn of the event loop. */
const responsesPerTurn = 8;

interface Waiting {
  readonly intent: Intent;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export class WriteQueue {
  /** How many writes the transactions so far had, also those that failed. */
  readonly batchSizes = new Histogram([1, 2, 4, 8, 16, 32, 64, 128, 256, maxBatch]);
  readonly #engine: Engine;
  readonly #snapshots: Snapshots;
  #queue: Waiting[] = [];
  #committing = false;
  /** The number of writes in the last batch. */
  #lastSize = 0;
  #reads = 0;

  constructor(engine: Engine, snapshots: Snapshots) {
    this.#engine = engine;
    this.#snapshots = snapshots;
  }

  /** The number of writes that wait for a transaction. */
  get length(): number {
    return this.#queue.length;
  }

  /**
   * Stores `intent`. Resolves when the outcome is on durable storage and in the snapshot of this process.
   * @throws TryAgain if too many writes are waiting. Nothing was written
   * @throws Refusal `unavailable` as `Engine.commit`: if its result did not arrive, the outcome is unknown, all of it or nothing
   */
  write(intent: Intent): Promise<Outcome> {
    if (this.#queue.length >= maxQueue) return Promise.reject(new TryAgain("too many writes are waiting"));
    const outcome = new Promise<Outcome>((resolve, reject) => void this.#queue.push({ intent, resolve, reject }));
    if (!this.#committing) void this.#commitAll();
    return outcome;
  }

  /** Counts a read, since reads go before writes. */
  noteRead(): void {
    this.#reads++;
  }

  async #commitAll(): Promise<void> {
    this.#committing = true;
    while (this.#queue.length > 0) {
      // A single client that sends one write after another never waits.
      if (this.#lastSize > 1) await this.#gather();
      const batch = this.#queue.splice(0, maxBatch);
      this.#lastSize = batch.length;
      this.batchSizes.add(batch.length);
      const before = this.#reads;
      const outcomes = await this.#commit(batch);
      const now = this.#reads;
      await this.#settle(batch, outcomes, now > before);
      if (now > before) await this.#giveWay(now + batch.length * readsPerWrite);
    }
    this.#committing = false;
  }

  /**
   * Waits until a turn of the event loop brings no further write. Clients that got their responses together write again
   * together; two alternating half batches would take two transactions and two flushes.
   */
  async #gather(): Promise<void> {
    let seen = 0;
    for (let turn = 0; turn < maxTurns && seen < this.#queue.length && seen < maxBatch; turn++) {
      seen = this.#queue.length;
      await eventLoopTurn();
    }
  }

  /** Waits until `until` reads have been served, or no more arrive. */
  async #giveWay(until: number): Promise<void> {
    for (let quiet = 0; quiet < quietTurns && this.#reads < until; ) {
      const before = this.#reads;
      await eventLoopTurn();
      quiet = this.#reads === before ? quiet + 1 : 0;
    }
  }

  /** The outcomes, which are in the snapshots then; none if the commit failed, which the writes have been told. */
  async #commit(batch: readonly Waiting[]): Promise<readonly Outcome[]> {
    try {
      const outcomes = await this.#engine.commit(batch.map(({ intent }) => intent));
      this.#fold(batch, outcomes);
      return outcomes;
    } catch (error) {
      for (const { reject } of batch) reject(error);
      // The writes in the queue have already waited as long as a commit may take.
      if (error instanceof Refusal) for (const { reject } of this.#queue.splice(0)) reject(error);
      return [];
    }
  }

  /** Passes the outcomes on. Their responses take time, so while `isReading`, reads are served between them. */
  async #settle(batch: readonly Waiting[], outcomes: readonly Outcome[], isReading: boolean): Promise<void> {
    for (const [index, outcome] of outcomes.entries()) {
      if (isReading && index > 0 && index % responsesPerTurn === 0) await eventLoopTurn();
      batch[index]?.resolve(outcome);
    }
  }

  #fold(batch: readonly Waiting[], outcomes: readonly Outcome[]): void {
    outcomes.forEach((outcome, index) => {
      if (outcome.kind !== "done") return;
      this.#snapshots.apply(batch[index]?.intent.site as number, outcome.change, outcome.epoch, outcome.timeline);
    });
  }
}
