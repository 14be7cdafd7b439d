/**
 * A growing buffer. The first part is used without a copy, since most bodies arrive as one part. With more parts there is one copy, so
 * that a body in a million parts uses at most twice the memory of its bytes.
 */
export class BodyBuffer {
  #memory: Buffer = empty;
  #length = 0;

  get bytes(): Uint8Array {
    return this.#memory.subarray(0, this.#length);
  }

  /** All memory in use, free capacity included. */
  get memory(): Uint8Array {
    return this.#memory;
  }

  add(part: Buffer): void {
    const length = this.#length + part.length;
    if (this.#length === 0) this.#memory = part;
    else this.#append(part, length);
    this.#length = length;
  }

  clear(): void {
    this.#memory = empty;
    this.#length = 0;
  }

  #append(part: Buffer, length: number): void {
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafe(2 * length);
      larger.set(this.bytes);
      this.#memory = larger;
    }
    this.#memory.set(part, this.#length);
  }
}

const empty = Buffer.alloc(0);
