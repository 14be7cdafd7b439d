// Reading Excel workbooks (src/formats/workbook): cells as Excel shows them, files of other programs, and files that are damaged, hostile or something else.

import { describe, expect, test } from "bun:test";
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { recognizeFile } from "../../../src/formats/workbook/file-kinds.ts";
import { openWorkbook } from "../../../src/formats/workbook/workbook.ts";
import { type ByteSource, workbookLimits } from "../../../src/formats/workbook/workbook-limits.ts";
import { ProblemError } from "../../../src/model/errors.ts";
import {
  type Parts,
  readCells,
  readRows,
  toParts,
  toSource,
  toWorkbook,
  toWorkbookOfXml,
  zipParts,
} from "../../support/workbooks.ts";

const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;").replaceAll(">", "&gt;");

/** Reads the first cell of a sheet. @param format a code, or the number of a format without one */
async function readCell(
  cell: string,
  format?: string | number,
  properties = "",
): Promise<{ text: string; warning?: string }> {
  const id = typeof format === "number" ? format : 164;
  const codes =
    typeof format === "string" ? `<numFmts><numFmt numFmtId="164" formatCode="${escapeXml(format)}"/></numFmts>` : "";
  const styles = `${codes}<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="${id}"/></cellXfs>`;
  const sharedStrings = "<si><t>plain</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>hint</t></rPh></si>";
  const sheets = { S: `<row r="1">${cell}</row>` };
  const [row] = await readRows(toWorkbookOfXml({ sheets, styles, sharedStrings, properties }));
  const [warning] = row?.warnings ?? [];
  return { text: row?.cells[0] ?? "", ...(warning && { warning: warning.detail }) };
}

const inline = (text: string) => `<c t="inlineStr"><is><t xml:space="preserve">${text}</t></is></c>`;

