// Chunked transfer coding (RFC 9112 section 7.1). Chunk extensions and trailer fields are checked and ignored.

import { parseHeaderFields } from "./header-fields.ts";
import { RequestError } from "./request-error.ts";

/** For a line between chunks, and for the trailer section. */
const maxLineLength = 1024;
const maxTrailerBytes = 16 * 1024;

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const quoted = String.raw`"(?:[\t\x20!#-[\]-~\x80-\xff]|\\[\t\x20-~\x80-\xff])*"`;
/**
 * A chunk's size and extensions (RFC 9112 section 7.1.1). Whitespace around extensions used to be allowed, but like other parsers we reject it.
 */
const sizeLine = new RegExp(`^([0-9A-Fa-f]{1,12})(?:;${token}(?:=(?:${token}|${quoted}))?)*\r\n$`);

export class ChunkedDecoder {
  #next: "size" | "data" | "end of data" | "trailer" | "nothing" = "size";
  /** Bytes of the current chunk that haven't arrived yet. */
  #remainingBytes = 0;
  #line = "";
  /** Bytes of the trailer section so far. */
  #trailer = 0;
  #isMalformed = false;

  get isComplete(): boolean {
    return this.#next === "nothing";
  }

  get isMalformed(): boolean {
    return this.#isMalformed;
  }

  /**
   * Decodes `bytes` and passes the chunks' data to `onData`.
   * @returns how many of the bytes belong to the body
   * @throws RequestError `malformed`; don't call it again after that
   */
  decode(bytes: Buffer, onData: (part: Buffer) => void): number {
    let at = 0;
    this.#isMalformed = true;
    while (at < bytes.length && !this.isComplete) {
      at = this.#next === "data" ? this.#readData(bytes, at, onData) : this.#readLine(bytes, at);
    }
    this.#isMalformed = false;
    return at;
  }

  #readData(bytes: Buffer, at: number, onData: (part: Buffer) => void): number {
    const end = Math.min(bytes.length, at + this.#remainingBytes);
    onData(bytes.subarray(at, end));
    this.#remainingBytes -= end - at;
    if (this.#remainingBytes === 0) this.#next = "end of data";
    return end;
  }

  #readLine(bytes: Buffer, at: number): number {
    const feed = bytes.indexOf(0x0a, at);
    const end = feed === -1 ? bytes.length : feed + 1;
    this.#line += bytes.toString("latin1", at, Math.min(end, at + maxLineLength + 2));
    if (this.#line.length > maxLineLength) throw malformedBodyError();
    if (feed !== -1) this.#endLine();
    return end;
  }

  #endLine(): void {
    const line = this.#line;
    this.#line = "";
    if (!line.endsWith("\r\n")) throw malformedBodyError();
    if (this.#next === "size") this.#startChunk(line);
    else if (this.#next === "end of data") {
      if (line !== "\r\n") throw malformedBodyError();
      this.#next = "size";
    } else if (line === "\r\n") this.#next = "nothing";
    else this.#checkTrailerLine(line);
  }

  #startChunk(line: string): void {
    const [, size] = sizeLine.exec(line) ?? [];
    if (size === undefined) throw malformedBodyError();
    this.#remainingBytes = Number.parseInt(size, 16);
    this.#next = this.#remainingBytes === 0 ? "trailer" : "data";
  }

  #checkTrailerLine(line: string): void {
    this.#trailer += line.length;
    if (this.#trailer > maxTrailerBytes) throw malformedBodyError();
    const headers = parseHeaderFields(line);
    // A trailer mustn't contain framing fields (RFC 9110 section 6.5.1).
    if (headers.has("content-length") || headers.has("transfer-encoding")) throw malformedBodyError();
  }
}

function malformedBodyError(): RequestError {
  return new RequestError(
    "malformed",
    "the body isn't in valid chunks, although the request says `Transfer-Encoding: chunked`",
  );
}
