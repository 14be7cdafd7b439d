import { withOwnMemory } from "./bytes.ts";

/**
 * Remembers what was computed from texts that clients send. When it is full, it forgets everything: clients send few different
 * texts, so it fills up only when one of them tries to.
 */
export class BoundedCache<Value> {
  readonly #values = new Map<string, Value>();
  readonly #maxEntries: number;
  readonly #maxKeyLength: number;
  readonly #make: (key: string) => Value;

  /**
   * @param maxKeyLength longer keys are not remembered, to bound the memory
   * @param make computes a value, which may have parts of the key. It never returns undefined
   */
  constructor(maxEntries: number, maxKeyLength: number, make: (key: string) => Value) {
    this.#maxEntries = maxEntries;
    this.#maxKeyLength = maxKeyLength;
    this.#make = make;
  }

  /** The value of `key`. @throws what `make` throws, which is not remembered */
  get(key: string): Value {
    const known = this.#values.get(key);
    return known === undefined ? this.#add(key) : known;
  }

  #add(key: string): Value {
    if (key.length > this.#maxKeyLength) return this.#make(key);
    // A part of a header section would keep all of that in memory.
    const own = withOwnMemory(key);
    const value = this.#make(own);
    if (this.#values.size >= this.#maxEntries) this.#values.clear();
    this.#values.set(own, value);
    return value;
  }
}
