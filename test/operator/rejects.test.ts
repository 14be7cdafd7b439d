import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { toCsvRow } from "../../src/formats/csv-rows.ts";
import { openRejects } from "../../src/operator/rejects.ts";
import { type CsvOptions, readRows } from "../../src/operator/rows.ts";
import { brand } from "../../src/resources/brand.ts";

const folder = mkdtempSync(join(tmpdir(), "storefront-rejects-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Row = Awaited<ReturnType<typeof read>>[number];

async function read(content: string | Uint8Array, options: CsvOptions = {}) {
  const bytes = (async function* () {
    yield Buffer.from(content);
  })();
  return Array.fromAsync(readRows(brand, bytes, "csv", options));
}

const cell = fc.string({ unit: fc.constantFrom('"', ",", ";", "\t", "\r", "\n", " ", "a", "é", "😀", "=", "\ufeff") });
const header = ["Name", "AccountNumber"];
const written = fc
  .array(fc.array(cell, { minLength: 1, maxLength: 3 }), { maxLength: 8 })
  .map((rows) => (delimiter: string) => rows.map((row) => toCsvRow(row, delimiter)).join(""));
const anyText = cell.map((text) => () => text);

test("all rows, faulty ones too, are read back from the file as they were, and again from the file of that import", async () => {
  const file = join(folder, "rejects.csv");
  const reject = async (content: string | Uint8Array, options: CsvOptions) => {
    const rows = await read(content, options);
    const rejects = openRejects(file);
    for (const row of rows) await rejects.add(row, [{ field: "Name", detail: 'is "refused", here' }]);
    await rejects.close();
    return rows;
  };
  await fc.assert(
    fc.asyncProperty(fc.oneof(written, anyText), fc.constantFrom(",", ";", "\t"), async (text, delimiter) => {
      const rows = await reject(toCsvRow(header, delimiter) + text(delimiter), { delimiter });
      const first = readFileSync(file);
      if (rows.length === 0) return expect(first.length).toBe(0);
      // The encoding does not matter: the file has a byte order mark.
      const again = await reject(first, { encoding: "windows-1252" });
      const readable = (all: Row[]) => all.filter(({ source }) => source?.text === undefined);
      expect(readable(again).map(({ source }) => source?.cells)).toEqual(
        readable(rows).map(({ number, source }) => [`${number}`, 'Name: is "refused", here', ...(source?.cells ?? [])]),
      );
      expect(again).toHaveLength(rows.length);
    }),
    { numRuns: 300 },
  );
});
