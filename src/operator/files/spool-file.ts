// Keeps values that are needed later in a temporary file. In memory, a million rows would take 2 GB, or 0.6 to 1 GB of heap even when compressed.

import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomText } from "../../lib/text.ts";
import { withFileErrors } from "../../model/errors.ts";

/** In bytes. */
export interface FileRange {
  readonly start: number;
  readonly length: number;
}

/** The file is compressed, and has no name, so that the kernel deletes it when the process ends. */
export class SpoolFile {
  #file: number | undefined;
  #end = 0;

  /** @param value must survive a round trip through JSON @throws ProblemError `unavailable` if it can't be written */
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

  /** @param range from `add` @throws ProblemError `unavailable` if it can't be read */
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
  withFileErrors(`can't keep the rows in ${tmpdir()} (set TMPDIR to use another folder)`, access);
}
