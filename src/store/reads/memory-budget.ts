// Estimates the memory used by snapshots, and picks which to evict when they're over budget.

import { systemSite } from "../../model/system-site.ts";
import type { Snapshot } from "../memory/snapshot.ts";

/** Minimum milliseconds between measurements started by `touch`. */
export const measureIntervalMs = 100;
/** A snapshot unused for this long may be evicted for a site that's read again and again. */
const idleAfterMs = 10_000;
/** How full the budget is after an eviction. Leaving some room makes evictions rare. */
const targetShare = 0.9;

const none: readonly Snapshot[] = [];

export interface CacheUsage {
  readonly sites: number;
  /** Estimated memory in bytes. */
  readonly bytes: number;
  /** Loads so far, and evictions due to the budget. */
  readonly loads: number;
  readonly evictions: number;
}

interface Measurement {
  readonly bytes: number;
  /** When it was first measured after its last use, by `performance.now()`. */
  readonly usedAt: number;
}

export class MemoryBudget {
  readonly #budget: number;
  /** The last measurement of each snapshot, least recently used first. */
  readonly #measurements = new Map<Snapshot, Measurement>();
  /** Used since the last measurement. They may have grown, by new records or by data derived for requests. */
  #usedSnapshots = new Set<Snapshot>();
  /** Whether the next use measures. Set by a timer, because reading the clock would take longer than everything else here. */
  #isMeasurementDue = true;
  #bytes = 0;

  /** @param budget maximum memory of all snapshots together, in bytes */
  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Measures the snapshots that were used, and returns the total in bytes. */
  get usedBytes(): number {
    this.#measure();
    return this.#bytes;
  }

  /**
   * Marks `snapshot` as just used. Returns the snapshots to evict, which never include it or the system site. If it's the system site itself, they
   * only include idle ones.
   */
  touch(snapshot: Snapshot): readonly Snapshot[] {
    const isNew = !this.#measurements.has(snapshot);
    this.#usedSnapshots.add(snapshot);
    if (!isNew && !this.#isMeasurementDue) return none;
    if (this.#isMeasurementDue) this.#scheduleMeasurement();
    this.#measure();
    return this.#bytes > this.#budget ? this.#selectEvictions(snapshot) : none;
  }

  /** Whether there's room for `bytes` beside the system site and the snapshots in use. */
  hasRoomFor(bytes: number): boolean {
    this.#measure();
    const recent = performance.now() - idleAfterMs;
    let remainingBytes = this.#budget * targetShare - bytes;
    for (const [{ siteId }, measurement] of this.#measurements) {
      if (siteId === systemSite || measurement.usedAt > recent) remainingBytes -= measurement.bytes;
    }
    return remainingBytes >= 0;
  }

  remove(snapshot: Snapshot): void {
    this.#bytes -= this.#measurements.get(snapshot)?.bytes ?? 0;
    this.#measurements.delete(snapshot);
    this.#usedSnapshots.delete(snapshot);
  }

  #scheduleMeasurement(): void {
    this.#isMeasurementDue = false;
    setTimeout(() => (this.#isMeasurementDue = true), measureIntervalMs).unref();
  }

  #measure(): void {
    const usedAt = performance.now();
    for (const snapshot of this.#usedSnapshots) {
      this.#bytes -= this.#measurements.get(snapshot)?.bytes ?? 0;
      this.#measurements.delete(snapshot);
      const bytes = snapshot.estimateBytes();
      this.#measurements.set(snapshot, { bytes, usedAt });
      this.#bytes += bytes;
    }
    this.#usedSnapshots = new Set();
  }

  #selectEvictions(spared: Snapshot): readonly Snapshot[] {
    const evicted: Snapshot[] = [];
    // Every process reads the system site every few seconds. That mustn't evict a site in use, even one that exceeds the budget on its own.
    const usedBefore = spared.siteId === systemSite ? performance.now() - idleAfterMs : Number.POSITIVE_INFINITY;
    let remainingBytes = this.#bytes;
    for (const [snapshot, { bytes, usedAt }] of this.#measurements) {
      if (remainingBytes <= this.#budget * targetShare) break;
      if (snapshot === spared || snapshot.siteId === systemSite || usedAt > usedBefore) continue;
      evicted.push(snapshot);
      remainingBytes -= bytes;
    }
    return evicted;
  }
}
