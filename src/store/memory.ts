import { Tally } from "./tally.ts";

/** After how much was loaded garbage is collected: bytes, and a share of what is kept. */
const leastLoaded = 16 * 1024 * 1024;
const loadedShare = 1 / 8;

/**
 * What is kept of all sites. To load a site leaves more garbage than is kept of it, and the runtime lets that stand until it is
 * as large as all that lives. So it is collected when much was loaded. What writes leave behind is left to the runtime: it
 * comes when everybody is in a hurry.
 */
export class Memory extends Tally {
  /** Bytes since the last collection. */
  #loaded = 0;
  #isDue = false;

  /** Counts a site that was loaded; it is in `bytes` already. */
  noteLoaded(site: Tally): void {
    this.#loaded += site.bytes;
    if (this.#isDue || this.#loaded < Math.max(leastLoaded, this.bytes * loadedShare)) return;
    this.#isDue = true;
    // Not now: somebody waits for what is being made.
    setImmediate(() => this.#collect());
  }

  #collect(): void {
    Bun.gc(true);
    this.#loaded = 0;
    this.#isDue = false;
  }
}
