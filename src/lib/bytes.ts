/** Bytes with free space before them, for a header: both are then sent in one write, without a copy. */
export interface BufferWithHeadroom {
  readonly memory: Buffer;
  /** Where the bytes start. They extend to the end of `memory`, and never change. */
  readonly start: number;
}

/** Bytes of free space: enough for the header section of a response, unless it is very long. */
const headroom = 4096;

/** Joins `parts`, with free space before them. */
export function joinWithHeadroom(parts: readonly Uint8Array[]): BufferWithHeadroom {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const memory = Buffer.allocUnsafeSlow(headroom + length);
  let at = headroom;
  for (const part of parts) {
    memory.set(part, at);
    at += part.length;
  }
  return { memory, start: headroom };
}

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

/** Bytes from `start` up to `end` of `source`. They never change. To name them takes less time than to make a view of them. */
export interface ByteRange {
  readonly source: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * A copy of `text`. A part of a longer text would keep all of that in memory. A text that is joined of others gets its own memory when it is first
 * read.
 */
export function withOwnMemory(text: string): string {
  return text.charAt(0) + text.slice(1);
}

/** Texts with their own memory. Equal ones share it. */
export class OwnTexts {
  readonly #texts = new Map<string, string>();

  /** A copy of `text`, which is kept as long as this is. */
  copy(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const own = withOwnMemory(text);
    this.#texts.set(own, own);
    return own;
  }
}
