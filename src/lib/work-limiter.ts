// Long work that clients wait for: a few at a time, and none that no client waits for any more.

import type { MaybePromise } from "./maybe-promise.ts";
import { firstSlice, otherSlices, type Steps } from "./slices.ts";

/** Most works that go on at once. Each may take much memory: 100,000 records to be sorted take 10 MB. */
const maxRunning = 4;
/** Milliseconds in which work must be done to be done at once while so many others go on: of 500 requests, 500 slices hold up everyone. */
const sliceWhenFull = 0.2;
/** After so many requests that had to wait, those that are not wanted any more are dropped. */
const pruneInterval = 256;

interface Waiting {
  readonly promise: Promise<unknown>;
  /** One for each client that waits for it. */
  wanted: (() => boolean)[];
  begin(): void;
  reject(error: unknown): void;
}

/** Rejects the promise of a work that was dropped. */
export class AbandonedWork extends Error {
  constructor() {
    super("no client waits for this any more");
    this.name = "Unwanted";
  }
}

export class WorkLimiter {
  /** Works that go on, by name. */
  readonly #running = new Map<string, Promise<unknown>>();
  /** Works to begin when another has ended, in the order in which they were asked for. */
  readonly #waiting = new Map<string, Waiting>();
  #requests = 0;

  /** How many works wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Runs the steps that `make` returns, in slices. Work that takes no more than a slice is done at once. Longer work of the same
   * `name` is shared while it waits or goes on; if too many others go on, it is dropped and begun again when one of them has ended.
   * @param isWanted whether the client still waits; asked before work is begun that had to wait
   * @throws Unwanted (rejects) when no client waits any more
   */
  run<T>(name: string, make: () => Steps<T>, isWanted: () => boolean): MaybePromise<T> {
    const running = this.#running.get(name) as Promise<T> | undefined;
    if (running) return running;
    const waiting = this.#waiting.get(name);
    if (waiting) return this.#join(waiting, isWanted) as Promise<T>;
    const steps = make();
    const isFull = this.#running.size >= maxRunning;
    const last = isFull ? firstSlice(steps, sliceWhenFull) : firstSlice(steps);
    if (last) return last.value;
    if (!isFull) return this.#goOn(name, steps);
    // Not paused: work that is half done may take as much memory as one that goes on.
    steps.return(undefined as T);
    return this.#wait(name, make, isWanted);
  }

  #join(waiting: Waiting, isWanted: () => boolean): Promise<unknown> {
    waiting.wanted.push(isWanted);
    this.#countRequest();
    return waiting.promise;
  }

  #wait<T>(name: string, make: () => Steps<T>, isWanted: () => boolean): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const begin = () => resolve(this.#goOn(name, make()));
    this.#waiting.set(name, { promise, wanted: [isWanted], begin, reject });
    this.#countRequest();
    return promise;
  }

  #goOn<T>(name: string, steps: Steps<T>): Promise<T> {
    const promise = otherSlices(steps).finally(() => {
      this.#running.delete(name);
      this.#beginNext();
    });
    this.#running.set(name, promise);
    return promise;
  }

  #beginNext(): void {
    this.#prune();
    for (const [name, { begin }] of this.#waiting) {
      if (this.#running.size >= maxRunning) break;
      this.#waiting.delete(name);
      begin();
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
