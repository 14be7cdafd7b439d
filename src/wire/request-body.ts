// The body of a request while it arrives: with a known length (RFC 9112 section 6.2) or in chunks (section 7.1).
//
// The connection passes the body's bytes in small steps (`receiveStep`). The handler asks for the whole body (`readWholeBody`) and waits until it is
// complete, too large, malformed or late. A body that the handler does not want is discarded as it arrives, so that the next request can be read.

import { ChunkedDecoder } from "./chunked-decoder.ts";
import type { MemoryShare } from "./connection-memory.ts";
import { RequestError } from "./request-error.ts";
import type { RequestFraming, RequestHeader } from "./request-header.ts";

/** Maximum bytes of a body that are decoded in one step: a chunk can be as small as one byte, so 16 KiB can already take a while. */
const maxStepBytes = 16 * 1024;

/**
 * Returns the body of a request; undefined if the request has no body or an empty one (RFC 9112 section 6.3).
 * @param limit maximum size in bytes; a longer body is discarded
 * @param share counts the memory of the body until the body is complete
 * @param sendContinue sends `100 Continue`
 */
export function openBody(
  { section: { framing }, isHttp10 }: RequestHeader,
  limit: number,
  share: MemoryShare,
  sendContinue: () => void,
): RequestBody | undefined {
  if (!framing.isChunked && framing.length === 0) return undefined;
  // HTTP/1.0 does not know `100 Continue` (RFC 9110 section 10.1.1).
  return new RequestBody(framing, limit, share, framing.awaitsContinue && !isHttp10 ? sendContinue : undefined);
}

/** The body of one request. */
export class RequestBody {
  readonly #length: number;
  #limit: number;
  readonly #share: MemoryShare;
  readonly #buffer = new BodyBuffer();
  /** The memory that the memory share counts now. */
  #counted: Uint8Array | undefined;
  readonly #chunks: ChunkedDecoder | undefined;
  /** Sends `100 Continue`; undefined if the client does not wait for that (any more). */
  #sendContinue: (() => void) | undefined;
  /** Bytes of a body of known length that have not arrived. */
  #remainingBytes: number;
  #size = 0;
  #isDiscarded = false;
  #isTimedOut = false;
  #error: unknown;
  #waiting: PromiseWithResolvers<BodyBytes> | undefined;

  constructor(
    { length, isChunked }: RequestFraming,
    limit: number,
    share: MemoryShare,
    sendContinue: (() => void) | undefined,
  ) {
    this.#length = length;
    this.#limit = limit;
    this.#share = share;
    this.#sendContinue = sendContinue;
    this.#remainingBytes = length;
    this.#chunks = isChunked ? new ChunkedDecoder() : undefined;
    this.#lowerLimit(limit);
  }

  /** Whether all of the body has arrived. */
  get isComplete(): boolean {
    return this.#chunks ? this.#chunks.isComplete : this.#remainingBytes === 0;
  }

  /** Whether the chunked coding is malformed, so that no further request can be read from the connection. */
  get isMalformed(): boolean {
    return this.#chunks?.isMalformed ?? false;
  }

  /** Whether the beginning of the next request is unknown: the body is malformed, timed out, or held back by the client until `100 Continue`. */
  get isEndUnknown(): boolean {
    return this.isMalformed || this.#isTimedOut || this.#sendContinue !== undefined;
  }

  /** Whether the client is expected to send more of the body. */
  get isIncoming(): boolean {
    return !this.isComplete && !this.isEndUnknown;
  }

  /** Whether the handler waits for the client to send more of the body. */
  get isHandlerWaiting(): boolean {
    return this.#waiting !== undefined && !this.isComplete && this.#error === undefined;
  }

  /** The whole body, if it has arrived and can be read. */
  get received(): BodyBytes | undefined {
    return this.isComplete && this.#error === undefined ? this.#buffer.bytes : undefined;
  }

  /** Like `receive`, but takes at most 16 KiB from `start` on, so that many small chunks are decoded in several steps. */
  receiveStep(bytes: Buffer, start: number): number {
    return this.receive(bytes, start, Math.min(bytes.length, start + maxStepBytes));
  }

