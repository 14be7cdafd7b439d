import type { MaybePromise } from "./maybe-promise.ts";

interface Run<T> {
  /** Counted from 1, in the order in which they began. */
  readonly number: number;
  readonly promise: Promise<T>;
}

/** Work of which only one goes on at a time for each key. */
export class OneAtATime<Key, T> {
  readonly #running = new Map<Key, Run<T>>();
  /** How many works have begun. */
  #begun = 0;

  get begun(): number {
    return this.#begun;
  }

  isRunning(key: Key): boolean {
    return this.#running.has(key);
  }

  /** Runs `make`. Nothing else may be running for `key`. */
  run(key: Key, make: () => MaybePromise<T>): MaybePromise<T> {
    const number = ++this.#begun;
    const made = make();
    if (!(made instanceof Promise)) return made;
    const promise = made.finally(() => this.#running.delete(key));
    this.#running.set(key, { number, promise });
    return promise;
  }

  /**
   * Waits for what is running for `key`; undefined if nothing is.
   * @param before how many had begun when the caller came
   * @returns a promise that rejects with the failure of work that began after the caller came, and with no other
   */
  ended(key: Key, before: number): Promise<unknown> | undefined {
    const run = this.#running.get(key);
    if (!run) return undefined;
    return run.number > before ? run.promise : run.promise.catch(() => {});
  }
}
