// Keeps values that are needed later in a temporary file. In memory, a million rows would take 2 GB, or 0.6 to 1 GB of heap even when compressed.

import { closeSync, fstatSync, openSync, read, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ByteSource } from "../../formats/workbook/workbook-limits.ts";
import { randomText } from "../../lib/text.ts";
import { ProblemError, withFileErrors } from "../../model/errors.ts";

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
      writeAt(this.#file, bytes, start);
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

/** The bytes of a file, which can be read in any order and more than once. */
export class StoredBytes implements ByteSource {
  readonly size: number;
  readonly #file: number;
  readonly #onRead: (bytes: number) => void;

  /** @param file its descriptor, which `close` closes @param onRead called with the size of each part that was read */
  constructor(file: number, onRead: (bytes: number) => void = () => {}) {
    this.size = fstatSync(file).size;
    this.#file = file;
    this.#onRead = onRead;
  }

  /** Copies bytes to a temporary file. @throws ProblemError `unavailable` if it can't be written */
  static async copy(bytes: AsyncIterable<Uint8Array>, onRead?: (bytes: number) => void): Promise<StoredBytes> {
    const file = withSpoolErrors(openAnonymousFile);
    let end = 0;
    for await (const chunk of bytes) {
      withSpoolErrors(() => writeAt(file, chunk, end));
      end += chunk.length;
    }
    return new StoredBytes(file, onRead);
  }

  /** @throws ProblemError `unavailable` if the file can't be read */
  async read(start: number, length: number): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, this.size - start)));
    const { bytesRead } = await withSpoolErrors(() => readAt(this.#file, bytes, 0, bytes.length, start));
    if (bytesRead < bytes.length) throw new ProblemError("unavailable", "the file got shorter while it was read");
    this.#onRead(bytesRead);
    return bytes;
  }

  close(): void {
    closeSync(this.#file);
  }
}

const readAt = promisify(read);

function writeAt(file: number, bytes: Uint8Array, start: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, start + done);
}

function openAnonymousFile(): number {
  const path = join(tmpdir(), `storefront-rows-${randomText(16)}`);
  const file = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return file;
}

function withSpoolErrors<T>(access: () => T): T {
  return withFileErrors(`can't keep the rows in ${tmpdir()} (set TMPDIR to use another folder)`, access);
}
