// The two byte streams of a connection: `Input` has the bytes that arrived and are not read yet, `Output` the responses that are not sent yet.
//
// Both apply backpressure. A client that sends faster than the server reads is paused. A response that the kernel's send buffer does not accept
// waits in the output until the client has read more. Both count their buffers in the memory budget (connection-memory.ts).

import type { Socket } from "bun";
import { QueueEntry } from "../lib/linked-queue.ts";
import type { MemoryPart, MemoryShare } from "./connection-memory.ts";
import type { EncodedResponse } from "./encode-response.ts";
import type { BodyPart, UnsentBody } from "./response.ts";
import { takeWriteAllowance } from "./round-robin.ts";
import type { UnsentBudget } from "./unsent-budget.ts";

/** Maximum unread bytes; above it, the socket is paused. The runtime reads up to 512 KiB at once, so a little more may arrive. */
const maxUnreadBytes = 64 * 1024;

/** The bytes that the client has sent and that are not read yet. */
export class Input {
  readonly #socket: Socket<unknown>;
  readonly #share: MemoryShare;
  #bytes: Buffer | undefined;
  /** The bytes that the memory share counts now. */
  #countedBuffer: MemoryPart | undefined;
  #isPaused = false;

  constructor(socket: Socket<unknown>, share: MemoryShare) {
    this.#socket = socket;
    this.#share = share;
  }

  /** The unread bytes; undefined if all bytes are read. */
  get bytes(): Buffer | undefined {
    return this.#bytes;
  }

  /** Adds bytes that have arrived. */
  add(bytes: Buffer): void {
    this.#bytes = this.#bytes ? Buffer.concat([this.#bytes, bytes]) : bytes;
  }

  /** Removes the first `count` bytes. */
  consume(count: number): void {
    const bytes = this.#bytes;
    this.#bytes = bytes && count < bytes.length ? bytes.subarray(count) : undefined;
  }

  /** Removes all bytes. */
  clear(): void {
    this.#bytes = undefined;
    this.#countedBuffer = this.#share.replaceBuffer(this.#countedBuffer, undefined);
  }

  /** Pauses the socket above 64 KiB of unread bytes, otherwise resumes it, and counts the bytes as memory. */
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
/** Asks a client to send the body that it has held back (RFC 9110 section 15.2.1). */
export const continueResponse: EncodedResponse = {
  length: interim.length,
  bytes: interim,
  start: 0,
  end: interim.length,
  stableFrom: 0,
  rest: undefined,
};

/** Maximum bytes that `flush` writes in one step of a connection. */
const maxFlushBytes = 2 * 1024 * 1024;

/** The responses that are not sent yet. A slow client is sent more after it has read. */
export class Output {
  readonly #socket: Socket<unknown>;
  readonly #share: MemoryShare;
  readonly #unsent: UnsentBody[] = [];
  #isDiscarding = false;
  /** Whether the kernel's send buffer was full at the last write. */
  #isBlocked = false;
  /** Whether the next flush tries to write although the kernel has not reported free space. */
  #isOfferedAgain = false;
  readonly #unsentBudget: UnsentBudget | undefined;
  /** The entry in the budget of the kernel's buffers, made when the kernel first reports free space. */
  #place: QueueEntry<Socket<unknown>> | undefined;
  /** Bytes that the kernel has accepted since the connection was opened. */
  #accepted = 0;

  constructor(socket: Socket<unknown>, share: MemoryShare, unsentBudget: UnsentBudget | undefined) {
    this.#socket = socket;
    this.#share = share;
    this.#unsentBudget = unsentBudget;
  }

  /** Whether the kernel has accepted all bytes. */
  get isEmpty(): boolean {
    return this.#unsent.length === 0;
  }

  /** Whether there are unsent bytes that `flush` may try to write now. */
  get canFlush(): boolean {
    return !this.isEmpty && (!this.#isBlocked || this.#isOfferedAgain);
  }

  /** Whether there are unsent bytes and the kernel's send buffer was full at the last write, so that the client must read first. */
  get isBlocked(): boolean {
    return !this.isEmpty && this.#isBlocked;
  }

  /** Lets `flush` write again. To be called when the kernel has reported free space in its send buffer. */
  unblock(): void {
    this.#isBlocked = false;
    if (!this.#unsentBudget) return;
    this.#place ??= new QueueEntry(this.#socket);
    this.#unsentBudget.enlarge(this.#place, this.#accepted);
  }

  /** Lets the next `flush` try to write although the kernel has not reported free space. */
  offerAgain(): void {
    this.#isOfferedAgain = true;
  }

  /**
   * Sends a response: as many bytes as the kernel accepts and `takeWriteAllowance` allows now, the rest by `flush`. If other bytes are unsent,
   * all of it waits for `flush`.
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

  /** Writes as many unsent bytes as the kernel accepts, at most 2 MiB. Returns the number of bytes written. */
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

  /** Discards all unsent bytes, and all responses from now on. */
  discardAll(): void {
    this.#isDiscarding = true;
    if (this.#place) this.#unsentBudget?.release(this.#place);
    for (const { parts } of this.#unsent.splice(0)) this.#share.releaseParts(parts);
  }

  /**
   * Adds the bytes of a response from `start` on to the unsent ones. Bytes before `stableFrom` are copied, because the next response overwrites
   * them. (`slice` of a Buffer does not copy.)
   */
  #enqueueFrom({ bytes, end, stableFrom }: EncodedResponse, start: number): void {
    const stable = Math.min(Math.max(start, stableFrom), end);
    if (start < stable) this.#enqueue(toUnsent(Buffer.from(bytes.subarray(start, stable))));
    if (stable < end) this.#enqueue(toUnsent(bytes.subarray(stable, end)));
  }

  #enqueue(body: UnsentBody): void {
    // The connection may have closed during the write.
    if (this.#isDiscarding) return;
    this.#unsent.push(body);
    this.#share.retainParts(body.parts);
  }

  /** Writes the next bytes of `body`, at most `limit`. Returns the number of bytes that the kernel accepted. */
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

  /** Writes at most `limit` bytes. Returns the number of bytes that the kernel accepted; 0 if the connection is closed. */
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
