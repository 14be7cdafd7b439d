/** Bytes with free space before them. A header section written into it is sent together with the bytes, without copying them. */
export interface BufferWithHeadroom {
  readonly memory: Buffer;
  /** Where the bytes start in `memory`. They run to its end and never change. */
  readonly start: number;
}

/** Enough for all but the longest response header sections. */
const headroom = 4096;

/** The bytes aren't initialised. */
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

/** Size of a new buffer, and the largest buffer that's reused, in bytes. */
const minSize = 1 << 17;
const maxSize = 1 << 22;

/** Joins strings and bytes whose total length isn't known in advance. Reuse a builder to save allocating its buffer. */
export class ByteBuilder {
  #bytes = Buffer.allocUnsafeSlow(minSize);
  /** Bytes added since the builder was last empty. */
  length = 0;

  /** Adds `text` as UTF-8. */
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
    // Not from the small-buffer pool, because a pool is only freed once all its buffers are.
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

/** The bytes of `source` from `start` to `end` (exclusive), which never change. A range is cheaper to create than a view. */
export interface ByteRange {
  readonly source: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * Returns a copy of `text` in its own memory, because a slice keeps the whole string it was cut from alive. The result is a concatenation, so the runtime
 * allocates the memory when it's first read.
 */
export function copyText(text: string): string {
  return text.charAt(0) + text.slice(1);
}

/** Interns strings: equal ones share one copy. */
export class InternedTexts {
  readonly #texts = new Map<string, string>();

  /** The copy stays in memory as long as this object. */
  copy(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const own = copyText(text);
    this.#texts.set(own, own);
    return own;
  }
}
