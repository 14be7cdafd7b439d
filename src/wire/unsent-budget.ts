// Limits what the kernel holds of responses that it has not sent yet, for all connections of a listener together, on Linux.
//
// Each connection begins with a small limit, and with a smaller one if there are many connections, so that thousands of clients that do not read take
// little memory. A long response in such small steps costs CPU time. So a connection whose client has read gets one of a few places with a large
// limit, and keeps it until it closes or another connection needs the place. If no place is free, a connection keeps its limit.
//
// Invariants:
// - At most `places` connections have the large limit.
// - A connection loses its place only if the kernel holds no more of it than the small limit. So the bound also holds for clients that read a lot
//   and then stop.

import type { Socket } from "bun";
import { LinkedQueue, type QueueEntry } from "../lib/linked-queue.ts";
import { countUnacknowledgedBytes, limitUnsentBytes } from "./socket-options.ts";

export interface UnsentLimits {
  /** Maximum unsent bytes of a connection that has no place. */
  readonly small: number;
  /** The same for a connection that is opened while there are more than `many` connections. */
  readonly smaller: number;
  readonly many: number;
  /** Maximum unsent bytes of a connection that has a place. */
  readonly large: number;
  /** Maximum number of connections with the large limit. */
  readonly places: number;
}

/** Maximum number of places that are examined for each connection that needs one. */
const maxExamined = 4;

export class UnsentBudget {
  readonly #limits: UnsentLimits;
  /** The connections that have a place. The first one is examined next. */
  readonly #holders = new LinkedQueue<Socket<unknown>>();

  constructor(limits: UnsentLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#holders.size;
  }

  /** Limits a connection that was just opened and has the small limit of its listening socket. @param connections number of open connections */
  limitOpened(socket: Socket<unknown>, connections: number): void {
    if (connections <= this.#limits.many) return;
    const fd = descriptorOf(socket);
    if (fd !== undefined) limitUnsentBytes(fd, this.#limits.smaller);
  }

  /**
   * Gives a connection the large limit, if there is a place.
   * @param accepted bytes that the kernel has accepted from the connection so far. They show whether the client reads: the kernels of both sides
   *   hold some of the bytes of a client that does not.
   */
  enlarge(entry: QueueEntry<Socket<unknown>>, accepted: number): void {
    if (accepted < readProof * this.#limits.small || this.#holders.has(entry)) return;
    if (this.#holders.size >= this.#limits.places && !this.#takePlace()) return;
    const fd = descriptorOf(entry.member);
    if (fd !== undefined && limitUnsentBytes(fd, this.#limits.large)) this.#holders.add(entry);
  }

  /** Frees the place of a connection, which has closed. */
  release(entry: QueueEntry<Socket<unknown>>): void {
    this.#holders.delete(entry);
  }

  /** Frees the place of a connection of which the kernel holds little. Returns false if there was none among the few that it examined. */
  #takePlace(): boolean {
    for (let examined = 0; examined < maxExamined; examined++) {
      const entry = this.#holders.first as QueueEntry<Socket<unknown>>;
      const fd = descriptorOf(entry.member);
      this.#holders.delete(entry);
      if (fd === undefined) return true;
      const { small } = this.#limits;
      if ((countUnacknowledgedBytes(fd) ?? Number.POSITIVE_INFINITY) <= small && limitUnsentBytes(fd, small))
        return true;
      this.#holders.add(entry);
    }
    return false;
  }
}

/** A client has read if the kernel has accepted this many times the small limit. */
const readProof = 8;

function descriptorOf(socket: Socket<unknown>): number | undefined {
  // The runtime has this property, but its types do not. It is negative after the socket has closed.
  const { fd } = socket as { readonly fd?: number };
  return fd !== undefined && fd >= 0 ? fd : undefined;
}
