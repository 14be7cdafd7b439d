// Reads the rows of an uploaded file, and marks the rows that the operator has excluded.

import { ProblemError } from "../../../model/errors.ts";
import type { Resource } from "../../../model/resource.ts";
import { type CsvOptions, type FileFormat, type NumberedRow, readRows } from "../file-rows.ts";

/** Maximum rows of a file. */
const maxRows = 300_000;

/** How the rows of a file are read. */
export interface RowsOptions extends Omit<CsvOptions, "onSkipped"> {
  readonly format: FileFormat;
}

interface SelectedRowsOptions extends RowsOptions {
  /** The numbers of excluded rows. */
  readonly excludedRows: ReadonlySet<number> | undefined;
  readonly onSkipped: () => void;
}

/** Reads the rows of a file, and marks the excluded rows. @throws ProblemError */
export async function* readSelectedRows(
  bytes: AsyncIterable<Uint8Array>,
  resource: Resource,
  { format, excludedRows, ...options }: SelectedRowsOptions,
): AsyncGenerator<NumberedRow> {
  let rows = 0;
  for await (const row of readRows(resource, bytes, format, options)) {
    if (++rows > maxRows) throw new ProblemError("too-large", `the file has more than ${maxRows} rows`);
    const isExcluded = excludedRows?.has(row.number);
    if (isExcluded) options.onSkipped();
    yield isExcluded ? { ...row, isExcluded } : row;
  }
}
