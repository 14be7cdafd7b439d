const leastSize = 1 << 17;
const mostSize = 1 << 22;

/** Room to write bytes into whose number is not known yet. */
export class Scratch {
  #bytes = Buffer.allocUnsafeSlow(leastSize);
  /** How many bytes were written. */
  length = 0;

  write(text: string): void {
    // No UTF-16 unit takes more than 3 bytes of UTF-8.
    this.#reserve(3 * text.length);
    this.length += this.#bytes.write(text, this.length);
  }

  /** Writes what stands in `source` from `from` up to `to`. */
  copy(source: Buffer, from: number, to: number): void {
    this.#reserve(to - from);
    this.length += source.copy(this.#bytes, this.length, from, to);
  }

  /** What was written, in memory of its own; the next begins anew. */
  take(): Buffer {
    // Not of the pool that small buffers share, which stays as long as any of them.
    const taken = Buffer.allocUnsafeSlow(this.length);
    this.#bytes.copy(taken, 0, 0, this.length);
    this.length = 0;
    if (this.#bytes.length > mostSize) this.#bytes = Buffer.allocUnsafeSlow(leastSize);
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
