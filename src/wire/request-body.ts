// A request's body while it arrives, with a known length (RFC 9112 section 6.2) or in chunks (section 7.1).
//
// The connection passes the body's bytes in small steps (`receiveStep`). The handler asks for the whole body (`readWholeBody`) and waits until it's complete,
// too large, malformed or late. A body that the handler doesn't want is discarded as it arrives, so that the next request can be read.
//
// A gzipped body is decompressed while it arrives, once the handler has asked for it. While zlib works, the body is paused: the rest waits in the input. The
// limit applies to both the compressed and the decompressed size.
//
// The handler may allow a longer body than the listener does. Until it has decided, the body is undecided: we keep only as many bytes as the listener allows,
// and the rest waits in the input and at the client. So no client can send a long body before its key is checked.

import { ChunkedDecoder } from "./chunked-decoder.ts";
import type { MemoryPart, MemoryShare } from "./connection-memory.ts";
import { GzipDecoder } from "./gzip-decoder.ts";
import { RequestError } from "./request-error.ts";
import type { RequestFraming, RequestHeader } from "./request-header.ts";

/**
 * How many bytes of a chunked or compressed body are decoded per step. A chunk can be as small as one byte, so even 16 KiB can take a while. Bytes that zlib
 * hasn't read yet don't count as memory.
 */
const maxStepBytes = 16 * 1024;

export interface BodyOwner {
  sendContinue(): void;
  /** Called when a body is no longer paused, so there may be bytes to receive. */
  schedule(): void;
}

/**
 * Returns undefined if the request has no body or an empty one (RFC 9112 section 6.3).
 * @param limit maximum bytes, unless the handler sets another; a longer body is discarded
 * @param share counts the body's memory until it's complete
 */
export function openBody(
  { section: { framing }, isHttp10 }: RequestHeader,
  limit: number,
  share: MemoryShare,
  owner: BodyOwner,
): RequestBody | undefined {
  if (!framing.isChunked && framing.length === 0) return undefined;
  // HTTP/1.0 has no `100 Continue` (RFC 9110 section 10.1.1).
  return new RequestBody(framing, limit, share, owner, framing.awaitsContinue && !isHttp10);
}

export class RequestBody {
  /** How long the whole request may take to arrive; infinity unless the handler sets a limit. */
  maxSeconds = Number.POSITIVE_INFINITY;
  readonly #length: number;
  #limit: number;
  readonly #share: MemoryShare;
  readonly #owner: BodyOwner;
  /** Bytes that have arrived; of a compressed body, those that the decoder doesn't have yet. */
  readonly #buffer = new BodyBuffer();
  /** Undefined unless the body is compressed. */
  readonly #decompressed: BodyBuffer | undefined;
  /** Exists once the handler has asked for a compressed body. */
  #decoder: GzipDecoder | undefined;
  #isDecoding = false;
  #isDecoded = false;
  /** What the memory share counts now, for the bytes and for the decoder. */
  #counted: MemoryPart | undefined;
  #countedDecoder: MemoryPart | undefined;
  readonly #chunks: ChunkedDecoder | undefined;
  /** Whether the client is holding the body back until `100 Continue`. */
  #awaitsContinue: boolean;
  /** Whether the handler has decided if it wants the body, and up to what size. */
  #isDecided = false;
  /** What's still to arrive of a body of known length. */
  #remainingBytes: number;
  #size = 0;
  #isDiscarded = false;
  #isTimedOut = false;
  #error: unknown;
  #waiting: PromiseWithResolvers<BodyBytes> | undefined;

  constructor(
    { length, isChunked, isGzip }: RequestFraming,
    limit: number,
    share: MemoryShare,
    owner: BodyOwner,
    awaitsContinue: boolean,
  ) {
    this.#length = length;
    this.#limit = limit;
    this.#share = share;
    this.#owner = owner;
    this.#awaitsContinue = awaitsContinue;
    this.#remainingBytes = length;
    this.#chunks = isChunked ? new ChunkedDecoder() : undefined;
    this.#decompressed = isGzip ? new BodyBuffer() : undefined;
  }

  get isComplete(): boolean {
    return this.#chunks ? this.#chunks.isComplete : this.#remainingBytes === 0;
  }

  /** Whether the chunks are malformed, so that no more requests can be read from the connection. */
  get isMalformed(): boolean {
    return this.#chunks?.isMalformed ?? false;
  }

  /** Whether we can't tell where the next request starts: the body is malformed, timed out, or held back until `100 Continue`. */
  get isEndUnknown(): boolean {
    return this.isMalformed || this.#isTimedOut || this.#awaitsContinue;
  }

