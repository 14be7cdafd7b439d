const minSize = 1 << 17;
const maxSize = 1 << 22;

/** Collects bytes whose number is not known in advance. One is meant to be used again and again. */
export class ByteBuilder {
  #bytes = Buffer.allocUnsafeSlow(minSize);
  /** How many bytes were added. */
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

  /** Forgets what was added. */
  clear(): void {
    this.length = 0;
  }

  /** What was added, in memory of its own. The builder is empty afterwards. */
  take(): Buffer {
    // Not from the pool of small buffers, which stays in memory as long as any of them.
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