  /**
   * Takes the part of the body in `bytes` from `start` up to `end`. Returns how many of these bytes belong to the body; all of them if the body is
   * malformed.
   */
  receive(bytes: Buffer, start: number, end: number): number {
    this.#sendContinue = undefined;
    const used = this.#chunks
      ? this.#decodeChunks(this.#chunks, bytes.subarray(start, end))
      : this.#takeKnownLength(bytes, start, end);
    // A complete body does not count: it waits for the server. If it counted, the memory budget could cut off a client that has
    // sent everything.
    this.#counted = this.#share.replaceBuffer(this.#counted, this.isComplete ? undefined : this.#buffer.memory);
    if (this.isComplete && this.#error === undefined) this.#waiting?.resolve(this.#buffer.bytes);
    return used;
  }

  /**
   * Returns the whole body when all of it has arrived. Sends `100 Continue` if the client waits for that.
   * @param limit maximum size in bytes, if smaller than that of the listener
   * @throws RequestError `body-too-large` (as soon as that is known), `malformed` (also when the client closes the connection), or `timeout`
   */
  async readWholeBody(limit = this.#limit): Promise<BodyBytes> {
    if (limit < this.#limit) this.#lowerLimit(limit);
    if (this.#error !== undefined) throw this.#error;
    if (this.received) return this.received;
    this.#waiting ??= Promise.withResolvers();
    this.#sendContinue?.();
    this.#sendContinue = undefined;
    return this.#waiting.promise;
  }

  /** Discards the body: the bytes that have arrived, and further ones as they arrive. */
  discard(): void {
    this.#isDiscarded = true;
    this.#buffer.clear();
    this.#counted = this.#share.replaceBuffer(this.#counted, undefined);
  }

  /** Fails the body with `timeout`: `readWholeBody` rejects. */
  timeOut(): void {
    this.#isTimedOut = true;
    this.#fail(new RequestError("timeout", this.#chunks ? "the last chunk did not come in time" : this.#missing));
  }

  /** Fails the body with `malformed` unless it is complete, because no more bytes will arrive: `readWholeBody` rejects. */
  abort(): void {
    if (!this.isComplete) this.#fail(new RequestError("malformed", "the body ended before it was complete"));
  }

  #lowerLimit(limit: number): void {
    this.#limit = limit;
    if (Math.max(this.#length, this.#size) > limit) this.#fail(tooLargeError(limit));
  }

  get #missing(): string {
    return `of the ${this.#length} bytes that Content-Length announces, ${this.#length - this.#remainingBytes} came in time`;
  }

  #takeKnownLength(bytes: Buffer, start: number, end: number): number {
    const used = Math.min(this.#remainingBytes, end - start);
    this.#appendPart(bytes, start, start + used);
    this.#remainingBytes -= used;
    return used;
  }

  #decodeChunks(chunks: ChunkedDecoder, bytes: Buffer): number {
    if (chunks.isMalformed) return bytes.length;
    try {
      return chunks.decode(bytes, (part) => this.#appendPart(part, 0, part.length));
    } catch (error) {
      this.#fail(error);
      return bytes.length;
    }
  }

  #appendPart(part: Buffer, start: number, end: number): void {
    this.#size += end - start;
    if (this.#size > this.#limit) this.#fail(tooLargeError(this.#limit));
    else if (!this.#isDiscarded) this.#buffer.add(part, start, end);
  }

  #fail(error: unknown): void {
    this.#error ??= error;
    this.discard();
    this.#waiting?.reject(error);
  }
}

function tooLargeError(limit: number): RequestError {
  return new RequestError("body-too-large", `the body has more than ${limit} bytes`);
}

/**
 * A growing buffer. The first part is used without a copy, because most bodies arrive as one part. Further parts are copied into one buffer, so
 * that a body in a million parts uses at most twice the memory of its bytes.
 */
class BodyBuffer {
  #memory: Buffer = empty;
  #start = 0;
  #length = 0;
  /** Whether `#memory` is our own copy, in which the body begins at 0 and more space may follow it. */
  #isCopy = false;

  get bytes(): BodyBytes {
    return new BodyBytes(this.#memory, this.#start, this.#length);
  }

  /** All memory of the buffer, including free capacity. */
  get memory(): Uint8Array {
    return this.#memory;
  }

  /** Adds the bytes of `part` from `start` up to `end`. */
  add(part: Buffer, start: number, end: number): void {
    if (this.#length === 0) {
      this.#memory = part;
      this.#start = start;
    } else this.#append(part, start, end);
    this.#length += end - start;
  }

  clear(): void {
    this.#memory = empty;
    this.#start = 0;
    this.#length = 0;
    this.#isCopy = false;
  }

  #append(part: Buffer, start: number, end: number): void {
    const length = this.#length + end - start;
    if (!this.#isCopy || length > this.#memory.length) {
      const larger = Buffer.allocUnsafe(2 * length);
      this.#memory.copy(larger, 0, this.#start, this.#start + this.#length);
      this.#memory = larger;
      this.#start = 0;
      this.#isCopy = true;
    }
    part.copy(this.#memory, this.#length, start, end);
  }
}

const empty = Buffer.alloc(0);

/**
 * The bytes of a body, in a buffer that may have other bytes around them. To make a view of a buffer that comes from the runtime takes longer than to
 * decode the text, so `view` makes one only when called.
 */
export class BodyBytes {
  readonly length: number;
  readonly #buffer: Buffer;
  readonly #start: number;

  constructor(buffer: Buffer, start: number, length: number) {
    this.#buffer = buffer;
    this.#start = start;
    this.length = length;
  }

  get view(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#start + this.length);
  }

  /** The bytes decoded as UTF-8, with U+FFFD for malformed sequences. */
  get text(): string {
    return this.#buffer.toString("utf8", this.#start, this.#start + this.length);
  }
}

export const emptyBody = new BodyBytes(Buffer.alloc(0), 0, 0);
