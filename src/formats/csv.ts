// Converts records to CSV rows (RFC 4180), and CSV text to rows. A file has one column per text field, named by its dotted path.

import { ProblemError } from "../model/errors.ts";
import { type StorefrontRecord, valueAt } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";

/** Returns the column names for records of `resource`: ID, then the path of each text field. */
export function fieldNames(resource: Resource): string[] {
  return ["ID", ...resource.textFields.map((textField) => textField.path)];
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

// Parses CSV text into rows (RFC 4180). Lines may end with CRLF, LF or CR, also mixed. A chunk of text may end anywhere.
//
// Other programs write more than rows: blank lines, `sep=;` for Excel, and PowerShell's `#TYPE ...`. In joined files, all of these and a byte order mark also
// occur in the middle.

/** A row of a CSV file or a workbook. */
export interface TableRow {
  /** The number of the row in a spreadsheet, which does not show a line `sep=;` at the beginning. */
  readonly number: number;
  readonly cells: readonly string[];
}

/** A row, and the error in its quoting, if there is one. */
interface CsvRow extends TableRow {
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

/** The delimiters that are detected. */
const delimiters = [",", ";", "\t", "|"];

/** How many of the first rows with content to look at for the delimiter and the header. */
export const maxTopRows = 20;

/** How well the first rows of a file fit if a delimiter splits them, and whether that's final, whatever comes next. */
type Fit = readonly [score: number, isFinal: boolean];

/** Whether `delimiter` can separate cells: one UTF-16 unit other than a quote, CR, LF, a byte order mark or half of a surrogate pair. */
export function isDelimiter(delimiter: string): boolean {
  return /^[^"\r\n\ufeff\ud800-\udfff]$/.test(delimiter);
}

/**
 * Parses the rows that have content. Yields the rows that are complete after each chunk.
 * @param named the delimiter; by default that of a line `sep=;`, or else the one with which the first rows fit best
 * @param fitOf how well the first rows fit; by default, the number of cells in the first one
 * @throws ProblemError `bad-request` if a row is longer than `maxRowLength`, or if the rest of the file has another delimiter
 */
export async function* readCsvRows(
  chunks: AsyncIterable<string>,
  named?: string,
  fitOf = ([first]: readonly TableRow[]): Fit => [first?.cells.length ?? 0, true],
): AsyncGenerator<CsvRows> {
  let dialect = named === undefined ? undefined : toDialect(named);
  let hasRows = false;
  let [rest, number] = ["", 0];

  /** Takes the complete rows from `rest`. */
  function* rows(isEnd: boolean): Generator<CsvRow> {
    const text = rest;
    let next = 0;
    while (next < text.length) {
      const line = hasRows ? undefined : takeLineBeforeRows(text, next, isEnd);
      if (line) {
        if (line.delimiter !== undefined) dialect ??= toDialect(line.delimiter);
        if (!line.isSeparator) number++;
        next = line.next;
        continue;
      }
      dialect ??= findDialect(text.slice(next), isEnd, number, fitOf);
      const taken = dialect && takeRow(text, next, dialect, isEnd);
      if (!dialect || !taken) break;
      next = taken.next;
      number++;
      const { cells, fault } = taken.row;
      const isRow = fault || !(isBlank(cells) || (hasRows && isLineBetweenRows(cells, number, dialect.delimiter)));
      if (!isRow) continue;
      hasRows = true;
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

/** Whether all cells are empty or just white space. */
export function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === "");
}

/** Whether a row only repeats the header, as in joined files. */
export function isRepeatedHeader(header: readonly string[], cells: readonly string[]): boolean {
  const isSame = (name: string | undefined, index: number) => name?.trim() === (cells[index] ?? "").trim();
  return isSame(header[0], 0) && header.every(isSame) && isBlank(cells.slice(header.length));
}

/** Matches a line before the first row: a blank line, `#TYPE ...`, `sep=;`, or `"sep=;"` if a program has read that as a cell. */
const lineBeforeRows =
  /\ufeff?(?:[^\S\r\n]*|"?#TYPE [^\r\n]*|(?<separator>sep=(?<delimiter>\\t|[^\r\n])[;,|\t ]*|"sep=[^"\r\n]"[;,|\t ]*))(?<end>\r\n|[\r\n]|$)/iy;

function takeLineBeforeRows(text: string, start: number, isEnd: boolean) {
  lineBeforeRows.lastIndex = start;
  const { separator, delimiter, end } = lineBeforeRows.exec(text)?.groups ?? {};
  const next = lineBeforeRows.lastIndex;
  if (end === undefined || (!isEnd && (end === "" || (end === "\r" && next === text.length)))) return undefined;
  const character = delimiter === "\\t" ? "\t" : delimiter;
  if (character !== undefined && !isDelimiter(character)) return undefined;
  return { next, delimiter: character, isSeparator: separator !== undefined };
}

/** Whether a row is `#TYPE ...` or `sep=;` again, as in joined files. @throws ProblemError `bad-request` for another delimiter */
function isLineBetweenRows(cells: readonly string[], row: number, delimiter: string): boolean {
  const [first = ""] = cells;
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

/**
 * Returns the dialect in which the rows at the start of `text` fit best, or the first one in a tie. Undefined if more text is needed. The choice doesn't depend
 * on how much more text has already arrived.
 */
function findDialect(
  text: string,
  isEnd: boolean,
  number: number,
  fitOf: (rows: readonly TableRow[]) => Fit,
): Dialect | undefined {
  const top = text.slice(0, maxRowLength);
  const tables = delimiters.map((delimiter) => {
    const dialect = toDialect(delimiter);
    return { dialect, rows: takeTop(top, dialect, isEnd, number) };
  });
  const fewest = Math.min(...tables.map(({ rows }) => rows.length));
  if (fewest === 0 && !isEnd) return undefined;
  const fits = tables.map(({ rows }) => fitOf(rows));
  const scores = fits.map(([score]) => score);
  const best = scores.indexOf(Math.max(...scores));
  const mayChange = !isEnd && text.length < maxRowLength && fewest < maxTopRows && !fits[best]?.[1];
  return mayChange ? undefined : tables[best]?.dialect;
}

/** Returns the first rows with content that are whole in `text`. */
function takeTop(text: string, dialect: Dialect, isEnd: boolean, before: number): TableRow[] {
  const rows: TableRow[] = [];
  let [next, number] = [0, before];
  while (next < text.length && rows.length < maxTopRows) {
    const taken = takeRow(text, next, dialect, isEnd);
    if (!taken) break;
    next = taken.next;
    const { cells } = taken.row;
    number++;
    if (!isBlank(cells)) rows.push({ number, cells });
  }
  return rows;
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
