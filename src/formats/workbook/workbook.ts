// Reads Excel workbooks (.xlsx, ECMA-376), and those that other programs write in its format. Start here.
//
// A workbook is a ZIP archive of XML parts, which refer to each other in parts of their own (archive.ts). A cell in a sheet's part looks like this:
// `<c r="B7" s="4" t="s"><v>12</v></c>`. It's in column B of row 7, has style 4, and its text is number 12 in the part with the shared strings. Without `t`,
// the value is a number, and its style's format says how to show it (number-formats.ts). A formula's value is stored like any other, unless nobody has calculated it.
//
// A sheet is unzipped and parsed chunk by chunk, and yields its rows as they arrive. Only the shared strings and the styles stay in memory. A part that
// no cell needs may be missing or damaged.

import { createYielder } from "../../lib/yielding.ts";
import { ProblemError } from "../../model/errors.ts";
import type { XmlElement } from "../xml-parser.ts";
import { Archive, type Relation } from "./archive.ts";
import { findOtherKind, requireArchive } from "./file-kinds.ts";
import { createNumberFormat, general, type NumberFormat, type Shown } from "./number-formats.ts";
import { elementIn, elementsIn, localName } from "./part-reader.ts";
import { SharedStrings } from "./shared-strings.ts";
import { type ByteSource, damagedError, tooLargeError, workbookLimits } from "./workbook-limits.ts";

interface Workbook {
  /** Worksheets in the workbook's order. */
  readonly sheets: readonly { readonly name: string; readonly isHidden: boolean }[];
  /**
   * Yields a sheet's rows in batches that are small enough for a tick. Rows without content are left out. Only one call may run at a time.
   * @param sheet index in `sheets`
   * @throws ProblemError `bad-request` if something's damaged, `too-large` if a limit is exceeded; the rows before it have been yielded
   */
  rows(sheet: number): AsyncGenerator<readonly SheetRow[]>;
}

export interface SheetRow {
  /** In the sheet, from 1. */
  readonly number: number;
  /** From column A on, without empty cells at the end. An empty cell is "". */
  readonly cells: string[];
  /** What to tell people about cells that they see differently in Excel. */
  readonly warnings?: readonly CellWarning[] | undefined;
}

export interface CellWarning {
  /** From 0. */
  readonly column: number;
  readonly detail: string;
  /** Whether the workbook doesn't say what Excel shows, so the row can't be imported. */
  readonly isUnknown?: boolean | undefined;
}

interface Sheet {
  readonly name: string;
  readonly isHidden: boolean;
  readonly path: string;
}

/**
 * Opens a file that `recognizeFile` takes for a workbook.
 * @throws ProblemError `bad-request` if it's something else or damaged, `too-large` if it exceeds a limit; the message says what to do
 */
export async function openWorkbook(source: ByteSource): Promise<Workbook> {
  if (source.size > workbookLimits.fileBytes)
    throw tooLargeError(`it has more than ${workbookLimits.fileBytes >> 20} MiB`);
  await requireArchive(source);
  const archive = await Archive.open(source);
  const main = (await archive.relationsOf("")).find(({ type }) => type === "officeDocument")?.path;
  const other = findOtherKind(archive.paths, main);
  if (other) throw other;
  const relations = await archive.relationsOf(main as string);
  const sheets: Sheet[] = [];
  let hasDatesSince1904 = false;
  for await (const elements of archive.read(main as string, "its list of sheets", ["workbook"])) {
    for (const element of elements) {
      if (localName(element) === "workbookPr") hasDatesSince1904 = isTrue(element.attributes.get("date1904"));
      if (localName(element) === "sheets") sheets.push(...toSheets(element, relations));
    }
    if (sheets.length > workbookLimits.sheets) throw tooLargeError(`it has more than ${workbookLimits.sheets} sheets`);
  }
  if (sheets.length === 0) throw new ProblemError("bad-request", "the workbook has no worksheet; add one with a table");
  return new OpenWorkbook(archive, sheets, relations, hasDatesSince1904);
}

