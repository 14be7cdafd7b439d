// What the client has sent and was not read yet. A client that sends faster than it is read must wait.

import type { Socket } from "bun";
import type { MemoryShare } from "./connection-memory.ts";
import type { EncodedResponse } from "./encode-response.ts";
import { partsLength } from "./response.ts";
import { firstWrite } from "./round-robin.ts";

/** Bytes above which the socket is paused. The runtime reads up to 512 KiB at once. */
const maxWaiting = 64 * 1024;

export class Input {
  readonly #socket: Socket<unknown>;
  readonly #share: MemoryShare;
  #bytes: Buffer | undefined;
  /** The bytes that `#share` counts. */
  #counted: Uint8Array | undefined;
  #isPaused = false;

  constructor(socket: Socket<unknown>, share: MemoryShare) {
    this.#socket = socket;
    this.#share = share;
  }

  /** Undefined when there are none. */
  get bytes(): Buffer | undefined {
    return this.#bytes;
  }

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
    this.#counted = this.#share.exchange(this.#counted, undefined);
  }

  /** Pauses or resumes the client, by how much waits, and counts that as memory. */
  regulate(): void {
    this.#counted = this.#share.exchange(this.#counted, this.#bytes);
    const isFull = this.#bytes !== undefined && this.#bytes.length > maxWaiting;
    if (isFull === this.#isPaused) return;
    this.#isPaused = isFull;
    if (isFull) this.#socket.pause();
    else this.#socket.resume();
  }
}

// The responses that are not sent yet. A slow client gets more when it has read.

const interim = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");
/** Asks a client to send the body that it holds back (RFC 9110 section 15.2.1). */
export const continueResponse: EncodedResponse = {
  bytes: interim,
  start: 0,
  end: interim.length,
  stableFrom: 0,
  rest: [],
};

/** Bytes to write in one turn of a connection. */
const maxStep = 2 * 1024 * 1024;

export class Output {
  readonly #socket: Socket<unknown>;
  readonly #share: MemoryShare;
  #waiting: Uint8Array[] = [];
  /** Bytes of the first waiting buffer that are sent. */
  #sent = 0;
  #isDropped = false;
  /** Whether the system accepted no more when it was last asked. */
  #isBlocked = false;
  /** Whether it is asked again all the same. */
  #isOfferedAgain = false;

  constructor(socket: Socket<unknown>, share: MemoryShare) {
    this.#socket = socket;
    this.#share = share;
  }

  /** Whether the system has accepted everything. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Whether `flush` would send something. */
  get isReady(): boolean {
    return !this.isEmpty && (!this.#isBlocked || this.#isOfferedAgain);
  }

  /** Whether the client has to read before the system accepts more, as far as is known. */
  get isBlocked(): boolean {
    return !this.isEmpty && this.#isBlocked;
  }

  /** The system reports that it accepts output again. */
  unblock(): void {
    this.#isBlocked = false;
  }

  /** Lets `flush` ask the system, though it has not reported that it accepts output again. */
  offerAgain(): void {
    this.#isOfferedAgain = true;
  }

  /** Sends as much as the system accepts, at most as much as `firstWrite` allows. The rest waits for `flush`. */
  send(outgoing: EncodedResponse): void {
    if (this.#isDropped) return;
    const { bytes, start, end, rest } = outgoing;
    const limit = this.isEmpty ? firstWrite(end - start + partsLength(rest)) : 0;
    const sent = this.#write(bytes, start, end, limit);
    if (start + sent < end) this.#waitFrom(outgoing, start + sent);
    if (rest.length > 0) this.#sendAll(rest, limit - sent);
  }

  #sendAll(pieces: readonly Uint8Array[], limit: number): void {
    let left = limit;
    for (const piece of pieces) {
      const sent = this.isEmpty ? this.#write(piece, 0, piece.length, left) : 0;
      left -= sent;
      if (sent < piece.length) this.#wait(piece, sent);
    }
  }

  /** Sends as much of what waits as the system accepts, at most 2 MiB. Returns the number of bytes. */
  flush(): number {
    let left = maxStep;
    let done = 0;
    this.#isBlocked = false;
    this.#isOfferedAgain = false;
    for (const bytes of this.#waiting) {
      if (left === 0 || this.#isBlocked) break;
      const written = this.#write(bytes, this.#sent, bytes.length, left);
      left -= written;
      this.#sent += written;
      if (this.#sent < bytes.length) break;
      this.#sent = 0;
      done++;
    }
    for (const bytes of this.#waiting.splice(0, done)) this.#share.release(bytes);
    return maxStep - left;
  }

  /** Drops everything, now and from now on. */
  drop(): void {
    this.#isDropped = true;
    for (const bytes of this.#waiting.splice(0)) this.#share.release(bytes);
  }

  /** Keeps the bytes from `start`: a copy of those that a later response may overwrite. (`slice` of a Buffer does not copy.) */
  #waitFrom({ bytes, end, stableFrom }: EncodedResponse, start: number): void {
    const stable = Math.min(Math.max(start, stableFrom), end);
    if (start < stable) this.#wait(Buffer.from(bytes.subarray(start, stable)), 0);
    if (stable < end) this.#wait(bytes.subarray(stable, end), 0);
  }

  #wait(bytes: Uint8Array, sent: number): void {
    if (this.isEmpty) this.#sent = sent;
    this.#waiting.push(bytes);
    this.#share.hold(bytes);
  }

  /** Returns the number of bytes that the system accepted; 0 when the connection is closed. */
  #write(bytes: Uint8Array, start: number, end: number, limit: number): number {
    const length = Math.min(end - start, limit);
    if (length === 0) return 0;
    const written = Math.max(0, this.#socket.write(bytes as Bun.BufferSource, start, length));
    this.#isBlocked = written < length;
    return written;
  }
}
