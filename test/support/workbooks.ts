// Makes Excel workbooks for tests from their XML parts.

import { strToU8, type Zippable, zipSync } from "fflate";
import { openWorkbook, type SheetRow } from "../../src/formats/workbook/workbook.ts";
import type { ByteSource } from "../../src/formats/workbook/workbook-limits.ts";

const relationships = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";

interface WorkbookParts {
  /** Each sheet's rows as XML, by name. */
  readonly sheets: Readonly<Record<string, string>>;
  readonly sharedStrings?: string;
  readonly styles?: string;
  /** The workbook's attributes, such as `date1904="1"`. */
  readonly properties?: string;
  /** Sheets' attributes by name, such as `state="hidden"`. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** A workbook's parts by their paths in the archive. */
export type Parts = Record<string, string | Uint8Array>;

export function toParts({ sheets, sharedStrings, styles, properties = "", attributes = {} }: WorkbookParts): Parts {
  const names = Object.keys(sheets);
  const parts: Parts = {
    "_rels/.rels": relations([["rId1", "officeDocument", "xl/workbook.xml"]]),
    "xl/workbook.xml": `<workbook xmlns="${main}" xmlns:r="${relationships}"><workbookPr ${properties}/><sheets>${names
      .map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="s${index}" ${attributes[name] ?? ""}/>`)
      .join("")}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relations([
      ...names.map((_, index) => [`s${index}`, "worksheet", `worksheets/sheet${index}.xml`] as const),
      ...(sharedStrings === undefined ? [] : [["strings", "sharedStrings", "/xl/sharedStrings.xml"] as const]),
      ...(styles === undefined ? [] : [["styles", "styles", "styles.xml"] as const]),
    ]),
    ...(sharedStrings === undefined ? {} : { "xl/sharedStrings.xml": `<sst xmlns="${main}">${sharedStrings}</sst>` }),
    ...(styles === undefined ? {} : { "xl/styles.xml": `<styleSheet xmlns="${main}">${styles}</styleSheet>` }),
  };
  for (const [index, rows] of Object.values(sheets).entries())
    parts[`xl/worksheets/sheet${index}.xml`] = `<worksheet xmlns="${main}"><sheetData>${rows}</sheetData></worksheet>`;
  return parts;
}

function relations(all: readonly (readonly [id: string, type: string, target: string])[]): string {
  const each = all.map(
    ([id, type, target]) => `<Relationship Id="${id}" Type="${relationships}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${each.join("")}</Relationships>`;
}

export function zipParts(parts: Parts): Uint8Array {
  const files = Object.entries(parts).map(([path, part]) => [path, typeof part === "string" ? strToU8(part) : part]);
  return zipSync(Object.fromEntries(files) as Zippable);
}

export function toWorkbookOfXml(parts: WorkbookParts): Uint8Array {
  return zipParts(toParts(parts));
}

/** Makes a workbook from each sheet's texts and numbers. */
export function toWorkbook(sheets: Readonly<Record<string, readonly (readonly (string | number)[])[]>>): Uint8Array {
  const toCell = (value: string | number) =>
    typeof value === "number"
      ? `<c><v>${value.toExponential().toUpperCase()}</v></c>`
      : `<c t="inlineStr"><is><t>${value}</t></is></c>`;
  const toRows = (rows: readonly (readonly (string | number)[])[]) =>
    rows.map((cells) => `<row>${cells.map(toCell).join("")}</row>`).join("");
  return toWorkbookOfXml({
    sheets: Object.fromEntries(Object.entries(sheets).map(([name, rows]) => [name, toRows(rows)])),
  });
}

export function toSource(bytes: Uint8Array): ByteSource {
  return { size: bytes.length, read: async (start, length) => bytes.slice(start, start + length) };
}

/** Returns the rows of a sheet. */
export async function readRows(bytes: Uint8Array, sheet = 0): Promise<SheetRow[]> {
  const workbook = await openWorkbook(toSource(bytes));
  return (await Array.fromAsync(workbook.rows(sheet))).flat();
}

/** Returns the cells of the rows of a sheet. */
export async function readCells(bytes: Uint8Array, sheet = 0): Promise<string[][]> {
  return (await readRows(bytes, sheet)).map(({ cells }) => cells);
}
