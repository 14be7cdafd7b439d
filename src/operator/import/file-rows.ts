// Reads the rows of a file to import, one by one and in any format.

import { fieldNames } from "../../formats/csv.ts";
import type { Decoded } from "../../formats/format.ts";
import { readJsonRecords } from "../../formats/json-items.ts";
import { toFileError } from "../../formats/syntax-errors.ts";
import { type CellPlan, columnLetter, decodeCells, findStrayCell } from "../../formats/table.ts";
import { decodeStart, decodeText, recognizeUnicode } from "../../formats/text-encoding.ts";
import { recognizeFile } from "../../formats/workbook/file-kinds.ts";
import type { ByteSource } from "../../formats/workbook/workbook-limits.ts";
import { readXmlRecords } from "../../formats/xml-items.ts";
import { createYielder } from "../../lib/yielding.ts";
import { type Fault, fault, ProblemError } from "../../model/errors.ts";
import { findListOfRecords } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import {
  annotationNames,
  columnKey,
  type FileRow,
  type Header,
  openCsv,
  openSheet,
  planTable,
  type Table,
  type TableOptions,
} from "./open-table.ts";

export const fileFormats = ["csv", "json", "xml", "xlsx"] as const;
export type FileFormat = (typeof fileFormats)[number];

/**
 * Recognizes a file's format by its first bytes; if these could be anything, by its name.
 * @param start the first `recognizedBytes`, or fewer
 * @param insisted the format the operator has chosen
 * @throws ProblemError `bad-request` if the file can't be imported, or not in this format
 */
