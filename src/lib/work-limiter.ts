// Limits long computations that clients wait for: few at a time, shared by name, and dropped when no client waits.

import { firstSlice, otherSlices, type Steps, whenNewWorkMayBegin } from "./event-loop.ts";
import type { MaybePromise } from "./maybe-promise.ts";

/** Computations that run at the same time. Each may take much memory: sorting 100,000 records takes 10 MB. */
const maxRunning = 4;
/** Milliseconds of the first slice while the limit is reached. It is mostly in vain: long work begins again later. */
const sliceWhenFull = 0.2;
/** Requests that have to wait between two searches for abandoned work. */
const pruneInterval = 256;

interface WaitingWork {
  readonly promise: Promise<unknown>;
  /** For each client, whether it still waits. */
  wanted: (() => boolean)[];
  start(): void;
  reject(error: unknown): void;
}

/** The error of work that was dropped, because no client waits for it. */
export class AbandonedWork extends Error {
  constructor() {
    super("no client waits for this any more");
    this.name = "AbandonedWork";
  }
}

export class WorkLimiter {
  /** Work in progress, by name. */
  readonly #running = new Map<string, Promise<unknown>>();
  /** Work to start when other work has ended, by name, in the order of the requests. */
  readonly #waiting = new Map<string, WaitingWork>();
  #requests = 0;

  /** The number of computations that wait to start. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Runs the steps that `make` returns, in slices. Work that ends within the first slice returns its result at once, or in a later turn
   * of the event loop if other new work has used up this one. Longer work is shared by callers of the same `name`. At the limit it is
   * discarded, and starts again when other work has ended.
   * @param isWanted whether the client still waits; called before work starts that had to wait
   * @returns a promise unless the work ended at once; it rejects with AbandonedWork when no client waits
   */
  run<T>(name: string, make: () => Steps<T>, isWanted: () => boolean): MaybePromise<T> {
    const begin = (hasWaited: boolean) => {
      if (hasWaited && !isWanted()) throw new AbandonedWork();
      return this.#share<T>(name, isWanted) ?? this.#begin(name, make, isWanted);
    };
    return this.#share<T>(name, isWanted) ?? whenNewWorkMayBegin(begin);
  }

  /** The result of work of this name that runs or waits. */
  #share<T>(name: string, isWanted: () => boolean): Promise<T> | undefined {
    const running = this.#running.get(name);
    const waiting = running ? undefined : this.#waiting.get(name);
    return (waiting ? this.#join(waiting, isWanted) : running) as Promise<T> | undefined;
  }

  #begin<T>(name: string, make: () => Steps<T>, isWanted: () => boolean): MaybePromise<T> {
    const steps = make();
    const isFull = this.#running.size >= maxRunning;
    const last = isFull ? firstSlice(steps, sliceWhenFull) : firstSlice(steps);
    if (last) return last.value;
    if (!isFull) return this.#continue(name, steps);
    // Discarded rather than paused: half-done work may take as much memory as work in progress.
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
    const promise = otherSlices(steps).finally(() => {
      this.#running.delete(name);
      this.#startNext();
    });
    this.#running.set(name, promise);
    return promise;
  }

  #startNext(): void {
    this.#prune();
    for (const [name, { start }] of this.#waiting) {
      if (this.#running.size >= maxRunning) break;
      this.#waiting.delete(name);
      start();
    }
  }

  #countRequest(): void {
    if (++this.#requests >= pruneInterval) this.#prune();
  }

  #prune(): void {
    this.#requests = 0;
    for (const [name, waiting] of this.#waiting) {
      waiting.wanted = waiting.wanted.filter((isWanted) => isWanted());
      if (waiting.wanted.length > 0) continue;
      this.#waiting.delete(name);
      waiting.reject(new AbandonedWork());
    }
  }
}
