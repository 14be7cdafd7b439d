// Converts records to CSV rows (RFC 4180) and back. A file has one column per text field, named by its dotted path.

import { describeOddity } from "../lib/characters.ts";
import { type FieldError, fault, fullLimits, ProblemError } from "../model/errors.ts";
import { findMeantField } from "../model/field-vocabulary.ts";
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
  /** The number of columns. A row may have fewer cells, and more if they are empty. */
  readonly width: number;
  readonly sources: readonly CellSource[];
  /** A row is skipped if the cell `index` has one of `values`. */
  readonly skip: readonly { readonly index: number; readonly values: ReadonlySet<string> }[];
}

/** Returns the column names for records of `resource`: ID, then the path of each text field. */
export function fieldNames(resource: Resource): string[] {
  return ["ID", ...resource.textFields.map((textField) => textField.path)];
}

/** Returns what a spreadsheet calls the column at `index`, from 0: A to Z, then AA and so on. */
export function columnLetter(index: number): string {
  const before = index < 26 ? "" : columnLetter(Math.floor(index / 26) - 1);
  return before + String.fromCharCode(65 + (index % 26));
}

/** Returns the header row with its line end. */
export function csvHeader(resource: Resource, delimiter?: string): string {
  return toCsvRow(fieldNames(resource), delimiter);
}

/** Returns one row per record, with line ends. */
export function csvLines(resource: Resource, records: readonly StorefrontRecord[], delimiter?: string): string {
  return records.map((record) => toCsvRow(toCells(resource, record), delimiter)).join("");
}

/** Returns a record's values in the order of `fieldNames`. */
export function toCells(resource: Resource, record: StorefrontRecord): (string | number)[] {
  return [record.ID, ...resource.textFields.map((textField) => valueAt(record, textField))];
}

/** Whether a column has annotations, such as the reason why a row was rejected. Such a column is not a field. */
function isAnnotation(column: string): boolean {
  return column.startsWith("#");
}

/**
 * Returns the cell plan for a header row that names fields. Reports an error for each unknown or repeated column. Columns without a name at the end are not
 * part of the table: some programs end every line with a delimiter.
 */
export function planColumns(
  resource: Resource,
  cells: readonly string[],
): { plan: CellPlan; fieldErrors: FieldError[] } {
  const columns = fieldNames(resource);
  const header = cells.slice(0, cells.findLastIndex((name) => name !== "") + 1);
  let unknown = 0;
  const fieldErrors = header.flatMap((name, index): FieldError[] => {
    if (isAnnotation(name)) return [];
    if (name === "")
      return [
        { field: "", ...fault("invalid", `column ${index + 1} has no name; name it, or map columns with --map`) },
      ];
    if (!columns.includes(name)) {
      const meant = unknown++ < fullLimits.maxHints ? findMeantField(resource, name) : undefined;
      const oddity = describeOddity(name);
      const hint = `; did you mean ${meant}?${oddity === undefined ? "" : ` The name in the file ${oddity}`}`;
      return [{ field: name.slice(0, 100), ...fault("unknown-field", columns.includes(meant ?? "") ? hint : "") }];
    }
    return header.indexOf(name) < index ? [{ field: name, ...fault("duplicate-field") }] : [];
  });
  const sources = header.map((field, index) => ({ field, index })).filter(({ field }) => !isAnnotation(field));
  if (sources.length === 0)
    fieldErrors.push({
      field: "",
      ...fault("invalid", `the first row must name columns, not ${quote(header.join(","))}`),
    });
  return { plan: { width: header.length, sources, skip: [] }, fieldErrors };
}

/**
 * Decodes the record in the cells of a row. Returns undefined if the plan skips the row. An empty ID counts as no ID. Cells that are missing at the end
 * are empty.
 */
