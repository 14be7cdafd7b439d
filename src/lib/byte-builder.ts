/** Bytes of the buffer at first, and bytes above which it is not reused. */
const minSize = 1 << 17;
const maxSize = 1 << 22;

/** Joins bytes whose number is not known in advance. Made to be reused. */
export class ByteBuilder {
  #bytes = Buffer.allocUnsafeSlow(minSize);
  /** Bytes added since it was empty. */
  length = 0;

  /** Adds `text` in UTF-8. */
  write(text: string): void {
    // No UTF-16 unit takes more than 3 bytes of UTF-8.
    this.#reserve(3 * text.length);
    this.length += this.#bytes.write(text, this.length);
  }

  /** Adds the bytes of `source` from `start` up to `end`. */
  copy(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    this.length += source.copy(this.#bytes, this.length, start, end);
  }

  /** Empties the builder. */
  clear(): void {
    this.length = 0;
  }

  /** Returns the bytes in their own memory, and empties the builder. */
  take(): Buffer {
    // Outside the pool of small buffers, which is not freed before all of them are.
    const taken = Buffer.allocUnsafeSlow(this.length);
    this.#bytes.copy(taken, 0, 0, this.length);
    this.length = 0;
    if (this.#bytes.length > maxSize) this.#bytes = Buffer.allocUnsafeSlow(minSize);
    return taken;
  }

  #reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * needed);
    this.#bytes.copy(larger, 0, 0, this.length);
    this.#bytes = larger;
  }
}
