// The texts of a block's records, joined into one. Searching that is some ten times as fast as searching each text.

/** Can't occur in a field. */
const separator = "\0";

export class JoinedTexts {
  readonly #text: string;
  /** Where each text ends. */
  readonly #ends: Uint32Array;
  /** The runtime keeps text in one byte per UTF-16 unit, or two if any character is outside Latin-1. */
  readonly #bytesPerUnit: 1 | 2;

  constructor(texts: readonly string[]) {
    this.#text = texts.join(separator);
    this.#bytesPerUnit = /[^\0-\xff]/.test(this.#text) ? 2 : 1;
    this.#ends = new Uint32Array(texts.length);
    let end = -1;
    texts.forEach((text, index) => {
      end += separator.length + text.length;
      this.#ends[index] = end;
    });
  }

  get length(): number {
    return this.#ends.length;
  }

  at(index: number): string {
    return this.#text.slice(this.#startOf(index), this.#ends[index]);
  }

  /** Returns the indexes of the texts that contain at least one of `parts`, in ascending order. */
  indexesWith(parts: readonly string[]): readonly number[] {
    const [part = "", ...others] = parts;
    const found = this.#indexesWith(part);
    if (others.length === 0) return found;
    return [...new Set([...found, ...this.indexesWith(others)])].sort((a, b) => a - b);
  }

  estimateBytes(): number {
    return 200 + this.#text.length * this.#bytesPerUnit + 4 * this.#ends.length;
  }

  #indexesWith(part: string): number[] {
    const indexes: number[] = [];
    // No text contains a separator, but a part with one could match across two texts.
    if (part.includes(separator)) return indexes;
    let index = 0;
    for (let at = this.#text.indexOf(part); at !== -1; at = this.#text.indexOf(part, this.#startOf(index))) {
      while ((this.#ends[index] as number) < at + part.length) index++;
      indexes.push(index++);
      if (index === this.length) break;
    }
    return indexes;
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : (this.#ends[index - 1] as number) + separator.length;
  }
}
