import { BodyBytes } from "./body-bytes.ts";

/**
 * A growing buffer. The first part is used without a copy, since most bodies arrive as one part. With more parts there is one copy, so
 * that a body in a million parts uses at most twice the memory of its bytes.
 */
export class BodyBuffer {
  #memory: Buffer = empty;
  #start = 0;
  #length = 0;
  /** Whether `#memory` has nothing but the body, and space for more. */
  #isCopy = false;

  get bytes(): BodyBytes {
    return new BodyBytes(this.#memory, this.#start, this.#length);
  }

  /** All memory in use, free capacity included. */
  get memory(): Uint8Array {
    return this.#memory;
  }

  /** Adds the bytes of `part` from `start` up to `end`. */
  add(part: Buffer, start: number, end: number): void {
    if (this.#length === 0) {
      this.#memory = part;
      this.#start = start;
    } else this.#append(part, start, end);
    this.#length += end - start;
  }

  clear(): void {
    this.#memory = empty;
    this.#start = 0;
    this.#length = 0;
    this.#isCopy = false;
  }

  #append(part: Buffer, start: number, end: number): void {
    const length = this.#length + end - start;
    if (!this.#isCopy || length > this.#memory.length) {
      const larger = Buffer.allocUnsafe(2 * length);
      this.#memory.copy(larger, 0, this.#start, this.#start + this.#length);
      this.#memory = larger;
      this.#start = 0;
      this.#isCopy = true;
    }
    part.copy(this.#memory, this.#length, start, end);
  }
}

const empty = Buffer.alloc(0);
