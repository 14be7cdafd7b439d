// Chunked coding (RFC 9112 section 7.1). What extensions and trailers say is passed over.

import { RequestError } from "./request-error.ts";
import { parseHeaders } from "./request-headers.ts";

/** Longest line between chunks, and longest trailer section. */
const longestLine = 1024;
const longestTrailer = 16 * 1024;

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const quoted = String.raw`"(?:[\t\x20!#-[\]-~\x80-\xff]|\\[\t\x20-~\x80-\xff])*"`;
/** A size and extensions. Blanks around those are refused, though they once were allowed: other readers refuse them too. */
const sizeLine = new RegExp(`^([0-9A-Fa-f]{1,12})(?:;${token}(?:=(?:${token}|${quoted}))?)*\r\n$`);

/** Where in a chunked body its reader is. */
type Place = "size" | "data" | "after data" | "trailer" | "end";

/** Takes chunked coding apart, in whatever pieces it comes. */
export class Chunks {
  #place: Place = "size";
  /** Bytes of this chunk that are still to come. */
  #left = 0;
  /** The part of a line that has come. */
  #line = "";
  #trailer = 0;
  /** Whether anything in it was wrong. */
  isMalformed = false;

  get isComplete(): boolean {
    return this.#place === "end";
  }

  /** Gives the data in `bytes` to `keep`, and returns how many bytes belong to the body. @throws RequestError `malformed` */
  take(bytes: Buffer, keep: (part: Buffer) => void): number {
    let at = 0;
    this.isMalformed = true;
    while (at < bytes.length && this.#place !== "end") {
      at = this.#place === "data" ? this.#takeData(bytes, at, keep) : this.#takeLine(bytes, at);
    }
    this.isMalformed = false;
    return at;
  }

  #takeData(bytes: Buffer, at: number, keep: (part: Buffer) => void): number {
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
      const fields = parseHeaders(line);
      // Too late to tell the length (RFC 9110 section 6.5.1).
      if (fields.has("content-length") || fields.has("transfer-encoding")) throw badChunk();
    }
  }

  #startChunk(line: string): void {
    const [, size] = sizeLine.exec(line) ?? [];
    if (size === undefined) throw badChunk();
    this.#left = Number.parseInt(size, 16);
    this.#place = this.#left === 0 ? "trailer" : "data";
  }
}

function badChunk(): RequestError {
  return new RequestError("malformed", "the body is not in chunks as Transfer-Encoding says");
}
