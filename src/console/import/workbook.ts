// Reads Excel workbooks (.xlsx, ECMA-376): lists the sheets, and converts one to CSV. Runs in a worker (workbook-worker.ts), because it takes
// seconds.
//
// A workbook is a ZIP archive of XML parts. A cell in a sheet's part looks like this: `<c r="B7" s="4" t="s"><v>12</v></c>`. It's in column B of row
// 7, has style 4, and its text is number 12 in the part with the shared strings. Without `t`, the value is a number, and its style's format says
// whether it's a date. A formula's value is stored like any other.

import {
  Archive,
  isTrue,
  type PartHandler,
  WorkbookError,
  type WorkbookFault,
  workbookLimits,
} from "./workbook-archive.ts";

/** Asks the worker to open a file, or to convert a sheet of the open file, given its index. */
export type WorkbookRequest =
  | { readonly file: Blob; readonly sheet?: undefined }
  | { readonly file?: undefined; readonly sheet: number };

export type WorkbookResponse =
  | { readonly kind: "sheets"; readonly names: readonly string[] }
  | { readonly kind: "progress"; readonly share: number }
  | { readonly kind: "csv"; readonly csv: Blob }
  | { readonly kind: "fault"; readonly fault: WorkbookFault };

interface Sheet {
  readonly name: string;
  /** The path of its part in the archive. */
  readonly path: string;
}

/** A workbook's sheets that have rows. */
export class Workbook {
  readonly sheets: readonly Sheet[];
  readonly #archive: Archive;
  readonly #hasDatesSince1904: boolean;
  readonly #paths: { readonly strings: string | undefined; readonly styles: string | undefined };

  /** @throws WorkbookError */
  constructor(bytes: Uint8Array) {
    this.#archive = new Archive(bytes);
    const main = this.#archive.relationsOf("").find(({ type }) => type === "officeDocument")?.path;
    if (main === undefined || !main.endsWith(".xml")) throw new WorkbookError("other");
    const relations = this.#archive.relationsOf(main);
    const pathOf = (type: string) => relations.find((one) => one.type === type)?.path;
    this.#paths = { strings: pathOf("sharedStrings"), styles: pathOf("styles") };
    const found: (Sheet & { readonly isHidden: boolean })[] = [];
    let hasDatesSince1904 = false;
    this.#archive.parse(main, {
      open(name, attributes) {
        if (name === "workbookPr") hasDatesSince1904 = isTrue(attributes.date1904);
        const relation = name === "sheet" ? relations.find(({ id }) => id === attributes.id) : undefined;
        if (relation?.type !== "worksheet") return;
        const isHidden = (attributes.state ?? "visible") !== "visible";
        found.push({ name: attributes.name ?? "", path: relation.path, isHidden });
      },
    });
    this.#hasDatesSince1904 = hasDatesSince1904;
    const visible = found.filter(({ isHidden }) => !isHidden);
    this.sheets = visible.length > 0 ? visible : found;
    if (this.sheets.length === 0) throw new WorkbookError("empty");
  }

  /**
   * Converts a sheet to CSV (RFC 4180). The first row with content is the header, and sets the number of columns. Rows keep their number in the
   * spreadsheet if the header is in row 1.
   * @param onProgress called with how much of the sheet has been read, 0 to 1
   * @returns the CSV in parts
   * @throws WorkbookError
   */
  toCsv(sheet: Sheet, onProgress: (share: number) => void): string[] {
    const strings = this.#paths.strings === undefined ? [] : this.#readStrings(this.#paths.strings);
    const formats = this.#paths.styles === undefined ? [] : this.#readFormats(this.#paths.styles);
    const csv = new CsvWriter();
    const cells = new CellReader(csv, { strings, formats, hasDatesSince1904: this.#hasDatesSince1904 });
    this.#archive.parse(sheet.path, cells, onProgress);
    return csv.finish();
  }

  /** Reads the shared strings, without phonetic hints. */
  #readStrings(path: string): string[] {
    const strings: string[] = [];
    const text = new TextReader();
    this.#archive.parse(path, {
      open(name) {
        if (name === "si") text.begin();
        else text.open(name);
      },
      text: (part) => text.add(part),
      close(name) {
        if (name === "si") strings.push(text.end());
        else text.close(name);
      },
    });
    return strings;
  }

  /** Reads each style's number format. */
  #readFormats(path: string): NumberFormat[] {
    const codes = new Map<string, string>();
    const formats: NumberFormat[] = [];
    let isInCells = false;
    this.#archive.parse(path, {
      open(name, { numFmtId = "0", formatCode = "" }) {
        if (name === "numFmt") codes.set(numFmtId, formatCode);
        else if (name === "cellXfs") isInCells = true;
        else if (name === "xf" && isInCells) formats.push(toFormat(Number(numFmtId), codes.get(numFmtId)));
      },
      close(name) {
        if (name === "cellXfs") isInCells = false;
      },
    });
    return formats;
  }
}

