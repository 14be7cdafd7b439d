// Opens a table, which is a CSV file or a sheet of a workbook: finds the sheet, and the row that names the columns.
//
// Titles and dates may come before that row. It's the one with the most cells that name fields, among the first rows with content. But if the first row
// names only fields, or all columns of the mapping, it's always that one, so that a file such as an export is never read differently.

import { fieldNames, isBlank, isRepeatedHeader, maxTopRows, readCsvRows, type TableRow } from "../../formats/csv.ts";
import { type CsvMapping, planMapping } from "../../formats/csv-mapping.ts";
import { type CellPlan, columnLetter, contentWidth, planColumns } from "../../formats/table.ts";
import { decodeText } from "../../formats/text-encoding.ts";
import type { CellWarning } from "../../formats/workbook/workbook.ts";
import type { ByteSource } from "../../formats/workbook/workbook-limits.ts";
import { once } from "../../lib/concurrency.ts";
import { fault, invalidRecordError, ProblemError } from "../../model/errors.ts";
import { vocabularyOf } from "../../model/field-vocabulary.ts";
import type { Resource } from "../../model/resource.ts";

/** How to read a table. By default, everything is detected. */
export interface TableOptions {
  /** Of a CSV file; by default that of a line `sep=;`, or else the one with which the first rows name the most fields. */
  readonly delimiter?: string | undefined;
  /** Of a CSV file without a byte order mark; by default UTF-16 if it's recognized, otherwise UTF-8. */
  readonly encoding?: string | undefined;
  /** The name of a workbook's sheet, or its number from 1. */
  readonly sheet?: string | undefined;
  /** The number of the row that names the columns, as a spreadsheet shows it; 0 if no row does. */
  readonly headerRow?: number | undefined;
  /** Which column becomes which field; by default, columns are named after fields. */
  readonly mapping?: CsvMapping | undefined;
}

/** A row, and what's wrong with it. */
export interface FileRow extends TableRow {
  /** In a CSV file, wrong quoting. */
  readonly fault?: { readonly detail: string; readonly text: string } | undefined;
  /** In a workbook. */
  readonly warnings?: readonly CellWarning[] | undefined;
}

export interface Table {
  readonly format: "csv" | "xlsx";
  /** Of a CSV file. */
  readonly delimiter: string;
  /** Of a workbook: the sheet that's read, those that aren't hidden, and those that are known to have rows. */
  readonly sheets?: { readonly read: string; readonly visible: readonly string[]; readonly filled: readonly string[] };
  readonly header: Header;
  /** The first rows with content, whatever the header. */
  readonly top: readonly FileRow[];
  /** Those of them that `rows` starts with. */
  readonly below: readonly FileRow[];
  /** How many columns these rows and the header have. */
  readonly width: number;
  /** The rows below the header that have content, without repetitions of the header. They can be read once. */
  rows(): AsyncGenerator<readonly FileRow[]>;
  /** Call this if the rows aren't read. */
  close(): Promise<void>;
}

/** The row that names the columns. Its number is 0, and its cells are the columns' letters, if no row does. */
export interface Header extends FileRow {
  /** The index of column A. In a file of rejected rows, annotations come before it. */
  readonly start: number;
}

/** Columns or members that annotate rows in a file of rejected rows. Imports ignore them. */
export const annotationNames = ["# row", "# fault"] as const;

/**
 * @param isStream whether to read no more than necessary
 * @throws ProblemError `bad-request` if the file has no rows or no such header, or can't be read as CSV
 */
export async function openCsv(
  resource: Resource,
  bytes: AsyncIterable<Uint8Array>,
  options: TableOptions,
  isStream: boolean,
): Promise<Table> {
  let delimiter = ",";
  const choose = headerChooser(resource, options);
  const fitOf = (rows: readonly TableRow[]) => {
    const { header = rows[0], names } = choose(rows);
    return [names * 2 * maxColumns + Math.min(header?.cells.length ?? 0, maxColumns), names === certain] as const;
  };
  const batches = async function* () {
    for await (const read of readCsvRows(decodeText(bytes, options.encoding, encodingHint), options.delimiter, fitOf)) {
      delimiter = read.delimiter;
      yield read.rows;
    }
  };
  const top = await readTop(batches(), (rows) => isStream && choose(rows).names === certain);
  requireCsv(top.rows[0], choose(top.rows));
  return { format: "csv", delimiter, ...(await toTable(top, choose, options)) };
}