export function decodeCsvLine({ width, sources, skip }: CellPlan, cells: readonly string[]): Decoded | undefined {
  if (cells.length > width && !isBlank(cells.slice(width))) {
    const wrong = fault("too-many", ` cells, one for each column; this row has ${cells.length}`, { max: width });
    return { input: {}, fieldErrors: [{ field: "", ...wrong }] };
  }
  if (skip.some(({ index, values }) => values.has(cells[index] ?? ""))) return undefined;
  const input: Record<string, unknown> = {};
  const fieldErrors: FieldError[] = [];
  for (const source of sources) {
    const { field } = source;
    const content = source.constant ?? cells[source.index ?? 0] ?? "";
    const found = source.lookup ? (source.lookup.get(content) ?? source.otherwise) : content;
    if (found === undefined)
      fieldErrors.push({
        field,
        ...fault("invalid", `add ${quote(content)} to the lookup in the mapping, or an \`otherwise\``),
      });
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
//
// The first row with content is the header. What other programs write around it is not a row: blank lines, `sep=;` for Excel, and `#TYPE ...` of
// PowerShell. Files are joined, so all of this, a byte order mark and the header itself can come again in the middle.

/** A row, and the error in its quoting, if there is one. */
interface CsvRow {
  /** The number of the row in a spreadsheet, which does not show a line `sep=;` at the beginning. */
  readonly number: number;
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
  readonly rows: readonly CsvRow[];
  readonly delimiter: string;
}

/** Maximum UTF-16 units of a row. It limits the memory for a quoted cell that is never closed. */
const maxRowLength = 1 << 20;

/** If the delimiter is not given, the delimiter of this list that splits the first row into the most cells is used. */
const delimiters = [",", ";", "\t", "|"];

/** Whether `delimiter` can separate cells: one UTF-16 unit other than a quote, CR, LF, a byte order mark or half of a surrogate pair. */
export function isDelimiter(delimiter: string): boolean {
  return /^[^"\r\n\ufeff\ud800-\udfff]$/.test(delimiter);
}

/**
 * Parses the rows of a table, the header first. Yields the rows that are complete after each chunk.
 * @param named the delimiter; if missing, it is that of a line `sep=;`, otherwise it is chosen by the header
 * @throws ProblemError `bad-request` if a row is longer than `maxRowLength`, or if the rest of the file has another delimiter
 */
export async function* readCsvRows(chunks: AsyncIterable<string>, named?: string): AsyncGenerator<CsvRows> {
  let dialect = named === undefined ? undefined : toDialect(named);
  let header: readonly string[] | undefined;
  let [rest, number] = ["", 0];

  /** Takes the complete rows from `rest`. */
  function* rows(isEnd: boolean): Generator<CsvRow> {
    const text = rest;
    let next = 0;
    while (next < text.length) {
      const line = header ? undefined : takeLineBeforeHeader(text, next, isEnd);
      if (line) {
        if (line.delimiter !== undefined) dialect ??= toDialect(line.delimiter);
        if (!line.isSeparator) number++;
        next = line.next;
        continue;
      }
      dialect ??= findDialect(text, next, isEnd);
      const taken = dialect && takeRow(text, next, dialect, isEnd);
      if (!dialect || !taken) break;
      next = taken.next;
      number++;
      const { cells, fault } = taken.row;
      const isRow = fault || !(isBlank(cells) || (header && isRepeated(header, cells, number, dialect.delimiter)));
      if (!isRow) continue;
      header ??= cells;
      yield { number, cells, fault };
    }
    rest = text.slice(next);
  }

  for await (const chunk of chunks) {
    rest += chunk;
    yield { rows: [...rows(false)], delimiter: dialect?.delimiter ?? "," };
    if (rest.length > maxRowLength)
      throw new ProblemError(
        "bad-request",
        `row ${number + 1} is longer than ${maxRowLength} characters; a quote may be missing at the end of a cell`,
      );
  }
  yield { rows: [...rows(true)], delimiter: dialect?.delimiter ?? "," };
}

/** Whether cells have no content. White space is none. */
export function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === "");
}

/** Matches a line before the header that is not a row: a blank line, `#TYPE ...`, `sep=;`, or `"sep=;"` if a program has read that as a cell. */
const lineBeforeHeader =
  /\ufeff?(?:[^\S\r\n]*|"?#TYPE [^\r\n]*|(?<separator>sep=(?<delimiter>\\t|[^\r\n])[;,|\t ]*|"sep=[^"\r\n]"[;,|\t ]*))(?<end>\r\n|[\r\n]|$)/iy;

function takeLineBeforeHeader(text: string, start: number, isEnd: boolean) {
  lineBeforeHeader.lastIndex = start;
  const { separator, delimiter, end } = lineBeforeHeader.exec(text)?.groups ?? {};
  const next = lineBeforeHeader.lastIndex;
  if (end === undefined || (!isEnd && (end === "" || (end === "\r" && next === text.length)))) return undefined;
  const character = delimiter === "\\t" ? "\t" : delimiter;
  if (character !== undefined && !isDelimiter(character)) return undefined;
  return { next, delimiter: character, isSeparator: separator !== undefined };
}

/** Whether a row only repeats what was before the rows: the header, `#TYPE ...` or `sep=;`. @throws ProblemError `bad-request` for another delimiter */
function isRepeated(header: readonly string[], cells: readonly string[], row: number, delimiter: string): boolean {
  const [first = ""] = cells;
  if (first.trim() === header[0]?.trim())
    return isBlank(cells.slice(header.length)) && header.every((name, i) => name.trim() === (cells[i] ?? "").trim());
  if (/^#TYPE \S/.test(first)) return isBlank(cells.slice(1));
  const separator = /^sep=/i.test(first) ? /^sep=(.)$/i.exec(cells.join(delimiter))?.[1] : undefined;
  if (separator === undefined || separator === delimiter) return separator === delimiter;
  throw new ProblemError(
    "bad-request",
    `row ${row}, \`sep=${separator}\`, begins a part of the file with another delimiter; import that part as a file of its own`,
  );
}

/** Begins a CSV file that people open: spreadsheets do not detect UTF-8 without it. */
export const byteOrderMark = "\ufeff";

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
  /** Matches the blanks before a quoted cell, and its quote. */
  readonly quoteStart: RegExp;
  /** Matches a cell such as `="00123"`, which keeps its zeros in Excel. In quotes, this is a value: an export writes it so. */
  readonly textFormula: RegExp;
}

function toDialect(delimiter: string): Dialect {
  const escaped = `\\u${delimiter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const blank = `(?!${escaped})[ \\t]`;
  return {
    delimiter,
    cellEnd: new RegExp(`[${escaped}\\r\\n]`, "g"),
    quoteStart: new RegExp(`(?:${blank})*"`, "y"),
    textFormula: new RegExp(`(?:${blank})*="((?:[^"\\r\\n]|"")*)"(?:${blank})*(?=[${escaped}\\r\\n]|$)`, "y"),
  };
}

