// Lists as they are sent: in parts that neighbouring states of a list share.

import type { Roomy } from "../model/roomy.ts";
import { Compressed, JoinedParts, type Part } from "./part.ts";
import { Tally } from "./tally.ts";

/** Longest list to join. Of a longer one, the system takes a part at a time anyway. */
const longestJoined = 16 * 1024 * 1024;

/** The whole list in one encoding, at one state of its records. */
export class List {
  readonly parts: readonly Part[];
  /** How many bytes they are together. */
  readonly length: number;
  /** The whole of it. */
  readonly compressed: Compressed;
  readonly tally: Tally;
  readonly #whole: Tally;
  #chunks: readonly Buffer[];
  #joined: Roomy | undefined;
  #isAsked = false;

  constructor(parts: readonly Part[], whole: Tally) {
    this.parts = parts;
    this.#whole = whole;
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
    this.#chunks = [];
    return new JoinedParts(this.parts, this.#whole).whole;
  }
}