const encodingHint = ': save it as "CSV UTF-8", or add --encoding windows-1252';

/** @param row the first one */
function requireCsv(row: FileRow | undefined, { header, names }: HeaderChoice): void {
  if (!row) throw new ProblemError("bad-request", "the file is empty; the first line must name the columns");
  const [first = ""] = row.cells;
  if (header === row && names < certain && /^\s*[[{<]/.test(first))
    throw new ProblemError("bad-request", "this file isn't CSV; leave out --format, and it will be recognized");
  if (first.includes("\0"))
    throw new ProblemError(
      "bad-request",
      "this file isn't text, or has another encoding, because it contains zero bytes; save it as UTF-8",
    );
  if (/^"?sep=/i.test(first))
    throw new ProblemError(
      "bad-request",
      `the line ${JSON.stringify(first.slice(0, 40))} doesn't set a valid delimiter; use one such as \`sep=;\``,
    );
}

/** Loaded on demand, because that takes 15 ms. */
export const workbookReader = once(() => import("../../formats/workbook/workbook.ts"));

/** We don't look for rows in more sheets. */
const maxSheets = 50;

/** @throws ProblemError as `openCsv`, and `bad-request` if there's no such sheet or it has no rows */
export async function openSheet(resource: Resource, bytes: ByteSource, options: TableOptions): Promise<Table> {
  const { openWorkbook } = await workbookReader();
  const workbook = await openWorkbook(bytes);
  const names = workbook.sheets.map(({ name }) => name);
  const visible = names.flatMap((_, index) => (workbook.sheets[index]?.isHidden ? [] : [index]));
  const wanted = options.sheet === undefined ? undefined : indexOfSheet(names, options.sheet);
  // A workbook of rejected rows has one sheet, whatever the sheet they came from.
  const isRejected = wanted === -1 && names.length === 1;
  if (wanted === -1 && !isRejected) throw noSheetError(names, options.sheet);
  const choose = headerChooser(resource, options);
  const filled: { readonly index: number; readonly choice: HeaderChoice }[] = [];
  for (const index of wanted === undefined ? visible.slice(0, maxSheets) : [Math.max(0, wanted)]) {
    const top = await readTop(workbook.rows(index));
    await top.close();
    if (isRejected && !isAnnotated(top.rows[0])) throw noSheetError(names, options.sheet);
    if (top.rows.length > 0) filled.push({ index, choice: choose(top.rows) });
  }
  // On a cover, a single name may be a coincidence.
  const isLikely = ({ choice: { header, names: count } }: (typeof filled)[number]) =>
    count > 1 || (count === 1 && header !== undefined && filledCells(header) === 1);
  const best = filled.find(isLikely) ?? filled.find(({ choice }) => choice.names > 0) ?? filled[0];
  if (!best)
    throw new ProblemError(
      "bad-request",
      `there are no rows in ${wanted === undefined ? "any visible" : "this"} sheet`,
    );
  const nameOf = (index: number) => names[index] as string;
  const sheets = {
    read: nameOf(best.index),
    visible: visible.map(nameOf),
    filled: filled.map(({ index }) => nameOf(index)),
  };
  // A workbook's sheets can't be read at the same time.
  const table = await toTable(await readTop(workbook.rows(best.index)), choose, options);
  return { format: "xlsx", delimiter: "", sheets, ...table };
}

/** @param sheet a name, or a number from 1 @returns -1 if there's no such sheet */
function indexOfSheet(names: readonly string[], sheet: string): number {
  const named = names.indexOf(sheet);
  const isNumber = /^[1-9][0-9]{0,4}$/.test(sheet) && Number(sheet) <= names.length;
  return named === -1 && isNumber ? Number(sheet) - 1 : named;
}

function noSheetError(names: readonly string[], sheet = ""): ProblemError {
  const shown = names.slice(0, maxSheets).map((name) => `\`${name}\``);
  const detail = `the workbook has no sheet \`${sheet.slice(0, 100)}\`, only ${shown.join(", ").slice(0, 1000)}`;
  return new ProblemError("bad-request", detail);
}

// The rows at the top, and the header among them.

interface TopRows {
  /** The first rows with content. */
  readonly rows: readonly FileRow[];
  /** All rows with content. */
  all(): AsyncGenerator<readonly FileRow[]>;
  close(): Promise<void>;
}

/** Enough for as many columns as a spreadsheet can have. */
const maxTopCells = maxTopRows * 16_384;

/** @param isEnough whether these rows are enough */
async function readTop(
  batches: AsyncGenerator<readonly FileRow[]>,
  isEnough: (rows: readonly FileRow[]) => boolean = () => false,
): Promise<TopRows> {
  const hasContent = ({ cells, fault: wrong }: FileRow) => wrong !== undefined || !isBlank(cells);
  const first: FileRow[] = [];
  for (let scanned = 0; first.length < maxTopRows && scanned < maxTopCells && !isEnough(first); ) {
    const { value, done } = await batches.next();
    if (done) break;
    for (const row of value) {
      scanned += row.cells.length + 1;
      if (hasContent(row)) first.push(row);
    }
  }
  return {
    rows: first.slice(0, maxTopRows),
    async *all() {
      for await (const batch of startingWith(first, batches)) yield batch.filter(hasContent);
    },
    async close() {
      await batches.return(undefined);
    },
  };
}

interface HeaderChoice {
  /** Undefined if no row names the columns, or if it's below the first rows. */
  readonly header: FileRow | undefined;
  /** How many of its cells name fields, or columns of the mapping. */
  readonly names: number;
}

/** In a row, and different ones in all rows, when we look for the header. 2,000 take up to 80 ms. */
const [maxComparedCells, maxCompared] = [50, 2000];

/** The number of names in a row that must be the header. */
const certain = 1_000_000;

/** Returns a function that chooses the header among the first rows with content. */
function headerChooser(
  resource: Resource,
  { headerRow, mapping }: TableOptions,
): (rows: readonly FileRow[]) => HeaderChoice {
  const paths = new Set<string>(fieldNames(resource));
  const columns = new Set(
    [...(mapping?.sources ?? []), ...(mapping?.skip ?? [])].flatMap(({ column }) => column ?? []),
  );
  const fields = new Map<string, string | undefined>();
  const fieldOf = (cell: string) => {
    if (!fields.has(cell) && fields.size < maxCompared && /\p{L}/u.test(cell))
      fields.set(cell, vocabularyOf(resource).find(cell)?.field);
    return fields.get(cell);
  };
  const countColumns = ({ cells }: FileRow) =>
    columns.size === 0 ? 0 : new Set(cells.slice(0, maxColumns)).intersection(columns).size;
  const countFields = ({ cells }: FileRow) =>
    new Set(cells.slice(0, maxComparedCells).flatMap((cell) => fieldOf(cell) ?? [])).size;
  const isCertain = (row: FileRow) => {
    if (mapping) return countColumns(row) === columns.size;
    const names = row.cells.slice(0, contentWidth(row.cells)).filter((cell) => !cell.startsWith("#"));
    return names.length > 0 && names.every((name) => paths.has(name));
  };
  return (rows) => {
    const [first] = rows;
    if (first && (isAnnotated(first) || (headerRow === undefined && isCertain(first))))
      return { header: first, names: certain };
    if (headerRow !== undefined) {
      const header = rows.find(({ number }) => number === headerRow);
      return { header, names: header ? countColumns(header) || countFields(header) : 0 };
    }
    const counts = rows.map(countColumns);
    return guessHeader(rows, Math.max(...counts) > 0 ? counts : rows.map(countFields));
  };
}

/** @param counts how many names each row has */
function guessHeader(rows: readonly FileRow[], counts: readonly number[]): HeaderChoice {
  const widths = rows.map(filledCells);
  let best = 0;
  for (const [index, count] of counts.entries()) {
    const width = widths[index] ?? 0;
    // Among several cells, a single name may be a coincidence.
    const standsOut = count > 1 || width === 1 || widths.slice(0, index).every((one) => one < width);
    if (count > (counts[best] ?? 0) && standsOut) best = index;
  }
  return { header: rows[best], names: counts[best] ?? 0 };
}

function filledCells({ cells }: FileRow): number {
  return cells.filter((cell) => cell.trim() !== "").length;
}

function isAnnotated(row: FileRow | undefined): boolean {
  return annotationNames.every((annotation, index) => row?.cells[index] === annotation);
}

async function toTable(
  top: TopRows,
  choose: (rows: readonly FileRow[]) => HeaderChoice,
  { headerRow }: TableOptions,
): Promise<Pick<Table, "header" | "top" | "below" | "width" | "rows" | "close">> {
  const batches = top.all();
  let { header: row } = choose(top.rows);
  const titles = top.rows.filter(({ number }) => row && number < row.number);
  let before: readonly FileRow[] = [];
  while (!row && headerRow) {
    const { value, done } = await batches.next();
    if (done) throw noRowError(headerRow);
    before = value;
    row = before.find(({ number }) => number >= headerRow);
    if (row && row.number > headerRow) throw noRowError(headerRow);
  }
  const below = top.rows.filter((one) => one.number > (row?.number ?? 0) && !(row && repeats(one, row)));
  const width = Math.max(...[...(row ? [row] : []), ...below].map(({ cells }) => contentWidth(cells)));
  const header = row
    ? { ...row, start: isAnnotated(row) ? annotationNames.length : 0 }
    : { number: 0, cells: Array.from({ length: width }, (_, index) => columnLetter(index)), start: 0 };
  return {
    header,
    top: top.rows,
    below,
    width,
    rows: () => rowsBelow(header, titles, startingWith(before, batches)),
    close: () => top.close(),
  };
}

async function* startingWith<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

/** Leaves out what joined files repeat: the header, and the titles above it. */
async function* rowsBelow(
  header: Header,
  titles: readonly FileRow[],
  batches: AsyncIterable<readonly FileRow[]>,
): AsyncGenerator<readonly FileRow[]> {
  /** Rows that look like titles, until we know whether the header comes next. */
  let held: FileRow[] = [];
  for await (const batch of batches) {
    const rows: FileRow[] = [];
    for (const row of batch) {
      if (row.number <= header.number) continue;
      if (header.number > 0 && repeats(row, header)) held = [];
      else if (held.length < titles.length && titles.some((title) => repeats(row, title))) held.push(row);
      else rows.push(...held.splice(0), row);
    }
    yield rows;
  }
  yield held;
}

function repeats({ cells, fault: wrong }: FileRow, other: FileRow): boolean {
  return wrong === undefined && isRepeatedHeader(other.cells, cells);
}

function noRowError(number: number): ProblemError {
  return new ProblemError(
    "bad-request",
    `row ${number} has no content, so it can't name the columns; choose another one`,
  );
}

// The columns.

/** As many as a spreadsheet can have. */
const maxColumns = 16_384;

/** @throws ProblemError `bad-request` or `invalid-record` if the columns aren't named as they must be */
export function planTable(resource: Resource, table: Table, mapping: CsvMapping | undefined): CellPlan {
  const { header, below, width } = table;
  if (header.cells.length > maxColumns)
    throw new ProblemError(
      "bad-request",
      `the file has ${header.cells.length} columns, and only ${maxColumns} can be imported; check its delimiter`,
    );
  if (!mapping && header.number === 0)
    throw new ProblemError(
      "bad-request",
      'without a header, use --map with letters, such as {"fields": {"Name": "A"}}',
    );
  const { plan, fieldErrors } = mapping
    ? planMapping(mapping, header.cells, width, header.start)
    : planColumns(resource, header.cells, below);
  if (header.fault) fieldErrors.push({ field: "", ...fault("syntax", header.fault.detail) });
  if (fieldErrors.length > 0) throw invalidRecordError(fieldErrors);
  return plan;
}

/** What a mapping calls a column: its name, or its letter if it has no name of its own. */
export function columnKey({ cells, start }: Header, index: number): string {
  const name = cells[index] ?? "";
  const isOwn = name.trim() !== "" && cells.indexOf(name) === cells.lastIndexOf(name);
  return isOwn ? name : columnLetter(index - start);
}
