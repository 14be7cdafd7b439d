// Limits long computations that clients wait for, such as sorts of large lists. At most four of each limiter run at once; each collection has a limiter.
// Clients that need the same result share one computation. A computation that waits to start is discarded when all its clients have left.

import type { MaybePromise } from "./maybe-promise.ts";
import { type Steps, slices } from "./slices.ts";

/** Maximum computations of a limiter that run at once. Each can take much memory: sorting 100,000 records takes 10 MB. */
const maxRunning = 4;
/**
 * Milliseconds of the first slice while the limit is reached. A computation that needs more time waits, and later starts again from the beginning. The slice
 * is short because its work is then lost.
 */
const sliceWhenFullMs = 0.2;
/** Number of requests that have to wait, after which waiting computations are searched for abandoned ones. */
const requestsBetweenSearches = 256;

interface WaitingWork {
  readonly promise: Promise<unknown>;
  /** For each client, whether it still waits. */
  wanted: (() => boolean)[];
  start(): void;
  reject(error: unknown): void;
}

/** The error of a computation that was discarded because no client waits for it any more. */
export class AbandonedWorkError extends Error {
  constructor() {
    super("no client waits for this any more");
    this.name = "AbandonedWork";
  }
}

export class WorkLimiter {
  readonly #running = new Map<string, Promise<unknown>>();
  /** Computations that start when others have ended, by name, in the order of the requests. */
  readonly #waiting = new Map<string, WaitingWork>();
  #requests = 0;

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Runs the steps that `make` returns, in slices. The first slice runs at once, or in a later tick if new tasks have no time left in this tick. A
   * computation that does not end in its first slice is shared by callers with the same `name`. If the limit is reached, its steps are discarded, and
   * it starts again when another computation has ended.
   * @param isWanted whether the client still waits; called before a computation starts that had to wait
   * @returns the result; a promise of it if the computation did not end at once, which rejects with AbandonedWorkError if no client waits any more
   */
  run<T>(name: string, make: () => Steps<T>, isWanted: () => boolean): MaybePromise<T> {
    const start = (hasWaited: boolean) => {
      if (hasWaited && !isWanted()) throw new AbandonedWorkError();
      return this.#share<T>(name, isWanted) ?? this.#runOrWait(name, make, isWanted);
    };
    return this.#share<T>(name, isWanted) ?? slices.whenFirstMayRun(start);
  }

  /** Returns the result of the computation with this name, if one runs or waits; otherwise undefined. */
  #share<T>(name: string, isWanted: () => boolean): Promise<T> | undefined {
    const running = this.#running.get(name);
    const waiting = running ? undefined : this.#waiting.get(name);
    return (waiting ? this.#join(waiting, isWanted) : running) as Promise<T> | undefined;
  }

  #runOrWait<T>(name: string, make: () => Steps<T>, isWanted: () => boolean): MaybePromise<T> {
    const steps = make();
    const isFull = this.#running.size >= maxRunning;
    const last = isFull ? slices.runFirst(steps, sliceWhenFullMs) : slices.runFirst(steps);
    if (last) return last.value;
    if (!isFull) return this.#continue(name, steps);
    // Discard the steps instead of pausing them, because a half-done computation can take as much memory as a running computation.
    steps.return(undefined as T);
    return this.#wait(name, make, isWanted);
  }

  #join(waiting: WaitingWork, isWanted: () => boolean): Promise<unknown> {
    waiting.wanted.push(isWanted);
    this.#countRequest();
    return waiting.promise;
  }

  #wait<T>(name: string, make: () => Steps<T>, isWanted: () => boolean): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const start = () => resolve(this.#continue(name, make()));
    this.#waiting.set(name, { promise, wanted: [isWanted], start, reject });
    this.#countRequest();
    return promise;
  }

  #continue<T>(name: string, steps: Steps<T>): Promise<T> {
    const promise = slices.runOthers(steps).finally(() => {
      this.#running.delete(name);
      this.#startNext();
    });
    this.#running.set(name, promise);
    return promise;
  }

  #startNext(): void {
    this.#rejectAbandoned();
    for (const [name, { start }] of this.#waiting) {
      if (this.#running.size >= maxRunning) break;
      this.#waiting.delete(name);
      start();
    }
  }

  #countRequest(): void {
    if (++this.#requests >= requestsBetweenSearches) this.#rejectAbandoned();
  }

  #rejectAbandoned(): void {
    this.#requests = 0;
    for (const [name, waiting] of this.#waiting) {
      waiting.wanted = waiting.wanted.filter((isWanted) => isWanted());
      if (waiting.wanted.length > 0) continue;
      this.#waiting.delete(name);
      waiting.reject(new AbandonedWorkError());
    }
  }
}
