// Limits how many unsent response bytes the kernel holds for all of a listener's connections together, on Linux.
//
// Each connection starts with a small limit, or a smaller one if there are many, so that thousands of clients that don't read take little memory. But sending
// a long response in such small steps costs CPU time. So a connection whose client has been reading gets one of a few places with a large limit, and keeps it
// until it closes or another one needs it. If no place is free, its limit stays as it is.
//
// Invariants:
// - At most `places` connections have the large limit.
// - A connection only loses its place while the kernel holds no more than the small limit for it. So the bound holds even if clients read a lot and then stop.

import type { Socket } from "bun";
import { LinkedQueue, type QueueEntry } from "../lib/linked-queue.ts";
import { countUnacknowledgedBytes, limitUnsentBytes } from "./socket-options.ts";

export interface UnsentLimits {
  /** Unsent bytes for a connection without a place. */
  readonly small: number;
  /** The same for one that opens while there are more than `many` connections. */
  readonly smaller: number;
  readonly many: number;
  /** Unsent bytes for a connection with a place. */
  readonly large: number;
  /** How many connections can have the large limit. */
  readonly places: number;
}

/** How many places we look at for a connection that needs one. */
const maxExamined = 4;

export class UnsentBudget {
  readonly #limits: UnsentLimits;
  /** Connections with a place; the first is looked at next. */
  readonly #holders = new LinkedQueue<Socket<unknown>>();

  constructor(limits: UnsentLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#holders.size;
  }

  /** Limits a new connection, which has its listening socket's small limit. @param connections open connections */
  limitOpened(socket: Socket<unknown>, connections: number): void {
    if (connections <= this.#limits.many) return;
    const fd = descriptorOf(socket);
    if (fd !== undefined) limitUnsentBytes(fd, this.#limits.smaller);
  }

  /**
   * Gives a connection the large limit, if its client reads and there's a place.
   * @param accepted bytes that the kernel has accepted for the connection so far. If there are many, the client must be reading, because the kernels on both
   *   sides only hold a few
   */
  enlarge(entry: QueueEntry<Socket<unknown>>, accepted: number): void {
    if (accepted < readProof * this.#limits.small || this.#holders.has(entry)) return;
    if (this.#holders.size >= this.#limits.places && !this.#takePlace()) return;
    const fd = descriptorOf(entry.member);
    if (fd !== undefined && limitUnsentBytes(fd, this.#limits.large)) this.#holders.add(entry);
  }

  /** Frees a closed connection's place. */
  release(entry: QueueEntry<Socket<unknown>>): void {
    this.#holders.delete(entry);
  }

  /** Frees the place of a connection for which the kernel holds little. Returns false if the few we look at all hold more. */
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

/** Once the kernel has accepted this many times the small limit, we know that the client reads. */
const readProof = 8;

function descriptorOf(socket: Socket<unknown>): number | undefined {
  // The runtime has this property, but its types don't. It's negative once the socket has closed.
  const { fd } = socket as { readonly fd?: number };
  return fd !== undefined && fd >= 0 ? fd : undefined;
}
