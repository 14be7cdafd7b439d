import { type BufferWithHeadroom, joinWithHeadroom } from "../../lib/buffer-with-headroom.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { shared } from "../../lib/shared.ts";
import type { ListPart } from "./encoded-items.ts";

/** Maximum size of a list to join, in bytes. The system accepts only a part of a longer one at a time. */
const maxJoinedBytes = 16 * 1024 * 1024;

/** The whole list in one encoding, for one version of its records. It shares parts with the lists before and after it. */
export class EncodedList {
  readonly parts: readonly ListPart[];
  /** Bytes of all parts together. */
  readonly length: number;
  readonly #compressed = new Map<string, MaybePromise<Uint8Array>>();
  #requests = 0;
  #joined: BufferWithHeadroom | undefined;

  constructor(parts: readonly ListPart[]) {
    this.parts = parts;
    this.length = parts.reduce((length, { bytes }) => length + bytes.length, 0);
  }

  /** The bytes to send: in parts for the first request, then in one piece, which is sent in one write. */
  take(): readonly Uint8Array[] | BufferWithHeadroom {
    const parts = this.parts.map(({ bytes }) => bytes);
    if (++this.#requests === 1 || this.length > maxJoinedBytes) return parts;
    this.#joined ??= joinWithHeadroom(parts);
    return this.#joined;
  }

  /** The whole list in a content coding, made on the first call; concurrent calls share the work. */
  compressed(coding: string, make: () => MaybePromise<Uint8Array>): MaybePromise<Uint8Array> {
    return shared(this.#compressed, coding, make);
  }

  /** About how many bytes it takes, without its parts. */
  memoryUse(): number {
    let use = 1000 + 16 * this.parts.length + (this.#joined?.memory.length ?? 0);
    for (const bytes of this.#compressed.values()) if (!(bytes instanceof Promise)) use += bytes.length;
    return use;
  }
}