// Cells.

/** Collects the text of `t` elements, except in `rPh`, which says how to pronounce it. */
class TextReader {
  #text = "";
  #isText = false;
  #isHint = false;

  begin(): void {
    this.#text = "";
  }

  open(name: string): void {
    if (name === "t") this.#isText = true;
    else if (name === "rPh") this.#isHint = true;
  }

  add(part: string): void {
    if (this.#isText && !this.#isHint) this.#text += part;
  }

  close(name: string): void {
    if (name === "t") this.#isText = false;
    else if (name === "rPh") this.#isHint = false;
  }

  end(): string {
    return unescapeText(this.#text);
  }
}

/** Decodes characters that XML can't contain, which are written as `_x000D_`. */
function unescapeText(text: string): string {
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
}

interface CellReaderOptions {
  readonly strings: readonly string[];
  readonly formats: readonly NumberFormat[];
  readonly hasDatesSince1904: boolean;
}

/** Highest row and column numbers. */
const [maxRow, maxColumn] = [1_048_576, 16_384];

class CellReader implements PartHandler {
  readonly #csv: CsvWriter;
  readonly #options: CellReaderOptions;
  readonly #text = new TextReader();
  #row = 0;
  #column = 0;
  #cells: string[] = [];
  #type = "n";
  #format: NumberFormat | undefined;
  #value = "";
  #isValue = false;

  constructor(csv: CsvWriter, options: CellReaderOptions) {
    this.#csv = csv;
    this.#options = options;
  }

  open(name: string, { r, t = "n", s }: Readonly<Record<string, string>>): void {
    if (name === "row") {
      const row = r === undefined ? this.#row + 1 : Number(r);
      if (!(row > this.#row && row <= maxRow)) throw new WorkbookError("broken");
      [this.#row, this.#column, this.#cells] = [row, 0, []];
    } else if (name === "c") {
      this.#column = r === undefined ? this.#column + 1 : toColumn(r);
      if (!(this.#column >= 1 && this.#column <= maxColumn)) throw new WorkbookError("broken");
      [this.#type, this.#value] = [t, ""];
      this.#format = this.#options.formats[Number(s ?? 0)];
      this.#text.begin();
    } else if (name === "v") this.#isValue = true;
    else this.#text.open(name);
  }

  text(part: string): void {
    if (this.#isValue) this.#value += part;
    else this.#text.add(part);
  }

  close(name: string): void {
    if (name === "v") this.#isValue = false;
    else if (name === "c") {
      const content = this.#contentOfCell();
      // Only count cells with content, because a sheet can have formats in all of its columns.
      if (content !== "" && this.#column <= this.#csv.maxWidth) this.#cells[this.#column - 1] = content;
    } else if (name === "row") this.#csv.add(this.#row, this.#cells);
    else this.#text.close(name);
  }

  #contentOfCell(): string {
    const { strings, hasDatesSince1904 } = this.#options;
    const value = this.#value;
    if (this.#type === "inlineStr") return this.#text.end();
    if (value === "") return "";
    if (this.#type === "s") {
      const text = strings[Number(value)];
      if (text === undefined) throw new WorkbookError("broken");
      return text;
    }
    if (this.#type === "str") return unescapeText(value);
    if (this.#type === "b") return isTrue(value) ? "TRUE" : "FALSE";
    if (this.#type === "d") return value.replace("T", " ").replace(/(?: 00:00:00)?(?:\.0+)?Z?$/, "");
    // Errors such as #N/A stay, so that the operator sees them.
    return this.#type === "n" ? formatNumber(value, this.#format ?? "number", hasDatesSince1904) : value;
  }
}

/** Returns the column number in an address: 28 for `AB7`. */
function toColumn(address: string): number {
  const [letters = ""] = /^[A-Z]{1,3}/.exec(address) ?? [];
  return [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0);
}

// Numbers.

/** How a number is shown: as it is, as a date, or with at least this many digits, like a postcode. */
type NumberFormat = "number" | "date" | "time" | "date and time" | number;

/** Formats without a code in the workbook (ECMA-376, 18.8.30): the first and last number of each group. */
const builtInFormats: readonly (readonly [first: number, last: number, format: NumberFormat])[] = [
  [14, 17, "date"],
  [18, 21, "time"],
  [22, 22, "date and time"],
  [27, 31, "date"],
  [32, 33, "time"],
  [34, 36, "date"],
  [45, 47, "time"],
  [50, 58, "date"],
];

function toFormat(id: number, code: string | undefined): NumberFormat {
  if (code === undefined) return builtInFormats.find(([first, last]) => first <= id && id <= last)?.[2] ?? "number";
  const [section = ""] = code.split(";");
  // A five-digit postcode has the format 00000.
  if (/^0{2,20}$/.test(section)) return section.length;
  const letters = section.replace(/"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]/gi, "").toLowerCase();
  const [hasDate, hasTime] = [/[dy]|m{3}/.test(letters), /[hs]/.test(letters)];
  if (hasDate && hasTime) return "date and time";
  if (hasDate) return "date";
  return hasTime ? "time" : "number";
}

const millisecondsPerDay = 86_400_000;

/** Formats a cell's number, never with an exponent, so that account numbers survive. @param text as it is in the cell */
function formatNumber(text: string, format: NumberFormat, hasDatesSince1904: boolean): string {
  const number = Number(text);
  if (!Number.isFinite(number)) return text;
  if (typeof format === "number") {
    const digits = toDecimal(number);
    return /^\d+$/.test(digits) ? digits.padStart(format, "0") : digits;
  }
  if (format === "number") return toDecimal(number);
  // Excel counts a day in 1900 that didn't exist: 29 February, number 60.
  const days = hasDatesSince1904 ? number + 1462 : number < 60 ? number + 1 : number;
  const date = new Date(Date.UTC(1899, 11, 30) + Math.round((days * millisecondsPerDay) / 1000) * 1000);
  if (number < 0 || !(date.getUTCFullYear() <= 9999)) return toDecimal(number);
  const [day = "", time = ""] = date.toISOString().slice(0, 19).split("T");
  const minutes = time.replace(/:00$/, "");
  return format === "date" ? day : format === "time" ? minutes : `${day} ${minutes}`;
}

/** Formats a number without an exponent. Excel shows 15 digits, and may store more. */
function toDecimal(number: number): string {
  const shown = Number.isSafeInteger(number) ? number : Number(number.toPrecision(15));
  const text = String(shown);
  if (!text.includes("e")) return text;
  if (Math.abs(shown) >= 1) return BigInt(shown).toString();
  const [, sign = "", digits = "", zeros = ""] = /^(-?)([\d.]+)e-(\d+)$/.exec(text) ?? [];
  return `${sign}0.${"0".repeat(Number(zeros) - 1)}${digits.replace(".", "")}`;
}

// CSV.

const partLength = 1 << 20;

/** Writes rows as CSV. The first row with content is the header. */
class CsvWriter {
  readonly #parts: string[] = [];
  #text = "";
  #length = 0;
  /** Number of columns; undefined until there's a header. */
  #width: number | undefined;
  #rows = 0;
  /** Number of the last row written. */
  #lastRow = 0;

  /** Maximum cells of a row that are read. Cells without a header are left out. */
  get maxWidth(): number {
    return this.#width ?? maxColumn;
  }

  /** @param cells without the empty ones */
  add(row: number, cells: readonly string[]): void {
    if (cells.length === 0) return;
    if (this.#width === undefined) {
      if (cells.length > workbookLimits.columns) throw new WorkbookError("columns");
      this.#width = cells.length;
    } else {
      if (++this.#rows > workbookLimits.rows) throw new WorkbookError("rows");
      // Keep the rows' numbers from the spreadsheet.
      this.#write("\r\n".repeat(row - this.#lastRow - 1));
    }
    this.#lastRow = row;
    this.#write(`${Array.from({ length: this.#width }, (_, index) => toCell(cells[index] ?? "")).join(",")}\r\n`);
  }

  /** Returns the CSV in parts. @throws WorkbookError `empty` if no row has content */
  finish(): string[] {
    if (this.#width === undefined) throw new WorkbookError("empty");
    return [...this.#parts, this.#text];
  }

  #write(text: string): void {
    this.#length += text.length;
    if (this.#length > workbookLimits.unzippedBytes) throw new WorkbookError("unzipped");
    this.#text += text;
    if (this.#text.length < partLength) return;
    this.#parts.push(this.#text);
    this.#text = "";
  }
}

function toCell(content: string): string {
  return /[",;\t|\r\n\ufeff]/.test(content) ? `"${content.replaceAll('"', '""')}"` : content;
}
