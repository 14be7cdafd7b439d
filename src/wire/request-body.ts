// The body of a request as it arrives: of a length that is known (RFC 9112 section 6.2), or in chunks (section 7.1).

import type { MaybePromise } from "../lib/maybe-promise.ts";
import { BodyBuffer } from "./body-buffer.ts";
import { Chunks } from "./chunks.ts";
import type { MemoryShare } from "./memory.ts";
import { RequestError } from "./request-error.ts";
import type { RequestFraming, RequestHeader } from "./request-header.ts";

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
  readonly #limit: number;
  readonly #share: MemoryShare;
  readonly #buffer = new BodyBuffer();
  /** The memory that `#share` counts. */
  #counted: Uint8Array | undefined;
  readonly #chunks: Chunks | undefined;
  /** Tells a client that holds the body back that it may come; undefined when nobody has to. */
  #ask: (() => void) | undefined;
  /** Bytes of a known length that are still to come. */
  #left: number;
  #size = 0;
  #isUnwanted = false;
  #isTimedOut = false;
  #fault: RequestError | undefined;
  #waiting: PromiseWithResolvers<Uint8Array> | undefined;

  /** @param limit most bytes to keep; of a longer body nothing is kept */
  constructor({ length, isChunked }: RequestFraming, limit: number, share: MemoryShare, ask: (() => void) | undefined) {
    this.#length = length;
    this.#limit = limit;
    this.#share = share;
    this.#ask = ask;
    this.#left = length;
    this.#chunks = isChunked ? new Chunks() : undefined;
    if (length > limit) this.#refuse(tooLarge(limit));
  }

  get isComplete(): boolean {
    return this.#chunks ? this.#chunks.isComplete : this.#left === 0;
  }

  /** Whether it is in chunks that are none: nothing after them can be understood. */
  get isMalformed(): boolean {
    return this.#chunks?.isMalformed ?? false;
  }

  /** Whether nobody can tell where the next request begins: it is malformed, or was held back or stalled and may never come. */
  get hasNoEnd(): boolean {
    return this.isMalformed || this.#isTimedOut || this.#ask !== undefined;
  }

  /** Whether the client has to go on sending. */
  get isAwaited(): boolean {
    return !this.isComplete && !this.hasNoEnd;
  }

  /** Takes what belongs to the body from `bytes`, and returns how many that were: all once it is malformed. */
  take(bytes: Buffer): number {
    this.#ask = undefined;
    const used = this.#chunks ? this.#takeChunks(this.#chunks, bytes) : this.#takeKnown(bytes);
    // Once the body is complete, it waits for the server and not for the client.
    this.#counted = this.#share.exchange(this.#counted, this.isComplete ? undefined : this.#buffer.memory);
    if (this.isComplete && !this.#fault) this.#waiting?.resolve(this.#buffer.bytes);
    return used;
  }

  /** The whole body. @throws RequestError `body-too-large`, at once when that is known; `malformed` when the client went away; `timeout` */
  whole(): MaybePromise<Uint8Array> {
    if (this.#fault) throw this.#fault;
    if (this.isComplete) return this.#buffer.bytes;
    this.#waiting ??= Promise.withResolvers();
    this.#ask?.();
    this.#ask = undefined;
    return this.#waiting.promise;
  }

  /** What is still to come is not kept. */
  discard(): void {
    this.#isUnwanted = true;
    this.#buffer.clear();
    this.#counted = this.#share.exchange(this.#counted, undefined);
  }

  /** It is waited for no longer. */
  timeOut(): void {
    this.#isTimedOut = true;
    this.#refuse(new RequestError("timeout", this.#chunks ? "the last chunk did not come in time" : this.#missing));
  }

  /** Nothing more will come. */
  abort(): void {
    if (!this.isComplete) this.#refuse(new RequestError("malformed", "the body ended before it was complete"));
  }

  get #missing(): string {
    return `of the ${this.#length} bytes that Content-Length announces, ${this.#length - this.#left} came in time`;
  }

  #takeKnown(bytes: Buffer): number {
    const used = Math.min(this.#left, bytes.length);
    this.#keep(used === bytes.length ? bytes : bytes.subarray(0, used));
    this.#left -= used;
    return used;
  }

  #takeChunks(chunks: Chunks, bytes: Buffer): number {
    if (chunks.isMalformed) return bytes.length;
    try {
      return chunks.take(bytes, (part) => this.#keep(part));
    } catch (error) {
      this.#refuse(error as RequestError);
      return bytes.length;
    }
  }

  #keep(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > this.#limit) this.#refuse(tooLarge(this.#limit));
    else if (!this.#isUnwanted) this.#buffer.add(part);
  }

  #refuse(fault: RequestError): void {
    this.#fault ??= fault;
    this.discard();
    this.#waiting?.reject(fault);
  }
}

function tooLarge(limit: number): RequestError {
  return new RequestError("body-too-large", `the body has more than ${limit} bytes`);
}
