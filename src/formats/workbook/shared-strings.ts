// A workbook's shared strings.

import { tooLargeError, workbookLimits } from "./workbook-limits.ts";

const blockBytes = 1 << 20;

/** Keeps the strings as UTF-8, because a million JavaScript strings take three times as much memory. */
export class SharedStrings {
  readonly #blocks: Buffer[] = [];
  #block = Buffer.alloc(0);
  /** In `#block`. */
  #used = 0;
  #bytes = 0;
  #count = 0;
  /** The block of each string, and where it starts and ends there. */
  #places = new Uint32Array(3 * 1024);

  /** @throws ProblemError `too-large` */
  add(text: string): void {
    const length = Buffer.byteLength(text);
    // An empty string needs memory too.
    this.#bytes += length + 12;
    if (this.#bytes > workbookLimits.sharedStringBytes)
      throw tooLargeError(`its texts have more than ${workbookLimits.sharedStringBytes >> 20} MiB`);
    if (this.#used + length > this.#block.length) {
      this.#block = Buffer.allocUnsafeSlow(Math.max(blockBytes, length));
      this.#used = 0;
      this.#blocks.push(this.#block);
    }
    if (3 * this.#count === this.#places.length) {
      const larger = new Uint32Array(2 * this.#places.length);
      larger.set(this.#places);
      this.#places = larger;
    }
    this.#block.write(text, this.#used);
    this.#places.set([this.#blocks.length - 1, this.#used, this.#used + length], 3 * this.#count++);
    this.#used += length;
  }

  /** Undefined if there's no such string. @param index from 0 */
  get(index: number): string | undefined {
    if (!(Number.isInteger(index) && index >= 0 && index < this.#count)) return undefined;
    const [block = 0, start, end] = this.#places.subarray(3 * index, 3 * index + 3);
    return this.#blocks[block]?.toString("utf8", start, end) ?? "";
  }
}
