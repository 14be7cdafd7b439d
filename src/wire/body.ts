// The body of a request as it arrives: of a length that is known (RFC 9112 section 6.2), or in chunks (section 7.1).

import { Refusal } from "../model/errors.ts";
import { parseFields } from "./fields.ts";
import type { Framing } from "./head.ts";

/** Longest line between chunks. What extensions and trailers say is passed over. */
const longestLine = 1024;
const longestTrailer = 16 * 1024;

export class ArrivingBody {
  readonly #limit: number;
  readonly #parts: Uint8Array[] = [];
  readonly #chunks: Chunks | undefined;
  /** Bytes of a known length that are still to come. */
  #left: number;
  #size = 0;
  #isUnwanted = false;
  #fault: Refusal | undefined;
  #waiting: PromiseWithResolvers<Uint8Array> | undefined;

  /** @param limit most bytes to keep; of a longer body nothing is kept */
  constructor({ length, isChunked }: Framing, limit: number) {
    this.#limit = limit;
    this.#left = length;
    this.#chunks = isChunked ? new Chunks() : undefined;
    if (length > limit) this.#refuse(tooLarge(limit));
  }

  get isComplete(): boolean {
    return this.#chunks ? this.#chunks.isComplete : this.#left === 0;
  }

  /** Whether nobody can tell any more where it ends. */
  get isMalformed(): boolean {
    return this.#chunks?.isMalformed ?? false;
  }

  /**
   * Takes what belongs to the body from `bytes`, and returns how many that were.
   * @throws Refusal `bad-request` for chunks that are none; nothing after them can be understood
   */
  take(bytes: Buffer): number {
    const used = this.#chunks ? this.#takeChunks(this.#chunks, bytes) : this.#takeKnown(bytes);
    if (this.isComplete) this.#settle();
    return used;
  }

  /** The whole body. @throws Refusal `too-large`, at once when that is known; `bad-request` when the client went away */
  whole(): Uint8Array | Promise<Uint8Array> {
    if (this.#fault) throw this.#fault;
    if (this.isComplete) return this.#joined();
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  /** What is still to come is not kept. */
  discard(): void {
    this.#isUnwanted = true;
    this.#parts.length = 0;
  }

  /** Nothing more will come. */
  abort(): void {
    this.#refuse(new Refusal("bad-request", "the body ended before it was complete"));
  }

  #takeKnown(bytes: Buffer): number {
    const used = Math.min(this.#left, bytes.length);
    this.#keep(used === bytes.length ? bytes : bytes.subarray(0, used));
    this.#left -= used;
    return used;
  }

  #takeChunks(chunks: Chunks, bytes: Buffer): number {
    try {
      return chunks.take(bytes, (part) => this.#keep(part));
    } catch (error) {
      this.#refuse(error as Refusal);
      throw error;
    }
  }

  #keep(part: Uint8Array): void {
    this.#size += part.length;
    if (this.#size > this.#limit) this.#refuse(tooLarge(this.#limit));
    else if (!this.#isUnwanted) this.#parts.push(part);
  }

  #refuse(fault: Refusal): void {
    this.#fault ??= fault;
    this.discard();
    this.#waiting?.reject(fault);
  }

  #settle(): void {
    if (!this.#fault) this.#waiting?.resolve(this.#joined());
  }

  #joined(): Uint8Array {
    const [only] = this.#parts;
    return only && this.#parts.length === 1 ? only : Buffer.concat(this.#parts);
  }
}

function tooLarge(limit: number): Refusal {
  return new Refusal("too-large", `the body has more than ${limit} bytes`);
}

/** Where in a chunked body its reader is. */
type Place = "size" | "data" | "after data" | "trailer" | "end";

/** Takes chunked coding apart, in whatever pieces it comes. */
class Chunks {
  #place: Place = "size";
  /** Bytes of this chunk that are still to come. */
  #left = 0;
  /** The part of a line that has come. */
  #line = "";
  #trailer = 0;
  isMalformed = false;

  get isComplete(): boolean {
    return this.#place === "end";
  }

  /** Gives the data in `bytes` to `keep`, and returns how many bytes belong to the body. @throws Refusal `bad-request` */
  take(bytes: Buffer, keep: (part: Uint8Array) => void): number {
    let at = 0;
    this.isMalformed = true;
    while (at < bytes.length && this.#place !== "end") {
      at = this.#place === "data" ? this.#takeData(bytes, at, keep) : this.#takeLine(bytes, at);
    }
    this.isMalformed = false;
    return at;
  }

  #takeData(bytes: Buffer, at: number, keep: (part: Uint8Array) => void): number {
    const end = Math.min(bytes.length, at + this.#left);
    keep(bytes.subarray(at, end));
    this.#left -= end - at;
    if (this.#left === 0) this.#place = "after data";
    return end;
  }

  #takeLine(bytes: Buffer, at: number): number {
    const feed = bytes.indexOf(0x0a, at);
    const end = feed === -1 ? bytes.length : feed + 1;
    this.#line += bytes.toString("latin1", at, Math.min(end, at + longestLine + 2));
    if (this.#line.length > longestLine) throw badChunk();
    if (feed !== -1) this.#endLine();
    return end;
  }

  #endLine(): void {
    const line = this.#line;
    this.#line = "";
    if (!line.endsWith("\r\n")) throw badChunk();
    if (this.#place === "size") this.#startChunk(line);
    else if (this.#place === "after data") {
      if (line !== "\r\n") throw badChunk();
      this.#place = "size";
    } else if (line === "\r\n") this.#place = "end";
    else {
      this.#trailer += line.length;
      if (this.#trailer > longestTrailer) throw badChunk();
      parseFields(line);
    }
  }

  #startChunk(line: string): void {
    const [, size] = /^([0-9A-Fa-f]{1,12})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?\r\n$/.exec(line) ?? [];
    if (size === undefined) throw badChunk();
    this.#left = Number.parseInt(size, 16);
    this.#place = this.#left === 0 ? "trailer" : "data";
  }
}

function badChunk(): Refusal {
  return new Refusal("bad-request", "the body is not in chunks as Transfer-Encoding says");
}
