// Limits the memory of all connections of a listener: unread input, incomplete request bodies and unsent responses.
//
// Each connection counts its buffers through a `MemoryShare`. Above the limit, connections are ended, beginning with the connection without progress
// for the longest time.

import { LinkedQueue, QueueEntry } from "../lib/linked-queue.ts";
import type { BodyPart } from "./response.ts";

/** Memory that is counted, such as a buffer. Its identity matters, because each is counted once. */
interface CountedMemory {
  readonly byteLength: number;
}

/** A part of counted memory, which keeps all of it alive. */
export interface MemoryPart {
  readonly buffer: CountedMemory;
}

export class ConnectionMemoryBudget {
  readonly #limit: number;
  readonly #onCutOff: () => void;
  /** The number of uses of each buffer. Different lists may share buffers; each buffer counts once. */
  readonly #buffers = new UseCounts<CountedMemory>();
  /** The number of uses of each list of parts. A list may be sent to many clients; its buffers are counted for the first of them only. */
  readonly #lists = new UseCounts<readonly BodyPart[]>();
  /** The connections that use memory, the one without progress for longest first. */
  readonly #shares = new LinkedQueue<MemoryShare>();
  #bytes = 0;

  /**
   * @param limit bytes; above it, the connections without progress for the longest time are ended
   * @param onCutOff called for each connection that was ended
   */
  constructor(limit: number, onCutOff: () => void) {
    this.#limit = limit;
    this.#onCutOff = onCutOff;
  }

  /** The bytes of all buffers in use. */
  get bytes(): number {
    return this.#bytes;
  }

  add(buffer: CountedMemory): void {
    if (this.#buffers.add(buffer)) this.#bytes += buffer.byteLength;
  }

  remove(buffer: CountedMemory): void {
    if (this.#buffers.remove(buffer)) this.#bytes -= buffer.byteLength;
  }

  addParts(parts: readonly BodyPart[]): void {
    if (this.#lists.add(parts)) for (const part of parts) this.add(bufferOf(part));
  }

  removeParts(parts: readonly BodyPart[]): void {
    if (this.#lists.remove(parts)) for (const part of parts) this.remove(bufferOf(part));
  }

  /** Puts a share at the end of the order, because its connection has made progress. */
  moveToEnd(share: QueueEntry<MemoryShare>): void {
    this.#shares.delete(share);
    this.#shares.add(share);
  }

  /** Removes a share from the order, because its connection uses no memory. */
  removeShare(share: QueueEntry<MemoryShare>): void {
    this.#shares.delete(share);
  }

  /** Ends connections until the others are within the limit. The connection that made progress last is never ended. */
  endConnectionsOverLimit(): void {
    for (let share = this.#shares.first; share?.after && this.#bytes > this.#limit; share = this.#shares.first) {
      this.#shares.delete(share);
      share.member.end();
      this.#onCutOff();
    }
  }
}

class UseCounts<T> {
  readonly #counts = new Map<T, number>();

  /** Counts one more use. Returns whether it is the first one. */
  add(used: T): boolean {
    const uses = this.#counts.get(used) ?? 0;
    this.#counts.set(used, uses + 1);
    return uses === 0;
  }

  /** Counts one use less. Returns whether it was the last one. */
  remove(used: T): boolean {
    const uses = this.#counts.get(used) ?? 0;
    if (uses <= 1) return this.#counts.delete(used);
    this.#counts.set(used, uses - 1);
    return false;
  }
}

function bufferOf(part: BodyPart): CountedMemory {
  return part instanceof Uint8Array ? part.buffer : part.source.buffer;
}

export class MemoryShare {
  /** Ends the connection, which then releases all its buffers. */
  readonly end: () => void;
  readonly #memory: ConnectionMemoryBudget;
  readonly #entry = new QueueEntry<MemoryShare>(this);
  /** Number of buffers and of lists of parts that this connection counts. */
  #count = 0;

  constructor(memory: ConnectionMemoryBudget, end: () => void) {
    this.#memory = memory;
    this.end = end;
  }

  /** Counts the buffer of `bytes`, and then ends other connections if the limit is exceeded. */
  retain(bytes: MemoryPart): void {
    this.#memory.add(bytes.buffer);
    this.#addUse();
  }

  release(bytes: MemoryPart): void {
    this.#memory.remove(bytes.buffer);
    this.#removeUse();
  }

  /** Counts the buffers of `parts` like `retain`, in a time that does not depend on their number if another connection counts the same list. */
  retainParts(parts: readonly BodyPart[]): void {
    this.#memory.addParts(parts);
    this.#addUse();
  }

  releaseParts(parts: readonly BodyPart[]): void {
    this.#memory.removeParts(parts);
    this.#removeUse();
  }

  /**
   * Counts the buffer of `after` instead of that of `before`; buffers up to 16 KiB are not counted. A slice counts as its whole buffer, which it
   * keeps alive. Returns the bytes that are counted now; pass them as `before` the next time.
   */
  replaceBuffer(before: MemoryPart | undefined, after: MemoryPart | undefined): MemoryPart | undefined {
    const next = after && after.buffer.byteLength > maxUncountedBytes ? after : undefined;
    if (next?.buffer === before?.buffer) return before;
    if (next) this.retain(next);
    if (before) this.release(before);
    return next;
  }

  /** Records that the connection has just made progress, so that other connections are ended before it. */
  markProgress(): void {
    if (this.#count > 0) this.#memory.moveToEnd(this.#entry);
  }

  #addUse(): void {
    this.#count++;
    this.#memory.moveToEnd(this.#entry);
    this.#memory.endConnectionsOverLimit();
  }

  #removeUse(): void {
    this.#count--;
    if (this.#count === 0) this.#memory.removeShare(this.#entry);
  }
}

/** Maximum bytes of a buffer that `replaceBuffer` does not count: enough for an incomplete header section, which has at most 16 KiB. */
const maxUncountedBytes = 16 * 1024;
