import { copyText } from "./bytes.ts";

/**
 * Caches values computed from strings that clients send. Clients send few different ones, so the cache only fills up if somebody tries to fill it. Then
 * it's emptied.
 */
export class BoundedCache<Value> {
  readonly #values = new Map<string, Value>();
  readonly #maxEntries: number;
  readonly #maxKeyLength: number;
  readonly #make: (key: string) => Value;

  /**
   * @param maxKeyLength in UTF-16 units. Values of longer keys aren't cached, which limits the memory
   * @param make computes a key's value, which may contain slices of the key but mustn't be undefined
   */
  constructor(maxEntries: number, maxKeyLength: number, make: (key: string) => Value) {
    this.#maxEntries = maxEntries;
    this.#maxKeyLength = maxKeyLength;
    this.#make = make;
  }

  /** @throws the error of `make`, which isn't cached */
  get(key: string): Value {
    const known = this.#values.get(key);
    return known === undefined ? this.#add(key) : known;
  }

  #add(key: string): Value {
    if (key.length > this.#maxKeyLength) return this.#make(key);
    // A slice of a header section would keep the whole section in memory.
    const own = copyText(key);
    const value = this.#make(own);
    if (this.#values.size >= this.#maxEntries) this.#values.clear();
    this.#values.set(own, value);
    return value;
  }
}
