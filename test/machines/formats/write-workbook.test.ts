// Workbooks as other programs would read them: unzipped by fflate, and parsed by libxml2.

import { describe, expect, test } from "bun:test";
import { crc32 } from "node:zlib";
import { unzipSync } from "fflate";
import { XmlDocument, type XmlElement } from "libxml2-wasm";
import { writeWorkbook } from "../../../src/formats/workbook/write-workbook.ts";
import { ProblemError } from "../../../src/model/errors.ts";

type Row = readonly (string | number)[];

const columns = [
  { name: "ID", width: 16, isNumeric: true },
  { name: "Name", width: 40 },
];

async function write(rows: Iterable<Row>): Promise<Buffer> {
  const list = async function* () {
    yield* rows;
  };
  return Buffer.concat(await Array.fromAsync(writeWorkbook("brands", columns, list())));
}

const namespaces = { m: "http://schemas.openxmlformats.org/spreadsheetml/2006/main" };

function partOf(bytes: Uint8Array, path: string): XmlDocument {
  return XmlDocument.fromBuffer(unzipSync(bytes)[path] as Uint8Array);
}

/** Each cell's text, decoded as Excel does. */
function textsOf(bytes: Uint8Array): string[] {
  const cells = partOf(bytes, "xl/worksheets/sheet1.xml").find("//m:row[position() > 1]/m:c", namespaces);
  return cells.map((cell) =>
    (cell as XmlElement).content.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    ),
  );
}

test.each([
  "00123",
  "=1+1",
  "+44 1632",
  "-5",
  "@SUM(A1)",
  "'quoted",
  "TRUE",
  "1e5",
  "12345678901234567890",
  "#N/A",
  "<b> & ]]> &amp;",
  '"',
  " spaces  inside and around ",
  "\t",
  "one\ntwo\n\nthree",
  "CR\rLF\nCRLF\r\n",
  "_x0041_",
  "_x005F_x0041_",
  "_x000d_x000d_",
  "__x000D__",
  "_x12",
  "\u0000\u0001\u001f\ufffe\uffff",
  "\u0085\u2028\u00a0\ufeff",
  "\ud83d alone",
  "👩‍👩‍👧‍👦 e\u0301",
])("%j stays the same", async (text) => {
  expect(textsOf(await write([["", text]]))).toEqual([text]);
});

describe("cells", () => {
  test("are texts in the format of a text, or whole numbers", async () => {
    const bytes = await write([
      [12, "0012"],
      [999_999_999_999_999, ""],
      [9_007_199_254_740_991, "more digits than Excel keeps"],
    ]);
    const sheet = partOf(bytes, "xl/worksheets/sheet1.xml");
    const cells = sheet.find("//m:row[position() > 1]/m:c", namespaces) as XmlElement[];
    const formats = partOf(bytes, "xl/styles.xml").find("//m:cellXfs/m:xf/@numFmtId", namespaces);
    const formatOf = (style: string | undefined) => formats[Number(style)]?.content;
    const attribute = (element: XmlElement, name: string) => element.attr(name)?.value;
    expect(cells.map((cell) => [attribute(cell, "r"), attribute(cell, "t"), formatOf(attribute(cell, "s"))])).toEqual([
      ["A2", undefined, "1"],
      ["B2", "inlineStr", "49"],
      ["A3", undefined, "1"],
      ["A4", "inlineStr", "49"],
      ["B4", "inlineStr", "49"],
    ]);
    expect(textsOf(bytes)).toContain("9007199254740991");
    const empty = sheet.find("//m:col", namespaces) as XmlElement[];
    expect(empty.map((column) => formatOf(attribute(column, "style")))).toEqual(["1", "49"]);
  });

  test("that are too long for Excel are refused", async () => {
    expect(textsOf(await write([["", "x".repeat(32_767)]]))[0]).toHaveLength(32_767);
    const written = write([["", "x".repeat(32_768)]]);
    await expect(written).rejects.toThrow(
      "cell B2 would have 32768 characters, more than the 32767 a workbook can have",
    );
  });
});

test("the header stays in view", async () => {
  const sheet = partOf(await write([]), "xl/worksheets/sheet1.xml");
  expect(sheet.get("//m:pane[@ySplit='1' and @state='frozen']", namespaces)).not.toBeNull();
  expect((sheet.find("//m:row/m:c", namespaces) as XmlElement[]).map(({ content }) => content)).toEqual(["ID", "Name"]);
});

test("there's room for all rows of a sheet, and no more", async () => {
  const rows = function* (count: number) {
    for (let row = 0; row < count; row++) yield [];
  };
  expect((await write(rows(1_048_575))).length).toBeGreaterThan(0);
  const error = await write(rows(1_048_576)).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(ProblemError);
  expect(error.code).toBe("too-large");
});

test("each part of the archive has the size and checksum that its directory says", async () => {
  const bytes = await write(Array.from({ length: 5000 }, (_, row) => [row, `Brand ${row}`]));
  const parts = unzipSync(bytes);
  const end = bytes.length - 22;
  expect(bytes.readUInt32LE(end)).toBe(0x06054b50);
  let at = bytes.readUInt32LE(end + 16);
  for (const [path, content] of Object.entries(parts)) {
    expect(bytes.toString("utf8", at + 46, at + 46 + path.length)).toBe(path);
    expect([bytes.readUInt32LE(at + 16), bytes.readUInt32LE(at + 24)]).toEqual([crc32(content), content.length]);
    at += 46 + path.length;
  }
  expect(at).toBe(end);
});

test("the same rows give the same bytes", async () => {
  expect(await write([[1, "Acme"]])).toEqual(await write([[1, "Acme"]]));
});
