// Lists as they are sent: in parts that neighbouring states of a list share.

import { joinWithRoom, type Roomy } from "../model/roomy.ts";
import { Tally } from "./tally.ts";

/** Bytes by content coding, made when first asked for. */
export class Compressed {
  readonly #bytes = new Map<string, Uint8Array>();
  readonly #tally: Tally;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  get(coding: string, make: () => Uint8Array): Uint8Array {
    const kept = this.#bytes.get(coding);
    if (kept) return kept;
    const bytes = make();
    this.#bytes.set(coding, bytes);
    this.#tally.add(bytes.length);
    return bytes;
  }
}

/** Longest list to join. Of a longer one, the system takes a part at a time anyway. */
const longestJoined = 16 * 1024 * 1024;

/** A stretch of a list. Its bytes never change, since they may be on their way to a slow client; they may move to other memory. */
export class Part {
  bytes: Buffer;
  readonly compressed: Compressed;

  constructor(bytes: Buffer, tally: Tally) {
    this.bytes = bytes;
    this.compressed = new Compressed(tally);
  }
}

/** The whole list in one encoding, at one state of its records. */
export class List {
  readonly parts: readonly Part[];
  /** How many bytes they are together. */
  readonly length: number;
  /** The whole of it. */
  readonly compressed: Compressed;
  readonly tally: Tally;
  #chunks: readonly Buffer[];
  #joined: Roomy | undefined;
  #isAsked = false;

  constructor(parts: readonly Part[], whole: Tally) {
    this.parts = parts;
    this.#chunks = parts.map(({ bytes }) => bytes);
    this.length = this.#chunks.reduce((length, chunk) => length + chunk.length, 0);
    this.tally = new Tally(whole);
    this.tally.add(1500 + 16 * parts.length);
    this.compressed = new Compressed(this.tally);
  }

  /** Its bytes, in the parts' own memory, or joined where it is asked for again and not too long. */
  get body(): readonly Buffer[] | Roomy {
    if (this.#isAsked && this.length <= longestJoined) this.#joined ??= this.#join();
    this.#isAsked = true;
    return this.#joined ?? this.#chunks;
  }

  /** Puts all parts into one piece of memory, in which they then lie for the lists after this one as well. */
  #join(): Roomy {
    const joined = joinWithRoom(this.#chunks);
    let at = joined.start;
    for (const part of this.parts) {
      part.bytes = joined.memory.subarray(at, at + part.bytes.length);
      at += part.bytes.length;
    }
    this.#chunks = [];
    // The first block keeps its bytes as well, with the separator.
    this.tally.add(joined.start + (this.parts[1]?.bytes.length ?? 0));
    return joined;
  }
}
