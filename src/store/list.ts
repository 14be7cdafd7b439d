// Lists as they are sent: in parts that neighbouring states of a list share.

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

/** A stretch of a list. Its bytes never change: they may be on their way to a slow client. */
export class Part {
  readonly bytes: Uint8Array;
  readonly compressed: Compressed;

  constructor(bytes: Uint8Array, tally: Tally) {
    this.bytes = bytes;
    this.compressed = new Compressed(tally);
  }
}

/** The whole list in one encoding, at one state of its records. */
export class List {
  readonly parts: readonly Part[];
  /** The bytes of the parts. */
  readonly chunks: readonly Uint8Array[];
  /** How many bytes they are together. */
  readonly length: number;
  /** The whole of it. */
  readonly compressed: Compressed;
  readonly tally: Tally;

  constructor(parts: readonly Part[], whole: Tally) {
    this.parts = parts;
    this.chunks = parts.map(({ bytes }) => bytes);
    this.length = this.chunks.reduce((length, chunk) => length + chunk.length, 0);
    this.tally = new Tally(whole);
    this.tally.add(1500 + 16 * parts.length);
    this.compressed = new Compressed(this.tally);
  }
}
