// Caps a listener's open connections. Once it's full, each new connection pushes out another, picked by the first of these rules that applies:
//
// 1. The one that's been idle longest. If it was opened in the last 2 s, it's spared until half of all connections are idle, because its request may be
//    on the way. So a client that opens many and sends nothing only pushes out its own.
// 2. The slowest client that has kept us waiting more than 2 s to read a response or send a body.
// 3. A request that waits for something other than its client, such as a long poll. The handler picks it (`Handler.makeRoom`).
//
// If none applies, we close the new one.

import { LinkedQueue } from "../lib/linked-queue.ts";
import type { Handler, Incident } from "./request.ts";

/** How far we go over the limit while requests ended by rule 3 get their responses. The `reserved` file descriptors cover this. */
const maxAbove = 16;

/** How many slow connections a search returns. It looks at all connections, so we use its result for several new ones. */
const maxFound = 64;

/** What this file and the listener need of a `Connection`, which describes it. */
export interface PlacedConnection {
  readonly isBusy: boolean;
  readonly isDone: boolean;
  readonly isNewborn: boolean;
  readonly isSlow: boolean;
  readonly rate: number;
  checkTimeout(): void;
  endWhenIdle(): void;
  endNow(): void;
}

export class ConnectionPlaces {
  /** Longest idle first. Half a header counts as idle, because it costs an attacker nothing. */
  readonly idle = new LinkedQueue<PlacedConnection>();
  readonly #limit: number;
  readonly #handler: Handler;
  readonly #taken = new Set<PlacedConnection>();
  /** What's left of the last search's slow connections, the slowest last. */
  #slow: PlacedConnection[] = [];
  /** When a search last returned every slow connection, in seconds on the listener's clock. Searching again in the same second is pointless. */
  #searchedAt = -1;

  constructor(limit: number, handler: Handler) {
    this.#limit = limit;
    this.#handler = handler;
  }

  get connections(): ReadonlySet<PlacedConnection> {
    return this.#taken;
  }

  /** Whether we're over the limit, so that connections end as soon as they're idle or have sent their response. */
  get areTooMany(): boolean {
    return this.#taken.size > this.#limit;
  }

  /**
   * Makes room for a new connection, ending another one if we're at the limit.
   * @param now seconds on the listener's clock
   * @returns false if nobody can go: close the new connection
   */
  makeRoom(now: number): boolean {
    if (this.#taken.size < this.#limit) return true;
    const incident = this.#endOne(now);
    this.#handler.logIncident(incident ?? "connection rejected");
    return incident !== undefined;
  }

  add(connection: PlacedConnection): void {
    this.#taken.add(connection);
  }

  delete(connection: PlacedConnection): void {
    this.#taken.delete(connection);
  }

  #endOne(now: number): Incident | undefined {
    const idle = this.idle.first?.member;
    if (idle && (!idle.isNewborn || this.idle.size >= this.#limit / 2)) {
      idle.endNow();
      return "idle connection ended";
    }
    const slow = this.#takeSlowest(now);
    if (slow) {
      slow.endNow();
      return "slow connection ended";
    }
    const isWithinBound = this.#taken.size < this.#limit + maxAbove;
    return isWithinBound && this.#handler.makeRoom?.() ? "waiting request ended" : undefined;
  }

  #takeSlowest(now: number): PlacedConnection | undefined {
    for (;;) {
      const slowest = this.#slow.pop();
      if (slowest?.isSlow) return slowest;
      if (slowest) continue;
      if (this.#searchedAt === now) return undefined;
      this.#search(now);
    }
  }

  #search(now: number): void {
    const found: PlacedConnection[] = [];
    let isFull = false;
    for (const connection of this.#taken) {
      if (!connection.isSlow) continue;
      insertByRate(found, connection);
      if (found.length <= maxFound) continue;
      found.shift();
      isFull = true;
    }
    this.#slow = found;
    if (!isFull) this.#searchedAt = now;
  }
}

function insertByRate(found: PlacedConnection[], connection: PlacedConnection): void {
  const { rate } = connection;
  let [start, end] = [0, found.length];
  while (start < end) {
    const middle = (start + end) >>> 1;
    if ((found[middle] as PlacedConnection).rate > rate) start = middle + 1;
    else end = middle;
  }
  found.splice(start, 0, connection);
}

/** File descriptors we keep for the runtime, the database, and connections that are being closed. */
const reserved = 64;

/** Returns how many file descriptors may be open (POSIX `RLIMIT_NOFILE`). The runtime has already raised this to the hard limit. */
export function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
  const limit = userLimits?.open_files?.soft;
  if (limit === "unlimited") return Number.MAX_SAFE_INTEGER;
  return typeof limit === "number" ? limit : 1024;
}

/** Returns the maximum for `--connections` (64 less than `descriptors`) and its default (nine tenths of `descriptors`, at most the maximum). */
export function connectionsWithin(descriptors: number): { readonly max: number; readonly byDefault: number } {
  const max = Math.max(1, descriptors - reserved);
  return { max, byDefault: Math.min(max, Math.max(1, Math.floor(descriptors * 0.9))) };
}
