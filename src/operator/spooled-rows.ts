import type { Intent } from "../model/intent.ts";
import type { RowInput } from "./matcher.ts";
import type { NumberedRow } from "./rows.ts";

/** A row of an import, and what it does. */
export interface PendingRow {
  readonly intent: Intent;
  /** Undefined where no later row can match it. */
  readonly input: RowInput | undefined;
  /** The row; needed again only if it is refused. */
  row(): NumberedRow;
}

/** Rows that wait until all of an import are known to be valid. They are compressed: 1,000,000 take about 100 MB instead of 2 GB. */
export class SpooledRows {
  readonly #batches: { readonly rows: Buffer; readonly intents: Buffer }[] = [];

  add(batch: readonly PendingRow[]): void {
    const rows = compress(batch.map((pending) => pending.row()));
    this.#batches.push({ rows, intents: compress(batch.map(({ intent }) => intent)) });
  }

  /** The batches in their order; each is gone after it was returned. */
  *take(): Generator<PendingRow[]> {
    for (let batch = this.#batches.shift(); batch; batch = this.#batches.shift()) {
      const { rows, intents } = batch;
      const rowAt = (index: number) => decompress<NumberedRow[]>(rows)[index] as NumberedRow;
      yield decompress<Intent[]>(intents).map((intent, index) => ({
        intent,
        input: undefined,
        row: () => rowAt(index),
      }));
    }
  }
}

function compress(value: unknown): Buffer {
  return Bun.zstdCompressSync(JSON.stringify(value), { level: 1 });
}

function decompress<T>(bytes: Buffer): T {
  return JSON.parse(Bun.zstdDecompressSync(bytes as Uint8Array<ArrayBuffer>).toString());
}
