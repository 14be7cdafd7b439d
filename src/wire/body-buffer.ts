/**
 * Bytes put one after the other. The first part is kept as it is, since most bodies come as one; of more there is one copy, so that
 * a body in a million parts takes no more room than its bytes.
 */
export class BodyBuffer {
  #room: Buffer = empty;
  #length = 0;

  get bytes(): Uint8Array {
    return this.#room.subarray(0, this.#length);
  }

  /** All that it takes, unused room included. */
  get memory(): Uint8Array {
    return this.#room;
  }

  add(part: Buffer): void {
    const length = this.#length + part.length;
    if (this.#length === 0) this.#room = part;
    else this.#append(part, length);
    this.#length = length;
  }

  clear(): void {
    this.#room = empty;
    this.#length = 0;
  }

  #append(part: Buffer, length: number): void {
    if (length > this.#room.length) {
      const larger = Buffer.allocUnsafe(2 * length);
      larger.set(this.bytes);
      this.#room = larger;
    }
    this.#room.set(part, this.#length);
  }
}

const empty = Buffer.alloc(0);
