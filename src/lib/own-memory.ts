/**
 * A copy of `text`. A part of a longer text would keep all of that in memory. A text that is joined of others gets its own memory when it is first
 * read.
 */
export function withOwnMemory(text: string): string {
  return text.charAt(0) + text.slice(1);
}

/** Texts with their own memory. Equal ones share it. */
export class OwnTexts {
  readonly #texts = new Map<string, string>();

  /** A copy of `text`, which is kept as long as this is. */
  copy(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const own = withOwnMemory(text);
    this.#texts.set(own, own);
    return own;
  }
}
