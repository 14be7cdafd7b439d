import type { ColdRead } from "./cold-site.ts";

/** Sites of which reads are counted; at the bound, counting starts anew. */
const maxSites = 10_000;
/** How many records a site is taken to have of which that is not known. */
const assumedSize = 10_000;
/** Bytes that a record takes in memory besides its text, and how many times its text it takes. */
const recordOverhead = 30;
const textShare = 1.2;

/** Decides when a site that is read without being in memory is loaded: once its reads have cost as much as loading it does. */
export class ColdReads {
  readonly #costs = new Map<number, number>();

  /**
   * Counts a read.
   * @returns how many bytes the site would take in memory, if it is to be loaded
   */
  note({ site, cost, size = assumedSize, recordBytes }: ColdRead): number | undefined {
    const total = (this.#costs.get(site) ?? 0) + cost;
    if (this.#costs.size >= maxSites) this.#costs.clear();
    this.#costs.set(site, total);
    if (total < size || (recordBytes === undefined && size > 0)) return undefined;
    return size * (textShare * (recordBytes ?? 0) + recordOverhead);
  }

  /** Forgets a site that is in memory now, or for which there is no room: it is counted from the beginning. */
  forget(site: number): void {
    this.#costs.delete(site);
  }
}
