// Estimates the memory of the snapshots, and selects which to evict when they exceed the budget.

import { systemSite } from "../../model/system-site.ts";
import type { Snapshot } from "../memory/snapshot.ts";

/** Minimum milliseconds between two measurements that `touch` starts. */
export const measureIntervalMs = 100;
/** A snapshot that was not used for this time, in milliseconds, is idle: it may be evicted for a site that is read again and again. */
const idleAfterMs = 10_000;
/** Maximum share of the budget that the snapshots take after an eviction, so that evictions are rare. */
const targetShare = 0.9;

const none: readonly Snapshot[] = [];

export interface CacheUsage {
  /** Number of cached sites. */
  readonly sites: number;
  /** Their estimated memory, in bytes. */
  readonly bytes: number;
  /** Number of loads so far, and of evictions to stay in the budget. */
  readonly loads: number;
  readonly evictions: number;
}

interface Measurement {
  /** Estimated memory. */
  readonly bytes: number;
  /** The time of the first measurement after the last use of the snapshot: milliseconds of `performance.now()`. */
  readonly usedAt: number;
}

export class MemoryBudget {
  readonly #budget: number;
  /** The last measurement of each snapshot, the least recently used first. */
  readonly #measurements = new Map<Snapshot, Measurement>();
  /** Snapshots that were used since the last measurement. They may have grown: changes add records, and requests add derived data. */
  #usedSnapshots = new Set<Snapshot>();
  /** Whether the next use measures. A timer sets it, because reading the clock at each use would take longer than all the rest. */
  #isMeasurementDue = true;
  #bytes = 0;

  /** @param budget maximum memory of all snapshots together, in bytes */
  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Measures, and returns the estimated memory of all snapshots in bytes. */
  get usedBytes(): number {
    this.#measure();
    return this.#bytes;
  }

  /**
   * Marks `snapshot` as used now. Returns the snapshots to evict. They do not include `snapshot` itself or the snapshot of the system site. If
   * `snapshot` is the snapshot of the system site, they include only idle snapshots.
   */
  touch(snapshot: Snapshot): readonly Snapshot[] {
    const isNew = !this.#measurements.has(snapshot);
    this.#usedSnapshots.add(snapshot);
    if (!isNew && !this.#isMeasurementDue) return none;
    if (this.#isMeasurementDue) this.#scheduleMeasurement();
    this.#measure();
    return this.#bytes > this.#budget ? this.#selectEvictions(snapshot) : none;
  }

  /** Whether the budget has room for `bytes`, in addition to the snapshot of the system site and the snapshots that are not idle. */
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

  /** Measures the snapshots that were used, in the order of use. */
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
    // Every process reads the system site every few seconds. That read must not evict a site that is in use, even if the site alone exceeds the
    // budget.
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
