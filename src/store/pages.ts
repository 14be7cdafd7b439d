import { Tally } from "./tally.ts";

/** A part of a list as it is sent. */
export interface Page {
  readonly body: Uint8Array;
  /** How many records it was cut from. */
  readonly total: number;
}

/** How many pages are kept of a collection, how many bytes they may have, and how long the name of one may be. */
const mostPages = 64;
const mostBytes = 4 * 1024 * 1024;
const longestName = 512;

/** The pages of a collection that were asked for since its last change: shops show the same ones again and again. */
export class Pages {
  readonly #tally: Tally;
  readonly #kept = new Map<string, Page>();

  constructor(whole: Tally) {
    this.#tally = new Tally(whole);
  }

  /** The page `name`, which says all that it depends on but the records. */
  get(name: string, make: () => Page): Page {
    const kept = this.#kept.get(name);
    if (kept) return kept;
    const page = make();
    if (name.length <= longestName && weightOf(page) <= mostBytes / 4) this.#keep(name, page);
    return page;
  }

  /** Forgets them all: the records have changed. */
  clear(): void {
    if (this.#kept.size === 0) return;
    this.#tally.add(-this.#tally.bytes);
    this.#kept.clear();
  }

  #keep(name: string, page: Page): void {
    if (this.#kept.size >= mostPages || this.#tally.bytes + weightOf(page) > mostBytes) this.clear();
    this.#kept.set(name, page);
    this.#tally.add(weightOf(page));
  }
}

function weightOf({ body }: Page): number {
  return 500 + body.length * 1.125;
}
