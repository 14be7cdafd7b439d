import type { RowSource } from "./rows.ts";
import type { PendingRow } from "./spooled-rows.ts";

const maxRows = 500;

/** In characters of the file: rows are as long as 1 MiB, and several copies of these are in memory. */
const maxLength = 4 << 20;

/** Rows that are stored together, or kept until all are. */
export class RowBatch {
  #rows: PendingRow[] = [];
  #length = 0;

  /** Whether no more rows are to be added. */
  get isFull(): boolean {
    return this.#rows.length >= maxRows || this.#length >= maxLength;
  }

  /** @param source of the row */
  add(row: PendingRow, source: RowSource): void {
    this.#rows.push(row);
    this.#length += lengthOf(source);
  }

  /** The rows, which are no longer in it. */
  take(): readonly PendingRow[] {
    const rows = this.#rows;
    this.#rows = [];
    this.#length = 0;
    return rows;
  }
}

/** In characters; of a row of CSV with the header, which is written with each row that is kept. */
function lengthOf(source: RowSource): number {
  if (source.format !== "csv") return source.text.length;
  const cells = [source.table.header, source.cells].flat();
  return cells.reduce((sum, cell) => sum + cell.length + 1, 0);
}
