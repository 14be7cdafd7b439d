// Converts records to rows of CSV (RFC 4180) and back. A file has one column per text field, named by the dotted path of the field.

import { findNearestPath } from "../lib/text.ts";
import type { FieldError } from "../model/errors.ts";
import { type StorefrontRecord, toId, valueAt } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { Decoded } from "./format.ts";

/** The source of a field's value: a constant or a cell. A lookup table can replace the content of the cell. */
export interface CellSource {
  /** The path of the field, or ID. */
  readonly field: string;
  readonly constant?: string | undefined;
  /** The index of the cell, if the source is not a constant. */
  readonly index?: number | undefined;
  /** The value for each content of the cell. Default: the content itself. */
  readonly lookup?: ReadonlyMap<string, string> | undefined;
  /** The value for a content that is not in `lookup`. If missing, such a content is an error. */
  readonly otherwise?: string | undefined;
}

/** How the cells of a file become records. */
export interface CellPlan {
  /** The number of cells of each row. */
  readonly width: number;
  readonly sources: readonly CellSource[];
  /** A row is skipped if the cell `index` has one of `values`. */
  readonly skip: readonly { readonly index: number; readonly values: ReadonlySet<string> }[];
}

/** Returns the column names for records of `resource`: ID, then the path of each text field. */
export function fieldNames(resource: Resource): string[] {
  return ["ID", ...resource.textFields.map((textField) => textField.path)];
}

/** Returns the header row with its line end. */
export function csvHeader(resource: Resource): string {
  return toCsvRow(fieldNames(resource));
}

/** Returns one row per record, with line ends. */
export function csvLines(resource: Resource, records: readonly StorefrontRecord[]): string {
  const rows = records.map((record) => [
    record.ID,
    ...resource.textFields.map((textField) => valueAt(record, textField)),
  ]);
  return rows.map((row) => toCsvRow(row)).join("");
}

/** Whether a column has annotations, such as the reason why a row was rejected. Such a column is not a field. */
function isAnnotation(column: string): boolean {
  return column.startsWith("#");
}

/** Returns the cell plan for a header row that names fields. Reports an error for each unknown or repeated column. */
export function planColumns(
  resource: Resource,
  header: readonly string[],
): { plan: CellPlan; fieldErrors: FieldError[] } {
  const columns = fieldNames(resource);
  const fieldErrors = header.flatMap((name, index) => {
    if (isAnnotation(name)) return [];
    if (name === "")
      return [{ field: "", detail: `column ${index + 1} has no name; name it, or choose columns with --map` }];
    if (!columns.includes(name)) {
      const meant = findNearestPath(name, columns);
      return [{ field: name.slice(0, 100), detail: `no such column${meant ? `; did you mean ${meant}?` : ""}` }];
    }
    return header.indexOf(name) < index ? [{ field: name, detail: "the column appears more than once" }] : [];
  });
  const sources = header.map((field, index) => ({ field, index })).filter(({ field }) => !isAnnotation(field));
  return { plan: { width: header.length, sources, skip: [] }, fieldErrors };
}

/** Decodes the record in the cells of a row. Returns undefined if the plan skips the row. An empty ID counts as no ID. */
export function decodeCsvLine({ width, sources, skip }: CellPlan, cells: readonly string[]): Decoded | undefined {
  if (cells.length !== width) {
    return {
      input: {},
      fieldErrors: [{ field: "", detail: `has ${cells.length} cells, but the header has ${width}` }],
    };
  }
  if (skip.some(({ index, values }) => values.has(cells[index] ?? ""))) return undefined;
  const input: Record<string, unknown> = {};
  const fieldErrors: FieldError[] = [];
  for (const source of sources) {
    const { field } = source;
    const content = source.constant ?? cells[source.index ?? 0] ?? "";
    const found = source.lookup ? (source.lookup.get(content) ?? source.otherwise) : content;
    if (found === undefined) fieldErrors.push({ field, detail: `the mapping has no entry for ${quote(content)}` });
    const value = found ?? content;
    if (field !== "ID") setPath(input, field.split("."), value);
    else if (value !== "") input.ID = toId(value) ?? value;
  }
  return { input, fieldErrors };
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

/** Sets the value at `path` in `target`, and creates the missing objects on this path. */
function setPath(target: Record<string, unknown>, path: readonly string[], value: string): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) {
    target[name] = value;
    return;
  }
  const inner = target[name] ?? {};
  target[name] = inner;
  setPath(inner as Record<string, unknown>, rest, value);
}

// Parses CSV text into rows (RFC 4180). Lines may end with CRLF, LF or CR, also mixed. A chunk of text may end anywhere.

/** A row, and the error in its quoting, if there is one. */
interface CsvRow {
  readonly cells: string[];
  readonly fault: CsvError | undefined;
}

interface CsvError {
  readonly detail: string;
  /** The text of the row in the file, with its line end. */
  readonly text: string;
}

/** The rows that are complete after a chunk, and the character between their cells. */
interface CsvRows {
  readonly rows: CsvRow[];
  readonly delimiter: string;
}

