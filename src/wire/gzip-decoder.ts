// Decompresses a body in the content coding gzip (RFC 1952) while it arrives. zlib works on other threads, so no body delays other clients.

import { createGunzip } from "node:zlib";
import { RequestError } from "./request-error.ts";

export class GzipDecoder {
  /** Its memory: zlib's state with a window of 32 KiB, and a buffer of 16 KiB. */
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
        // zlib also ends at a zero byte after the compressed data, and leaves it and the rest unread.
        this.#settle(this.#gunzip.bytesWritten === this.#passedBytes ? undefined : moreBytesError());
      });
  }

  /**
   * Decompresses the next part of a body. Resolves when `onData` has been called for all of it; never after `stop`. A body without bytes is empty.
   * @throws RequestError `malformed`; after that, do not call it again
   */
  decode(part: Uint8Array, isLast: boolean): Promise<void> {
    if (this.#isEnded && part.length > 0) return Promise.reject(moreBytesError());
    this.#firstByte ??= part[0];
    this.#passedBytes += part.length;
    if (this.#isEnded || (isLast && this.#passedBytes === 0)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#settle = (error) => (error ? reject(error) : resolve());
      if (isLast) this.#gunzip.end(part);
      // An error is reported by its event.
      else this.#gunzip.write(part, (error) => void (error || this.#settle()));
    });
  }

  /** Releases the memory. `onData` is not called again. */
  stop(): void {
    this.#gunzip.destroy();
  }

  #toRequestError(message: string): RequestError {
    if (message === "unexpected end of file")
      return new RequestError("malformed", "the gzip data of the body ends early");
    if (message !== "incorrect header check")
      return new RequestError("malformed", `the gzip data of the body is damaged (${message})`);
    if (this.#firstByte === gzipFirstByte) return moreBytesError();
    const detail = "the body is not gzip, although Content-Encoding says so; compress it, or leave that header out";
    return new RequestError("malformed", detail);
  }
}

const gzipFirstByte = 0x1f;

function moreBytesError(): RequestError {
  return new RequestError("malformed", "other bytes follow the gzip data of the body");
}
