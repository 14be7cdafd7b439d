// A temporary file for values that are needed later, and would take too much memory: 1,000,000 rows would take 2 GB. Even if they were compressed in
// memory, the garbage collector would let the heap grow to 0.6 to 1 GB.

import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomText } from "../../lib/text.ts";
import { withFileErrors } from "../../model/errors.ts";

/** A range of bytes in the file. */
export interface FileRange {
  readonly start: number;
  readonly length: number;
}

/** Values in a temporary file, compressed. The file has no name, so that the kernel deletes it when the process ends. */
export class SpoolFile {
  #file: number | undefined;
  #end = 0;

  /** Adds a value that JSON can express. @throws ProblemError `unavailable` if it cannot be written */
  add(value: unknown): FileRange {
    const bytes = Bun.zstdCompressSync(JSON.stringify(value), { level: 1 });
    const start = this.#end;
    withSpoolErrors(() => {
      this.#file ??= openAnonymousFile();
      for (let done = 0; done < bytes.length; )
        done += writeSync(this.#file, bytes, done, bytes.length - done, start + done);
    });
    this.#end += bytes.length;
    return { start, length: bytes.length };
  }

  /** Returns the value in a range that `add` has returned. @throws ProblemError `unavailable` if it cannot be read */
  read<T>({ start, length }: FileRange): T {
    const bytes = new Uint8Array(length);
    withSpoolErrors(() => {
      if (readSync(this.#file as number, bytes, 0, length, start) < length) throw new Error("the file is too short");
    });
    return JSON.parse(Bun.zstdDecompressSync(bytes).toString());
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

function openAnonymousFile(): number {
  const path = join(tmpdir(), `storefront-rows-${randomText(16)}`);
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return file;
}

function withSpoolErrors(access: () => void): void {
  withFileErrors(`the rows cannot be kept in ${tmpdir()} until all are read (set TMPDIR for another folder)`, access);
}
