// Limits the number of connections of a listener. At the limit, another connection must end for each new one. The first rule that applies decides:
//
// 1. The connection that has been idle longest ends. Until half of all connections are idle, this does not apply to a connection that was opened in
//    the last 2 s, because its request may be about to arrive. If a client opens many connections without requests, half of all are soon idle. Then
//    its own connections end, and not the requests of others.
// 2. The slowest client's connection ends. Slow clients do not read a response or do not send a body, and the server has waited for them for
//    more than 2 s.
// 3. The handler ends a request that waits for something else than its client, such as a long poll (`Handler.makeRoom`).
//
// If no rule applies, every other connection is new, at work, or slow for less than 2 s, and the new connection is closed at once.

import { LinkedQueue } from "../lib/linked-queue.ts";
import type { Handler, Incident } from "./request.ts";

/**
 * Maximum connections above the limit, while the requests that rule 3 has ended get their responses. The file descriptors that are reserved for
 * other purposes (`reserved`) are enough for them.
 */
const maxAbove = 16;

/** Maximum number of slow connections that one search returns. A search reads all connections, so its result serves several new ones. */
const maxFound = 64;

/** The members of a connection that the limit and the listener use. `Connection` describes them. */
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
  /**
   * Idle connections, the longest idle first. A connection with an incomplete header section counts as idle, because sending half a header costs
   * an attacker nothing.
   */
  readonly idle = new LinkedQueue<PlacedConnection>();
  readonly #limit: number;
  readonly #handler: Handler;
  readonly #taken = new Set<PlacedConnection>();
  /** The slow connections that the last search found and that have not been ended, the slowest last. */
  #slow: PlacedConnection[] = [];
  /** The time of the last search that returned all slow connections, in whole seconds of the listener's clock. A search at the same time would find the same. */
  #searchedAt = -1;

  constructor(limit: number, handler: Handler) {
    this.#limit = limit;
    this.#handler = handler;
  }

  get connections(): ReadonlySet<PlacedConnection> {
    return this.#taken;
  }

  /** Whether there are more connections than the limit. Then a connection ends as soon as it is idle or has sent its response. */
  get areTooMany(): boolean {
    return this.#taken.size > this.#limit;
  }

  /**
   * Makes room for one more connection: at the limit, ends another one by the rules above.
   * @param now seconds of the listener's clock
   * @returns false if all connections must stay, so that the new one must be closed
   */
  makeRoom(now: number): boolean {
    if (this.#taken.size < this.#limit) return true;
    const incident = this.#endOne(now);
    this.#handler.logIncident(incident ?? "connection turned away");
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

/** File descriptors reserved for other purposes than client connections: the runtime, the database, and connections that are being closed. */
const reserved = 64;

/** Returns the maximum number of open file descriptors (POSIX `RLIMIT_NOFILE`). The runtime has already raised it to the hard limit. */
export function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
  const limit = userLimits?.open_files?.soft;
  if (limit === "unlimited") return Number.MAX_SAFE_INTEGER;
  return typeof limit === "number" ? limit : 1024;
}

/** Returns the maximum of `--connections` for a limit of file descriptors (64 less), and its default (nine tenths, at most the maximum). */
export function connectionsWithin(descriptors: number): { readonly max: number; readonly byDefault: number } {
  const max = Math.max(1, descriptors - reserved);
  return { max, byDefault: Math.min(max, Math.max(1, Math.floor(descriptors * 0.9))) };
}