/** Leaves out charts, dialogs and macros. */
function toSheets(element: XmlElement, relations: readonly Relation[]): Sheet[] {
  const worksheets = new Map(relations.filter(({ type }) => type === "worksheet").map(({ id, path }) => [id, path]));
  return elementsIn(element, "sheet").flatMap(({ attributes }) => {
    const [, id = ""] = [...attributes].find(([name]) => name.endsWith(":id")) ?? [];
    const path = worksheets.get(id);
    if (path === undefined) return [];
    const isHidden = (attributes.get("state") ?? "visible") !== "visible";
    return { name: unescapeText(attributes.get("name") ?? ""), isHidden, path };
  });
}

function isTrue(value: string | undefined): boolean {
  return value === "1" || value === "true";
}

class OpenWorkbook implements Workbook {
  readonly sheets: Workbook["sheets"];
  readonly #paths: readonly string[];
  readonly #archive: Archive;
  readonly #hasDatesSince1904: boolean;
  readonly #relations: readonly Relation[];
  #strings: SharedStrings | undefined;
  #formats: readonly NumberFormat[] | undefined;

  constructor(archive: Archive, sheets: readonly Sheet[], relations: readonly Relation[], hasDatesSince1904: boolean) {
    this.sheets = sheets.map(({ name, isHidden }) => ({ name, isHidden }));
    this.#paths = sheets.map(({ path }) => path);
    this.#archive = archive;
    this.#relations = relations;
    this.#hasDatesSince1904 = hasDatesSince1904;
  }

  async *rows(sheet: number): AsyncGenerator<readonly SheetRow[]> {
    this.#strings ??= await this.#readStrings();
    this.#formats ??= await this.#readFormats();
    const yieldIfDue = createYielder();
    let [number, read, width] = [0, 0, 0];
    for await (const elements of this.#archive.read(this.#paths[sheet] as string, "the sheet", ["sheetData"])) {
      let batch: SheetRow[] = [];
      for (const row of elements) {
        if (localName(row) !== "row") continue;
        number = rowNumber(row, number);
        const cells: string[] = [];
        const warnings: CellWarning[] = [];
        let column = 0;
        for (const cell of row.children) {
          if (typeof cell === "string" || localName(cell) !== "c") continue;
          if (++read % cellsBetweenYields === 0) await yieldIfDue();
          column = columnNumber(cell, column, number);
          const { text, warning, isUnknown } = this.#show(cell, number);
          if (text !== "") while (cells.length < column) cells.push("");
          if (text !== "") cells[column - 1] = text;
          if (warning !== undefined) warnings.push({ column: column - 1, detail: warning, isUnknown });
        }
        // A cell far to the right needs as much memory as a full row.
        width += cells.length;
        if (Math.max(read, width) > workbookLimits.cells)
          throw tooLargeError(`the sheet has more than ${workbookLimits.cells} cells`);
        if (cells.length > 0) batch.push({ number, cells, warnings: warnings.length > 0 ? warnings : undefined });
        if (batch.length * cells.length < batchCells) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    }
  }

  #show(cell: XmlElement, row: number): Shown {
    const value = elementIn(cell, "v");
    const raw = value ? plainText(value) : "";
    const type = cell.attributes.get("t") ?? "n";
    const format = this.#formats?.[Number(cell.attributes.get("s") ?? 0)] ?? general;
    if (type === "s" && raw !== "") {
      const shared = this.#strings?.get(Number(raw));
      if (shared === undefined)
        throw damagedError(`row ${row} has a text that's missing from the list of shared texts`);
      return format.showText(shared);
    }
    const inline = elementIn(cell, "is");
    if (inline) return format.showText(richText(inline));
    const formula = raw === "" && !(type === "str" && value) ? elementIn(cell, "f") : undefined;
    if (formula) return { text: `=${plainText(formula)}`, warning: uncalculated, isUnknown: true };
    if (type === "str") return format.showText(unescapeText(raw));
    if (raw === "") return { text: "" };
    if (type === "b") return { text: isTrue(raw) ? "TRUE" : "FALSE" };
    if (type === "d") return { text: raw.replace("T", " ").replace(/(?: 00:00:00)?(?:\.0+)?Z?$/, "") };
    // Errors such as #N/A stay, so that the operator sees them.
    if (type === "e") return { text: raw, warning: "this is the error of a formula" };
    return format.showNumber(raw.trim(), this.#hasDatesSince1904);
  }

  /** The part may be missing although the workbook names it. It's only needed if a cell refers to it. */
  #pathOf(type: string): string | undefined {
    const path = this.#relations.find((one) => one.type === type)?.path;
    return path !== undefined && this.#archive.has(path) ? path : undefined;
  }

