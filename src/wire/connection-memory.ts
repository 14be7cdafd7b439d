// The memory that connections use: input that is not read yet, bodies that have not arrived completely, and responses that are not sent yet.

import { Queue, QueueEntry } from "./round-robin.ts";

/** The memory of all connections of a listener, and its bound. */
export class ConnectionMemory {
  readonly #limit: number;
  readonly #onCutOff: () => void;
  /** How many times each buffer is in use: one list may be on its way to many clients. It counts once. */
  readonly #uses = new Map<ArrayBufferLike, number>();
  /** The connections that use memory, in the order of their last progress. */
  readonly #shares = new Queue<MemoryShare>();
  #bytes = 0;

  /**
   * @param limit bytes; above it, the connections without progress for the longest time are ended
   * @param onCutOff is called for each of these
   */
  constructor(limit: number, onCutOff: () => void) {
    this.#limit = limit;
    this.#onCutOff = onCutOff;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(buffer: ArrayBufferLike): void {
    const uses = this.#uses.get(buffer) ?? 0;
    this.#uses.set(buffer, uses + 1);
    if (uses === 0) this.#bytes += buffer.byteLength;
  }

  remove(buffer: ArrayBufferLike): void {
    const uses = this.#uses.get(buffer) ?? 0;
    if (uses > 1) this.#uses.set(buffer, uses - 1);
    else if (this.#uses.delete(buffer)) this.#bytes -= buffer.byteLength;
  }

  /** Moves the share to the end of the order. */
  enter(share: QueueEntry<MemoryShare>): void {
    this.#shares.delete(share);
    this.#shares.add(share);
  }

  leave(share: QueueEntry<MemoryShare>): void {
    this.#shares.delete(share);
  }

  /** Ends connections until the rest is within the limit. The last one is never ended. */
  relieve(): void {
    for (let share = this.#shares.first; share?.after && this.#bytes > this.#limit; share = this.#shares.first) {
      this.#shares.delete(share);
      share.member.end();
      this.#onCutOff();
    }
  }
}

/** The memory of one connection. */
export class MemoryShare {
  /** Ends the connection, which then releases all of it. */
  readonly end: () => void;
  readonly #memory: ConnectionMemory;
  readonly #entry = new QueueEntry<MemoryShare>(this);
  /** Buffers in use. */
  #count = 0;

  constructor(memory: ConnectionMemory, end: () => void) {
    this.#memory = memory;
    this.end = end;
  }

  hold(bytes: Uint8Array): void {
    this.#count++;
    this.#memory.add(bytes.buffer);
    this.#memory.enter(this.#entry);
    this.#memory.relieve();
  }

  release(bytes: Uint8Array): void {
    this.#count--;
    this.#memory.remove(bytes.buffer);
    if (this.#count === 0) this.#memory.leave(this.#entry);
  }

  /** Holds `after` in place of `before`, unless its buffer has at most 16 KiB: the smallest part keeps all of it. Returns what is held. */
  exchange(before: Uint8Array | undefined, after: Uint8Array | undefined): Uint8Array | undefined {
    const next = after && after.buffer.byteLength > maxUncounted ? after : undefined;
    if (next?.buffer === before?.buffer) return before;
    if (next) this.hold(next);
    if (before) this.release(before);
    return next;
  }

  /** Other connections are ended before this one, as it has just made progress. */
  noteProgress(): void {
    if (this.#count > 0) this.#memory.enter(this.#entry);
  }
}

/** Bytes that every connection can use uncounted: about half a header section. */
const maxUncounted = 16 * 1024;
