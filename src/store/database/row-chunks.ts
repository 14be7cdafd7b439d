// The chunks of rows stored by a restore, a copy or a site import.

import { randomText } from "../../lib/text.ts";
import type { DumpedRow } from "../../model/engine.ts";
import { isUsableEpoch } from "./site-state.ts";
import type { TableName } from "./tables.ts";

/** What one transaction may store, the second limit being approximate. This bounds how long other writers wait. */
const maxRows = 1000;
const maxTextLength = 1024 * 1024;

/** Rows of one table, few enough for a short transaction. */
export interface RowChunk {
  readonly table: TableName;
  readonly rows: readonly DumpedRow["row"][];
}

/** Gives every usable site a new epoch, so that earlier versions and cursors aren't accepted. */
export async function* toChunksWithNewEpochs(rows: AsyncIterable<DumpedRow>): AsyncGenerator<RowChunk> {
  let table: string | undefined;
  let chunk: DumpedRow["row"][] = [];
  let text = 0;
  for await (const next of rows) {
    if (next.table !== table || chunk.length === maxRows || text > maxTextLength) {
      if (table !== undefined) yield { table: table as TableName, rows: chunk };
      [table, chunk, text] = [next.table, [], 0];
    }
    const isUsableSite = table === "sites" && isUsableEpoch(String(next.row.epoch));
    chunk.push(isUsableSite ? { ...next.row, epoch: randomText(8) } : next.row);
    for (const cell of Object.values(next.row)) if (typeof cell === "string") text += cell.length;
  }
  if (table !== undefined) yield { table: table as TableName, rows: chunk };
}
