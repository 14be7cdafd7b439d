// Reads the rows of a file to import, one by one and in any format.

import { type CellPlan, decodeCsvLine, fieldNames, planColumns, readCsvRows } from "../../formats/csv.ts";
import { type CsvMapping, planMapping } from "../../formats/csv-mapping.ts";
import type { Decoded } from "../../formats/format.ts";
import { readJsonRecords } from "../../formats/json-items.ts";
import { toFileError } from "../../formats/syntax-errors.ts";
import { decodeText } from "../../formats/text-encoding.ts";
import { readXmlRecords } from "../../formats/xml-items.ts";
import { createYielder } from "../../lib/yielding.ts";
import { fault, invalidRecordError, ProblemError } from "../../model/errors.ts";
import { findListOfRecords } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";

export const fileFormats = ["csv", "json", "xml", "xlsx"] as const;
export type FileFormat = (typeof fileFormats)[number];

/** By file extension. */
export function formatOf(file: string): FileFormat | undefined {
  if (isTsv(file)) return "csv";
  return fileFormats.find((format) => file.toLowerCase().endsWith(`.${format}`));
}

/** CSV with tabs, by file extension. */
export function isTsv(file: string): boolean {
  return file.toLowerCase().endsWith(".tsv");
}

export interface NumberedRow {
  /** In CSV, the number a spreadsheet shows (the header is row 1); otherwise the position in the list, from 1. */
  readonly number: number;
  readonly decoded: Decoded;
  readonly source: RowSource;
  /** What isn't imported as people see it, such as a cell that Excel shows as `####`. */
  readonly warnings?: readonly RowWarning[] | undefined;
  /** Whether the row isn't imported. Its record still counts as present in the file, so it isn't removed (missing-from-file.ts). */
  readonly isExcluded?: boolean | undefined;
}

export interface RowWarning {
  /** A field's path, if it's not about a column. */
  readonly field?: string | undefined;
  /** A column's name, or its letter if it has none. */
  readonly column?: string | undefined;
  readonly detail: string;
}

/** The original content of a row, for the file of rejected rows. */
export type RowSource = TableSource | ItemSource;

/** A record in a JSON or XML file. */
export interface ItemSource {
  readonly format: "json" | "xml";
  readonly text: string;
  /** See `FileItem.declarations`. */
  readonly declarations?: string | undefined;
}

/** A row of a CSV file or a workbook. */
export interface TableSource {
  readonly format: "csv" | "xlsx";
  /** The header has the columns' letters if no row names them. The delimiter is for CSV. */
  readonly table: { readonly header: readonly string[]; readonly delimiter: string };
  readonly cells: readonly string[];
  /** The whole row in CSV, if its quoting is wrong. */
  readonly text: string | undefined;
}

/** Columns or members that annotate rows in a file of rejected rows. Imports ignore them. */
export const annotationNames = ["# row", "# fault"] as const;

/** How a CSV file differs from those that `export` writes. */
export interface CsvOptions {
  /** By default, taken from a line `sep=;`, or else detected from the header. */
  readonly delimiter?: string | undefined;
  /** Of a file without a byte order mark; by default UTF-16 if it's recognized, otherwise UTF-8. */
  readonly encoding?: string | undefined;
  /** Which column becomes which field; by default, columns are named after fields. */
  readonly mapping?: CsvMapping | undefined;
  /** Called for each row that the mapping excludes. */
  readonly onSkipped?: (() => void) | undefined;
}

/**
 * Reads row by row, so the file can have any size. Yields the rows before a syntax error before throwing it.
 * @throws ProblemError `bad-request` or `invalid-record` if the file as a whole can't be read
 */
export async function* readRows(
  resource: Resource,
  bytes: AsyncIterable<Uint8Array>,
  format: FileFormat,
  options: CsvOptions = {},
): AsyncGenerator<NumberedRow> {
  try {
    if (format === "xlsx") throw new ProblemError("not-implemented", "workbooks can't be imported yet");
    yield* format === "csv" ? readCsv(resource, bytes, options) : readItems(resource, bytes, format);
  } catch (error) {
    throw toFileError(error);
  }
}

/**
 * Like `readRows`, for a stream that can only be read once. Keeps JSON and XML in memory and reads them to the end first, so that a file that was cut
 * short yields no rows at all.
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
  const items = format === "json" ? readJsonRecords(decodeText(bytes)) : readXmlRecords(resource, bytes);
  for await (const { text, decoded, declarations } of items) {
    const list = number === 0 ? findListOfRecords(resource, decoded.input) : undefined;
    if (list !== undefined)
      throw new ProblemError(
        "bad-request",
        `the file must be a list of ${resource.plural}; save just the list in \`${list}\``,
      );
    const row = format === "json" ? { ...decoded, input: removeAnnotations(decoded.input) } : decoded;
    yield { number: ++number, decoded: row, source: { format, text, declarations } };
  }
}

/** A row may come from a file of rejected rows. */
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

