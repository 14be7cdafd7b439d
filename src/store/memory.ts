import { Tally } from "./tally.ts";

/** After how much growth garbage is collected: bytes, and a share of what is kept. */
const leastGrowth = 32 * 1024 * 1024;
const growthShare = 1 / 4;

/**
 * What is kept of all sites. To make records and lists leaves more garbage than is kept of them, and the runtime lets that
 * stand until it is as large as all that lives. So it is collected when much was made: what is kept is few and large
 * objects, which takes milliseconds.
 */
export class Memory extends Tally {
  /** What was kept after the last collection, or the least since, less what was let go to make room. */
  #before = 0;
  #isDue = false;

  override add(bytes: number): void {
    super.add(bytes);
    if (this.bytes < this.#before) this.#before = this.bytes;
    if (this.#isDue || this.bytes - this.#before < Math.max(leastGrowth, this.bytes * growthShare)) return;
    this.#isDue = true;
    // Not now: somebody waits for what is being made.
    setImmediate(() => this.#collect());
  }

  /** Lets go what was counted in `part`; what takes its room counts as growth. */
  free(part: Tally): void {
    this.#before -= part.bytes;
    part.drop();
  }

  #collect(): void {
    Bun.gc(true);
    this.#before = this.bytes;
    this.#isDue = false;
  }
}
