// The places for connections, as many as the limit of a listener. When all are taken, a new connection needs that of another. These make room, in
// this order:
//
// 1. the connection that has been idle longest. One that has just been opened does so only as long as half of the places are idle: a client that
//    opens many does not end the requests of others, and takes its turn among the idle ones
// 2. of those that wait for their client (it does not read a response, or does not send a body), the slowest, after a grace of 2 s
// 3. a request that waits for something else than its client, if the handler has one (`Handler.makeRoom`)
//
// If none does, all requests are being worked on, and the new connection is turned away.

import type { Connection } from "./connection.ts";
import type { Handler, Incident } from "./request.ts";
import { Queue } from "./round-robin.ts";

/**
 * Connections above the limit, while requests that make room get their responses. The descriptors that are kept for other purposes than
 * connections (listen.ts) are enough for them.
 */
const maxAbove = 16;

/** Connections that one search finds. It looks at all connections, so it is not repeated for each new one. */
const maxFound = 64;

export class Places {
  /** Connections that wait for a request, the longest idle first. Half a header section does not make one busy: it costs its client nothing. */
  readonly idle = new Queue<Connection>();
  readonly #limit: number;
  readonly #handler: Handler;
  readonly #taken = new Set<Connection>();
  /** Connections that waited for their client when they were last searched, the slowest last. */
  #slow: Connection[] = [];
  /** The second in which all that were slow enough were found. */
  #searchedAt = -1;

  constructor(limit: number, handler: Handler) {
    this.#limit = limit;
    this.#handler = handler;
  }

  get connections(): ReadonlySet<Connection> {
    return this.#taken;
  }

  /** Whether there are more connections than the limit allows, so that the next one that is done ends. */
  get areTooMany(): boolean {
    return this.#taken.size > this.#limit;
  }

  /**
   * Makes room for one more connection, if need be.
   * @param now seconds of the listener's clock
   * @returns whether there is room
   */
  makeRoom(now: number): boolean {
    if (this.#taken.size < this.#limit) return true;
    const incident = this.#endOne(now);
    this.#handler.note(incident ?? "connection turned away");
    return incident !== undefined;
  }

  add(connection: Connection): void {
    this.#taken.add(connection);
  }

  delete(connection: Connection): void {
    this.#taken.delete(connection);
  }

  #endOne(now: number): Incident | undefined {
    const idle = this.idle.first?.member;
    if (idle && (!idle.isNewborn || this.idle.size >= this.#limit / 2)) {
      idle.end();
      return "idle connection ended";
    }
    const slow = this.#takeSlowest(now);
    if (slow) {
      slow.end();
      return "slow connection ended";
    }
    const isWithinBound = this.#taken.size < this.#limit + maxAbove;
    return isWithinBound && this.#handler.makeRoom?.() ? "waiting request ended" : undefined;
  }

  #takeSlowest(now: number): Connection | undefined {
    for (;;) {
      const slowest = this.#slow.pop();
      if (slowest?.isSlow) return slowest;
      if (slowest) continue;
      if (this.#searchedAt === now) return undefined;
      this.#search(now);
    }
  }

  #search(now: number): void {
    const found: Connection[] = [];
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

/** Inserts a connection before those that are slower. */
function insertByRate(found: Connection[], connection: Connection): void {
  const { rate } = connection;
  let [start, end] = [0, found.length];
  while (start < end) {
    const middle = (start + end) >>> 1;
    if ((found[middle] as Connection).rate > rate) start = middle + 1;
    else end = middle;
  }
  found.splice(start, 0, connection);
}