describe("numbers look as in Excel", () => {
  const shown: [format: string | number, value: string, text: string][] = [
    ['0#" "##" "##" "##" "##', "123456789", "01 23 45 67 89"],
    ["00000\\-0000", "21340001", "02134-0001"],
    ["00\\-000", "1", "00-001"],
    ["[$-407]00000", "1067", "01067"],
    ['"+"0', "447700900123", "+447700900123"],
    ["0.00", "1.1", "1.10"],
    ["[<=9999999]###\\-####;\\(###\\)\\ ###\\-####", "2025550123", "(202) 555-0123"],
    ["[<100]0;0.0", "150", "150.0"],
    ['[=1]"yes";[=0]"no";General', "1", "yes"],
    ["00000_)", "1067", "01067"],
    ["#,##0", "1234567", "1,234,567"],
    [4, "1234.5", "1,234.50"],
    ["0;-0;;@", "0", ""],
    ["#,##0.00;[Red](#,##0.00)", "-5", "(5.00)"],
    ['_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)', "-1234.5", "$(1,234.50)"],
    ["#,##0.00 [$€-407]", "1234.5", "1,234.50 €"],
    ["[$£-809]0.00", "9.5", "£9.50"],
    ["0%", "0.19", "19%"],
    [10, "0.125", "12.50%"],
    ["# ?/?", "1.5", "1 1/2"],
    ['0.0,,"M"', "1234567", "1.2M"],
    ['General" kg"', "5.5", "5.5 kg"],
    ["@", "1067", "1067"],
    ["not a valid format [", "1067", "1067"],
    [0, "5061234567890", "5061234567890"],
    [0, "1E+14", "100000000000000"],
    [0, "0.30000000000000004", "0.3"],
    [0, "59.913868", "59.913868"],
    [0, "-0", "0"],
    [0, " 7 ", "7"],
    [0, "INF", "INF"],
  ];
  test.each(shown)("%s: %s is %s", async (format, value, text) => {
    expect(await readCell(`<c s="1"><v>${value}</v></c>`, format)).toEqual({ text });
  });

  const surprising: [format: string | number, value: string, text: string, warning: RegExp][] = [
    ["0.00E+00", "5061234567890", "5061234567890", /scientific/],
    [0, "1.5E-12", "0.0000000000015", /scientific/],
    [0, "-123456789012.5", "-123456789012.5", /scientific/],
    [0, "1E+15", "1000000000000000", /15 digits/],
    [0, "12345678901234567", "12345678901234567", /15 digits/],
    ["0", "1.2345678901234567E+19", "12345678901234600000", /15 digits/],
    ["[<100]0;[<200]0", "300", "300", /####/],
    [";;;", "5", "5", /hides/],
    [14, "-1", "-1", /####/],
    [14, "99999999", "99999999", /####/],
    ["[h]:mm", "-0.5", "-0.5", /####/],
  ];
  test.each(surprising)("%s: %s is %s, with a warning", async (format, value, text, warning) => {
    expect(await readCell(`<c s="1"><v>${value}</v></c>`, format)).toEqual({
      text,
      warning: expect.stringMatching(warning),
    });
  });

  const dates: [format: string | number, value: string, text: string, properties?: string][] = [
    [14, "46053", "2026-01-31"],
    [14, "46053.99999", "2026-01-31"],
    [14, "1", "1900-01-01"],
    [14, "59", "1900-02-28"],
    [14, "60", "1900-02-29"],
    [14, "61", "1900-03-01"],
    [14, "2958465", "9999-12-31"],
    [14, "44591", "2026-01-31", 'date1904="1"'],
    [14, "0", "1904-01-01", 'date1904="true"'],
    [20, "0.604166666666667", "14:30"],
    [18, "0.75", "18:00"],
    [21, "0.50001", "12:00:01"],
    [22, "46053.604166666664", "2026-01-31 14:30"],
    [22, "46052.9999999999", "2026-01-31 00:00"],
    ["dd\\.mm\\.yyyy hh:mm;@", "46053.5", "2026-01-31 12:00"],
    ["[$-407]mmm yy", "46053", "2026-01-31"],
    ["[$-F800]dddd, mmmm dd, yyyy", "46053", "2026-01-31"],
    ['[$-411]ggge"年"m"月"d"日"', "46053", "2026-01-31"],
    ["[h]:mm", "1.5", "36:00"],
    [46, "1.5", "36:00:00"],
    ["[mm]:ss", "0.05", "72:00", 'date1904="1"'],
    ['0.0" days"', "46053", "46053.0 days"],
  ];
  for (const [format, value, text, properties] of dates) {
    test(`${format}: ${value} is ${text}${properties ? ` with ${properties}` : ""}`, async () => {
      expect(await readCell(`<c s="1"><v>${value}</v></c>`, format, properties)).toEqual({ text });
    });
  }

  test("text that only starts like a number takes no time", async () => {
    const text = `${"1".repeat(500_000)}x`;
    expect(await readCell(`<c><v>${text}</v></c>`)).toEqual({ text });
  });

  test("a format that's too long for Excel is ignored, and takes no time", async () => {
    expect(await readCell('<c s="1"><v>7</v></c>', `${'"['.repeat(100_000)}0`)).toEqual({ text: "7" });
  });
});

describe("other values", () => {
  const values: [string, cell: string, text: string][] = [
    ["text of digits keeps its zeros", inline("00042"), "00042"],
    ["an ISO 8601 date", '<c t="d"><v>2026-01-31T00:00:00.000Z</v></c>', "2026-01-31"],
    ["an ISO 8601 time", '<c t="d"><v>2026-01-31T14:30:05</v></c>', "2026-01-31 14:30:05"],
    ["a formula's text", '<c t="str"><f>A1&amp;"x"</f><v>A&amp;x</v></c>', "A&x"],
    ["a formula's number", "<c><f>1+1</f><v>2</v></c>", "2"],
    ["true", '<c t="b"><v>1</v></c>', "TRUE"],
    ["false", '<c t="b"><v>0</v></c>', "FALSE"],
    ["shared text", '<c t="s"><v>0</v></c>', "plain"],
    ["rich text without its hint", '<c t="s"><v>1</v></c>', "rich text"],
    ["inline rich text", '<c t="inlineStr"><is><r><t>a</t></r><r><rPr/><t> b</t></r></is></c>', "a b"],
    ["spaces", inline(" a "), " a "],
    ["an escaped character", inline("a_x0009_b"), "a\tb"],
    ["an escape that's escaped", inline("_x005F_x000D_ _x005F_"), "_x000D_ _"],
    ["an escaped character beyond U+FFFF", inline("_xD83D__xDE00_"), "😀"],
    ["half of an escaped character", inline("a_xD83D_"), "a\u{fffd}"],
    ["CR LF as a reference", inline("a&#13;&#10;b"), "a\nb"],
    ["CR LF, escaped", inline("a_x000D_\nb_x000D__x000A_c"), "a\nb\nc"],
    ["CR LF as SheetJS writes it", inline("a_x000d_\nb"), "a\nb"],
    ["CR LF and CR of our own exports", inline("a_x000d__x000a_b_x000d_c"), "a\r\nb\rc"],
    ["CR alone", inline("a\rb_x000D_c"), "a\nb\nc"],
    ["CDATA", inline("<![CDATA[a<b]]>&amp;c"), "a<b&c"],
    ["a reference beyond U+FFFF", inline("&#134071;&#x1F600;"), "𠮷😀"],
    ["halves of a character as references", inline("&#55357;&#56832;&#xD83D;&#xDE00;"), "😀😀"],
  ];
  test.each(values)("%s", async (_, cell, text) => {
    expect(await readCell(cell)).toEqual({ text });
    // A chunk can end anywhere.
    const sheets = { S: Array.from({ length: 3000 }, () => `<row>${cell}</row>`).join("") };
    const sharedStrings = "<si><t>plain</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>hint</t></rPh></si>";
    const cells = await readCells(toWorkbookOfXml({ sheets, sharedStrings }));
    expect(cells).toEqual(text === "" ? [] : Array.from({ length: 3000 }, () => [text]));
  });

  test("an error stays, with a warning", async () => {
    expect(await readCell('<c t="e"><v>#N/A</v></c>')).toEqual({ text: "#N/A", warning: expect.any(String) });
  });

  test("text in a format for text", async () => {
    expect(await readCell('<c s="1" t="s"><v>0</v></c>', '0;0;0;"D-"@')).toEqual({ text: "D-plain" });
    expect(await readCell('<c s="1" t="s"><v>0</v></c>', ";;;")).toEqual({
      text: "plain",
      warning: expect.any(String),
    });
  });
});

describe("rows", () => {
  test("keep their numbers, columns and warnings", async () => {
    const sheets = {
      S: `<row r="1"><c r="B1" t="b"><v>1</v></c><c r="D1"/></row><row r="4"/><row r="7" spans="1:3"><c><v>1</v></c><c r="c7" t="e"><v>#REF!</v></c>${inline("d")}</row>`,
    };
    expect(await readRows(toWorkbookOfXml({ sheets }))).toEqual([
      { number: 1, cells: ["", "TRUE"], warnings: undefined },
      { number: 7, cells: ["1", "", "#REF!", "d"], warnings: [{ column: 2, detail: expect.any(String) }] },
    ]);
  });

  test("come in batches that fit into a tick", async () => {
    const wide = `<row>${"<c><v>1</v></c>".repeat(5000)}</row>`;
    const workbook = await openWorkbook(toSource(toWorkbookOfXml({ sheets: { S: wide.repeat(20) } })));
    const sizes = (await Array.fromAsync(workbook.rows(0))).map((batch) => batch.length);
    expect(Math.max(...sizes)).toBeLessThan(6);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(20);
  });

  test("of several sheets, in any order and repeatedly", async () => {
    const cells = (count: number) =>
      `<row>${Array.from({ length: count }, (_, at) => `<c t="s"><v>${at}</v></c>`).join("")}</row>`;
    const texts = Array.from({ length: 100 }, (_, at) => `text ${at}`);
    const sharedStrings = texts.map((text) => `<si><t>${text}</t></si>`).join("");
    const workbook = await openWorkbook(
      toSource(toWorkbookOfXml({ sheets: { A: cells(3), B: cells(100) }, sharedStrings })),
    );
    for (const [sheet, count] of [
      [1, 100],
      [0, 3],
      [1, 100],
    ] as const)
      expect((await Array.fromAsync(workbook.rows(sheet))).flat()[0]?.cells).toEqual(texts.slice(0, count));
  });

  test("ignore what only looks like a row", async () => {
    const parts = toParts({ sheets: { S: `<row>${inline("a")}</row>` } });
    const sheet = String(parts["xl/worksheets/sheet0.xml"]);
    const anchor = "<sheetData><row/></sheetData>";
    parts["xl/worksheets/sheet0.xml"] = sheet
      .replace("<sheetData>", "<extLst><x:row xmlns:x='x'><c><v>1</v></c></x:row></extLst><sheetData>")
      .replace("</sheetData>", `</sheetData><controls><from>${anchor}</from></controls>`);
    expect(await readCells(zipParts(parts))).toEqual([["a"]]);
  });
});

describe("sheets", () => {
  test("in the workbook's order, hidden ones marked, charts left out", async () => {
    const sheets = { "A &amp; &#x1F600;": "<row><c><v>1</v></c></row>", B: "", C: "", D: "" };
    const parts = toParts({ sheets, attributes: { B: 'state="hidden"', C: 'state="veryHidden"' } });
    parts["xl/_rels/workbook.xml.rels"] = String(parts["xl/_rels/workbook.xml.rels"]).replace(
      /(s3" Type=".*?)worksheet"/,
      '$1chartsheet"',
    );
    const workbook = await openWorkbook(toSource(zipParts(parts)));
    expect(workbook.sheets.map(({ name, isHidden }) => [name, isHidden])).toEqual([
      ["A & 😀", false],
      ["B", true],
      ["C", true],
    ]);
  });
});

// Files of other programs.

const table = toParts({
  sheets: {
    S: '<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>42</v></c></row>',
  },
  sharedStrings: "<si><t>Name</t></si><si><t>Café</t></si>",
  styles: '<numFmts><numFmt numFmtId="164" formatCode="0000"/></numFmts><cellXfs><xf/><xf numFmtId="164"/></cellXfs>',
});
const tableCells = [["Name"], ["Café", "0042"]];

const mapTexts = (change: (text: string, path: string) => string | Uint8Array): Parts =>
  Object.fromEntries(Object.entries(table).map(([path, text]) => [path, change(String(text), path)]));
const mapPaths = (change: (path: string) => string): Parts =>
  Object.fromEntries(Object.entries(table).map(([path, text]) => [change(path), text]));
const without = (path: string): Parts => Object.fromEntries(Object.entries(table).filter(([one]) => one !== path));
const utf16 = (text: string, mark = "") => Buffer.from(`${mark}${text}`, "utf16le");
const withPrefixes = (text: string) => text.replace(/<(\/?)(?=[a-z])/g, "<$1x:").replace("xmlns=", "xmlns:x=");

const variants: [string, () => Parts, unknown?][] = [
  ["as Excel writes it", () => table],
  ["paths in lower case", () => mapPaths((path) => path.toLowerCase())],
  ["paths in upper case", () => mapPaths((path) => path.toUpperCase())],
  ["backslashes in paths", () => mapPaths((path) => path.replaceAll("/", "\\"))],
  [
    "backslashes in targets",
    () => mapTexts((text) => text.replace(/Target="([^"]*)"/g, (target) => target.replaceAll("/", "\\"))),
  ],
  [
    "absolute paths and targets",
    () => mapTexts((text) => text.replaceAll('Target="worksheets', 'Target="/xl/worksheets')),
  ],
  [
    "targets above the root",
    () => mapTexts((text) => text.replaceAll('Target="worksheets', 'Target="../../xl/worksheets')),
  ],
  ["escapes in targets", () => mapTexts((text) => text.replaceAll("sheet0.xml", "sheet%30.xml"))],
  ["UTF-16 with a mark", () => mapTexts((text) => utf16(text, "\ufeff"))],
  ["UTF-16 without a mark", () => mapTexts((text) => utf16(text))],
  ["UTF-16, big endian", () => mapTexts((text) => utf16(text, "\ufeff").swap16())],
  [
    "UTF-8 with a mark and declaration",
    () => mapTexts((text) => `\ufeff<?xml version='1.0' encoding="utf8"?>\n${text}`),
  ],
  ["prefixes", () => mapTexts((text, path) => (path.endsWith(".rels") ? text : withPrefixes(text)))],
  [
    "comments and processing instructions",
    () => mapTexts((text) => text.replace(/(<(?:sheetData|sst|row)[^>]*>)/g, "$1<!-- <row> --><?x y?>\n")),
  ],
  [
    "Strict",
    () =>
      mapTexts((text) =>
        text
          .replaceAll(
            "http://schemas.openxmlformats.org/officeDocument/2006",
            "http://purl.oclc.org/ooxml/officeDocument",
          )
          .replaceAll(
            "http://schemas.openxmlformats.org/spreadsheetml/2006",
            "http://purl.oclc.org/ooxml/spreadsheetml",
          ),
      ),
  ],
  ["no addresses", () => mapTexts((text, path) => (path.includes("sheet0") ? text.replace(/ r="\w+"/g, "") : text))],
  ["no styles, although they're named", () => without("xl/styles.xml"), [["Name"], ["Café", "42"]]],
  [
    "another prefix of relations",
    () => mapTexts((text) => text.replace("xmlns:r=", "xmlns:rel=").replace("r:id", "rel:id")),
  ],
  [
    "an external relation with the same target",
    () =>
      mapTexts((text) =>
        text.replace(
          "<Relationship ",
          '<Relationship Id="link" Type="x/worksheet" Target="http://[" TargetMode="External"/><Relationship ',
        ),
      ),
  ],
  [
    "other files",
    () => ({ ...table, "xl/vbaProject.bin": "x", "xl/embeddings/": "", "[Content_Types].xml": "broken" }),
  ],
  [
    "garbage after the rows",
    () => mapTexts((text) => text.replace("</sheetData></worksheet>", "</sheetData><extLst><")),
  ],
];
test.each(variants)("files of other programs: %s", async (_, parts, cells = tableCells) => {
  expect(await readCells(zipParts(parts()))).toEqual(cells as string[][]);
});

test("shared texts that are missing only matter if a cell needs them", async () => {
  const parts = toParts({ sheets: { S: `<row>${inline("a")}</row>` }, sharedStrings: "" });
  delete parts["xl/sharedStrings.xml"];
  expect(await readCells(zipParts(parts))).toEqual([["a"]]);
  expect(readCells(zipParts(without("xl/sharedStrings.xml")))).rejects.toThrow("row 1 has a text that's missing");
});

/** Writes an archive like programs that don't know a file's size in advance, or with the records for 4 GB and more. */
function streamedZip(parts: Parts, isZip64: boolean, method: 0 | 8): Buffer {
  const out: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  const push = (...buffers: Buffer[]) => {
    for (const buffer of buffers) offset += out.push(buffer) && buffer.length;
  };
  for (const [path, part] of Object.entries(parts)) {
    const data = Buffer.from(part);
    const packed = method === 8 ? deflateRawSync(data) : data;
    const name = Buffer.from(path);
    const start = offset;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(8, 6);
    local.writeUInt16LE(method, 8);
    local.writeUInt16LE(name.length, 26);
    const descriptor = Buffer.alloc(16);
    descriptor.writeUInt32LE(0x08074b50, 0);
    for (const [index, value] of [crc32(data), packed.length, data.length].entries())
      descriptor.writeUInt32LE(value, 4 + 4 * index);
    push(local, name, packed, descriptor);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(8, 8);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE(crc32(data), 16);
    const extra = Buffer.alloc(isZip64 ? 28 : 0);
    if (isZip64) {
      extra.writeUInt16LE(1, 0);
      extra.writeUInt16LE(24, 2);
      for (const [index, value] of [data.length, packed.length, start].entries())
        extra.writeBigUInt64LE(BigInt(value), 4 + 8 * index);
    }
    central.writeUInt32LE(isZip64 ? 0xffffffff : packed.length, 20);
    central.writeUInt32LE(isZip64 ? 0xffffffff : data.length, 24);
    central.writeUInt16LE(name.length, 28);
    central.writeUInt16LE(extra.length, 30);
    central.writeUInt32LE(isZip64 ? 0xffffffff : start, 42);
    directory.push(central, name, extra);
  }
  const start = offset;
  push(...directory);
  const count = Object.keys(parts).length;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(isZip64 ? 0xffff : count, 8);
  end.writeUInt16LE(isZip64 ? 0xffff : count, 10);
  end.writeUInt32LE(isZip64 ? 0xffffffff : offset - start, 12);
  end.writeUInt32LE(isZip64 ? 0xffffffff : start, 16);
  if (isZip64) {
    const [record, locator, size] = [Buffer.alloc(56), Buffer.alloc(20), offset - start];
    record.writeUInt32LE(0x06064b50, 0);
    for (const [at, value] of [
      [4, 44],
      [24, count],
      [32, count],
      [40, size],
      [48, start],
    ] as const)
      record.writeBigUInt64LE(BigInt(value), at);
    locator.writeUInt32LE(0x07064b50, 0);
    locator.writeBigUInt64LE(BigInt(offset), 8);
    locator.writeUInt32LE(1, 16);
    push(record, locator);
  }
  return Buffer.concat([...out, end]);
}

test.each([
  ["deflated, with data descriptors", false, 8],
  ["stored, with data descriptors", false, 0],
  ["ZIP64", true, 8],
] as const)("archives: %s", async (_, isZip64, method) => {
  expect(await readCells(streamedZip(table, isZip64, method))).toEqual(tableCells);
});

// Files that can't be read.

const whole = Buffer.from(zipParts(table));
/** Changes each record of the central directory. */
function withDirectory(change: (record: Buffer) => void): Buffer {
  const changed = Buffer.from(whole);
  for (let at = changed.indexOf("PK\x01\x02"); at >= 0; at = changed.indexOf("PK\x01\x02", at + 1))
    change(changed.subarray(at));
  return changed;
}
const compound = (text: string) =>
  Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(3 << 20), Buffer.from(text, "utf16le")]);
const ofXml = (rows: string) => toWorkbookOfXml({ sheets: { S: rows } });
const bomb = (path: string, start: string, filling: string) =>
  zipParts({ ...table, [path]: `${start}${filling.repeat(Math.ceil((9 << 20) / filling.length))}` });
const others = (path: string, text = "<x/>") => {
  const type = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument";
  const relations = `<Relationships><Relationship Id="a" Type="${type}" Target="${path}"/></Relationships>`;
  return zipParts({ "[Content_Types].xml": "", "_rels/.rels": relations, [path]: text });
};

const faults: [string, () => Uint8Array, RegExp][] = [
  ["an encrypted workbook", () => compound("EncryptedPackage"), /has a password; remove it/],
  ["an encrypted archive", () => withDirectory((record) => record.writeUInt16LE(1, 8)), /has a password/],
  ["an old workbook", () => compound("Workbook"), /\.xls\); open it/],
  ["an older workbook", () => Buffer.from("0908100000060500", "hex"), /\.xls\); open it/],
  ["a binary workbook", () => others("xl/workbook.bin"), /\.xlsb\); open it/],
  [
    "an OpenDocument spreadsheet",
    () => zipParts({ mimetype: "", "content.xml": "", "META-INF/manifest.xml": "" }),
    /\.ods; open it/,
  ],
  ["a Numbers file", () => zipParts({ "Index/Document.iwa": "" }), /Numbers file; choose File/],
  ["a Word document", () => others("word/document.xml"), /Word document; copy/],
  ["an archive of CSV files", () => zipParts({ "brands.csv": "Name" }), /ZIP archive; unpack it/],
  ["an empty archive", () => zipParts({}), /ZIP archive; unpack it/],
  ["gzip", () => gzipSync("Name"), /compressed; unpack it/],
  ["7z", () => Buffer.from("377abcaf271c", "hex"), /archive; unpack it/],
  ["RAR", () => Buffer.from("Rar!\x1a\x07"), /archive; unpack it/],
  ["a PDF", () => Buffer.from("%PDF-1.7"), /PDF; export the table/],
  ["a web page", () => Buffer.from('\n<html xmlns:x="urn:schemas-microsoft-com:office:excel">'), /web page/],
  ["an XHTML page in UTF-16", () => utf16('<?xml version="1.0"?><!DOCTYPE html>', "\ufeff"), /web page/],
  [
    "an Excel 2003 XML file",
    () => Buffer.from('<?xml version="1.0"?>\n<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet">'),
    /2003 XML/,
  ],
  ["text", () => Buffer.from("Name\nAcme\n"), /isn't a workbook/],
  ["an archive that was cut off", () => whole.subarray(0, -200), /cut off/],
  ["an archive with a comment that was cut off", () => whole.subarray(0, -1), /cut off/],
  ["a directory that points outside", () => withDirectory((record) => record.writeUInt32LE(0x7fffffff, 42)), /damaged/],
  ["a file that points outside", () => withDirectory((record) => record.writeUInt32LE(0x7fffffff, 20)), /damaged/],
  ["a compression that isn't known", () => withDirectory((record) => record.writeUInt16LE(99, 10)), /damaged/],
  [
    "a checksum that's wrong",
    () => withDirectory((record) => record.writeUInt32LE(1, 16)),
    /changed since it was saved/,
  ],
  ["a size that's too small", () => withDirectory((record) => record.writeUInt32LE(20, 24)), /damaged/],
  [
    "a size that's too large",
    () => withDirectory((record) => record.writeUInt32LE(3_000_000_000, 24)),
    /unzips to more/,
  ],
  [
    "a count of files that's too large",
    () => {
      const zip = streamedZip(table, true, 8);
      zip.writeBigUInt64LE(1n << 40n, zip.length - 98 + 32);
      return zip;
    },
    /more than 10000 files/,
  ],
  [
    "too many files",
    () => zipParts(Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`${at}`, ""]))),
    /more than 10000 files/,
  ],
  ["missing relations", () => zipParts(without("_rels/.rels")), /list of parts is missing/],
  ["a missing main part", () => zipParts(without("xl/workbook.xml")), /list of sheets is missing/],
  ["a missing sheet", () => zipParts(without("xl/worksheets/sheet0.xml")), /sheet is missing/],
  ["a part that refers to itself", () => others("_rels/.rels"), /damaged|no worksheet/],
  ["no sheets", () => toWorkbookOfXml({ sheets: {} }), /no worksheet/],
  [
    "too many sheets",
    () => zipParts(mapTexts((text) => text.replace(/<sheet .*?\/>/, (sheet) => sheet.repeat(1001)))),
    /more than 1000 sheets/,
  ],
  ["a document type", () => zipParts(mapTexts((text) => `<!DOCTYPE x [<!ENTITY a "b">]>${text}`)), /DOCTYPE/],
  ["malformed XML", () => ofXml("<row></c></row>"), /line 1, column \d+/],
  [
    "XML that was cut off",
    () => zipParts(mapTexts((text, path) => (path.endsWith("styles.xml") ? text.slice(0, -13) : text))),
    /is missing/,
  ],
  ["a reference to no character", () => ofXml(`<row>${inline("&#x110000;")}</row>`), /isn't a character/],
  [
    "bytes that aren't UTF-8",
    () => zipParts({ ...table, "xl/workbook.xml": Buffer.from("<workbook>\xe9", "latin1") }),
    /UTF-8/,
  ],
  ["rows in the wrong order", () => ofXml('<row r="5"/><row r="2"/>'), /row 5 is followed by row 2/],
  ["a row that isn't a number", () => ofXml('<row r="x"/>'), /row 0 is followed by row x/],
  ["a row outside of the sheet", () => ofXml('<row r="9999999999"/>'), /more than 1048576 rows/],
  ["a column outside of the sheet", () => ofXml('<row><c r="XFE1"><v>1</v></c></row>'), /outside of the sheet/],
  ["an address without a column", () => ofXml('<row><c r="7"><v>1</v></c></row>'), /outside of the sheet/],
  ["a shared text that doesn't exist", () => ofXml('<row><c t="s"><v>-1</v></c></row>'), /text that's missing/],
  [
    "too many cells",
    () => ofXml('<row><c r="XFD1"><v>1</v></c></row>'.replace(/ r="XFD1"/, ' r="XFD"').repeat(1600)),
    /more than 25000000 cells/,
  ],
  [
    "a text that never ends",
    () => bomb("xl/worksheets/sheet0.xml", "<worksheet><sheetData><row><c><v>", "1"),
    /too long/,
  ],
  [
    "a row that never ends",
    () => bomb("xl/worksheets/sheet0.xml", "<worksheet><sheetData><row>", "<c><v>1</v></c>"),
    /too long/,
  ],
  ["a comment that never ends", () => bomb("xl/workbook.xml", "<!-- ", "x"), /too long/],
  ["white space without end", () => bomb("xl/styles.xml", "", " "), /too long/],
  ["nesting without end", () => bomb("xl/sharedStrings.xml", "<sst>", "<si>"), /nested too deeply/],
];
test.each(faults)("faults: %s", async (_, file, message) => {
  const error = await readCells(file()).catch((caught) => caught);
  expect(error).toBeInstanceOf(ProblemError);
  expect(error.message).toMatch(message);
});

test("a file that's too large isn't even opened", () => {
  const read = () => Promise.reject(new Error("read"));
  expect(openWorkbook({ size: workbookLimits.fileBytes + 1, read })).rejects.toThrow("too large");
});

test("errors of the file system aren't taken for damage", () => {
  const gone = Object.assign(new Error("no such file"), { syscall: "read" });
  let reads = 0;
  const source: ByteSource = {
    ...toSource(whole),
    read: (start, length) => (++reads > 20 ? Promise.reject(gone) : toSource(whole).read(start, length)),
  };
  expect(openWorkbook(source).then((workbook) => workbook.rows(0).next())).rejects.toBe(gone);
});

test("other texts are text", () => {
  for (const text of [
    "",
    "P",
    "PK,Name",
    "Name;Town",
    '{"Name":1}',
    "<Results>",
    '<?xml version="1.0"?><brand/>',
    "\ufeffName",
    "<!-- -->".repeat(500),
  ])
    expect(recognizeFile(Buffer.from(text))).toBe("text");
  expect(recognizeFile(whole.subarray(0, 4))).toBe("workbook");
});

test("any changed byte gives rows or an error that says what to do", async () => {
  const bytes = Buffer.from(zipParts(table));
  const change = fc.record({ at: fc.nat(bytes.length - 1), byte: fc.nat(255) });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      const changed = Buffer.from(bytes);
      for (const { at, byte } of changes) changed[at] = byte;
      const result = await readCells(changed).catch((error) => error);
      expect(result instanceof ProblemError || Array.isArray(result)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test("toWorkbook", async () => {
  expect(
    await readCells(
      toWorkbook({
        S: [
          ["a", 1e15],
          ["", 2],
        ],
      }),
    ),
  ).toEqual([
    ["a", "1000000000000000"],
    ["", "2"],
  ]);
});
