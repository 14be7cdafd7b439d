// What is on its way to a client. A client that reads slowly gets the rest when it has read.

import type { Socket } from "bun";
import type { MemoryShare } from "./memory.ts";
import type { EncodedResponse } from "./response.ts";

const interim = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");
/** Asks for the body that its client holds back (RFC 9110 section 15.2.1). */
export const continueResponse: EncodedResponse = {
  bytes: interim,
  start: 0,
  end: interim.length,
  stableFrom: 0,
  rest: [],
};

/**
 * Bytes that are handed to the system at once: of a new answer, since many may be asked for in one turn of the event loop, and of one
 * that waits for its connection's turn. The system copies 4 MiB in a millisecond.
 */
const longestStart = 512 * 1024;
const longestStep = 2 * 1024 * 1024;

export class Output {
  /** Whether the system takes no more for now. */
  isBlocked = false;
  readonly #socket: Socket<unknown>;
  readonly #share: MemoryShare;
  #waiting: Uint8Array[] = [];
  /** Bytes of the first of them that are sent. */
  #sent = 0;
  #isDropped = false;

  constructor(socket: Socket<unknown>, share: MemoryShare) {
    this.#socket = socket;
    this.#share = share;
  }

  /** Whether everything was handed to the system. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Whether `flush` would send something. */
  get isReady(): boolean {
    return !this.isEmpty && !this.isBlocked;
  }

  /** Sends as much as the system takes, at most 512 KiB; the rest is for `flush`. */
  send(outgoing: EncodedResponse): void {
    if (this.#isDropped) return;
    const { bytes, start, end, rest } = outgoing;
    const sent = start + (this.isEmpty ? this.#write(bytes, start, end, longestStart) : 0);
    if (sent < end) this.#keep(lasting(outgoing, sent), 0);
    if (rest.length > 0) this.#sendAll(rest, longestStart - (sent - start));
  }

  #sendAll(pieces: readonly Uint8Array[], most: number): void {
    let left = most;
    for (const piece of pieces) {
      const sent = this.isEmpty ? this.#write(piece, 0, piece.length, left) : 0;
      left -= sent;
      if (sent < piece.length) this.#keep(piece, sent);
    }
  }

  /** Sends as much of what waits as the system takes, at most 2 MiB. Returns whether it took anything. */
  flush(): boolean {
    let left = longestStep;
    let index = 0;
    while (index < this.#waiting.length && left > 0 && !this.isBlocked) {
      const bytes = this.#waiting[index] as Uint8Array;
      const written = this.#write(bytes, this.#sent, bytes.length, left);
      left -= written;
      this.#sent += written;
      if (this.#sent < bytes.length) continue;
      this.#sent = 0;
      index++;
    }
    for (const bytes of this.#waiting.splice(0, index)) this.#share.release(bytes);
    return left < longestStep;
  }

  /** Keeps nothing any more: the connection is gone. */
  drop(): void {
    this.#isDropped = true;
    for (const bytes of this.#waiting.splice(0)) this.#share.release(bytes);
  }

  #keep(bytes: Uint8Array, sent: number): void {
    if (this.isEmpty) this.#sent = sent;
    this.#waiting.push(bytes);
    this.#share.hold(bytes);
  }

  /** Returns the number of bytes that the system took; none once the connection is gone. */
  #write(bytes: Uint8Array, start: number, end: number, most: number): number {
    const length = Math.min(end - start, most);
    if (length === 0) return 0;
    const written = Math.max(0, this.#socket.write(bytes as Bun.BufferSource, start, length));
    this.isBlocked = written < length;
    return written;
  }
}

/** What is to be sent from `start` on, copied where it does not stay as it is. (`slice` of a Buffer would copy nothing.) */
function lasting({ bytes, end, stableFrom }: EncodedResponse, start: number): Uint8Array {
  const left = bytes.subarray(start, end);
  return start >= stableFrom ? left : Buffer.from(left);
}
