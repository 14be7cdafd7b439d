// Limits the memory that all of a listener's connections use for unread input, incomplete request bodies and unsent responses.
//
// Each connection counts its buffers through a `MemoryShare`. Over the limit, we end connections, starting with the one that hasn't made progress for
// longest.

import { LinkedQueue, QueueEntry } from "../lib/linked-queue.ts";
import type { BodyPart } from "./response.ts";

/** Identified by reference, because each is counted once. */
interface CountedMemory {
  readonly byteLength: number;
}

/** Part of some counted memory, which keeps all of it alive. */
export interface MemoryPart {
  readonly buffer: CountedMemory;
}

export class ConnectionMemoryBudget {
  readonly #limit: number;
  readonly #onCutOff: () => void;
  /** How often each buffer is used. Lists may share buffers, but each counts once. */
  readonly #buffers = new UseCounts<CountedMemory>();
  /** How often each list of parts is used. It may be sent to many clients, but its buffers are only counted for the first. */
  readonly #lists = new UseCounts<readonly BodyPart[]>();
  /** The connections that use memory, the longest without progress first. */
  readonly #shares = new LinkedQueue<MemoryShare>();
  #bytes = 0;

  /**
   * @param limit bytes
   * @param onCutOff called for each connection that we end
   */
  constructor(limit: number, onCutOff: () => void) {
    this.#limit = limit;
    this.#onCutOff = onCutOff;
  }

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

  /** The share's connection has made progress, so it's now the last to be ended. */
  moveToEnd(share: QueueEntry<MemoryShare>): void {
    this.#shares.delete(share);
    this.#shares.add(share);
  }

  /** The share's connection no longer uses memory. */
  removeShare(share: QueueEntry<MemoryShare>): void {
    this.#shares.delete(share);
  }

  /** Ends connections until the others are within the limit, but never the one that made progress last. */
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

  /** Returns whether this is the first use. */
  add(used: T): boolean {
    const uses = this.#counts.get(used) ?? 0;
    this.#counts.set(used, uses + 1);
    return uses === 0;
  }

  /** Returns whether that was the last use. */
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
  /** Ends the connection, which releases all its buffers. */
  readonly end: () => void;
  readonly #memory: ConnectionMemoryBudget;
  readonly #entry = new QueueEntry<MemoryShare>(this);
  /** How many buffers and lists of parts this connection counts. */
  #count = 0;

  constructor(memory: ConnectionMemoryBudget, end: () => void) {
    this.#memory = memory;
    this.end = end;
  }

  /** Counts the buffer behind `bytes`, and ends other connections if we're over the limit. */
  retain(bytes: MemoryPart): void {
    this.#memory.add(bytes.buffer);
    this.#addUse();
  }

  release(bytes: MemoryPart): void {
    this.#memory.remove(bytes.buffer);
    this.#removeUse();
  }

  /** Like `retain`, for the buffers behind `parts`. Takes constant time if another connection already counts the same list. */
  retainParts(parts: readonly BodyPart[]): void {
    this.#memory.addParts(parts);
    this.#addUse();
  }

  releaseParts(parts: readonly BodyPart[]): void {
    this.#memory.removeParts(parts);
    this.#removeUse();
  }

  /**
   * Counts the buffer behind `after` instead of the one behind `before`, unless it's at most 16 KiB. A slice counts as its whole buffer, which it keeps alive.
   * Returns what is counted now; pass that as `before` next time.
   */
  replaceBuffer(before: MemoryPart | undefined, after: MemoryPart | undefined): MemoryPart | undefined {
    const next = after && after.buffer.byteLength > maxUncountedBytes ? after : undefined;
    if (next?.buffer === before?.buffer) return before;
    if (next) this.retain(next);
    if (before) this.release(before);
    return next;
  }

  /** The connection has just made progress, so others are ended before it. */
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

/** `replaceBuffer` doesn't count buffers up to this size, which is enough for an incomplete header section. */
const maxUncountedBytes = 16 * 1024;