/** Maximum UTF-16 units of a row. It limits the memory for a quoted cell that is never closed. */
export const maxRowLength = 1 << 20;

/** If the delimiter is not given, the delimiter of this list that splits the first row into the most cells is used. */
const delimiters = [",", ";", "\t", "|"];

/** Whether `delimiter` can separate cells: one UTF-16 unit other than a quote, CR, LF or half of a surrogate pair. */
export function isDelimiter(delimiter: string): boolean {
  return /^[^"\r\n\ud800-\udfff]$/.test(delimiter);
}

/**
 * Parses the rows of a text. Yields the rows that are complete after each chunk. If a row is longer than `maxRowLength`, yields `undefined` and ends.
 * @param named the delimiter; if missing, it is chosen by the first row
 */
export async function* readCsvRows(chunks: AsyncIterable<string>, named?: string): AsyncGenerator<CsvRows | undefined> {
  let dialect = named === undefined ? undefined : toDialect(named);
  let rest = "";
  for await (const chunk of chunks) {
    const text = rest + chunk;
    dialect ??= findDialect(text, false);
    const { rows, next } = dialect ? takeRows(text, dialect, false) : { rows: [], next: 0 };
    rest = text.slice(next);
    if (dialect) yield { rows, delimiter: dialect.delimiter };
    if (rest.length > maxRowLength) return void (yield undefined);
  }
  dialect ??= findDialect(rest, true) ?? toDialect(",");
  yield { rows: takeRows(rest, dialect, true).rows, delimiter: dialect.delimiter };
}

/** Returns a row as CSV text, with its line end. */
export function toCsvRow(cells: readonly (string | number)[], delimiter = ","): string {
  return `${cells.map((cell) => quoted(String(cell), delimiter)).join(delimiter)}\r\n`;
}

/** Quotes a cell if it must be quoted, and if it begins or ends with white space, because some programs trim it. */
function quoted(cell: string, delimiter: string): string {
  const needsQuotes = /["\r\n\ufeff]|^\s|\s$/.test(cell) || cell.includes(delimiter);
  return needsQuotes ? `"${cell.replaceAll('"', '""')}"` : cell;
}

interface Dialect {
  readonly delimiter: string;
  /** Matches the character that ends a cell: the delimiter, CR or LF. */
  readonly cellEnd: RegExp;
}

function toDialect(delimiter: string): Dialect {
  const escaped = `\\u${delimiter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return { delimiter, cellEnd: new RegExp(`[${escaped}\\r\\n]`, "g") };
}

/** Returns the dialect in which the first row has the most cells; undefined if this row may be incomplete. */
function findDialect(text: string, isEnd: boolean): Dialect | undefined {
  let best: Dialect | undefined;
  let most = 0;
  for (const dialect of delimiters.map(toDialect)) {
    const first = takeRow(text, 0, dialect, isEnd)?.row;
    if (!first) return undefined;
    if (first.cells.length > most) [best, most] = [dialect, first.cells.length];
  }
  return best;
}

/** Returns the complete rows of `text`, and the index at which the next row begins. */
function takeRows(text: string, dialect: Dialect, isEnd: boolean): { rows: CsvRow[]; next: number } {
  const rows: CsvRow[] = [];
  let next = 0;
  while (next < text.length) {
    const taken = takeRow(text, next, dialect, isEnd);
    if (!taken) break;
    rows.push(taken.row);
    next = taken.next;
  }
  return { rows, next };
}

/** Returns the row at the index `start`; undefined if its end is not in `text` yet. */
function takeRow(text: string, start: number, dialect: Dialect, isEnd: boolean) {
  const { delimiter, cellEnd } = dialect;
  const cells: string[] = [];
  let detail: string | undefined;
  let at = start;
  while (true) {
    const isQuoted = text[at] === '"';
    const inside = isQuoted ? takeQuoted(text, at + 1) : { cell: "", next: at, isClosed: true };
    cellEnd.lastIndex = inside.next;
    const end = cellEnd.exec(text)?.index ?? text.length;
    if (!isEnd && (end === text.length || (text[end] === "\r" && end + 1 === text.length))) return undefined;
    if (!inside.isClosed)
      detail ??= "a quoted cell of this row is never closed; the rest of the file was read as part of it";
    else if (isQuoted && end > inside.next) detail ??= 'text follows a closing quote; write a quote inside as ""';
    cells.push(inside.cell + text.slice(inside.next, end));
    if (text[end] !== delimiter) {
      const next = end + (text.startsWith("\r\n", end) ? 2 : 1);
      const fault = detail === undefined ? undefined : { detail, text: text.slice(start, next) };
      return { row: { cells, fault }, next };
    }
    at = end + 1;
  }
}

/** Returns the content of a quoted cell, and the index after its closing quote. */
function takeQuoted(text: string, start: number): { cell: string; next: number; isClosed: boolean } {
  let cell = "";
  let at = start;
  while (true) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return { cell: cell + text.slice(at), next: text.length, isClosed: false };
    cell += text.slice(at, quote);
    if (text[quote + 1] !== '"') return { cell, next: quote + 1, isClosed: true };
    cell += '"';
    at = quote + 2;
  }
}
