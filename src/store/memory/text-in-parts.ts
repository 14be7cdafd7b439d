// A text to send, in parts that several texts can share: a list of records, a page of the feed, a documentation page. Its compressed forms are cached.

import { type BufferWithHeadroom, joinWithHeadroom } from "../../lib/bytes.ts";
import { getOrCreate } from "../../lib/concurrency.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";

/** A part of a text, with its compressed forms. Its bytes never change, because they may still be on their way to a slow client. */
export class TextPart {
  readonly bytes: Buffer;
  readonly #compressed = new Map<string, Uint8Array>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Returns the bytes in a content coding. They are compressed on the first call. */
  compressed(coding: string, compress: (bytes: Uint8Array) => Uint8Array): Uint8Array {
    let made = this.#compressed.get(coding);
    if (!made) {
      made = compress(this.bytes);
      this.#compressed.set(coding, made);
    }
    return made;
  }

  /** Estimates the memory of the compressed bytes, in bytes. */
  estimateCompressedBytes(): number {
    let use = 0;
    for (const bytes of this.#compressed.values()) use += 100 + bytes.length;
    return use;
  }
}

/** Maximum size of a text to join, in bytes. The kernel accepts only a part of a longer text at a time. */
const maxJoinedBytes = 16 * 1024 * 1024;

/** A whole text. The lists of two versions of a collection share the parts that did not change. */
export class TextInParts {
  readonly parts: readonly TextPart[];
  /** Bytes of all parts together. */
  readonly length: number;
  readonly #compressed = new Map<string, MaybePromise<BufferWithHeadroom>>();
  /** The bytes of the parts, one array for all requests: the wire counts its buffers once. */
  #bytes: readonly Uint8Array[] | undefined;
  #requests = 0;
  #joined: BufferWithHeadroom | undefined;

  constructor(parts: readonly TextPart[]) {
    this.parts = parts;
    this.length = parts.reduce((length, { bytes }) => length + bytes.length, 0);
  }

  /** Counts a request. Returns the bytes to send: in parts for the first request and for a long text, otherwise joined, so that one write sends them. */
  bytesForNextRequest(): readonly Uint8Array[] | BufferWithHeadroom {
    this.#bytes ??= this.parts.map(({ bytes }) => bytes);
    if (++this.#requests === 1 || this.length > maxJoinedBytes) return this.#bytes;
    this.#joined ??= joinWithHeadroom(this.#bytes);
    return this.#joined;
  }

  /** Returns the whole text in a content coding. `make` makes it on the first call; concurrent calls share the work. */
  compressed(coding: string, make: () => MaybePromise<BufferWithHeadroom>): MaybePromise<BufferWithHeadroom> {
    return getOrCreate(this.#compressed, coding, make);
  }

  /** Estimates its memory without its parts, in bytes. */
  estimateBytes(): number {
    let use = 1000 + 16 * this.parts.length + (this.#joined?.memory.length ?? 0);
    for (const bytes of this.#compressed.values()) if (!(bytes instanceof Promise)) use += bytes.memory.length;
    return use;
  }
}