  async #readStrings(): Promise<SharedStrings> {
    const strings = new SharedStrings();
    const path = this.#pathOf("sharedStrings");
    if (path === undefined) return strings;
    for await (const elements of this.#archive.read(path, "the list of shared texts", ["sst"]))
      for (const element of elements) if (localName(element) === "si") strings.add(richText(element));
    return strings;
  }

  /** Returns each style's number format. */
  async #readFormats(): Promise<NumberFormat[]> {
    const codes = new Map<number, string>();
    const formats: NumberFormat[] = [];
    const path = this.#pathOf("styles");
    if (path === undefined) return formats;
    const known = new Map<number, NumberFormat>();
    for await (const elements of this.#archive.read(path, "the list of styles", ["numFmts", "cellXfs"])) {
      for (const element of elements) {
        const id = Number(element.attributes.get("numFmtId") ?? 0);
        if (localName(element) === "numFmt") {
          const code = element.attributes.get("formatCode") ?? "";
          codes.set(id, code.length > workbookLimits.numberFormatLength ? "" : code);
          continue;
        }
        const format = known.get(id) ?? createNumberFormat(id, codes.get(id));
        known.set(id, format);
        formats.push(format);
      }
      if (codes.size > workbookLimits.numberFormats || formats.length > workbookLimits.styles)
        throw tooLargeError("it has too many styles or number formats");
    }
    return formats;
  }
}

/** Programs other than spreadsheets write formulas, but don't calculate them. */
const uncalculated = "this formula hasn't been calculated; open the workbook in a spreadsheet program, and save it";

/** So that a batch fits into memory even if its rows have thousands of cells. */
const batchCells = 20_000;

/** Looking at the clock takes as long as reading half a cell. */
const cellsBetweenYields = 50;

function rowNumber({ attributes }: XmlElement, previous: number): number {
  const number = Number(attributes.get("r") ?? previous + 1);
  if (number > workbookLimits.rows) throw tooLargeError(`the sheet has more than ${workbookLimits.rows} rows`);
  if (Number.isInteger(number) && number > previous) return number;
  throw damagedError(`row ${previous} is followed by row ${String(attributes.get("r")).slice(0, 20)}`);
}

/** Takes the column from an address such as `AB7`. Without one, the cell follows the previous cell. */
function columnNumber({ attributes }: XmlElement, previous: number, row: number): number {
  const address = attributes.get("r");
  let column = address === undefined ? previous + 1 : 0;
  for (let at = 0; address !== undefined && at < 4; at++) {
    const letter = address.charCodeAt(at) & ~0x20;
    if (letter < 0x41 || letter > 0x5a) break;
    column = column * 26 + letter - 0x40;
  }
  if (column >= 1 && column <= workbookLimits.columns) return column;
  throw damagedError(`row ${row} has a cell outside of the sheet`);
}

function plainText(element: XmlElement): string {
  const { children } = element;
  if (children.length === 1 && typeof children[0] === "string") return children[0];
  return children.filter((child) => typeof child === "string").join("");
}

/** Returns a text that may be split into runs of different formats. Leaves out hints on how to pronounce it. */
function richText(element: XmlElement): string {
  let text = "";
  for (const child of element.children) {
    if (typeof child === "string") continue;
    const name = localName(child);
    if (name === "t") text += plainText(child);
    else if (name === "r") for (const run of elementsIn(child, "t")) text += plainText(run);
  }
  return unescapeText(text);
}

/**
 * Decodes characters that XML can't contain, which are written as `_x000D_`, and ends each line with LF. SheetJS writes CR LF as `_x000d_` and LF. If there's
 * no LF after `_x000d_`, it's from our own exports, which escape the LF of a CR LF as well, so both stay.
 */
function unescapeText(text: string): string {
  if (!text.includes("_x") && !text.includes("\r")) return text;
  return text
    .replace(/_x000d_\n|_x000D_(?:\n|_x000A_)?|\r\n?|_x([0-9A-Fa-f]{4})_/g, (_, digits) =>
      digits === undefined ? "\n" : String.fromCharCode(Number.parseInt(digits, 16)),
    )
    .toWellFormed();
}
