/** Bytes with free space before them. A header section that is written into this space is sent together with the bytes, without copying them. */
export interface BufferWithHeadroom {
  readonly memory: Buffer;
  /** Index of the first byte in `memory`. The bytes extend to the end of `memory`, and never change. */
  readonly start: number;
}

/** Bytes of free space: enough for the header section of a response, unless it is very long. */
const headroom = 4096;

/** Returns a buffer for `length` bytes, with free space before them. The bytes are whatever the memory had. */
export function allocateWithHeadroom(length: number): BufferWithHeadroom {
  return { memory: Buffer.allocUnsafeSlow(headroom + length), start: headroom };
}

export function joinWithHeadroom(parts: readonly Uint8Array[]): BufferWithHeadroom {
  const joined = allocateWithHeadroom(parts.reduce((sum, part) => sum + part.length, 0));
  let at = joined.start;
  for (const part of parts) {
    joined.memory.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Size of a new buffer, and the maximum size of a buffer that is used again. Both in bytes. */
const minSize = 1 << 17;
const maxSize = 1 << 22;

/** Joins texts and bytes when their total length is not known in advance. A builder can be used again, which saves allocating its buffer. */
export class ByteBuilder {
  #bytes = Buffer.allocUnsafeSlow(minSize);
  /** Bytes that were added since the builder was last empty. */
  length = 0;

  /** Adds `text` in UTF-8. */
  write(text: string): void {
    // No UTF-16 unit takes more than 3 bytes of UTF-8.
    this.#reserve(3 * text.length);
    this.length += this.#bytes.write(text, this.length);
  }

  /** Adds the bytes of `source` from `start` to `end` (exclusive). */
  copy(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    this.length += source.copy(this.#bytes, this.length, start, end);
  }

  clear(): void {
    this.length = 0;
  }

  /** Returns a copy of the bytes, and empties the builder. */
  take(): Buffer {
    // Not from the pool of small buffers, because a pool is freed only when all of its buffers are.
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

/** The bytes of `source` from `start` to `end` (exclusive). They never change. Creating a range takes less time than creating a view of the bytes. */
export interface ByteRange {
  readonly source: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * Returns a copy of `text` in memory of its own, because a slice of a longer text keeps the whole text in memory. The runtime allocates this memory
 * when the result, a concatenation, is first read.
 */
export function copyText(text: string): string {
  return text.charAt(0) + text.slice(1);
}

/** Interns texts: equal texts share one copy, in memory of its own. */
export class InternedTexts {
  readonly #texts = new Map<string, string>();

  /** Returns the copy that equals `text`. It stays in memory as long as this object. */
  copy(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const own = copyText(text);
    this.#texts.set(own, own);
    return own;
  }
}
