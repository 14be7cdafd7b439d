/** Items per batch. Limits how long other writers wait for its transaction. */
const maxItems = 500;

/** Collects the next batch of intents, or of what will become intents. */
export class PendingBatch<T> {
  readonly #maxLength: number;
  #items: T[] = [];
  #length = 0;

  /** @param maxLength characters per batch, which the last item can exceed */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  get isFull(): boolean {
    return this.#items.length >= maxItems || this.#length >= this.#maxLength;
  }

  /** @param length in characters */
  add(item: T, length: number): void {
    this.#items.push(item);
    this.#length += length;
  }

  /** Returns the items and starts a new batch. */
  take(): readonly T[] {
    const items = this.#items;
    this.#items = [];
    this.#length = 0;
    return items;
  }
}
