// A simulation's time. It doesn't advance while a real call, such as a query, is in flight.

/** After this many event-loop ticks without a call in flight, there's no work left. */
const quietTicks = 3;

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

export class SimulatedTime {
  #now: number;
  #timers: Timer[] = [];
  #order = 0;
  #calls = 0;

  /** @param now milliseconds since 1970 */
  constructor(now: number) {
    this.#now = now;
  }

  /** A whole number of milliseconds. */
  get now(): number {
    return Math.floor(this.#now);
  }

  /** Calls `callback` after this many milliseconds, unless the returned function is called first. */
  after(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, milliseconds), order: this.#order++, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.after(milliseconds, resolve));
  }

  /**
   * Does real work, during which time doesn't advance. Results arrive once no other work is left, in call order however long the calls took, so that the
   * simulation is the same each time.
   */
  async during<T>(work: () => T | Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const order = this.#order++;
    const end = (callback: () => void) => this.#timers.push({ at: this.#now, order, callback });
    this.#calls++;
    try {
      const result = await work();
      end(() => resolve(result));
    } catch (error) {
      end(() => reject(error));
    } finally {
      this.#calls--;
    }
    return promise;
  }

  /** Advances time by this many milliseconds. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    for (;;) {
      await this.#rest();
      const next = this.#takeNext(end);
      if (!next) break;
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = end;
  }

  async #rest(): Promise<void> {
    for (let quiet = 0; quiet < quietTicks; quiet++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#calls > 0) quiet = -1;
    }
  }

  #takeNext(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers)
      if (timer.at <= end && (!next || timer.at < next.at || (timer.at === next.at && timer.order < next.order)))
        next = timer;
    if (next) this.#timers = this.#timers.filter((other) => other !== next);
    return next;
  }
}

/** The running simulation's clock, and how many milliseconds the database's clock is ahead. */
export const simulatedClock = {
  time: undefined as SimulatedTime | undefined,
  skew: 0,
  now: (): number => (simulatedClock.time?.now ?? 0) + simulatedClock.skew,
};
