import { expect, test } from "bun:test";
import fc from "fast-check";
import { readCsvRows, toCsvRow } from "../src/formats/csv-rows.ts";

/** Splits `text` into pieces of the lengths `cuts`, and the rest. */
async function* pieces(text: string, cuts: readonly number[]): AsyncGenerator<string> {
  let rest = text;
  for (const cut of cuts) {
    yield rest.slice(0, cut);
    rest = rest.slice(cut);
  }
  yield rest;
}

async function read(text: string, cuts: readonly number[] = []) {
  const rows = [];
  for await (const some of readCsvRows(pieces(text, cuts))) rows.push(...(some ?? []));
  return rows;
}

const cell = fc.string({ unit: fc.constantFrom('"', ",", "\r", "\n", " ", "a", "é", "😀", "\ufeff", ";", "=") });
const table = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 6 });
const cuts = fc.array(fc.integer({ min: 0, max: 9 }));

test("cells written as CSV are read back unchanged, wherever the text is split", async () => {
  await fc.assert(
    fc.asyncProperty(table, cuts, async (cells, places) => {
      const rows = await read(cells.map(toCsvRow).join(""), places);
      expect(rows).toEqual(cells.map((row) => ({ cells: row, fault: undefined })));
    }),
    { numRuns: 1000 },
  );
});

test("any text has the same rows in one piece and in many", async () => {
  await fc.assert(
    fc.asyncProperty(cell, cuts, async (text, places) => {
      expect(await read(text, places)).toEqual(await read(text));
    }),
    { numRuns: 1000 },
  );
});

const cases: [string, string, string[][]][] = [
  ["line ends of every kind", "a\nb\r\nc\rd", [["a"], ["b"], ["c"], ["d"]]],
  [
    "empty cells",
    ",\n,,\n",
    [
      ["", ""],
      ["", "", ""],
    ],
  ],
  ["an empty line", "a\n\nb\n", [["a"], [""], ["b"]]],
  ["a quote inside a cell that is not quoted", '5" pipe,x\n', [['5" pipe', "x"]]],
  ["no last line end after a quoted cell", '"a,b"', [["a,b"]]],
];
test.each(cases)("%s", async (_, text, rows) => {
  expect((await read(text)).map(({ cells }) => cells)).toEqual(rows);
});

test("text after a closing quote, and a quoted cell that is not closed, are faults of their row", async () => {
  const rows = await read('"a"b,c\nd\n"e\nf\n');
  expect(rows.map(({ fault }) => fault?.slice(0, 20))).toEqual([
    "text follows a closi",
    undefined,
    "a quoted cell of thi",
  ]);
});

test.each([
  ["plain", "plain"],
  ["a b", "a b"],
  ["a;b", "a;b"],
  ["", ""],
  ['say "x"', '"say ""x"""'],
  ["a,b", '"a,b"'],
  ["a\rb", '"a\rb"'],
  ["a\nb", '"a\nb"'],
  [" a", '" a"'],
  ["a ", '"a "'],
  ["\ta", '"\ta"'],
  ["a\u00a0", '"a\u00a0"'],
  ["\ufeffa", '"\ufeffa"'],
  ["a\ufeffb", '"a\ufeffb"'],
])("the cell %j is written as %j", (text, written) => {
  expect(toCsvRow([text, 1])).toBe(`${written},1\r\n`);
});
