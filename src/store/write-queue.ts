// The write queue: writes that arrive while a batch commits, and those that come right after it, form the next batch.
// One transaction, one flush, no timer.

import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Intent, Outcome } from "../model/intent.ts";
import type { Snapshots } from "./snapshots.ts";

const longestBatch = 512;
const longestQueue = 10_000;
/** Most turns of the event loop that a batch waits for company. */
const mostTurns = 8;
/** While reads keep coming, a batch waits for this many of them for each write of the last one: that leaves writes a tenth of the time or so. */
const readsPerWrite = 30;
/** After how many turns of the event loop without a read nobody reads any more. */
const quietTurns = 4;

interface Waiting {
  readonly intent: Intent;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export class WriteQueue {
  readonly #engine: Engine;
  readonly #snapshots: Snapshots;
  #queue: Waiting[] = [];
  #committing = false;
  /** How many writes the last batch had. */
  #lastSize = 0;
  #reads = 0;

  constructor(engine: Engine, snapshots: Snapshots) {
    this.#engine = engine;
    this.#snapshots = snapshots;
  }

  /**
   * Does what `intent` wants. When the outcome comes, it is on durable storage and in this process's snapshot.
   * @throws Refusal `unavailable` when the store cannot be written to or too many writes wait; then nothing happened
   */
  write(intent: Intent): Promise<Outcome> {
    if (this.#queue.length >= longestQueue) {
      return Promise.reject(new Refusal("unavailable", "too many writes are waiting", { retryAfter: 1 }));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    this.#queue.push({ intent, resolve, reject });
    if (!this.#committing) void this.#commitAll();
    return promise;
  }

  /** Says that a read was answered: reads go before writes. */
  noteRead(): void {
    this.#reads++;
  }

  async #commitAll(): Promise<void> {
    this.#committing = true;
    while (this.#queue.length > 0) {
      // Whoever writes alone, one write after the other, never waits.
      if (this.#lastSize > 1) await this.#gather();
      const batch = this.#queue.splice(0, longestBatch);
      this.#lastSize = batch.length;
      const before = this.#reads;
      await this.#commit(batch);
      if (this.#reads > before) await this.#giveWay(batch.length * readsPerWrite);
    }
    this.#committing = false;
  }

  /**
   * Lets the event loop turn until a turn brings no further write. Those who were answered just now write again together: two
   * half batches in alternation would cost two transactions and two flushes.
   */
  async #gather(): Promise<void> {
    let seen = 0;
    for (let turn = 0; turn < mostTurns && seen < this.#queue.length && seen < longestBatch; turn++) {
      seen = this.#queue.length;
      await nextTurn();
    }
  }

  /** Lets so many reads be answered, or as many as there are. */
  async #giveWay(reads: number): Promise<void> {
    const until = this.#reads + reads;
    for (let quiet = 0; quiet < quietTurns && this.#reads < until; ) {
      const before = this.#reads;
      await nextTurn();
      quiet = this.#reads === before ? quiet + 1 : 0;
    }
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#engine.commit(batch.map(({ intent }) => intent));
      this.#fold(batch, outcomes);
      batch.forEach(({ resolve }, index) => void resolve(outcomes[index] as Outcome));
    } catch (error) {
      for (const { reject } of batch) reject(error);
      // Those in the queue have waited as long as a store may take already.
      if (error instanceof Refusal) for (const { reject } of this.#queue.splice(0)) reject(error);
    }
  }

  #fold(batch: readonly Waiting[], outcomes: readonly Outcome[]): void {
    outcomes.forEach((outcome, index) => {
      if (outcome.kind !== "done") return;
      this.#snapshots.apply(batch[index]?.intent.site as number, outcome.change, outcome.version);
    });
  }
}

/** After one turn of the event loop: what clients have sent meanwhile is read. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
