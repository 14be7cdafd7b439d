// A connection's two byte streams: `Input` has unread bytes, and `Output` has unsent responses.
//
// Both apply backpressure. A client that sends faster than we read is paused. A response that the kernel's send buffer won't take waits in the output until
// the client has read more. Both count their buffers in the memory budget (connection-memory.ts).

import type { Socket } from "bun";
import { QueueEntry } from "../lib/linked-queue.ts";
import type { MemoryPart, MemoryShare } from "./connection-memory.ts";
import type { EncodedResponse } from "./encode-response.ts";
import type { BodyPart, UnsentBody } from "./response.ts";
import { takeWriteAllowance } from "./round-robin.ts";
import type { UnsentBudget } from "./unsent-budget.ts";

/** Above this, the socket is paused. The runtime reads up to 512 KiB at once, so more may arrive. */
const maxUnreadBytes = 64 * 1024;

export class Input {
  readonly #socket: Socket<unknown>;
  readonly #share: MemoryShare;
  #bytes: Buffer | undefined;
  /** What the memory share counts now. */
  #countedBuffer: MemoryPart | undefined;
  #isPaused = false;

  constructor(socket: Socket<unknown>, share: MemoryShare) {
    this.#socket = socket;
    this.#share = share;
  }

  /** Undefined if there are no unread bytes. */
  get bytes(): Buffer | undefined {
    return this.#bytes;
  }

  add(bytes: Buffer): void {
    this.#bytes = this.#bytes ? Buffer.concat([this.#bytes, bytes]) : bytes;
  }

  consume(count: number): void {
    const bytes = this.#bytes;
    this.#bytes = bytes && count < bytes.length ? bytes.subarray(count) : undefined;
  }

  clear(): void {
    this.#bytes = undefined;
    this.#countedBuffer = this.#share.replaceBuffer(this.#countedBuffer, undefined);
  }

  /** Pauses the socket above 64 KiB of unread bytes, or resumes it, and counts the bytes as memory. */
  applyBackpressure(): void {
    this.#countedBuffer = this.#share.replaceBuffer(this.#countedBuffer, this.#bytes);
    const isFull = this.#bytes !== undefined && this.#bytes.length > maxUnreadBytes;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#socket.pause();
    else this.#socket.resume();
  }
}

const interim = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");
/** Asks a client for the body it's holding back (RFC 9110 section 15.2.1). */
export const continueResponse: EncodedResponse = {
  length: interim.length,
  bytes: interim,
  start: 0,
  end: interim.length,
  stableFrom: 0,
  rest: undefined,
};

/** What `flush` writes in one step. */
const maxFlushBytes = 2 * 1024 * 1024;

export class Output {
  readonly #socket: Socket<unknown>;
  readonly #share: MemoryShare;
  readonly #unsent: UnsentBody[] = [];
  #isDiscarding = false;
  /** Whether the kernel's send buffer was full at the last write. */
  #isBlocked = false;
  /** Whether the next flush tries to write although the kernel hasn't reported free space. */
  #isOfferedAgain = false;
  readonly #unsentBudget: UnsentBudget | undefined;
  /** Our entry in the budget, made when the kernel first reports free space. */
  #place: QueueEntry<Socket<unknown>> | undefined;
  /** Bytes the kernel has accepted since the connection opened. */
  #accepted = 0;

  constructor(socket: Socket<unknown>, share: MemoryShare, unsentBudget: UnsentBudget | undefined) {
    this.#socket = socket;
    this.#share = share;
    this.#unsentBudget = unsentBudget;
  }

  get isEmpty(): boolean {
    return this.#unsent.length === 0;
  }