export function recognizeFormat(start: Uint8Array, name: string, insisted?: FileFormat): FileFormat {
  const isWorkbook = recognizeFile(start) === "workbook";
  if (insisted !== undefined && (insisted === "xlsx") !== isWorkbook)
    throw new ProblemError(
      "bad-request",
      isWorkbook
        ? `the file is a workbook, not ${insisted}; leave out --format`
        : "the file isn't a workbook; leave out --format, and it will be recognized",
    );
  if (insisted !== undefined || isWorkbook) return insisted ?? "xlsx";
  const first = /^[\ufeff\s]*([[{<])/.exec(decodeStart(start))?.[1];
  if (first) return first === "<" ? "xml" : "json";
  const named = formatOf(name);
  return named === undefined || named === "xlsx" ? "csv" : named;
}

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

export interface RowOptions extends TableOptions {
  /** Called for each row that the mapping excludes. */
  readonly onSkipped?: (() => void) | undefined;
}

/** A file's bytes. CSV can be read from a stream, everything else needs more than one look. */
export type FileContent = ByteSource | AsyncIterable<Uint8Array>;

/**
 * Reads row by row, so the file can have any size. Yields the rows before a syntax error before throwing it.
 * @throws ProblemError `bad-request` or `invalid-record` if the file as a whole can't be read
 */
export async function* readRows(
  resource: Resource,
  content: FileContent,
  format: FileFormat,
  options: RowOptions = {},
): AsyncGenerator<NumberedRow> {
  try {
    if (format === "json" || format === "xml") yield* readItems(resource, streamOf(content), format);
    else yield* readTableRows(resource, await openTable(resource, content, format, options), options);
  } catch (error) {
    throw toFileError(error);
  }
}

/** Like `readRows`, but reads JSON and XML to the end first, so that a file that was cut short yields no rows at all. */
export async function* readRowsOfCompleteFile(
  resource: Resource,
  content: FileContent,
  format: FileFormat,
  options: RowOptions = {},
): AsyncGenerator<NumberedRow> {
  const yieldIfDue = createYielder();
  if (format === "json" || format === "xml")
    for await (const _ of readRows(resource, content, format)) await yieldIfDue();
  yield* readRows(resource, content, format, options);
}

/** Bytes per read. */
const chunkSize = 256 * 1024;

/** Reads from the start. */
async function* streamOf(content: FileContent): AsyncGenerator<Uint8Array> {
  if (!("size" in content)) return yield* content;
  for (let start = 0; start < content.size; start += chunkSize)
    yield await content.read(start, Math.min(chunkSize, content.size - start));
}

/**
 * Windows programs in western Europe write windows-1252. Reads the whole file, because the first letter outside ASCII may be at its end. If the file was cut
 * off in the middle of a character, it's still UTF-8.
 */
export async function guessEncoding(content: ByteSource): Promise<string> {
  const recognized = recognizeUnicode(await content.read(0, chunkSize));
  if (recognized) return recognized;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for await (const chunk of streamOf(content)) {
    try {
      decoder.decode(chunk, { stream: true });
    } catch {
      return "windows-1252";
    }
  }
  return "utf-8";
}

/** @throws ProblemError `bad-request` */
export function openTable(
  resource: Resource,
  content: FileContent,
  format: TableSource["format"],
  options: TableOptions,
): Promise<Table> {
  if (format === "csv") return openCsv(resource, streamOf(content), options, !("size" in content));
  if ("size" in content) return openSheet(resource, content, options);
  throw new TypeError("a workbook can't be read from a stream");
}

/**
 * @param options as for `openTable`
 * @throws ProblemError as `planTable`, and `bad-request` at the header of another table
 */
export async function* readTableRows(
  resource: Resource,
  opened: Table,
  { mapping, onSkipped }: RowOptions,
): AsyncGenerator<NumberedRow> {
  const { format, delimiter, header } = opened;
  const plan = planTable(resource, opened, mapping);
  const table: TableSource["table"] = { header: header.cells, delimiter };
  const isOtherHeader = header.number > 0 ? headerTest(resource, header.cells) : () => false;
  for await (const rows of opened.rows()) {
    for (const { number, cells, fault: quoting, warnings: ofCells } of rows) {
      if (!quoting && isOtherHeader(cells)) throw otherHeaderError(number, cells);
      const stray = quoting ? undefined : findStrayCell(plan, cells);
      const unknown = ofCells?.find(
        ({ column, isUnknown }) => isUnknown && plan.sources.some(({ index }) => index === column),
      );
      const wrong = quoting
        ? fault("syntax", quoting.detail)
        : unknown
          ? fault("invalid", `${columnKey(header, unknown.column)}: ${unknown.detail}`)
          : format === "csv" && strayFault(plan, cells, stray);
      const decoded = wrong ? { input: {}, fieldErrors: [{ field: "", ...wrong }] } : decodeCells(plan, cells);
      const warnings = format === "xlsx" ? toRowWarnings(plan, header, ofCells, stray) : undefined;
      if (decoded) yield { number, decoded, source: { format, table, cells, text: quoting?.text }, warnings };
      else onSkipped?.();
    }
  }
}

/** @param stray the index of a cell that belongs to no column */
function toRowWarnings(
  { sources }: CellPlan,
  header: Header,
  ofCells: FileRow["warnings"] = [],
  stray: number | undefined,
): RowWarning[] | undefined {
  if (ofCells.length === 0 && stray === undefined) return undefined;
  const warnings = ofCells
    .filter(({ column, isUnknown }) => !isUnknown && sources.some(({ index }) => index === column))
    .map(({ column, detail }) => ({ column: columnKey(header, column), detail }));
  const ofStray = { column: columnLetter(stray ?? 0), detail: "not imported, because the column has no name" };
  return stray === undefined ? warnings : [...warnings, ofStray];
}

/** In a CSV file, a cell that belongs to no column usually comes from wrong quoting, which shifts all cells after it. */
function strayFault({ width }: CellPlan, cells: readonly string[], index: number | undefined): Fault | undefined {
  if (index === undefined) return undefined;
  return index >= width
    ? fault("too-many", ` cells, one for each column; this row has ${cells.length}`, { max: width })
    : fault("invalid", `column ${columnLetter(index)} has no name, but this row has content there; name the column`);
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
    `row ${row} is another header (${names.slice(0, 100)}) that differs from the first; import that row and the rest as a separate file, or with --header-row ${row}, but without --remove-missing`,
  );
}
