// Lets concurrent callers share a result, and limits concurrent calls. Callers that share a promise share its failure, but failures aren't kept, so a
// later call tries again.

import type { MaybePromise } from "./maybe-promise.ts";

/** Returns a function that calls `make` once and keeps returning the same value or promise. After a failure, the next call tries again. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    if (made) return made.value;
    const attempt = { value: make() };
    made = attempt;
    if (attempt.value instanceof Promise) {
      attempt.value.catch(() => {
        if (made === attempt) made = undefined;
      });
    }
    return attempt.value;
  };
}

/**
 * Returns the value of `key` in `known`, made by `make` if it's missing. Callers share a pending promise. A failure is removed from `known`, so the next
 * caller tries again.
 */
export function getOrCreate<T>(
  known: Map<string, MaybePromise<T>>,
  key: string,
  make: () => MaybePromise<T>,
): MaybePromise<T> {
  const value = known.get(key);
  if (value !== undefined) return value;
  const made = make();
  known.set(key, made);
  if (made instanceof Promise) {
    made.then(
      (done) => void known.set(key, done),
      () => void known.delete(key),
    );
  }
  return made;
}

/**
 * Returns a function that runs `make`, one run at a time. Calls that arrive during a run share the next one, so no caller gets a result from a run that
 * started before its call.
 */
export function coalesceCalls<T>(make: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;

  async function start(): Promise<T> {
    await running?.catch(() => {});
    next = undefined;
    running = make();
    return running;
  }

  return () => {
    next ??= start();
    return next;
  };
}

interface Flight<T> {
  /** Counts up from 1 across all keys, in starting order. */
  readonly number: number;
  readonly promise: Promise<T>;
}

/** Runs one function per key at a time, and numbers the runs so that callers can tell whether one started too early for them. */
export class SingleFlight<Key, T> {
  readonly #running = new Map<Key, Flight<T>>();
  #startedCount = 0;

  get startedCount(): number {
    return this.#startedCount;
  }

  /** No other run of `key` may be in flight. */
  run(key: Key, make: () => Promise<T>): Promise<T> {
    const number = ++this.#startedCount;
    const promise = make().finally(() => this.#running.delete(key));
    this.#running.set(key, { number, promise });
    return promise;
  }

  /** Returns the run of `key` that's in flight, if any. */
  findRunning(key: Key): Flight<T> | undefined {
    return this.#running.get(key);
  }
}

/** For a promise that's awaited later: until then, a failure isn't reported as an unhandled rejection. */
export function awaitLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Runs at most `count` functions at once. The others wait, first come, first served. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
