// What connections make the server keep: input that waits for its turn, bodies that arrive, responses that wait for their clients.

import { Queue, QueueEntry } from "./queue.ts";

/** The memory of all connections of a listener, and its bound. */
export class ConnectionMemory {
  readonly #most: number;
  readonly #told: () => void;
  /** How many times each piece is kept: one list may be on its way to many clients. */
  readonly #pieces = new Map<ArrayBufferLike, number>();
  /** Those that keep any, in the order of their last progress. */
  readonly #shares = new Queue<MemoryShare>();
  #bytes = 0;

  /**
   * @param most bytes; when there are more, the connections that made no progress for the longest time are ended
   * @param told is called for each of those
   */
  constructor(most: number, told: () => void) {
    this.#most = most;
    this.#told = told;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(piece: ArrayBufferLike): void {
    const uses = this.#pieces.get(piece) ?? 0;
    this.#pieces.set(piece, uses + 1);
    if (uses === 0) this.#bytes += piece.byteLength;
  }

  remove(piece: ArrayBufferLike): void {
    const uses = this.#pieces.get(piece) as number;
    if (uses > 1) this.#pieces.set(piece, uses - 1);
    else if (this.#pieces.delete(piece)) this.#bytes -= piece.byteLength;
  }

  /** It goes behind all others. */
  enter(share: QueueEntry<MemoryShare>): void {
    this.#shares.delete(share);
    this.#shares.add(share);
  }

  leave(share: QueueEntry<MemoryShare>): void {
    this.#shares.delete(share);
  }

  /** Ends connections until the others keep no more than they may. The last one may always go on. */
  relieve(): void {
    for (let share = this.#shares.first; share?.after && this.#bytes > this.#most; share = this.#shares.first) {
      this.#shares.delete(share);
      share.member.end();
      this.#told();
    }
  }
}

/** What one connection keeps. */
export class MemoryShare {
  /** Ends the connection, which then releases all that it keeps. */
  readonly end: () => void;
  readonly #memory: ConnectionMemory;
  readonly #place = new QueueEntry<MemoryShare>(this);
  #count = 0;

  constructor(memory: ConnectionMemory, end: () => void) {
    this.#memory = memory;
    this.end = end;
  }

  hold(bytes: Uint8Array): void {
    this.#count++;
    this.#memory.add(bytes.buffer);
    this.#memory.enter(this.#place);
    this.#memory.relieve();
  }

  release(bytes: Uint8Array): void {
    this.#count--;
    this.#memory.remove(bytes.buffer);
    if (this.#count === 0) this.#memory.leave(this.#place);
  }

  /** Keeps the memory of `after` in place of that of `before`; few bytes do not count. Returns what is kept. */
  exchange(before: Uint8Array | undefined, after: Uint8Array | undefined): Uint8Array | undefined {
    const next = after && after.length > leastCounted ? after : undefined;
    if (next?.buffer === before?.buffer) return before;
    if (next) this.hold(next);
    if (before) this.release(before);
    return next;
  }

  /** The client did its part, or its turn came: others are ended before it. */
  noteProgress(): void {
    if (this.#count > 0) this.#memory.enter(this.#place);
  }
}

/** What every connection may keep uncounted: about as much as half a request. */
const leastCounted = 16 * 1024;
