import type { MaybePromise } from "./maybe-promise.ts";

/**
 * Calls `make` on the first call and returns the same value on every later one; a promise is shared while it is pending. A failure is
 * not remembered: the next call tries again.
 */
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
 * The value in `known` under `key`; `make` creates it if there is none. Callers in the meantime share one promise. A failure
 * is not stored: the next caller tries again.
 */
export function shared<T>(
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
 * Calls `make` at most once at a time. Calls while it is under way share the one after it, so that no caller gets a result that was begun before it
 * asked, however many ask.
 */
export function coalesced<T>(make: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;

  async function begin(): Promise<T> {
    await running?.catch(() => {});
    next = undefined;
    running = make();
    return running;
  }

  return () => {
    next ??= begin();
    return next;
  };
}

/** Runs at most `count` functions at once; the others wait in order. */
export class Slots {
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
