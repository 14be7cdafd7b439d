// How much memory the snapshots take, and which of them are dropped when it is too much.

import { systemSite } from "../../model/limits.ts";
import type { Snapshot } from "../memory/snapshot.ts";

/** Milliseconds between two weighings of the snapshots that were used meanwhile. */
const interval = 100;
/** A snapshot that was not used for so long, in milliseconds, is idle: it makes room for a site that is read again and again. */
const idleTime = 10_000;
/** After dropping snapshots, the rest takes at most this share of the budget, so that dropping is rare. */
const goal = 0.9;

const none: readonly Snapshot[] = [];

export interface MemorySize {
  /** Sites in memory. */
  readonly sites: number;
  /** Their estimated memory. */
  readonly bytes: number;
  /** How many sites were loaded so far, and how many were dropped to stay within the budget. */
  readonly loads: number;
  readonly evictions: number;
}

interface Weight {
  /** About how many, when it was last weighed. */
  readonly bytes: number;
  /** As of `performance.now()`. */
  readonly usedAt: number;
}

export class MemoryBudget {
  readonly #budget: number;
  /** About how many bytes each snapshot took when it was last weighed; the least recently used first. */
  readonly #weights = new Map<Snapshot, Weight>();
  /** Those used since the last weighing: they may have grown, by changes or by what was asked for. */
  #used = new Set<Snapshot>();
  /** Set by a timer: a read of the clock at each use would take longer than all the rest. */
  #isDue = true;
  #use = 0;

  /** @param budget most bytes to keep */
  constructor(budget: number) {
    this.#budget = budget;
  }

  /** About how many bytes all snapshots take. */
  get use(): number {
    this.#weigh();
    return this.#use;
  }

  /** Notes that `snapshot` is used now. Returns the snapshots to drop: never this one nor the system site's, and for the system site only idle ones. */
  noteUse(snapshot: Snapshot): readonly Snapshot[] {
    const isNew = !this.#weights.has(snapshot);
    this.#used.add(snapshot);
    if (!isNew && !this.#isDue) return none;
    if (this.#isDue) this.#awaitNext();
    this.#weigh();
    return this.#use > this.#budget ? this.#excess(snapshot) : none;
  }

  /** Whether so many bytes fit beside the snapshots that are in use. */
  hasRoomFor(bytes: number): boolean {
    this.#weigh();
    const recent = performance.now() - idleTime;
    let left = this.#budget * goal - bytes;
    for (const [{ site }, weight] of this.#weights) {
      if (site === systemSite || weight.usedAt > recent) left -= weight.bytes;
    }
    return left >= 0;
  }

  forget(snapshot: Snapshot): void {
    this.#use -= this.#weights.get(snapshot)?.bytes ?? 0;
    this.#weights.delete(snapshot);
    this.#used.delete(snapshot);
  }

  #awaitNext(): void {
    this.#isDue = false;
    setTimeout(() => (this.#isDue = true), interval).unref();
  }

  /** Weighs what was used, in the order of use. */
  #weigh(): void {
    const usedAt = performance.now();
    for (const snapshot of this.#used) {
      this.#use -= this.#weights.get(snapshot)?.bytes ?? 0;
      this.#weights.delete(snapshot);
      const bytes = snapshot.memoryUse();
      this.#weights.set(snapshot, { bytes, usedAt });
      this.#use += bytes;
    }
    this.#used = new Set();
  }

  #excess(spared: Snapshot): readonly Snapshot[] {
    const dropped: Snapshot[] = [];
    // Every process reads the system site every few seconds. That must not drop a site that is larger than the budget while it is in use.
    const usedBefore = spared.site === systemSite ? performance.now() - idleTime : Number.POSITIVE_INFINITY;
    let left = this.#use;
    for (const [snapshot, { bytes, usedAt }] of this.#weights) {
      if (left <= this.#budget * goal) break;
      if (snapshot === spared || snapshot.site === systemSite || usedAt > usedBefore) continue;
      dropped.push(snapshot);
      left -= bytes;
    }
    return dropped;
  }
}
