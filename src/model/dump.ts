// Everything that is stored, as rows.

/** A line of a dump: a table's name and one row of it, column by column. */
export interface DumpedRow {
  readonly table: string;
  readonly row: Readonly<Record<string, string | number | null>>;
}

/** Saves all rows that a refill has replaced, in the order of a dump. */
export type SaveReplaced = (rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>) => Promise<void>;
