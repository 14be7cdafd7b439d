// Connections that have more to do than one step take turns, so that none holds up the others.

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
  readonly #waiting = new Set<Turn>();
  #isScheduled = false;

  has(turn: Turn): boolean {
    return this.#waiting.has(turn);
  }

  add(turn: Turn): void {
    this.#waiting.add(turn);
    this.#schedule();
  }

  delete(turn: Turn): void {
    this.#waiting.delete(turn);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const end = performance.now() + longest;
    // Those that are added while it runs come at its end.
    for (const turn of this.#waiting) {
      this.#waiting.delete(turn);
      if (turn.takeTurn()) this.#waiting.add(turn);
      if (performance.now() >= end) break;
    }
    this.#schedule();
  }
}
