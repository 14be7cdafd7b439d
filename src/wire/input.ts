// What the client has sent and was not read yet. A client that sends faster than it is read must wait.

import type { Socket } from "bun";
import type { MemoryShare } from "./memory.ts";

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
