// How the console's worker converts Excel workbooks to CSV: cell contents, and files that are too large, damaged or something else.

import { expect, test } from "bun:test";
import { Workbook } from "../../../../src/console/import/workbook.ts";
import { toWorkbook, toWorkbookOfXml } from "../../../support/console/workbooks.ts";

/** Returns the CSV of the first sheet. */
function csvOf(bytes: Uint8Array): string {
  const workbook = new Workbook(bytes);
  const [sheet] = workbook.sheets;
  if (!sheet) throw new Error("no sheet");
  return workbook.toCsv(sheet, () => {}).join("");
}

/** Returns the fault of a file. */
function faultOf(bytes: Uint8Array): unknown {
  try {
    csvOf(bytes);
    return undefined;
  } catch (error) {
    return (error as { readonly fault: unknown }).fault;
  }
}

const styles = `<numFmts><numFmt numFmtId="164" formatCode="00000"/><numFmt numFmtId="165" formatCode="dd\\.mm\\.yyyy hh:mm;@"/>
<numFmt numFmtId="166" formatCode="#,##0.00&quot; days&quot;"/><numFmt numFmtId="167" formatCode="[$-407]mmm yy"/></numFmts>
<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
<cellXfs>${[0, 14, 21, 22, 164, 165, 166, 167].map((id) => `<xf numFmtId="${id}"/>`).join("")}</cellXfs>`;

/** Returns the content of a cell. @param cell its XML */
const contentOf = (cell: string, properties = "") => {
  const row = `<row><c t="inlineStr"><is><t>A</t></is></c><c t="inlineStr"><is><t>B</t></is></c></row><row><c><v>1</v></c>${cell}</row>`;
  const shared = "<si><t>plain</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>hint</t></rPh></si>";
  const [, line = ""] = csvOf(toWorkbookOfXml({ sheets: { S: row }, sharedStrings: shared, styles, properties })).split(
    "\r\n",
  );
  return line.slice(2);
};

const cells: [string, string, string][] = [
  ["a large number without an exponent", "<c><v>1E+15</v></c>", "1000000000000000"],
  ["a whole number of 16 digits", "<c><v>1234567890123456</v></c>", "1234567890123456"],
  ["a number with the digits that Excel shows", "<c><v>0.30000000000000004</v></c>", "0.3"],
  ["a small number without an exponent", "<c><v>1.5E-7</v></c>", "0.00000015"],
  ["a text of digits with its zeros", '<c t="inlineStr"><is><t>00042</t></is></c>', "00042"],
  ["a postcode with the zeros of its format", '<c s="4"><v>1067</v></c>', "01067"],
  ["a date", '<c s="1"><v>46053</v></c>', "2026-01-31"],
  ["a time", '<c s="2"><v>0.604166666666667</v></c>', "14:30"],
  ["a date with a time", '<c s="3"><v>46053.604166666664</v></c>', "2026-01-31 14:30"],
  ["a date of a format of its own", '<c s="5"><v>46053.5</v></c>', "2026-01-31 12:00"],
  ["a month of a format with a language", '<c s="7"><v>46053</v></c>', "2026-01-31"],
  ["the first day of 1900", '<c s="1"><v>1</v></c>', "1900-01-01"],
  ["a number whose format only contains the word days", '<c s="6"><v>46053</v></c>', "46053"],
  ["a date that is too late, as a number", '<c s="1"><v>99999999</v></c>', "99999999"],
  ["a date in the form of ISO 8601", '<c t="d"><v>2026-01-31T00:00:00.000Z</v></c>', "2026-01-31"],
  ["the value of a formula", '<c t="str"><f>A1&amp;"x"</f><v>A&amp;x</v></c>', "A&x"],
  ["a formula without a value", "<c><f>NOW()</f></c>", ""],
  ["an error, as Excel shows it", '<c t="e"><v>#N/A</v></c>', "#N/A"],
  ["an unknown reference as it is", '<c t="str"><v>&#38;lt;&constructor;</v></c>', '"&lt;&constructor;"'],
  ["a logical value", '<c t="b"><v>1</v></c>', "TRUE"],
  ["a shared text", '<c t="s"><v>0</v></c>', "plain"],
  ["a shared text of several formats, without the hint how to say it", '<c t="s"><v>1</v></c>', "rich text"],
  ["an escaped character", '<c t="inlineStr"><is><t>a_x0009_b</t></is></c>', '"a\tb"'],
  [
    "a byte order mark, which the import would take for that of a file",
    '<c t="inlineStr"><is><t>\ufeffa</t></is></c>',
    '"\ufeffa"',
  ],
  ["quotes, separators and line ends", '<c t="inlineStr"><is><t>a "b"; c,\nd</t></is></c>', '"a ""b""; c,\nd"'],
  ["only cells below the header", '<c/><c t="inlineStr"><is><t>beside it</t></is></c>', ""],
];
test.each(cells)("a cell becomes %s", (_, cell, content) => {
  expect(contentOf(cell)).toBe(content);
});