const encodingHint = ': save it as "CSV UTF-8", or add --encoding windows-1252';

async function* readCsv(
  resource: Resource,
  bytes: AsyncIterable<Uint8Array>,
  { delimiter, encoding, mapping, onSkipped }: CsvOptions,
): AsyncGenerator<NumberedRow> {
  let plan: CellPlan | undefined;
  let table: TableSource["table"] = { header: [], delimiter: "" };
  let isHeader = (_: readonly string[]) => false;
  for await (const read of readCsvRows(decodeText(bytes, encoding, encodingHint), delimiter)) {
    for (const { number, cells, fault: quoting } of read.rows) {
      if (!plan) {
        plan = parseHeader(resource, mapping, cells, quoting?.detail);
        table = { header: cells, delimiter: read.delimiter };
        isHeader = headerTest(resource, cells);
        continue;
      }
      if (!quoting && isHeader(cells)) throw otherHeaderError(number, cells);
      const decoded = quoting
        ? { input: {}, fieldErrors: [{ field: "", ...fault("syntax", quoting.detail) }] }
        : decodeCsvLine(plan, cells);
      if (!decoded) onSkipped?.();
      else yield { number, decoded, source: { format: "csv", table, cells, text: quoting?.text } };
    }
  }
  if (!plan) throw new ProblemError("bad-request", "the file is empty; the first line must name the columns");
}

/** As many as a spreadsheet can have. */
const maxColumns = 16_384;

function parseHeader(
  resource: Resource,
  mapping: CsvMapping | undefined,
  cells: string[],
  syntax: string | undefined,
): CellPlan {
  const [only = ""] = cells;
  if (/^\s*[[{<]/.test(only))
    throw new ProblemError("bad-request", "this file isn't CSV; add --format json or --format xml");
  if (only.includes("\0"))
    throw new ProblemError(
      "bad-request",
      "this file isn't text, or has another encoding, because it contains zero bytes; save it as UTF-8",
    );
  if (/^"?sep=/i.test(only))
    throw new ProblemError(
      "bad-request",
      `the line ${JSON.stringify(only.slice(0, 40))} doesn't set a valid delimiter; use one such as \`sep=;\``,
    );
  if (cells.length > maxColumns)
    throw new ProblemError(
      "bad-request",
      `the file has ${cells.length} columns, and only ${maxColumns} can be imported; check its delimiter`,
    );
  const { plan, fieldErrors } = mapping ? planMapping(mapping, cells) : planColumns(resource, cells);
  if (syntax) fieldErrors.push({ field: "", ...fault("syntax", syntax) });
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors);
  return plan;
}

/** Rows with more cells aren't compared with headers, because that would take too long. */
const maxHeaderCells = 1000;

/**
 * Detects the header of another file, with other columns or another delimiter, as happens when files are joined. Rows from an export are never taken
 * for one, because they start with the ID.
 */
function headerTest(resource: Resource, header: readonly string[]): (cells: readonly string[]) => boolean {
  // The mark may have been read as windows-1252.
  const toName = (cell: string) =>
    cell
      .replace(/^(?:\ufeff|\u00ef\u00bb\u00bf)/, "")
      .trim()
      .toLowerCase();
  const own = header.map(toName);
  const fields = new Set(fieldNames(resource).map(toName));
  const known = new Set<string>([...fields, ...own, ...annotationNames]);
  return (cells) => {
    const [first = ""] = cells;
    // Quickly rules out most rows.
    if (first !== "" && !known.has(toName(first)) && !/[,;\t|]/.test(first)) return false;
    const [only = "", ...others] = cells.filter((cell) => cell.trim() !== "");
    const parts = others.length === 0 ? only.split(/[,;\t|]/) : cells;
    if (parts.length > maxHeaderCells) return false;
    const names = parts.map(toName);
    const given = names.filter((name) => name !== "");
    const likely = names.filter((name, index) => fields.has(name) || (name !== "" && name === own[index]));
    const isFirstLikely = likely[0] !== undefined && likely[0] === given[0];
    return (
      (given.length > 1 && given.every((name) => known.has(name))) ||
      (isFirstLikely && 2 * likely.length >= given.length)
    );
  };
}

function otherHeaderError(row: number, cells: readonly string[]): ProblemError {
  const names = cells.filter((cell) => cell !== "").join(", ");
  return new ProblemError(
    "bad-request",
    `row ${row} is another header (${names.slice(0, 100)}) that differs from the first; import that row and the rest as a separate file`,
  );
}
