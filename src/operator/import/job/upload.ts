// Receives a file in parts.

import { appendFileSync, openSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { recognizedBytes } from "../../../formats/workbook/file-kinds.ts";
import { ProblemError, withFileErrors } from "../../../model/errors.ts";
import { StoredBytes } from "../../files/spool-file.ts";
import { type FileFormat, recognizeFormat } from "../file-rows.ts";

export class Upload {
  readonly #path: string;
  readonly #name: string;
  #start: Uint8Array = new Uint8Array(0);
  #size = 0;
  #parts = 0;
  #isRemoved = false;

  /** @param path must not exist yet; only this process's user can read it @param name what the operator calls the file */
  constructor(path: string, name: string) {
    this.#path = path;
    this.#name = name;
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

  /** @throws ProblemError `bad-request` for a file that can't be imported */
  get format(): FileFormat {
    return recognizeFormat(this.#start, this.#name);
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
    if (this.#start.length < recognizedBytes)
      this.#start = Buffer.concat([this.#start, bytes.subarray(0, recognizedBytes - this.#start.length)]);
    this.#size += bytes.length;
    this.#parts++;
  }

  /** Close what's returned. @param onRead called with the size of each part that was read @throws ProblemError `conflict` if the file was removed */
  open(onRead?: (bytes: number) => void): StoredBytes {
    if (this.#isRemoved)
      throw new ProblemError("conflict", "the import has ended, so its file is gone; upload it again");
    return withFileErrors("can't read the uploaded file", () => new StoredBytes(openSync(this.#path, "r"), onRead));
  }

  remove(): void {
    this.#isRemoved = true;
    rmSync(this.#path, { force: true });
  }
}

function withUploadErrors(write: () => void): void {
  withFileErrors("can't save the uploaded file", write);
}
