// A file that arrives in parts, to be read when it is complete.

import { appendFileSync, createReadStream, rmSync, truncateSync, writeFileSync } from "node:fs";
import { Refusal } from "../model/errors.ts";
import { accessing } from "./file-access.ts";

export class Upload {
  readonly #path: string;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #size = 0;
  #parts = 0;
  #isUtf8 = true;
  #isRemoved = false;

  /** @param path of a file that does not exist; only this user may read it */
  constructor(path: string) {
    this.#path = path;
    writing(() => writeFileSync(path, "", { mode: 0o600, flag: "wx" }));
  }

  /** In bytes. */
  get size(): number {
    return this.#size;
  }

  /** The number of parts that have arrived. */
  get parts(): number {
    return this.#parts;
  }

  /** Whether it may be UTF-8; a character that the end cuts off does not count. */
  get isUtf8(): boolean {
    return this.#isUtf8;
  }

  /**
   * Adds a part. The last one may come again, when the response to it was lost.
   * @param number from 0
   * @throws Refusal `conflict` when another part is the next one, `unavailable` when it cannot be written
   */
  add(number: number, bytes: Uint8Array): void {
    if (number === this.#parts - 1) return;
    if (number !== this.#parts) throw new Refusal("conflict", `the next part is ${this.#parts}, not ${number}`);
    writing(() => {
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

  /** @param onRead is called with the number of bytes of each piece @throws Refusal `conflict` when the file was removed */
  async *read(onRead?: (bytes: number) => void): AsyncGenerator<Uint8Array> {
    if (this.#isRemoved) throw new Refusal("conflict", "the file is not kept any longer; its import has ended");
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

function writing(write: () => void): void {
  accessing("the file cannot be kept", write);
}
