import type { Intent } from "../model/intent.ts";
import type { RowInput } from "./matcher.ts";
import type { NumberedRow } from "./rows.ts";

/** A row of an import, and what it does. */
export interface PendingRow {
  readonly row: NumberedRow;
  readonly input: RowInput;
  readonly intent: Intent;
}

/** Rows that wait until all of an import are known to be valid. They are compressed: 1,000,000 take about 100 MB instead of 2 GB. */
export class SpooledRows {
  readonly #batches: Buffer[] = [];

  add(batch: readonly PendingRow[]): void {
    const text = JSON.stringify(batch.map(({ row, intent }) => ({ row, intent })));
    this.#batches.push(Bun.zstdCompressSync(text, { level: 1 }));
  }

  /** The batches in their order; each is gone after it was returned. */
  *take(): Generator<PendingRow[]> {
    for (let batch = this.#batches.shift(); batch; batch = this.#batches.shift()) {
      const rows = JSON.parse(Bun.zstdDecompressSync(batch as Uint8Array<ArrayBuffer>).toString()) as Omit<
        PendingRow,
        "input"
      >[];
      yield rows.map(({ row, intent }) => ({ row, intent, input: row.decoded.input as RowInput }));
    }
  }
}
