// Reads the rows of a file to import, one by one, in any format.

import { type CellPlan, decodeCsvLine, maxRowLength, planColumns, readCsvRows } from "../../formats/csv.ts";
import { type CsvMapping, planMapping } from "../../formats/csv-mapping.ts";
import type { Decoded } from "../../formats/format.ts";
import { readJsonItems } from "../../formats/json-items.ts";
import { decodeUtf8, toFileError } from "../../formats/syntax-errors.ts";
import { decodeText } from "../../formats/text-encoding.ts";
import { readXmlRecords } from "../../formats/xml-records.ts";
import { createYielder } from "../../lib/yielding.ts";
import { invalidRecordError, ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";

export const fileFormats = ["csv", "json", "xml"] as const;
export type FileFormat = (typeof fileFormats)[number];

/** Returns the format that the extension of a file names. */
export function formatOf(file: string): FileFormat | undefined {
  return fileFormats.find((format) => file.toLowerCase().endsWith(`.${format}`));
}

/** A row and its number. In CSV, this is the number in a spreadsheet (the header is 1); otherwise the position in the list, from 1. */
export interface NumberedRow {
  readonly number: number;
  readonly decoded: Decoded;
  /** The text of the row in the file. */
  readonly source: RowSource;
  /** Whether the row is not imported. It names its record all the same, so that the record is not removed (missing-records.ts). */
  readonly isExcluded?: boolean | undefined;
}

/** A row as it is in the file, for the file of rejected rows. */
export type RowSource = CsvSource | ItemSource;

/** A record of a JSON or XML file. */
export interface ItemSource {
  readonly format: "json" | "xml";
  readonly text: string;
  /** As `FileItem.declarations`. */
  readonly declarations?: string | undefined;
}

export interface CsvSource {
  readonly format: "csv";
  readonly table: { readonly header: readonly string[]; readonly delimiter: string };
  readonly cells: readonly string[];
  /** The text of the row, if its quoting is wrong. */
  readonly text: string | undefined;
}

/** Annotations of a row in a file of rejected rows: columns of CSV, members of JSON. An import ignores them. */
export const annotationNames = ["# row", "# fault"] as const;

/** The dialect of a CSV file, if it differs from files of `export`. */
export interface CsvOptions {
  /** The delimiter between cells; by default detected from the header row. */
  readonly delimiter?: string | undefined;
  /** The encoding of a file without a byte order mark; by default UTF-8. */
  readonly encoding?: string | undefined;
  /** Which column becomes which field; by default, the columns have the names of the fields. */
  readonly mapping?: CsvMapping | undefined;
  /** Called for each row that the mapping excludes. */
  readonly onSkipped?: (() => void) | undefined;
}

/**
 * Reads the rows of a file one by one, so that the file can have any size. The rows before a syntax error are returned before the error is thrown.
 * @throws ProblemError `bad-request` or `invalid-record` if the file as a whole cannot be read
 */
export async function* readRows(
  resource: Resource,
  bytes: AsyncIterable<Uint8Array>,
  format: FileFormat,
  options: CsvOptions = {},
): AsyncGenerator<NumberedRow> {
  try {
    yield* format === "csv" ? readCsv(resource, bytes, options) : readItems(resource, bytes, format);
  } catch (error) {
    throw toFileError(error);
  }
}

/**
 * Does the same as `readRows`, for a stream that can be read only once. JSON and XML are kept in memory and read to their end first. So if such a
 * file was cut short, none of its rows is returned.
 */
export async function* readRowsOfCompleteFile(
  resource: Resource,
  bytes: AsyncIterable<Uint8Array>,
  format: FileFormat,
  options: CsvOptions = {},
): AsyncGenerator<NumberedRow> {
  if (format === "csv") return yield* readCsv(resource, bytes, options);
  const chunks = await Array.fromAsync(bytes);
  const yieldIfDue = createYielder();
  for await (const _ of readRows(resource, toAsyncIterable(chunks), format)) await yieldIfDue();
  yield* readRows(resource, toAsyncIterable(chunks), format);
}

async function* readItems(
  resource: Resource,
  bytes: AsyncIterable<Uint8Array>,
  format: ItemSource["format"],
): AsyncGenerator<NumberedRow> {
  let number = 0;
  const items = format === "json" ? readJsonItems(decodeUtf8(bytes)) : readXmlRecords(resource, bytes);
  for await (const { text, decoded, declarations } of items) {
    const row = format === "json" ? { ...decoded, input: removeAnnotations(decoded.input) } : decoded;
    yield { number: ++number, decoded: row, source: { format, text, declarations } };
  }
}

/** Removes the annotations of a rejected row, which are not part of the record. */
function removeAnnotations(input: unknown): unknown {
  if (typeof input !== "object" || input === null || !annotationNames.some((annotation) => annotation in input))
    return input;
  return Object.fromEntries(
    Object.entries(input).filter(([name]) => !annotationNames.some((annotation) => annotation === name)),
  );
}

async function* toAsyncIterable<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

async function* readCsv(
  resource: Resource,
  bytes: AsyncIterable<Uint8Array>,
  { delimiter, encoding, mapping, onSkipped }: CsvOptions,
): AsyncGenerator<NumberedRow> {
  let plan: CellPlan | undefined;
  let table: CsvSource["table"] = { header: [], delimiter: "" };
  let number = 0;
  for await (const read of readCsvRows(decodeText(bytes, encoding), delimiter)) {
    if (!read) throw rowTooLongError(number + 1);
    for (const { cells, fault } of read.rows) {
      number++;
      if (!plan) {
        plan = parseHeader(resource, mapping, cells, fault?.detail);
        table = { header: cells, delimiter: read.delimiter };
      } else if (fault || cells.some((cell) => cell !== "")) {
        const decoded = fault
          ? { input: {}, fieldErrors: [{ field: "", detail: fault.detail }] }
          : decodeCsvLine(plan, cells);
        if (!decoded) onSkipped?.();
        else yield { number, decoded, source: { format: "csv", table, cells, text: fault?.text } };
      }
    }
  }
  if (!plan) throw new ProblemError("bad-request", "the file is empty; the first line must name the columns");
}

function parseHeader(
  resource: Resource,
  mapping: CsvMapping | undefined,
  cells: string[],
  fault: string | undefined,
): CellPlan {
  const [only = ""] = cells;
  if (/^\s*[[{<]/.test(only))
    throw new ProblemError("bad-request", "the file is not CSV; add --format json or --format xml");
  if (only.includes("\0"))
    throw new ProblemError("bad-request", "the file is not text in this encoding; for UTF-16, add --encoding utf-16le");
  const { plan, fieldErrors } = mapping ? planMapping(mapping, cells) : planColumns(resource, cells);
  if (fault) fieldErrors.push({ field: "", detail: fault });
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors);
  return plan;
}

function rowTooLongError(row: number): ProblemError {
  return new ProblemError(
    "bad-request",
    `row ${row} is longer than ${maxRowLength} characters; a quote may be missing at the end of a cell`,
  );
}
