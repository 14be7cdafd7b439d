import type { Encoding } from "../model/encoding.ts";
import { Part } from "./list.ts";
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
  readonly #bytes: Buffer;
  /** Where each item ends. */
  readonly #ends: readonly number[];
  readonly #separator: number;
  readonly #tally: Tally;
  #part: Part | undefined;
  #isFirst = false;

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
    this.#bytes = scratch.take();
    this.#tally = tally;
    // An allocation is rounded up, by an eighth at most.
    tally.add(500 + this.#bytes.length * 1.125 + 8 * items.length);
  }

  text(index: number): string {
    return this.#bytes.toString("utf8", this.#start(index) + this.#separator, this.#ends[index]);
  }

  /** This as a part of the list, without the separator where the list begins. */
  part(isFirst: boolean): Part {
    this.isUsed = true;
    if (!this.#part || this.#isFirst !== isFirst) {
      this.#part = new Part(isFirst ? this.#bytes.subarray(this.#separator) : this.#bytes, this.#tally);
      this.#isFirst = isFirst;
    }
    return this.#part;
  }

  #copy(index: number): void {
    scratch.copy(this.#bytes, this.#start(index), this.#ends[index] as number);
  }

  #start(index: number): number {
    return index === 0 ? 0 : (this.#ends[index - 1] as number);
  }
}
