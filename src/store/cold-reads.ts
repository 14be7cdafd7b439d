import type { ColdRead } from "./cold-site.ts";

/** Maximum sites whose reads are counted; at the maximum, counting starts from zero. */
const maxSites = 10_000;
/** The assumed number of records of a site for which the number is unknown. */
const assumedSize = 10_000;
/** A record takes its text times `textShare` in memory, and `recordOverhead` bytes. */
const recordOverhead = 30;
const textShare = 1.2;

/** Decides when to load a site that is read record by record: once its reads have cost as much as loading it. */
export class ColdReads {
  readonly #costs = new Map<number, number>();

  /**
   * Counts a read.
   * @returns the bytes that the site would take in memory, if it is worth loading; otherwise undefined
   */
  note({ site, cost, size = assumedSize, recordBytes }: ColdRead): number | undefined {
    const total = (this.#costs.get(site) ?? 0) + cost;
    if (this.#costs.size >= maxSites) this.#costs.clear();
    this.#costs.set(site, total);
    if (total < size || (recordBytes === undefined && size > 0)) return undefined;
    return size * (textShare * (recordBytes ?? 0) + recordOverhead);
  }

  /** Starts from zero for a site that is in memory now, or does not fit. */
  forget(site: number): void {
    this.#costs.delete(site);
  }
}
