// The body of a request while it arrives: with a known length (RFC 9112 section 6.2) or in chunks (section 7.1).

import type { MaybePromise } from "../lib/maybe-promise.ts";
import { ChunkedDecoder } from "./chunked-decoder.ts";
import type { MemoryShare } from "./connection-memory.ts";
import { RequestError, type RequestFraming, type RequestHeader } from "./request-header.ts";

/** Bytes of a body that are read in one step. A chunk may be one byte. */
const maxStep = 16 * 1024;

/**
 * The body of a request; undefined when it has none or an empty one (RFC 9112 section 6.3).
 * @param limit bytes; of a longer body nothing is kept
 * @param share counts what is kept until the body is complete
 * @param ask sends `100 Continue`
 */
export function openBody(
  { section: { framing }, isHttp10 }: RequestHeader,
  limit: number,
  share: MemoryShare,
  ask: () => void,
): RequestBody | undefined {
  if (!framing.isChunked && framing.length === 0) return undefined;
  // HTTP/1.0 does not know `100 Continue` (RFC 9110 section 10.1.1).
  return new RequestBody(framing, limit, share, framing.awaitsContinue && !isHttp10 ? ask : undefined);
}

export class RequestBody {
  readonly #length: number;
  #limit: number;
  readonly #share: MemoryShare;
  readonly #buffer = new BodyBuffer();
  /** The memory that `#share` counts. */
  #counted: Uint8Array | undefined;
  readonly #chunks: ChunkedDecoder | undefined;
  /** Sends `100 Continue`; undefined when the client does not wait for it, or no longer. */
  #ask: (() => void) | undefined;
  /** Bytes of a body of known length that have not arrived. */
  #left: number;
  #size = 0;
  #isDiscarded = false;
  #isTimedOut = false;
  #error: unknown;
  #waiting: PromiseWithResolvers<BodyBytes> | undefined;

  constructor({ length, isChunked }: RequestFraming, limit: number, share: MemoryShare, ask: (() => void) | undefined) {
    this.#length = length;
    this.#limit = limit;
    this.#share = share;
    this.#ask = ask;
    this.#left = length;
    this.#chunks = isChunked ? new ChunkedDecoder() : undefined;
    this.#lowerLimit(limit);
  }

  get isComplete(): boolean {
    return this.#chunks ? this.#chunks.isComplete : this.#left === 0;
  }

  /** Whether its chunked coding is malformed, so that nothing after it can be read. */
  get isMalformed(): boolean {
    return this.#chunks?.isMalformed ?? false;
  }

  /** Whether the place where the next request begins is unknown: the body is malformed, or the client holds it back or stalls. */
  get hasNoEnd(): boolean {
    return this.isMalformed || this.#isTimedOut || this.#ask !== undefined;
  }

  /** Whether the server waits for the client to send more of it. */
  get isAwaited(): boolean {
    return !this.isComplete && !this.hasNoEnd;
  }

  /** Whether the handler waits for the client to send more of it. */
  get isWaitedFor(): boolean {
    return this.#waiting !== undefined && !this.isComplete && this.#error === undefined;
  }

  /** The same as `read`, for a part of the bytes from `start` on, so that reading many small chunks takes several steps. */
  readStep(bytes: Buffer, start: number): number {
    return this.read(bytes, start, Math.min(bytes.length, start + maxStep));
  }

  /** Reads what belongs to the body of `bytes` from `start` up to `end`. Returns its length; all of them once the body is malformed. */
  read(bytes: Buffer, start: number, end: number): number {
    this.#ask = undefined;
    const used = this.#chunks
      ? this.#readChunks(this.#chunks, bytes.subarray(start, end))
      : this.#readKnownLength(bytes, start, end);
    // Once the body is complete, it waits for the server and not for the client.
    this.#counted = this.#share.exchange(this.#counted, this.isComplete ? undefined : this.#buffer.memory);
    if (this.isComplete && this.#error === undefined) this.#waiting?.resolve(this.#buffer.bytes);
    return used;
  }

  /**
   * The whole body, once it has arrived.
   * @param limit bytes, if less than that of the listener
   * @throws RequestError `body-too-large` as soon as that is known, `malformed` also when the client closes the connection, `timeout`
   */
  whole(limit = this.#limit): MaybePromise<BodyBytes> {
    if (limit < this.#limit) this.#lowerLimit(limit);
    if (this.#error !== undefined) throw this.#error;
    if (this.isComplete) return this.#buffer.bytes;
    this.#waiting ??= Promise.withResolvers();
    this.#ask?.();
    this.#ask = undefined;
    return this.#waiting.promise;
  }

  /** Drops what has arrived and what will arrive. */
  discard(): void {
    this.#isDiscarded = true;
    this.#buffer.clear();
    this.#counted = this.#share.exchange(this.#counted, undefined);
  }

  /** Rejects `whole` with `timeout`. */
  timeOut(): void {
    this.#isTimedOut = true;
    this.#fail(new RequestError("timeout", this.#chunks ? "the last chunk did not come in time" : this.#missing));
  }

  /** Rejects `whole` with `malformed`, if the body is not complete: no more of it will arrive. */
  abort(): void {
    if (!this.isComplete) this.#fail(new RequestError("malformed", "the body ended before it was complete"));
  }

  #lowerLimit(limit: number): void {
    this.#limit = limit;
    if (Math.max(this.#length, this.#size) > limit) this.#fail(tooLarge(limit));
  }

  get #missing(): string {
    return `of the ${this.#length} bytes that Content-Length announces, ${this.#length - this.#left} came in time`;
  }

  #readKnownLength(bytes: Buffer, start: number, end: number): number {
    const used = Math.min(this.#left, end - start);
    this.#keep(bytes, start, start + used);
    this.#left -= used;
    return used;
  }

  #readChunks(chunks: ChunkedDecoder, bytes: Buffer): number {
    if (chunks.isMalformed) return bytes.length;
    try {
      return chunks.decode(bytes, (part) => this.#keep(part, 0, part.length));
    } catch (error) {
      this.#fail(error);
      return bytes.length;
    }
  }

  #keep(part: Buffer, start: number, end: number): void {
    this.#size += end - start;
    if (this.#size > this.#limit) this.#fail(tooLarge(this.#limit));
    else if (!this.#isDiscarded) this.#buffer.add(part, start, end);
  }

  #fail(error: unknown): void {
    this.#error ??= error;
    this.discard();
    this.#waiting?.reject(error);
  }
}

function tooLarge(limit: number): RequestError {
  return new RequestError("body-too-large", `the body has more than ${limit} bytes`);
}

/**
 * A growing buffer. The first part is used without a copy, since most bodies arrive as one part. With more parts there is one copy, so
 * that a body in a million parts uses at most twice the memory of its bytes.
 */
class BodyBuffer {
  #memory: Buffer = empty;
  #start = 0;
  #length = 0;
  /** Whether `#memory` has nothing but the body, and space for more. */
  #isCopy = false;

  get bytes(): BodyBytes {
    return new BodyBytes(this.#memory, this.#start, this.#length);
  }

  /** All memory in use, free capacity included. */
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
 * The bytes of a body, in a buffer that may have other bytes around them. A view of a buffer that comes from the runtime takes longer to make
 * than the text, so it is made only for those who need one.
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

  /** Decoded as UTF-8, with U+FFFD for what is malformed. */
  get text(): string {
    return this.#buffer.toString("utf8", this.#start, this.#start + this.length);
  }
}

export const emptyBody = new BodyBytes(Buffer.alloc(0), 0, 0);
