import { copyText } from "./bytes.ts";

/**
 * Caches values that are computed from texts of clients. A full cache is emptied at once, because clients send few different texts: the cache
 * becomes full only if a client tries to fill it.
 */
export class BoundedCache<Value> {
  readonly #values = new Map<string, Value>();
  readonly #maxEntries: number;
  readonly #maxKeyLength: number;
  readonly #make: (key: string) => Value;

  /**
   * @param maxKeyLength maximum length of a cached key, in UTF-16 units, to limit the memory. The value of a longer key is computed each time
   * @param make computes the value of a key. The value may contain slices of the key, and must not be undefined
   */
  constructor(maxEntries: number, maxKeyLength: number, make: (key: string) => Value) {
    this.#maxEntries = maxEntries;
    this.#maxKeyLength = maxKeyLength;
    this.#make = make;
  }

  /** Returns the value of `key`. @throws the error of `make`, which is not cached */
  get(key: string): Value {
    const known = this.#values.get(key);
    return known === undefined ? this.#add(key) : known;
  }

  #add(key: string): Value {
    if (key.length > this.#maxKeyLength) return this.#make(key);
    // Copy the key: a slice of a header section would keep the whole section in memory.
    const own = copyText(key);
    const value = this.#make(own);
    if (this.#values.size >= this.#maxEntries) this.#values.clear();
    this.#values.set(own, value);
    return value;
  }
}
