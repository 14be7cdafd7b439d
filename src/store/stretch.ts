import type { Encoding } from "../model/encoding.ts";
import { Part } from "./part.ts";
import { Scratch } from "./scratch.ts";
import type { Tally } from "./tally.ts";

const scratch = new Scratch();

/** An item that lies in a stretch already. */
export interface Item {
  readonly stretch: Stretch;
  readonly index: number;
}

/** The items of neighbouring records in one encoding, one after another, each behind a separator. */
export class Stretch {
  readonly encoding: Encoding;
  /** Whether anybody asked for it since its records changed. */
  isUsed = false;
  readonly #part: Part;
  /** Where each item ends. */
  readonly #ends: readonly number[];
  readonly #separator: number;
  readonly #tally: Tally;
  /** The same without the separator where the list begins. */
  #firstPart: Part | undefined;

  /** @param items those that lie in another stretch of this encoding are copied from there, as bytes */
  constructor(encoding: Encoding, items: readonly (Item | string)[], tally: Tally) {
    this.encoding = encoding;
    this.#separator = Buffer.byteLength(encoding.separator);
    this.#ends = items.map((item) => {
      if (typeof item === "string") {
        scratch.write(encoding.separator);
        scratch.write(item);
      } else item.stretch.#copy(item.index);
      return scratch.length;
    });
    this.#part = new Part(scratch.take(), tally);
    this.#tally = tally;
    // An allocation is rounded up, by an eighth at most.
    tally.add(500 + this.#part.bytes.length * 1.125 + 8 * items.length);
  }

  text(index: number): string {
    return this.#part.bytes.toString("utf8", this.#start(index) + this.#separator, this.#ends[index]);
  }

  /** This as a part of the list, without the separator where the list begins. */
  part(isFirst: boolean): Part {
    this.isUsed = true;
    if (!isFirst) return this.#part;
    this.#firstPart ??= new Part(this.#part.bytes.subarray(this.#separator), this.#tally);
    return this.#firstPart;
  }

  /** No further list will have it. */
  drop(): void {
    this.#part.drop();
    this.#firstPart?.drop();
  }

  #copy(index: number): void {
    scratch.copy(this.#part.bytes, this.#start(index), this.#ends[index] as number);
  }

  #start(index: number): number {
    return index === 0 ? 0 : (this.#ends[index - 1] as number);
  }
}
