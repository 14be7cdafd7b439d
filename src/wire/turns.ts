// Connections that have more to do than one step take turns, so that none delays the others.

import { Queue, type QueueEntry } from "./queue.ts";

/** Work in steps. */
export interface Turn {
  /** Does one bounded step. Returns whether there is more to do now. */
  takeTurn(): boolean;
}

/** Milliseconds for all waiting connections together, in one turn of the event loop. */
const maxTime = 1;

/**
 * Each connection takes one step and goes to the end of the queue. All of them together get a millisecond before the event loop looks
 * for input again, so input on any other connection waits for about that long.
 */
export class Turns {
  readonly #waiting = new Queue<Turn>();
  #isScheduled = false;

  has(entry: QueueEntry<Turn>): boolean {
    return this.#waiting.has(entry);
  }

  add(entry: QueueEntry<Turn>): void {
    this.#waiting.add(entry);
    this.#schedule();
  }

  delete(entry: QueueEntry<Turn>): void {
    this.#waiting.delete(entry);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.isEmpty) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const end = performance.now() + maxTime;
    for (let entry = this.#waiting.first; entry; entry = this.#waiting.first) {
      this.#waiting.delete(entry);
      if (entry.member.takeTurn()) this.#waiting.add(entry);
      if (performance.now() >= end) break;
    }
    this.#schedule();
  }
}
