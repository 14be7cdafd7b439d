import { ByteBuilder } from "../../lib/byte-builder.ts";
import type { ByteRange } from "../../lib/byte-range.ts";
import type { Encoding } from "../../model/encoding.ts";

/** A piece of a list. Its bytes never change, since a slow client may still receive them. */
export class ListPart {
  readonly bytes: Buffer;
  readonly #compressed = new Map<string, Uint8Array>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** The bytes in a content coding, made on the first call. */
  compressed(coding: string, compress: (bytes: Uint8Array) => Uint8Array): Uint8Array {
    let made = this.#compressed.get(coding);
    if (!made) {
      made = compress(this.bytes);
      this.#compressed.set(coding, made);
    }
    return made;
  }

  /** Its approximate size in bytes, besides `bytes`. */
  compressedUse(): number {
    let use = 0;
    for (const bytes of this.#compressed.values()) use += 100 + bytes.length;
    return use;
  }
}

// One builder for all: items are collected in it and removed before the next ones begin.
const builder = new ByteBuilder();

/** The items of neighbouring records in one encoding, one after another, each after a separator. */
export class EncodedItems {
  readonly #part: ListPart;
  /** The same without the first separator, for the beginning of a list; made on the first call. */
  #firstPart: ListPart | undefined;
  /** Where each item ends. */
  readonly #ends: Uint32Array;
  readonly #separatorLength: number;

  /** @param append appends item number `index`; it may copy the item from other items of this encoding */
  constructor({ separator }: Encoding, count: number, append: (index: number, to: ItemBuilder) => void) {
    this.#ends = new Uint32Array(count);
    this.#separatorLength = Buffer.byteLength(separator);
    builder.clear();
    for (let index = 0; index < count; index++) {
      builder.write(separator);
      append(index, builder);
      this.#ends[index] = builder.length;
    }
    this.#part = new ListPart(builder.take());
  }

  text(index: number): string {
    return this.#part.bytes.toString("utf8", this.#start(index), this.#ends[index]);
  }

  /** The bytes of one item. */
  range(index: number): ByteRange {
    return { source: this.#part.bytes, start: this.#start(index), end: this.#ends[index] as number };
  }

  /** Appends the item, without its separator. */
  copyItem(index: number, to: ItemBuilder): void {
    to.copy(this.#part.bytes, this.#start(index), this.#ends[index] as number);
  }

  /** All items as a part of a list. */
  part(isFirst: boolean): ListPart {
    if (!isFirst) return this.#part;
    this.#firstPart ??= new ListPart(this.#part.bytes.subarray(this.#separatorLength));
    return this.#firstPart;
  }

  /** About how many bytes it takes. */
  memoryUse(): number {
    // An allocation is rounded up, by an eighth at most.
    const bytes = 500 + this.#part.bytes.length * 1.125 + 4 * this.#ends.length;
    return bytes + this.#part.compressedUse() + (this.#firstPart?.compressedUse() ?? 0);
  }

  #start(index: number): number {
    return (index === 0 ? 0 : (this.#ends[index - 1] as number)) + this.#separatorLength;
  }
}

/** The target of appended items. */
export type ItemBuilder = Pick<ByteBuilder, "write" | "copy">;
