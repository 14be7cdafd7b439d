// The parts of lists, and the memory that they lie in: each its own, or one piece for all parts of a list.

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

/** A stretch of a list. Its bytes never change, since they may be on their way to a slow client; they may move to other memory. */
export class Part {
  readonly compressed: Compressed;
  #bytes: Buffer;
  #joined: JoinedParts | undefined;

  constructor(bytes: Buffer, tally: Tally) {
    this.#bytes = bytes;
    this.compressed = new Compressed(tally);
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Lets it lie elsewhere: `bytes` are equal to those before, in the memory of `joined` or in its own. */
  moveTo(bytes: Buffer, joined?: JoinedParts): void {
    this.#joined?.remove(this);
    this.#joined = joined;
    this.#bytes = bytes;
  }

  /** No further list will have it. */
  drop(): void {
    const joined = this.#joined;
    this.#joined = undefined;
    joined?.remove(this);
    joined?.releaseWhenSparse();
  }
}

/**
 * All parts of a list in one piece of memory. The lists after it go on using those that did not change, and each of them keeps the
 * whole piece: so once less than half of it is used, they move out.
 */
export class JoinedParts {
  /** The list, with room for the head of a response in front of it. */
  readonly whole: Roomy;
  readonly #parts: Set<Part>;
  readonly #tally: Tally;
  #used: number;

  /** @param whole counts what the parts' own counts do not: bytes that no part uses any more, or that it has twice */
  constructor(parts: readonly Part[], whole: Tally) {
    this.whole = joinWithRoom(parts.map(({ bytes }) => bytes));
    const { memory, start } = this.whole;
    this.#parts = new Set(parts);
    this.#used = memory.length - start;
    this.#tally = new Tally(whole);
    // The first block keeps its bytes as well, with the separator.
    this.#tally.add(start + (parts[1]?.bytes.length ?? 0));
    let at = start;
    for (const part of parts) {
      const end = at + part.bytes.length;
      part.moveTo(memory.subarray(at, end), this);
      at = end;
    }
  }

  /** Notes that `part` lies here no longer. */
  remove(part: Part): void {
    if (!this.#parts.delete(part)) return;
    this.#used -= part.bytes.length;
    this.#tally.add(part.bytes.length);
    if (this.#parts.size === 0) this.#tally.drop();
  }

  /** Gives every part its own memory if they use less than half of this one. */
  releaseWhenSparse(): void {
    if (this.#used > this.whole.memory.length / 2) return;
    for (const part of this.#parts) {
      const own = Buffer.allocUnsafeSlow(part.bytes.length);
      own.set(part.bytes);
      part.moveTo(own);
    }
  }
}
