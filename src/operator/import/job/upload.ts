// Receives a file in parts.

import { appendFileSync, createReadStream, rmSync, truncateSync, writeFileSync } from "node:fs";
import { ProblemError, withFileErrors } from "../../../model/errors.ts";

export class Upload {
  readonly #path: string;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #size = 0;
  #parts = 0;
  #isUtf8 = true;
  #isRemoved = false;

  /** @param path must not exist yet; only this process's user can read it */
  constructor(path: string) {
    this.#path = path;
    withUploadErrors(() => writeFileSync(path, "", { mode: 0o600, flag: "wx" }));
  }

  /** In bytes. */
  get size(): number {
    return this.#size;
  }

  /** How many parts have arrived. */
  get parts(): number {
    return this.#parts;
  }

  /** Whether everything so far can be UTF-8, ignoring an incomplete character at the end. */
  get isUtf8(): boolean {
    return this.#isUtf8;
  }

  /**
   * Ignores the previous part if it's sent again, because the response to it may have been lost.
   * @param number from 0
   * @throws ProblemError `conflict` if this isn't the next part, `unavailable` if it can't be written
   */
  add(number: number, bytes: Uint8Array): void {
    if (number === this.#parts - 1) return;
    if (number !== this.#parts) throw new ProblemError("conflict", `the next part is ${this.#parts}, not ${number}`);
    withUploadErrors(() => {
      try {
        appendFileSync(this.#path, bytes);
      } catch (error) {
        truncateSync(this.#path, this.#size);
        throw error;
      }
    });
    this.#size += bytes.length;
    this.#parts++;
    if (this.#isUtf8) this.#isUtf8 = this.#decodes(bytes);
  }

  /** @param onRead called with the size of each chunk @throws ProblemError `conflict` if the file was removed */
  async *read(onRead?: (bytes: number) => void): AsyncGenerator<Uint8Array> {
    if (this.#isRemoved)
      throw new ProblemError("conflict", "the import has ended, so its file is gone; upload it again");
    for await (const chunk of createReadStream(this.#path)) {
      onRead?.(chunk.length);
      yield chunk;
    }
  }

  remove(): void {
    this.#isRemoved = true;
    rmSync(this.#path, { force: true });
  }

  #decodes(bytes: Uint8Array): boolean {
    try {
      this.#decoder.decode(bytes, { stream: true });
      return true;
    } catch {
      return false;
    }
  }
}

function withUploadErrors(write: () => void): void {
  withFileErrors("can't save the uploaded file", write);
}
