// Spools rows until all rows of an import are known to be valid. In memory, 1,000,000 rows would take 2 GB. Even if they were compressed in memory,
// the garbage collector would let the heap grow to 0.6 to 1 GB.

import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomText } from "../../lib/text.ts";
import type { Intent } from "../../model/change.ts";
import { withFileErrors } from "../../model/errors.ts";
import type { NumberedRow } from "./file-rows.ts";
import type { RowInput } from "./matcher.ts";

/** A row of an import, and its intent. */
export interface PendingRow {
  readonly intent: Intent;
  /** The values of the row; undefined if no later row can match it. */
  readonly input: RowInput | undefined;
  /** Returns the row. It is needed again only if it is rejected or reported. */
  row(): NumberedRow;
}

/** A range of bytes in the file. */
interface FileRange {
  readonly start: number;
  readonly length: number;
}

/**
 * Batches of rows in a temporary file, compressed: about 130 bytes per row. The file has no name, so that the kernel deletes it when the process
 * ends.
 */
export class SpooledRows {
  readonly #batches: { readonly rows: FileRange; readonly intents: FileRange }[] = [];
  #file: number | undefined;
  #end = 0;

  /** @throws ProblemError `unavailable` if the rows cannot be written */
  add(batch: readonly PendingRow[]): void {
    if (batch.length === 0) return;
    const rows = this.#write(batch.map((pending) => pending.row()));
    this.#batches.push({ rows, intents: this.#write(batch.map(({ intent }) => intent)) });
  }

  /** Returns the batches in their order. @throws ProblemError `unavailable` if the rows cannot be read */
  *batches(): Generator<PendingRow[]> {
    for (const { rows, intents } of this.#batches) {
      const rowAt = (index: number) => this.#read<NumberedRow[]>(rows)[index] as NumberedRow;
      yield this.#read<Intent[]>(intents).map((intent, index) => ({
        intent,
        input: undefined,
        row: () => rowAt(index),
      }));
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #write(value: unknown): FileRange {
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

  #read<T>({ start, length }: FileRange): T {
    const bytes = new Uint8Array(length);
    withSpoolErrors(() => {
      if (readSync(this.#file as number, bytes, 0, length, start) < length) throw new Error("the file is too short");
    });
    return JSON.parse(Bun.zstdDecompressSync(bytes).toString());
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
