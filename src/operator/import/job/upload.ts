// A file that is uploaded in parts, and read when it is complete.

import { appendFileSync, createReadStream, rmSync, truncateSync, writeFileSync } from "node:fs";
import { ProblemError, withFileErrors } from "../../../model/errors.ts";

/** The file of an upload, on disk. */
export class Upload {
  readonly #path: string;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #size = 0;
  #parts = 0;
  #isUtf8 = true;
  #isRemoved = false;

  /** @param path of a file that does not exist; only the user of this process may read it */
  constructor(path: string) {
    this.#path = path;
    withUploadErrors(() => writeFileSync(path, "", { mode: 0o600, flag: "wx" }));
  }

  /** The size in bytes. */
  get size(): number {
    return this.#size;
  }

  /** The number of parts that have arrived. */
  get parts(): number {
    return this.#parts;
  }

  /** Whether the file can be UTF-8. A character that is incomplete at the end does not count. */
  get isUtf8(): boolean {
    return this.#isUtf8;
  }

  /**
   * Adds a part. The last part may be sent again, if the response to it was lost; it is then ignored.
   * @param number from 0
   * @throws ProblemError `conflict` if another part is the next one, `unavailable` if the part cannot be written
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

  /** Reads the file. @param onRead called with the number of bytes of each chunk @throws ProblemError `conflict` if the file was removed */
  async *read(onRead?: (bytes: number) => void): AsyncGenerator<Uint8Array> {
    if (this.#isRemoved) throw new ProblemError("conflict", "the file is not kept any longer; its import has ended");
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
  withFileErrors("the file cannot be kept", write);
}
