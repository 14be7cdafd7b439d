// Limits how many whole sites are read at once, and how long a read waits for others.
//
// Reading a large site takes a while, so a queued read mustn't fail just because those ahead of it are slow. But if the database hangs, it mustn't
// wait for all their time limits in turn. So a queued read fails when no read has received rows for the time limit. One that starts after waiting
// only has the remaining time until its first rows.

import { unresponsiveError } from "./errors.ts";

/** A read that hasn't started. */
interface WaitingRead {
  readonly arrivedAt: number;
  readonly resolve: () => void;
}

/** Runs up to `count` reads of sites at once. Others wait in the order of their calls. */
export class LoadQueue {
  readonly #timeoutMs: number;
  #free: number;
  readonly #waiting = new Set<WaitingRead>();
  /** When a read last received rows or ended, by `performance.now()`. */
  #rowsAt = 0;

  /** @param timeoutMs how long no read may receive rows before those waiting fail, in milliseconds */
  constructor(count: number, timeoutMs: number) {
    this.#free = count;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Runs `read` after those that were called before.
   * @param read gets the milliseconds left until its first rows
   * @throws ProblemError `unavailable` if no read has received rows for the time limit, or the error of `read`
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

  /** Call this when a read has received rows. */
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
