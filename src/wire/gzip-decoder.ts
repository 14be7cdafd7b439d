// Decompresses a gzipped body (RFC 1952) while it arrives. zlib runs on other threads, so no body delays other clients.

import { createGunzip } from "node:zlib";
import { RequestError } from "./request-error.ts";

export class GzipDecoder {
  /** zlib's state with a 32 KiB window, and a 16 KiB buffer. */
  readonly memory = { buffer: { byteLength: 64 * 1024 } };
  readonly #gunzip = createGunzip();
  #passedBytes = 0;
  #settle: (error?: RequestError) => void = () => {};
  #firstByte: number | undefined;
  #isEnded = false;

  /** @param onData called with each decompressed part */
  constructor(onData: (part: Buffer) => void) {
    this.#gunzip
      .on("data", onData)
      .on("error", ({ message }) => this.#settle(this.#toRequestError(message)))
      .on("end", () => {
        this.#isEnded = true;
        // zlib also ends at a zero byte after the compressed data, leaving the rest unread.
        this.#settle(this.#gunzip.bytesWritten === this.#passedBytes ? undefined : moreBytesError());
      });
  }

  /**
   * Decompresses the next part of a body. Resolves once `onData` has been called for all of it, but never after `stop`. No bytes at all mean an empty body.
   * @throws RequestError `malformed`; don't call it again after that
   */
  decode(part: Uint8Array, isLast: boolean): Promise<void> {
    if (this.#isEnded && part.length > 0) return Promise.reject(moreBytesError());
    this.#firstByte ??= part[0];
    this.#passedBytes += part.length;
    if (this.#isEnded || (isLast && this.#passedBytes === 0)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#settle = (error) => (error ? reject(error) : resolve());
      if (isLast) this.#gunzip.end(part);
      // The event above reports errors.
      else this.#gunzip.write(part, (error) => void (error || this.#settle()));
    });
  }

  /** Releases the memory. `onData` isn't called again. */
  stop(): void {
    this.#gunzip.destroy();
  }

  #toRequestError(message: string): RequestError {
    if (message === "unexpected end of file") return new RequestError("malformed", "the body's gzip data is cut off");
    if (message !== "incorrect header check")
      return new RequestError("malformed", `the body's gzip data is damaged (${message})`);
    if (this.#firstByte === gzipFirstByte) return moreBytesError();
    const detail = "the body isn't gzip, although Content-Encoding says so; compress it, or leave that header out";
    return new RequestError("malformed", detail);
  }
}

const gzipFirstByte = 0x1f;

function moreBytesError(): RequestError {
  return new RequestError("malformed", "other bytes follow the body's gzip data; remove them");
}