// openpyxl writes every character that is not ASCII as a reference.
const references: [string, string, string][] = [
  ["decimal, beyond U+FFFF", "&#134071;&#37326;&#23478; &#128512;", "𠮷野家 😀"],
  ["hexadecimal, beyond U+FFFF", "&#x20BB7;&#x1f600;", "𠮷😀"],
  ["as two surrogates", "&#55357;&#56832;&#xD83D;&#xDE00;", "😀😀"],
  ["the last character", "&#x10FFFF;", "\u{10ffff}"],
  ["names", "&lt;&amp;&gt;&apos;&#38;", "<&>'&"],
];
test.each(references)("references: %s", (_, text, content) => {
  const inline = `<c t="inlineStr"><is><t>${text}</t></is></c>`;
  expect(contentOf(inline)).toBe(content);
  expect(contentOf(`<c t="str"><f>A1</f><v>${text}</v></c>`)).toBe(content);
  const [row, sharedStrings] = ['<row><c t="s"><v>0</v></c></row>', `<si><r><t>${text}</t></r></si>`];
  expect(csvOf(toWorkbookOfXml({ sheets: { S: row }, sharedStrings }))).toBe(`${content}\r\n`);
  // The parts of a sheet that are parsed at once can end within a reference.
  const rows = Array.from({ length: 3000 }, () => `<row>${inline}</row>`).join("");
  expect(csvOf(toWorkbookOfXml({ sheets: { S: rows } }))).toBe(`${content}\r\n`.repeat(3000));
  const named = new Workbook(toWorkbookOfXml({ sheets: { [text]: row }, sharedStrings }));
  expect(named.sheets.map(({ name }) => name)).toEqual([content]);
});

test("workbook counting from 1904: same days", () => {
  expect(contentOf('<c s="1"><v>44591</v></c>', 'date1904="1"')).toBe("2026-01-31");
});

test("rows: keep their numbers, empty ones at the end are left out", () => {
  const cell = (address: string, text: string) => `<c r="${address}" t="inlineStr"><is><t>${text}</t></is></c>`;
  const rows = `<row r="1">${cell("A1", "A")}${cell("C1", "C")}</row><row r="4">${cell("B4", "x")}</row><row r="900000"><c r="A900000" s="1"/></row>`;
  expect(csvOf(toWorkbookOfXml({ sheets: { S: rows } }))).toBe("A,,C\r\n\r\n\r\n,x,\r\n");
});

test("hidden sheets: only offered if all are hidden; names with a prefix are read", () => {
  const sheets = { Data: "<x:row><x:c><x:v>1</x:v></x:c></x:row>", Secret: "" };
  const workbook = new Workbook(toWorkbookOfXml({ sheets, attributes: { Secret: 'state="veryHidden"' } }));
  expect(workbook.sheets.map(({ name }) => name)).toEqual(["Data"]);
  const hidden = new Workbook(
    toWorkbookOfXml({ sheets, attributes: { Secret: 'state="hidden"', Data: 'state="hidden"' } }),
  );
  expect(hidden.sheets.map(({ name }) => name)).toEqual(["Data", "Secret"]);
});

const whole = toWorkbook({ S: [["Name"], ["Acme"], ["Best"]] });
/** The workbook with other declared sizes of its unzipped files. */
function withSize(bytes: Uint8Array, size: number): Uint8Array {
  const changed = Buffer.from(bytes);
  for (let at = 0; at >= 0; at = changed.indexOf("PK\x01\x02", at + 1))
    if (changed.readUInt32LE(at) === 0x02014b50) changed.writeUInt32LE(size, at + 24);
  return changed;
}
const ole = (text: string) =>
  Buffer.concat([Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]), Buffer.from(text, "utf16le")]);
const oneRow = '<row><c t="inlineStr"><is><t>Name</t></is></c></row>';
const faults: [string, () => Uint8Array, string | undefined][] = [
  ["a workbook", () => whole, undefined],
  ["an archive that was cut", () => whole.slice(0, -200), "broken"],
  ["a sheet that was cut", () => withSize(whole, 200), "broken"],
  ["a bomb", () => withSize(whole, 3_000_000_000), "unzipped"],
  ["a file of more than 20 MB", () => Buffer.concat([whole, Buffer.alloc(21 << 20)]), "large"],
  ["a file with a password", () => ole("EncryptedPackage"), "protected"],
  ["a file of Excel before 2007", () => ole("Workbook"), "old"],
  ["a text", () => Buffer.from("Name\nAcme\n"), "other"],
  ["an archive of other files", () => toWorkbookOfXml({ sheets: {} }).slice(0, 0), "other"],
  ["an empty sheet", () => toWorkbookOfXml({ sheets: { S: "" } }), "empty"],
  ["too many rows", () => toWorkbookOfXml({ sheets: { S: "<row><c><v>1</v></c></row>".repeat(300_002) } }), "rows"],
  [
    "too many columns",
    () => toWorkbookOfXml({ sheets: { S: `<row>${"<c><v>1</v></c>".repeat(1001)}</row>` } }),
    "columns",
  ],
  ["a row outside of the sheet", () => toWorkbookOfXml({ sheets: { S: `${oneRow}<row r="9999999999"/>` } }), "broken"],
  [
    "a column outside of the sheet",
    () => toWorkbookOfXml({ sheets: { S: `${oneRow}<row><c r="ZZZ2"><v>1</v></c></row>` } }),
    "broken",
  ],
  ["a reference to no character", () => toWorkbook({ S: [["&#x110000;"]] }), "broken"],
  ["rows in a wrong order", () => toWorkbookOfXml({ sheets: { S: '<row r="5"/><row r="2"/>' } }), "broken"],
  [
    "a shared text that is missing",
    () => toWorkbookOfXml({ sheets: { S: '<row><c t="s"><v>7</v></c></row>' } }),
    "broken",
  ],
];
test.each(faults)("%s is read, or the reason is clear", (_, file, fault) => {
  expect(faultOf(file())).toBe(fault);
});
