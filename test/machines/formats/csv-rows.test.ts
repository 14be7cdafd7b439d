// The parser of CSV (src/formats/csv.ts): rows, quotes, separators, and text in pieces of any length.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { readCsvRows, toCsvRow } from "../../../src/formats/csv.ts";

/** Splits `text` into pieces of the lengths `cuts`, and the rest. */
async function* pieces(text: string, cuts: readonly number[]): AsyncGenerator<string> {
  let rest = text;
  for (const cut of cuts) {
    yield rest.slice(0, cut);
    rest = rest.slice(cut);
  }
  yield rest;
}

async function read(text: string, cuts: readonly number[] = [], delimiter?: string) {
  const rows = [];
  for await (const some of readCsvRows(pieces(text, cuts), delimiter)) rows.push(...(some?.rows ?? []));
  return rows;
}

const cell = fc.string({
  unit: fc.constantFrom('"', ",", "\r", "\n", " ", "a", "é", "😀", "\ufeff", ";", "\t", "|", "]", "\\", "="),
});
const table = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 6 });
const cuts = fc.array(fc.integer({ min: 0, max: 9 }));

const delimiter = fc.constantFrom(",", ";", "\t", "|", "]", "\\", "^", "-");

test("cells written as CSV are read back unchanged, wherever the text is split", async () => {
  await fc.assert(
    fc.asyncProperty(table, cuts, delimiter, async (cells, places, separator) => {
      const rows = await read(cells.map((row) => toCsvRow(row, separator)).join(""), places, separator);
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

const headers: [string, string, string[]][] = [
  ["commas", "ID,Name", ["ID", "Name"]],
  ["semicolons", "ID;Name", ["ID", "Name"]],
  ["tabs", "ID\tName", ["ID", "Name"]],
  ["bars", "ID|Name", ["ID", "Name"]],
  ["semicolons beside quoted commas", '"Name, long";"Town, city";x', ["Name, long", "Town, city", "x"]],
  ["commas beside quoted semicolons", '"a;b;c",Name', ["a;b;c", "Name"]],
  ["semicolons beside a quoted line break", '"a\nb";c', ["a\nb", "c"]],
  ["nothing", "Name", ["Name"]],
];
test.each(
  headers,
)("the delimiter of a header with %s is found, wherever the text is split", async (_, header, cells) => {
  for (let cut = 0; cut <= header.length; cut++) {
    const [first] = await read(`${header}\r\n`, [cut]);
    expect(first).toEqual({ cells, fault: undefined });
  }
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
test.each(cases)("a text with %s is split into rows and cells", async (_, text, rows) => {
  expect((await read(text)).map(({ cells }) => cells)).toEqual(rows);
});

test("text after a closing quote, and a quoted cell that is not closed, are errors of their row", async () => {
  const rows = await read('"a"b,c\nd\n"e\nf\n');
  expect(rows.map(({ fault }) => fault?.text)).toEqual(['"a"b,c\n', undefined, '"e\nf\n']);
  expect(rows.map(({ fault }) => fault?.detail.slice(0, 20))).toEqual([
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
