/**
 * Remembers what was computed from texts that clients send. When it is full, it forgets everything: clients send few different
 * texts, so it fills up only when one of them tries to.
 */
export class BoundedCache<Value> {
  readonly #values = new Map<string, Value>();
  readonly #maxEntries: number;
  readonly #maxKeyLength: number;

  /** @param maxKeyLength longer keys are not remembered, to bound the memory */
  constructor(maxEntries: number, maxKeyLength: number) {
    this.#maxEntries = maxEntries;
    this.#maxKeyLength = maxKeyLength;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    if (key.length > this.#maxKeyLength) return;
    if (this.#values.size >= this.#maxEntries) this.#values.clear();
    this.#values.set(key, value);
  }
}
