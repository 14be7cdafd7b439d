// An import's rejects file contains the rejected rows unchanged.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { toCsvRow } from "../../src/formats/csv.ts";
import { xml } from "../../src/formats/xml.ts";
import { type FileFormat, type RowOptions, readRows } from "../../src/operator/import/file-rows.ts";
import { openRejectedRowsFile } from "../../src/operator/import/rejected-rows.ts";
import { brand } from "../../src/resources/brand.ts";

const folder = mkdtempSync(join(tmpdir(), "storefront-rejects-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Row = Awaited<ReturnType<typeof read>>[number];

async function read(content: string | Uint8Array, options: RowOptions = {}, format: FileFormat = "csv") {
  const bytes = (async function* () {
    yield Buffer.from(content);
  })();
  return Array.fromAsync(readRows(brand, bytes, format, options));
}

/** Writes all rows of `content` to `file` as rejected rows. */
async function reject(
  file: string,
  content: string | Uint8Array,
  options: RowOptions,
  format?: FileFormat,
  detail = 'is "rejected", here',
) {
  const rows = await read(content, options, format);
  const rejects = openRejectedRowsFile(file);
  for (const row of rows) await rejects.add(row, [{ field: "Name", code: "invalid", detail }]);
  await rejects.close();
  return rows;
}

const cell = fc.string({ unit: fc.constantFrom('"', ",", ";", "\t", "\r", "\n", " ", "a", "é", "😀", "=", "\ufeff") });
const header = ["Name", "AccountNumber"];
const written = fc
  .array(fc.array(cell, { minLength: 1, maxLength: 3 }), { maxLength: 8 })
  .map((rows) => (delimiter: string) => rows.map((row) => toCsvRow(row, delimiter)).join(""));
const anyText = cell.map((text) => () => text);

test("rejects file: all rows, even invalid ones, are read back unchanged, and again from that import's rejects file", async () => {
  const file = join(folder, "rejects.csv");
  await fc.assert(
    fc.asyncProperty(fc.oneof(written, anyText), fc.constantFrom(",", ";", "\t"), async (text, delimiter) => {
      const rows = await reject(file, toCsvRow(header, delimiter) + text(delimiter), { delimiter });
      const first = readFileSync(file);
      if (rows.length === 0) return expect(first.length).toBe(0);
      // The encoding doesn't matter, because the file has a byte order mark.
      const again = await reject(file, first, { encoding: "windows-1252" });
      const readable = (all: Row[]) =>
        all.flatMap(({ number, source }) =>
          source.format === "csv" && source.text === undefined ? [{ number, cells: source.cells }] : [],
        );
      expect(readable(again).map(({ cells }) => cells)).toEqual(
        readable(rows).map(({ number, cells }) => [`${number}`, 'Name: is "rejected", here', ...cells]),
      );
      expect(again).toHaveLength(rows.length);
    }),
    { numRuns: 300 },
  );
});

const awkward = fc.string({
  unit: fc.constantFrom('"', "\\", "{", "}", "]", "<", ">", "&", "--", "-", "# row", "\n", "\u0001", "é", "😀"),
});
const items = fc.array(fc.record({ ID: fc.integer({ min: 1 }), Name: awkward }, { requiredKeys: [] }), {
  minLength: 1,
  maxLength: 5,
});
const contents: Record<"json" | "xml", (list: object[]) => string> = {
  json: (list) => JSON.stringify(list),
  xml: (list) => xml.listStart + list.map((item) => xml.part(brand, { ID: 1, ...item })).join("") + xml.listEnd,
};

test.each([
  "json",
  "xml",
] as const)("rejects file: %s records are read back unchanged, and again from that import's rejects file", async (format) => {
  const file = join(folder, `rejects.${format}`);
  await fc.assert(
    fc.asyncProperty(items, awkward, async (list, detail) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML can't contain it
      const content = contents[format](list).replaceAll(format === "xml" ? /\u0001/g : "\n", "");
      const rows = await reject(file, content, {}, format, detail);
      const first = readFileSync(file, "utf8");
      const again = await reject(file, first, {}, format, detail);
      expect(again.map(({ decoded }) => decoded)).toEqual(rows.map(({ decoded }) => decoded));
      expect(readFileSync(file, "utf8").replaceAll(/row"?:? [0-9]+/g, "")).toBe(
        first.replaceAll(/row"?:? [0-9]+/g, ""),
      );
    }),
    { numRuns: 200 },
  );
});

test("rejects file: declares the prefixes its records use", async () => {
  const file = join(folder, "prefixes.xml");
  const record = '<Brand i:schemaLocation="a b"><Name>A</Name></Brand>';
  const xsi = 'xmlns:i="http://www.w3.org/2001/XMLSchema-instance"';
  await reject(file, `<Results ${xsi} xmlns:x='"&lt;&amp;$&apos;'>${record}</Results>`, {}, "xml");
  const written = readFileSync(file, "utf8");
  expect(written).toContain(`<Results ${xsi} xmlns:x="&quot;&lt;&amp;$'">\n<!--`);
  expect((await read(written, {}, "xml")).map(({ decoded }) => decoded)).toEqual([
    { input: { Name: "A" }, fieldErrors: [] },
  ]);
});

test("rejects file: keeps all members of a record, even those the import ignores", async () => {
  const file = join(folder, "kept.json");
  await reject(file, '[{"Name":"A","Name":"B","ID":12345678901234567890},{},5,{ "# fault": "mine" }]', {}, "json", "x");
  expect(readFileSync(file, "utf8")).toBe(
    '[\n{"# row":1,"# fault":"Name: x","Name":"A","Name":"B","ID":12345678901234567890},\n' +
      '{"# row":2,"# fault":"Name: x"},\n5,\n{ "# fault": "mine" }\n]\n',
  );
});
