// A text to send, in parts that several texts can share: a list of records, a page of the feed, a documentation page. Compressed forms are cached.

import { type BufferWithHeadroom, joinWithHeadroom } from "../../lib/bytes.ts";
import { getOrCreate } from "../../lib/concurrency.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";

/** Part of a text, with its compressed forms. The bytes never change, because they may still be on their way to a slow client. */
export class TextPart {
  readonly bytes: Buffer;
  readonly #compressed = new Map<string, Uint8Array>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Compresses the bytes on the first call. */
  compressed(coding: string, compress: (bytes: Uint8Array) => Uint8Array): Uint8Array {
    let made = this.#compressed.get(coding);
    if (!made) {
      made = compress(this.bytes);
      this.#compressed.set(coding, made);
    }
    return made;
  }

  estimateCompressedBytes(): number {
    let use = 0;
    for (const bytes of this.#compressed.values()) use += 100 + bytes.length;
    return use;
  }
}

/** The kernel only accepts part of a longer text at a time anyway. */
const maxJoinedBytes = 16 * 1024 * 1024;

/** A whole text. The lists of two versions of a collection share the parts that didn't change. */
export class TextInParts {
  readonly parts: readonly TextPart[];
  /** Total bytes. */
  readonly length: number;
  readonly #compressed = new Map<string, MaybePromise<BufferWithHeadroom>>();
  /** One array for all requests, so that the wire counts its buffers once. */
  #bytes: readonly Uint8Array[] | undefined;
  #requests = 0;
  #joined: BufferWithHeadroom | undefined;

  constructor(parts: readonly TextPart[]) {
    this.parts = parts;
    this.length = parts.reduce((length, { bytes }) => length + bytes.length, 0);
  }

  /** Returns the bytes to send: in parts for the first request and for long texts, otherwise joined, to send them in one write. */
  bytesForNextRequest(): readonly Uint8Array[] | BufferWithHeadroom {
    this.#bytes ??= this.parts.map(({ bytes }) => bytes);
    if (++this.#requests === 1 || this.length > maxJoinedBytes) return this.#bytes;
    this.#joined ??= joinWithHeadroom(this.#bytes);
    return this.#joined;
  }

  /** Returns the whole text in a content coding. It's made on the first call; concurrent calls share the work. */
  compressed(coding: string, make: () => MaybePromise<BufferWithHeadroom>): MaybePromise<BufferWithHeadroom> {
    return getOrCreate(this.#compressed, coding, make);
  }

  /** Without the parts. */
  estimateBytes(): number {
    let use = 1000 + 16 * this.parts.length + (this.#joined?.memory.length ?? 0);
    for (const bytes of this.#compressed.values()) if (!(bytes instanceof Promise)) use += bytes.memory.length;
    return use;
  }
}
