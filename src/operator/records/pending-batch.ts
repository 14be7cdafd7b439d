/** Maximum items of a batch. They limit how long other writers wait for its transaction. */
const maxItems = 500;

/** Collects the items of the next batch: intents, or what becomes intents. */
export class PendingBatch<T> {
  readonly #maxLength: number;
  #items: T[] = [];
  #length = 0;

  /** @param maxLength maximum characters of a batch. The last item can exceed it */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** Whether the items have reached the maximum of a batch, in number or in characters. */
  get isFull(): boolean {
    return this.#items.length >= maxItems || this.#length >= this.#maxLength;
  }

  /** @param length in characters */
  add(item: T, length: number): void {
    this.#items.push(item);
    this.#length += length;
  }

  /** Returns the items, and removes them. */
  take(): readonly T[] {
    const items = this.#items;
    this.#items = [];
    this.#length = 0;
    return items;
  }
}