/** Returns the dialect in which the row at the index `start` has the most cells; undefined if this row may be incomplete. */
function findDialect(text: string, start: number, isEnd: boolean): Dialect | undefined {
  let best: Dialect | undefined;
  let most = 0;
  for (const dialect of delimiters.map(toDialect)) {
    const first = takeRow(text, start, dialect, isEnd)?.row;
    if (!first) return undefined;
    if (first.cells.length > most) [best, most] = [dialect, first.cells.length];
  }
  return best;
}

/** Returns the row at the index `start`; undefined if its end is not in `text` yet. A byte order mark before it is not part of it. */
function takeRow(text: string, start: number, dialect: Dialect, isEnd: boolean) {
  const { delimiter, cellEnd } = dialect;
  const cells: string[] = [];
  let detail: string | undefined;
  const begin = text[start] === byteOrderMark ? start + 1 : start;
  let at = begin;
  while (true) {
    const { cell, next: from, kind } = takeStart(text, at, dialect);
    cellEnd.lastIndex = from;
    const end = cellEnd.exec(text)?.index ?? text.length;
    if (!isEnd && (end === text.length || (text[end] === "\r" && end + 1 === text.length))) return undefined;
    const after = text.slice(from, end);
    if (kind === "unclosed")
      detail ??= "a quoted cell of this row is never closed; the rest of the file was read as part of it";
    else if (kind === "quoted" && after.trim() !== "")
      detail ??= 'text follows a closing quote; write a quote inside as ""';
    cells.push(kind === "quoted" && after.trim() === "" ? cell : cell + after);
    if (text[end] !== delimiter) {
      const next = end + (text.startsWith("\r\n", end) ? 2 : 1);
      const fault = detail === undefined ? undefined : { detail, text: text.slice(begin, next) };
      return { row: { cells, fault }, next };
    }
    at = end + 1;
  }
}

interface CellStart {
  readonly cell: string;
  /** The index after it. */
  readonly next: number;
  readonly kind: "bare" | "quoted" | "unclosed";
}

/** Reads a cell from the index `at` on, as far as it is in quotes. */
function takeStart(text: string, at: number, { delimiter, quoteStart, textFormula }: Dialect): CellStart {
  const first = text[at];
  if (first === delimiter || (first !== '"' && first !== "=" && first !== " " && first !== "\t"))
    return { cell: "", next: at, kind: "bare" };
  quoteStart.lastIndex = at;
  if (quoteStart.test(text)) return takeQuoted(text, quoteStart.lastIndex);
  textFormula.lastIndex = at;
  const [, content] = textFormula.exec(text) ?? [];
  return content === undefined
    ? { cell: "", next: at, kind: "bare" }
    : { cell: content.replaceAll('""', '"'), next: textFormula.lastIndex, kind: "quoted" };
}

/** Returns the content of a quoted cell, and the index after its closing quote. */
function takeQuoted(text: string, start: number): CellStart {
  let cell = "";
  let at = start;
  while (true) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return { cell: cell + text.slice(at), next: text.length, kind: "unclosed" };
    cell += text.slice(at, quote);
    if (text[quote + 1] !== '"') return { cell, next: quote + 1, kind: "quoted" };
    cell += '"';
    at = quote + 2;
  }
}