  /** Whether we expect the client to send more of the body. */
  get isIncoming(): boolean {
    return this.canReceive && !this.isEndUnknown;
  }

  /** Whether `receiveStep` would take bytes now. */
  get canReceive(): boolean {
    return !this.isComplete && !this.isPaused;
  }

  /** Whether the next bytes have to wait: the body is undecided, or the decoder is still busy with earlier ones. */
  get isPaused(): boolean {
    return this.#isUndecided || this.#isDecoding;
  }

  /** Whether the handler is waiting for the client to send more of the body. */
  get isHandlerWaiting(): boolean {
    return this.#waiting !== undefined && !this.isComplete && !this.#isDecoding && this.#error === undefined;
  }

  /** The whole body, once it has arrived and been decompressed, if it's within the limit. */
  get received(): BodyBytes | undefined {
    if (!this.isComplete || this.#error !== undefined || this.#isTooLarge) return undefined;
    if (!this.#decompressed) return this.#buffer.bytes;
    return this.#isDecoded ? this.#decompressed.bytes : undefined;
  }

  /**
   * Like `receive`, but takes at most 16 KiB of a chunked or compressed body at a time, because decoding takes longer than copying. Takes nothing while the
   * body is paused.
   */
  receiveStep(bytes: Buffer, start: number): number {
    if (this.isPaused) return 0;
    const isDecoded = this.#chunks || this.#decoder;
    return this.receive(bytes, start, isDecoded ? Math.min(bytes.length, start + maxStepBytes) : bytes.length);
  }

  /**
   * Takes the body's part in `bytes` from `start` up to `end`. Returns how many of these bytes belong to the body; all of them if it's malformed.
   */
  receive(bytes: Buffer, start: number, end: number): number {
    this.#awaitsContinue = false;
    const used = this.#chunks
      ? this.#decodeChunks(this.#chunks, bytes.subarray(start, end))
      : this.#takeKnownLength(bytes, start, end);
    if (this.#decoder) this.#decodeArrived(this.#decoder);
    this.#countMemory();
    this.#resolveIfReceived();
    return used;
  }

  /**
   * Returns the whole body, decompressed, once it has arrived. Sends `100 Continue` if the client is waiting for it.
   * @param limit maximum bytes, instead of the listener's limit
   * @param maxSeconds how long the whole request may take to arrive; the listener has a limit too
   * @throws RequestError `body-too-large` (as soon as that's known), `malformed` (also if the client closes the connection) or `timeout`
   */
  async readWholeBody(limit = this.#limit, maxSeconds = this.maxSeconds): Promise<BodyBytes> {
    const wasUndecided = this.#isUndecided;
    this.#limit = limit;
    this.maxSeconds = maxSeconds;
    if (this.#isTooLarge) this.#fail(tooLargeError(limit));
    if (this.#error !== undefined) throw this.#error;
    if (this.received) return this.received;
    this.#waiting ??= Promise.withResolvers();
    if (this.#awaitsContinue) this.#owner.sendContinue();
    this.#awaitsContinue = false;
    this.#decide(wasUndecided);
    if (this.#decompressed && !this.#decoder) this.#startDecoder(this.#decompressed);
    return this.#waiting.promise;
  }

  /** Discards what has arrived of the body, and the rest as it arrives. */
  discard(): void {
    const wasUndecided = this.#isUndecided;
    this.#isDiscarded = true;
    this.#buffer.clear();
    this.#decompressed?.clear();
    this.#decoder?.stop();
    this.#decoder = undefined;
    this.#isDecoding = false;
    this.#countMemory();
    this.#decide(wasUndecided);
  }

  /** Fails the body with `timeout`: `readWholeBody` rejects. */
  timeOut(): void {
    this.#isTimedOut = true;
    this.#fail(new RequestError("timeout", this.#chunks ? "the last chunk didn't arrive in time" : this.#missing));
  }

  /** No more bytes will arrive, so unless the body is complete, it fails with `malformed`: `readWholeBody` rejects. */
  abort(): void {
    if (!this.isComplete)
      this.#fail(new RequestError("malformed", "the connection closed before the whole body arrived"));
  }

  /** Whether the body is longer than the listener allows, and the handler hasn't decided yet whether to allow more. */
  get #isUndecided(): boolean {
    return !this.#isDecided && this.#isTooLarge && !this.isComplete;
  }

  /** Whether the declared, received or decompressed size is over the limit. */
  get #isTooLarge(): boolean {
    return Math.max(this.#length, this.#size, this.#decompressed?.length ?? 0) > this.#limit;
  }

  /** Only counts an incomplete body. A complete one waits for the server, and its client mustn't be cut off for that. */
  #countMemory(): void {
    const { memory } = (this.#decoder && this.#decompressed) ?? this.#buffer;
    this.#counted = this.#share.replaceBuffer(this.#counted, this.isComplete ? undefined : memory);
    const ofDecoder = this.isComplete ? undefined : this.#decoder?.memory;
    this.#countedDecoder = this.#share.replaceBuffer(this.#countedDecoder, ofDecoder);
  }

  /** The handler has decided, so the connection can pass the rest of an undecided body. */
  #decide(wasUndecided: boolean): void {
    this.#isDecided = true;
    if (wasUndecided) this.#owner.schedule();
  }

  #resolveIfReceived(): void {
    const bytes = this.#waiting && this.received;
    if (bytes) this.#waiting?.resolve(bytes);
  }

  get #missing(): string {
    return `only ${this.#length - this.#remainingBytes} of the ${this.#length} bytes declared by Content-Length arrived in time`;
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
    if (this.#isDecided && this.#size > this.#limit) this.#fail(tooLargeError(this.#limit));
    else if (!this.#isDiscarded) this.#buffer.add(part, start, end, this.#chunks ? this.#limit : this.#length);
  }

  #startDecoder(decompressed: BodyBuffer): void {
    this.#decoder = new GzipDecoder((part) => {
      if (this.#isDiscarded) return;
      if (decompressed.length + part.length > this.#limit) this.#fail(tooLargeError(this.#limit, " when decompressed"));
      else decompressed.add(part, 0, part.length, this.#limit);
    });
    this.#decodeArrived(this.#decoder);
  }

  /** Passes what has arrived to the decoder. */
  #decodeArrived(decoder: GzipDecoder): void {
    const { length, view } = this.#buffer.bytes;
    const isLast = this.isComplete;
    if (length === 0 && !isLast) return;
    this.#buffer.clear();
    this.#isDecoding = true;
    const onDecoded = () => {
      if (this.#decoder !== decoder) return;
      this.#isDecoding = false;
      this.#isDecoded = isLast;
      this.#countMemory();
      this.#resolveIfReceived();
      this.#owner.schedule();
    };
    decoder.decode(view, isLast).then(onDecoded, (error) => this.#fail(error));
  }

  #fail(error: unknown): void {
    this.#error ??= error;
    this.discard();
    this.#waiting?.reject(error);
  }
}

function tooLargeError(limit: number, when = ""): RequestError {
  return new RequestError("body-too-large", `the body has more than ${limit} bytes${when}`);
}

/**
 * A growing buffer. It uses the first part without copying it, because most bodies arrive in one piece. Further parts are copied into one buffer, so even a
 * body in a million parts takes at most twice its size.
 */
class BodyBuffer {
  #memory: Buffer = empty;
  #start = 0;
  #length = 0;
  /** Whether `#memory` is our own copy, in which the body starts at 0 and may be followed by free space. */
  #isCopy = false;

  get length(): number {
    return this.#length;
  }

  get bytes(): BodyBytes {
    return new BodyBytes(this.#memory, this.#start, this.#length);
  }

  /** All memory, including free capacity. */
  get memory(): Uint8Array {
    return this.#memory;
  }

  /** @param maxLength no space is reserved beyond this length */
  add(part: Buffer, start: number, end: number, maxLength: number): void {
    if (this.#length === 0) {
      this.#memory = part;
      this.#start = start;
    } else this.#append(part, start, end, maxLength);
    this.#length += end - start;
  }

  clear(): void {
    this.#memory = empty;
    this.#start = 0;
    this.#length = 0;
    this.#isCopy = false;
  }

  #append(part: Buffer, start: number, end: number, maxLength: number): void {
    const length = this.#length + end - start;
    if (!this.#isCopy || length > this.#memory.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, Math.min(2 * length, maxLength)));
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
 * A body's bytes, in a buffer that may have others around them. Creating a view of one of the runtime's buffers takes longer than decoding the text, so `view`
 * only does it when called.
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

  /** Decoded as UTF-8, with U+FFFD for malformed sequences. */
  get text(): string {
    return this.#buffer.toString("utf8", this.#start, this.#start + this.length);
  }
}

export const emptyBody = new BodyBytes(Buffer.alloc(0), 0, 0);
