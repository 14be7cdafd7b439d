/**
 * The bytes of a body, in a buffer that may have other bytes around them. A view of a buffer that comes from the runtime takes longer to make
 * than the text, so it is made only for those who need one.
 */
export class BodyBytes {
  readonly length: number;
  readonly #buffer: Buffer;
  readonly #start: number;

  constructor(buffer: Buffer, start: number, length: number) {
    this.#buffer = buffer;
    this.#start = start;
    this.length = length;
  }

  get view(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#start + this.length);
  }

  /** Decoded as UTF-8, with U+FFFD for what is malformed. */
  get text(): string {
    return this.#buffer.toString("utf8", this.#start, this.#start + this.length);
  }
}

export const emptyBody = new BodyBytes(Buffer.alloc(0), 0, 0);
