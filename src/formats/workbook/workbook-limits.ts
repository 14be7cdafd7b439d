// Limits of workbooks, and the errors of those that exceed them or can't be read.

import { ProblemError } from "../../model/errors.ts";

const mebibyte = 1024 * 1024;

export const workbookLimits = {
  fileBytes: 100 * mebibyte,
  /** Files in the archive. */
  entries: 10_000,
  /** Everything that's unzipped. A small archive can unzip to a thousand times its size. */
  unzippedBytes: 1024 * mebibyte,
  /** Of all shared strings together, in UTF-16 units. */
  sharedStringsLength: 256 * mebibyte,
  /** An element that has to be in memory as a whole, such as a row, in UTF-16 units. */
  elementLength: 8 * mebibyte,
  /** A text, start tag or comment, in UTF-16 units. Excel allows 32,767 characters in a cell. */
  tokenLength: mebibyte,
  sheets: 1000,
  /** Excel's limits. */
  rows: 1_048_576,
  columns: 16_384,
  styles: 65_536,
  /** Excel allows 250. */
  numberFormats: 1000,
  /** In characters. */
  numberFormatLength: 255,
  /** In a sheet, including empty ones to the left of others. */
  cells: 25_000_000,
} as const;

/** Random access to a file. */
export interface ByteSource {
  /** In bytes. */
  readonly size: number;
  /** Returns fewer bytes than `length` only at the end. */
  read(start: number, length: number): Promise<Uint8Array>;
}

export function tooLargeError(detail: string): ProblemError {
  return new ProblemError(
    "too-large",
    `the workbook is too large: ${detail}; split it, or save the sheet as "CSV UTF-8" and import that`,
  );
}

export function damagedError(detail: string, cause?: unknown): ProblemError {
  return new ProblemError(
    "bad-request",
    `the workbook is damaged: ${detail}; open it in Excel or LibreOffice, and save it again`,
    { cause },
  );
}
