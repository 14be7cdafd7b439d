import type { MaybePromise } from "./maybe-promise.ts";

interface Run<T> {
  /** Counted from 1, in the order in which they began. */
  readonly number: number;
  readonly promise: Promise<T>;
}

/** Work of which only one goes on at a time for each key. */
export class OneAtATime<Key, T> {
  readonly #running = new Map<Key, Run<T>>();
  #begun = 0;

  /** The number of the last one that has begun. */
  get begun(): number {
    return this.#begun;
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

  /** What is running for `key`. */
  running(key: Key): Run<T> | undefined {
    return this.#running.get(key);
  }
}