  get canFlush(): boolean {
    return !this.isEmpty && (!this.#isBlocked || this.#isOfferedAgain);
  }

  /** Whether there are unsent bytes that have to wait until the client reads, because the kernel's send buffer was full at the last write. */
  get isBlocked(): boolean {
    return !this.isEmpty && this.#isBlocked;
  }

  /** Lets `flush` write again. Call this when the kernel reports free space in its send buffer. */
  unblock(): void {
    this.#isBlocked = false;
    if (!this.#unsentBudget) return;
    this.#place ??= new QueueEntry(this.#socket);
    this.#unsentBudget.enlarge(this.#place, this.#accepted);
  }

  /** Lets the next `flush` try to write although the kernel hasn't reported free space. */
  offerAgain(): void {
    this.#isOfferedAgain = true;
  }

  /**
   * Writes as much as the kernel accepts and `takeWriteAllowance` allows, and leaves the rest to `flush`. If there are other unsent bytes, it's all left to
   * `flush`.
   */
  send(outgoing: EncodedResponse): void {
    if (this.#isDiscarding) return;
    const { length, bytes, start, end, rest } = outgoing;
    const limit = this.isEmpty ? takeWriteAllowance(length) : 0;
    const sent = this.#write(bytes, start, end, limit);
    if (start + sent < end) this.#enqueueFrom(outgoing, start + sent);
    if (!rest) return;
    if (this.isEmpty) this.#writeBody(rest, limit - sent);
    if (!isSent(rest)) this.#enqueue(rest);
  }

  /** Writes as many unsent bytes as the kernel accepts, up to 2 MiB. Returns how many it wrote. */
  flush(): number {
    let remainingBytes = maxFlushBytes;
    let done = 0;
    this.#isBlocked = false;
    this.#isOfferedAgain = false;
    for (const body of this.#unsent) {
      remainingBytes -= this.#writeBody(body, remainingBytes);
      if (!isSent(body)) break;
      done++;
    }
    for (const { parts } of this.#unsent.splice(0, done)) this.#share.releaseParts(parts);
    return maxFlushBytes - remainingBytes;
  }

  /** Discards all unsent bytes and any later responses. */
  discardAll(): void {
    this.#isDiscarding = true;
    if (this.#place) this.#unsentBudget?.release(this.#place);
    for (const { parts } of this.#unsent.splice(0)) this.#share.releaseParts(parts);
  }

  /**
   * Queues a response's bytes from `start`. Those before `stableFrom` are copied, because the next response overwrites them.
   */
  #enqueueFrom({ bytes, end, stableFrom }: EncodedResponse, start: number): void {
    const stable = Math.min(Math.max(start, stableFrom), end);
    if (start < stable) this.#enqueue(toUnsent(Buffer.from(bytes.subarray(start, stable))));
    if (stable < end) this.#enqueue(toUnsent(bytes.subarray(stable, end)));
  }

  #enqueue(body: UnsentBody): void {
    // The write may have closed the connection.
    if (this.#isDiscarding) return;
    this.#unsent.push(body);
    this.#share.retainParts(body.parts);
  }

  /** Writes up to `limit` bytes of `body`. Returns how many the kernel accepted. */
  #writeBody(body: UnsentBody, limit: number): number {
    let remainingBytes = limit;
    for (; !isSent(body); body.index++, body.sent = 0) {
      const part = body.parts[body.index] as BodyPart;
      const { source, start, end } = part instanceof Uint8Array ? { source: part, start: 0, end: part.length } : part;
      const written = this.#write(source, start + body.sent, end, remainingBytes);
      remainingBytes -= written;
      body.sent += written;
      if (start + body.sent < end) break;
    }
    return limit - remainingBytes;
  }

  /** Writes up to `limit` bytes. Returns how many the kernel accepted; 0 if the connection has closed. */
  #write(bytes: Uint8Array, start: number, end: number, limit: number): number {
    const length = Math.min(end - start, limit);
    if (length === 0) return 0;
    const written = Math.max(0, this.#socket.write(bytes as Bun.BufferSource, start, length));
    this.#isBlocked = written < length;
    this.#accepted += written;
    return written;
  }
}

function toUnsent(bytes: Uint8Array): UnsentBody {
  return { parts: [bytes], index: 0, sent: 0 };
}

function isSent({ parts, index }: UnsentBody): boolean {
  return index === parts.length;
}
