// Reads the rows of a file to import, one by one, in any format.

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

export const fileFormats = ["csv", "json", "xml"] as const;
export type FileFormat = (typeof fileFormats)[number];

/** Returns the format that the extension of a file names. */
export function formatOf(file: string): FileFormat | undefined {
  if (isTsv(file)) return "csv";
  return fileFormats.find((format) => file.toLowerCase().endsWith(`.${format}`));
}

/** Whether the extension of a file names CSV with tabs. */
export function isTsv(file: string): boolean {
  return file.toLowerCase().endsWith(".tsv");
}

/** A row and its number. In CSV, this is the number in a spreadsheet (the header is 1); otherwise the position in the list, from 1. */
export interface NumberedRow {
  readonly number: number;
  readonly decoded: Decoded;
  /** The text of the row in the file. */
  readonly source: RowSource;
  /** Whether the row is not imported. It names its record all the same, so that the record is not removed (missing-from-file.ts). */
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
  /** The delimiter between cells; by default that of a line `sep=;`, otherwise detected from the header row. */
  readonly delimiter?: string | undefined;
  /** The encoding of a file without a byte order mark; by default UTF-16 if it is recognized, otherwise UTF-8. */
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
  const items = format === "json" ? readJsonRecords(decodeText(bytes)) : readXmlRecords(resource, bytes);
  for await (const { text, decoded, declarations } of items) {
    const list = number === 0 ? findListOfRecords(resource, decoded.input) : undefined;
    if (list !== undefined)
      throw new ProblemError(
        "bad-request",
        `the file must be a list of ${resource.plural}: save the list in \`${list}\` alone`,
      );
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

const encodingHint = ": save it as UTF-8 (`CSV UTF-8` in a spreadsheet), or add --encoding windows-1252";

async function* readCsv(
  resource: Resource,
  bytes: AsyncIterable<Uint8Array>,
  { delimiter, encoding, mapping, onSkipped }: CsvOptions,
): AsyncGenerator<NumberedRow> {
  let plan: CellPlan | undefined;
  let table: CsvSource["table"] = { header: [], delimiter: "" };
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

/** Maximum columns of a CSV file: as many as a spreadsheet can have. */
const maxColumns = 16_384;

function parseHeader(
  resource: Resource,
  mapping: CsvMapping | undefined,
  cells: string[],
  syntax: string | undefined,
): CellPlan {
  const [only = ""] = cells;
  if (/^\s*[[{<]/.test(only))
    throw new ProblemError("bad-request", "the file is not CSV; add --format json or --format xml");
  if (only.includes("\0"))
    throw new ProblemError(
      "bad-request",
      "the file has zero bytes, so it is not text in this encoding; save it as UTF-8",
    );
  if (/^"?sep=/i.test(only))
    throw new ProblemError(
      "bad-request",
      `the line ${JSON.stringify(only.slice(0, 40))} names no delimiter; write, for example, \`sep=;\``,
    );
  if (cells.length > maxColumns)
    throw new ProblemError(
      "bad-request",
      `the file has ${cells.length} columns; at most ${maxColumns} can be imported`,
    );
  const { plan, fieldErrors } = mapping ? planMapping(mapping, cells) : planColumns(resource, cells);
  if (syntax) fieldErrors.push({ field: "", ...fault("syntax", syntax) });
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors);
  return plan;
}

/** Maximum cells of a row that is compared with headers, so that a row of many cells does not take long. */
const maxHeaderCells = 1000;

/**
 * Returns a function that says whether a row is the header of another file, as in joined files, whose columns or delimiter differ from those of this
 * file. A row of an exported file is never one, because it begins with the ID.
 */
function headerTest(resource: Resource, header: readonly string[]): (cells: readonly string[]) => boolean {
  // A byte order mark of UTF-8 can have been read as windows-1252.
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
    // Most rows end here.
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
    `row ${row} is a second header (${names.slice(0, 100)}) that differs from the first; import the rows from there on as a file of their own`,
  );
}
