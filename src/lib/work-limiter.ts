// Limits long computations that clients wait for, such as sorting a large list. Each collection has a limiter, which runs at most four at once. Clients that
// need the same result share a computation. If all its clients leave before it starts, it's discarded.

import type { MaybePromise } from "./maybe-promise.ts";
import { type Steps, slices } from "./slices.ts";

/** Each can take a lot of memory: sorting 100,000 records takes 10 MB. */
const maxRunning = 4;
/**
 * Milliseconds for the first slice when the limit has been reached. A computation that doesn't finish in it has to wait and start over, so the slice is kept
 * short to waste little work.
 */
const sliceWhenFullMs = 0.2;
/** We look for abandoned computations each time this many requests have had to wait. */
const requestsBetweenSearches = 256;

interface WaitingWork {
  readonly promise: Promise<unknown>;
  /** Each tells whether a client is still waiting. */
  wanted: (() => boolean)[];
  start(): void;
  reject(error: unknown): void;
}

/** The computation was discarded because all its clients had left. */
export class AbandonedWorkError extends Error {
  constructor() {
    super("no client is waiting for this any more");
    this.name = "AbandonedWork";
  }
}

export class WorkLimiter {
  readonly #running = new Map<string, Promise<unknown>>();
  /** In the order they were requested. */
  readonly #waiting = new Map<string, WaitingWork>();
  #requests = 0;

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Runs the steps that `make` returns, in slices. The first slice runs right away, or in a later tick if this one has no time left for new tasks. If that
   * doesn't finish it, callers with the same `name` share the computation. If the limit has been reached, its steps are discarded, and it starts over when
   * another one is done.
   * @param isWanted whether the client is still waiting; called before a delayed computation starts
   * @returns the result, or a promise of it, which rejects with AbandonedWorkError if all clients have left
   */
  run<T>(name: string, make: () => Steps<T>, isWanted: () => boolean): MaybePromise<T> {
    const start = (hasWaited: boolean) => {
      if (hasWaited && !isWanted()) throw new AbandonedWorkError();
      return this.#share<T>(name, isWanted) ?? this.#runOrWait(name, make, isWanted);
    };
    return this.#share<T>(name, isWanted) ?? slices.whenFirstMayRun(start);
  }

  /** Joins the computation with this name, if one is running or waiting. */
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
    // Don't pause the steps: a half-done computation can take as much memory as a running one.
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
