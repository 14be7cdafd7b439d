// Writes a workbook (.xlsx, ECMA-376) with one sheet. It's compressed piece by piece, so memory doesn't grow with the number of rows.
//
// Texts are inline strings in cells and columns with the format "text". So Excel neither takes `=1+1` for a formula nor `00123` for a number, even if
// someone types it into an empty cell.

import { promisify } from "node:util";
import { constants, crc32, deflateRaw, type ZlibOptions } from "node:zlib";
import { ProblemError } from "../../model/errors.ts";
import { invalidInXml } from "../../model/field.ts";
import { columnLetter } from "../table.ts";

export const workbookMediaType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

interface WorkbookColumn {
  readonly name: string;
  /** In characters. */
  readonly width: number;
  /** Whether empty cells have the format of a number instead of a text. */
  readonly isNumeric?: boolean;
}

/** Excel's limits. Cells are in UTF-16 units, and the header is one of the rows. */
export const maxCellLength = 32_767;
const maxRows = 1_048_576;

/**
 * Yields the bytes of the workbook. A row may have fewer cells than there are columns. Numbers must be whole.
 * @param sheet the name of the sheet: up to 31 letters or digits
 * @throws ProblemError `too-large` if Excel couldn't open the workbook
 */
export function writeWorkbook(
  sheet: string,
  columns: readonly WorkbookColumn[],
  rows: AsyncIterable<readonly (string | number)[]>,
): AsyncGenerator<Uint8Array> {
  return zip({
    "[Content_Types].xml": contentTypes,
    "_rels/.rels": relationships(["officeDocument", "xl/workbook.xml"]),
    "xl/workbook.xml": `${xml}<workbook xmlns="${main}" xmlns:r="${office}"><sheets><sheet name="${sheet}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relationships(["worksheet", "worksheets/sheet1.xml"], ["styles", "styles.xml"]),
    "xl/styles.xml": styles,
    "xl/worksheets/sheet1.xml": toSheet(columns, rows),
  });
}

// The parts of a workbook.

const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const packages = "http://schemas.openxmlformats.org/package/2006";

const partType = (path: string, type: string) =>
  `<Override PartName="/xl/${path}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${type}+xml"/>`;
const contentTypes = `${xml}<Types xmlns="${packages}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${partType("workbook", "sheet.main")}${partType("worksheets/sheet1", "worksheet")}${partType("styles", "styles")}</Types>`;

function relationships(...list: readonly (readonly [type: string, target: string])[]): string {
  const each = list.map(
    ([type, target], index) => `<Relationship Id="rId${index + 1}" Type="${office}/${type}" Target="${target}"/>`,
  );
  return `${xml}<Relationships xmlns="${packages}/relationships">${each.join("")}</Relationships>`;
}

/** Indexes of `cellXfs` in `styles`. The number formats 1 and 49 are built in: `0` and `@`. */
const style = { text: 1, number: 2, header: 3 };
const cellFormat = (format: number, font = 0) =>
  `<xf numFmtId="${format}" fontId="${font}" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>`;
const font = '<sz val="11"/><name val="Calibri"/></font>';
const styles = `${xml}<styleSheet xmlns="${main}"><fonts count="2"><font>${font}<font><b/>${font}</fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="4">${cellFormat(0)}${cellFormat(49)}${cellFormat(1)}${cellFormat(49, 1)}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

async function* toSheet(
  columns: readonly WorkbookColumn[],
  rows: AsyncIterable<readonly (string | number)[]>,
): AsyncGenerator<string> {
  const widths = columns.map(
    ({ width, isNumeric }, index) =>
      `<col min="${index + 1}" max="${index + 1}" width="${width}" style="${isNumeric ? style.number : style.text}" customWidth="1"/>`,
  );
  yield `${xml}<worksheet xmlns="${main}"><sheetViews><sheetView tabSelected="1" workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>${widths.join("")}</cols><sheetData>`;
  const letters = columns.map((_, index) => columnLetter(index));
  let number = 1;
  const toRow = (cells: readonly (string | number)[], textStyle: number) => {
    if (number > maxRows)
      throw new ProblemError("too-large", `a workbook can't have more than ${maxRows - 1} rows; use CSV`);
    const toText = (cell: string | number, index: number) =>
      toCell(`${letters[index] ?? columnLetter(index)}${number}`, cell, textStyle);
    const written = cells.map(toText).join("");
    return `<row r="${number++}">${written}</row>`;
  };
  yield toRow(
    columns.map(({ name }) => name),
    style.header,
  );
  for await (const cells of rows) yield toRow(cells, style.text);
  // Otherwise, Excel marks every text that looks like a number.
  yield `</sheetData><ignoredErrors><ignoredError sqref="A1:XFD${maxRows}" numberStoredAsText="1"/></ignoredErrors></worksheet>`;
}

/** Excel only keeps the first 15 digits of a number. */
const maxNumber = 999_999_999_999_999;

function toCell(reference: string, cell: string | number, textStyle: number): string {
  if (cell === "") return "";
  if (typeof cell === "number" && cell <= maxNumber)
    return `<c r="${reference}" s="${style.number}"><v>${cell}</v></c>`;
  const text = String(cell);
  if (text.length > maxCellLength)
    throw new ProblemError(
      "too-large",
      `cell ${reference} would have ${text.length} characters, more than the ${maxCellLength} a workbook can have; use CSV`,
    );
  const space = /^\s|\s$|[\t\n]|\s\s/.test(text) ? ' xml:space="preserve"' : "";
  return `<c r="${reference}" s="${textStyle}" t="inlineStr"><is><t${space}>${escapeText(text)}</t></is></c>`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\r": "_x000d_",
  "\n": "_x000a_",
};
const special = new RegExp(`[&<>\\r]|(?<=\\r)\\n|_(?=x[0-9A-Fa-f]{4}_)|\\p{Cs}|${invalidInXml.source}`, "gu");

/**
 * Escapes characters that XML can't contain as `_xHHHH_` (ECMA-376 part 1, 22.9.2.19), and texts that look like that. A CR becomes `_x000d_`, and the LF after it
 * `_x000a_`, so that the import can tell them from the line ends of other programs, which become LF.
 */
function escapeText(text: string): string {
  const toCode = (one: string) => one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return text.replace(special, (found) => entities[found] ?? `_x${toCode(found)}_`);
}

// The ZIP archive (APPNOTE 6.3.10). Each part is followed by its size and checksum, because they aren't known before it has been compressed.

/** UTF-16 units that are compressed at a time. Other requests don't have to wait, because it's done in a thread of the runtime. */
const pieceLength = 1 << 16;
const compress = promisify<Buffer, ZlibOptions, Buffer>(deflateRaw);
/** Ends the piece at a byte, so that the next one can follow. */
const compression = { level: 3, finishFlush: constants.Z_SYNC_FLUSH };
const lastBlock = Buffer.from([3, 0]);
/** Larger archives need an extension of the format (Zip64). */
const maxBytes = 2 ** 32 - 1;

async function* zip(parts: Readonly<Record<string, string | AsyncIterable<string>>>): AsyncGenerator<Uint8Array> {
  const directory: Buffer[] = [];
  let offset = 0;
  const counted = (bytes: Buffer) => {
    offset += bytes.length;
    return bytes;
  };
  for (const [path, content] of Object.entries(parts)) {
    const start = offset;
    const name = Buffer.from(path);
    // Version 2.0, the flags for UTF-8 and for sizes that follow, deflate, and 1 January 1980, so that the same records give the same file.
    const common = [u16(20), u16(0x808), u16(8), u16(0), u16(0x21)];
    yield counted(Buffer.concat([u32(0x04034b50), ...common, u32(0), u32(0), u32(0), u16(name.length), u16(0), name]));
    const dataStart = offset;
    let [checksum, size] = [0, 0];
    for await (const text of inPieces(typeof content === "string" ? [content] : content)) {
      const bytes = Buffer.from(text);
      checksum = crc32(bytes, checksum);
      size += bytes.length;
      yield counted(await compress(bytes, compression));
      if (Math.max(size, offset) > maxBytes)
        throw new ProblemError("too-large", "the workbook would be larger than 4 GiB; use CSV");
    }
    yield counted(lastBlock);
    const sizes = [u32(checksum), u32(offset - dataStart), u32(size)];
    yield counted(Buffer.concat([u32(0x08074b50), ...sizes]));
    const lengths = [u16(name.length), u16(0), u16(0), u16(0), u16(0), u32(0), u32(start)];
    directory.push(Buffer.concat([u32(0x02014b50), u16(20), ...common, ...sizes, ...lengths, name]));
  }
  const entries = Buffer.concat(directory);
  const counts = [u16(0), u16(0), u16(directory.length), u16(directory.length)];
  yield Buffer.concat([entries, u32(0x06054b50), ...counts, u32(entries.length), u32(offset), u16(0)]);
}

async function* inPieces(texts: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  let piece = "";
  for await (const text of texts) {
    piece += text;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}

function u16(value: number): Buffer {
  return Buffer.from(Uint16Array.of(value).buffer);
}

function u32(value: number): Buffer {
  return Buffer.from(Uint32Array.of(value).buffer);
}
