import { shared } from "../../lib/shared.ts";
import type { Maybe } from "../../model/maybe.ts";
import { joinWithRoom, type Roomy } from "../../model/roomy.ts";
import type { Part } from "./encoded-items.ts";

/** Longest list to join, in bytes. Of a longer one, the system takes a part at a time anyway. */
const longestJoined = 16 * 1024 * 1024;

/** The whole list in one encoding, at one state of its records. Its parts are shared with the lists before and after it. */
export class List {
  readonly parts: readonly Part[];
  /** Bytes of all parts together. */
  readonly length: number;
  readonly #compressed = new Map<string, Maybe<Uint8Array>>();
  #requests = 0;
  #joined: Roomy | undefined;

  constructor(parts: readonly Part[]) {
    this.parts = parts;
    this.length = parts.reduce((length, { bytes }) => length + bytes.length, 0);
  }

  /** Its bytes to send: in parts the first time, and from the second time on in one piece, which is sent in one write. */
  take(): readonly Uint8Array[] | Roomy {
    const parts = this.parts.map(({ bytes }) => bytes);
    if (++this.#requests === 1 || this.length > longestJoined) return parts;
    this.#joined ??= joinWithRoom(parts);
    return this.#joined;
  }

  /** The whole list in a content coding, made when first asked for; those who ask meanwhile wait for the same. */
  compressed(coding: string, make: () => Maybe<Uint8Array>): Maybe<Uint8Array> {
    return shared(this.#compressed, coding, make);
  }

  /** About how many bytes it takes, without its parts. */
  memoryUse(): number {
    let use = 1000 + 16 * this.parts.length + (this.#joined?.memory.length ?? 0);
    for (const bytes of this.#compressed.values()) if (!(bytes instanceof Promise)) use += bytes.length;
    return use;
  }
}
