// Spools rows until all rows of an import are known to be valid.

import type { Intent } from "../../model/change.ts";
import { type FileRange, SpoolFile } from "../files/spool-file.ts";
import type { NumberedRow } from "./file-rows.ts";

/** A row, and the intent that was made of it. */
export interface SpooledRow {
  readonly intent: Intent;
  /** Returns the row. It is needed again only if it is rejected or reported. */
  row(): NumberedRow;
}

/** Batches of rows in a temporary file: about 130 bytes per row. */
export class SpooledRows {
  readonly #batches: { readonly rows: FileRange; readonly intents: FileRange }[] = [];
  readonly #file = new SpoolFile();

  /** @throws ProblemError `unavailable` if the rows cannot be written */
  add(batch: readonly SpooledRow[]): void {
    if (batch.length === 0) return;
    const rows = this.#file.add(batch.map((pending) => pending.row()));
    this.#batches.push({ rows, intents: this.#file.add(batch.map(({ intent }) => intent)) });
  }

  /** Returns the batches in their order. @throws ProblemError `unavailable` if the rows cannot be read */
  *batches(): Generator<SpooledRow[]> {
    for (const { rows, intents } of this.#batches) {
      const rowAt = (index: number) => this.#file.read<NumberedRow[]>(rows)[index] as NumberedRow;
      yield this.#file.read<Intent[]>(intents).map((intent, index) => ({ intent, row: () => rowAt(index) }));
    }
  }

  close(): void {
    this.#file.close();
  }
}
