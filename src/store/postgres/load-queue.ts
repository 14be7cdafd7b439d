// Limits how many sites are read as a whole at once, and how long a read waits for others.
//
// A read of a site takes as long as the site is large, so a read that waits must not fail just because the reads before it take long. But if the
// database hangs, a read must not wait for the time limits of all reads before it, one after the other. So a waiting read fails when no read has got rows
// for the time limit. A read that starts after it has waited has only the remaining time until its first rows.

import { unresponsiveError } from "./errors.ts";

/** A read that has not started. */
interface WaitingRead {
  readonly arrivedAt: number;
  readonly resolve: () => void;
}

/** Runs at most `count` reads of sites at once. Further reads wait, in the order of their calls. */
export class LoadQueue {
  readonly #timeoutMs: number;
  #free: number;
  readonly #waiting = new Set<WaitingRead>();
  /** When the database last returned rows to a read, or a read ended, in milliseconds as of `performance.now()`. */
  #rowsAt = 0;

  /** @param timeoutMs milliseconds after which a waiting read fails, if no read gets rows */
  constructor(count: number, timeoutMs: number) {
    this.#free = count;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Runs `read`, after the reads that were called before.
   * @param read gets the milliseconds that remain until its first rows
   * @throws ProblemError `unavailable` if no read has got rows for the time limit, or the error of `read`
   */
  async run<T>(read: (remainingMs: number) => Promise<T>): Promise<T> {
    const arrivedAt = performance.now();
    await this.#enter(arrivedAt);
    try {
      const remainingMs = this.#remainingMs(arrivedAt);
      if (remainingMs <= 0) throw unresponsiveError(this.#timeoutMs);
      const result = await read(remainingMs);
      this.markRows();
      return result;
    } finally {
      this.#startNext();
    }
  }

  /** To be called when the database has returned rows to a read. */
  markRows(): void {
    this.#rowsAt = performance.now();
  }

  async #enter(arrivedAt: number): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: WaitingRead = { arrivedAt, resolve };
    let timer: ReturnType<typeof setTimeout>;
    const check = () => {
      const remainingMs = this.#remainingMs(arrivedAt);
      if (remainingMs > 0) timer = setTimeout(check, remainingMs);
      else if (this.#waiting.delete(waiting)) reject(unresponsiveError(this.#timeoutMs));
    };
    this.#waiting.add(waiting);
    check();
    await promise.finally(() => clearTimeout(timer));
  }

  #startNext(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next.resolve();
  }

  #remainingMs(arrivedAt: number): number {
    return Math.max(arrivedAt, this.#rowsAt) + this.#timeoutMs - performance.now();
  }
}
