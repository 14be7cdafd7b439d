// Limits how many sites are read as a whole at once, and how long a read waits for others.
//
// A read of a site takes as long as the site is large, so a read that waits must not fail just because the reads before it take long. But if the
// database hangs, a read must not wait for the time limits of all reads before it, one after the other. So a waiting read fails when the database has
// responded to no read of a site for the time limit. A read that starts after it has waited has only the remaining time until the first response.

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
  /** When the database last responded to a read, in milliseconds as of `performance.now()`. */
  #respondedAt = 0;

  /** @param timeoutMs milliseconds without a response of the database after which a waiting read fails */
  constructor(count: number, timeoutMs: number) {
    this.#free = count;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Runs `read`, after the reads that were called before.
   * @param read gets the milliseconds that remain until the first response of the database
   * @throws ProblemError `unavailable` if the database has not responded for the time limit, or the error of `read`
   */
  async run<T>(read: (remainingMs: number) => Promise<T>): Promise<T> {
    const arrivedAt = performance.now();
    await this.#enter(arrivedAt);
    try {
      const remainingMs = this.#remainingMs(arrivedAt);
      if (remainingMs <= 0) throw unresponsiveError(this.#timeoutMs);
      const result = await read(remainingMs);
      this.markResponse();
      return result;
    } finally {
      this.#startNext();
    }
  }

  /** To be called when the database has responded to a read. */
  markResponse(): void {
    this.#respondedAt = performance.now();
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
    return Math.max(arrivedAt, this.#respondedAt) + this.#timeoutMs - performance.now();
  }
}
