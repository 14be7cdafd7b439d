import type { Encoding } from "../model/encoding.ts";
import { Part } from "./list.ts";
import type { Tally } from "./tally.ts";

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
    const separated = items.map((item) => (typeof item === "string" ? encoding.separator + item : item));
    let end = 0;
    this.encoding = encoding;
    this.#separator = Buffer.byteLength(encoding.separator);
    this.#ends = separated.map((item) => {
      end += typeof item === "string" ? Buffer.byteLength(item) : item.stretch.#length(item.index);
      return end;
    });
    // Not of the pool that small buffers share, which stays as long as any of them.
    this.#bytes = Buffer.allocUnsafeSlow(end);
    this.#fill(separated);
    this.#tally = tally;
    // An allocation is rounded up, by an eighth at most.
    tally.add(500 + end * 1.125 + 8 * items.length);
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

  /** Items that follow one another in another stretch are copied at once. */
  #fill(items: readonly (Item | string)[]): void {
    for (let index = 0; index < items.length; index++) {
      const start = this.#start(index);
      const item = items[index] as Item | string;
      if (typeof item === "string") {
        this.#bytes.write(item, start);
        continue;
      }
      let last = item.index;
      for (; isItem(items[index + 1], item.stretch, last + 1); index++) last++;
      item.stretch.#bytes.copy(this.#bytes, start, item.stretch.#start(item.index), item.stretch.#ends[last]);
    }
  }

  #start(index: number): number {
    return index === 0 ? 0 : (this.#ends[index - 1] as number);
  }

  #length(index: number): number {
    return (this.#ends[index] as number) - this.#start(index);
  }
}

function isItem(item: Item | string | undefined, stretch: Stretch, index: number): boolean {
  return typeof item === "object" && item.stretch === stretch && item.index === index;
}
