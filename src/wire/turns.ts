// Connections that have more to do than one step take turns, so that none holds up the others.

import { Queue, type QueueEntry } from "./queue.ts";

/** Who may have more to do. */
export interface Turn {
  /** Does one bounded step. Returns whether more can be done at once. */
  takeTurn(): boolean;
}

/** Milliseconds for all waiting connections together, in one turn of the event loop. */
const longest = 1;

/**
 * A round: each connection takes one step and goes to the end of the queue. However many there are, all together they get
 * a millisecond before the event loop looks for input again; so what arrives on another connection waits for about that.
 */
export class Turns {
  /** In the order in which they take their turns. */
  readonly #waiting = new Queue<Turn>();
  #isScheduled = false;

  has(place: QueueEntry<Turn>): boolean {
    return this.#waiting.has(place);
  }

  add(place: QueueEntry<Turn>): void {
    this.#waiting.add(place);
    this.#schedule();
  }

  delete(place: QueueEntry<Turn>): void {
    this.#waiting.delete(place);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.isEmpty) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const end = performance.now() + longest;
    for (let place = this.#waiting.first; place; place = this.#waiting.first) {
      this.#waiting.delete(place);
      if (place.member.takeTurn()) this.#waiting.add(place);
      if (performance.now() >= end) break;
    }
    this.#schedule();
  }
}
