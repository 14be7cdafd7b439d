// The CSV parser (src/formats/csv.ts): rows, quotes, separators, and text in pieces of any length.

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
  for await (const some of readCsvRows(pieces(text, cuts), delimiter)) rows.push(...some.rows);
  return rows;
}
const cellsOf = async (text: string, delimiter?: string) => (await read(text, [], delimiter)).map(({ cells }) => cells);

const cell = fc.string({
  unit: fc.constantFrom('"', ",", "\r", "\n", " ", "a", "é", "😀", "\ufeff", ";", "\t", "|", "]", "\\", "="),
});
const table = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 6 });
const cuts = fc.array(fc.integer({ min: 0, max: 9 }));

const delimiter = fc.constantFrom(",", ";", "\t", "|", "]", "\\", "^", "-", " ", "=");

test("written cells: read back unchanged, wherever the text is split", async () => {
  await fc.assert(
    fc.asyncProperty(table, cuts, delimiter, async (rows, places, separator) => {
      // An ID begins each row, as in an export: a row without content is not one.
      const cells = [["ID"], ...rows.map((row, index) => [`${index}`, ...row])];
      const text = cells.map((row) => toCsvRow(row, separator)).join("");
      expect(await read(text, places, separator)).toEqual(
        cells.map((row, index) => ({ number: index + 1, cells: row, fault: undefined })),
      );
    }),
    { numRuns: 1000 },
  );
});

const lines = fc
  .array(fc.constantFrom("sep=;", "#TYPE x", "a;b", '="0";', ' "c" ;"', "\ufeff", "\r", "\n", "\r\n", " ", "x"))
  .map((parts) => parts.join(""));

test.each([
  ["any text", cell],
  ["lines around a header", lines],
])("%s: same rows in one piece and in many", async (_, texts) => {
  const outcome = (text: string, places: readonly number[]) => read(text, places).catch(({ message }) => message);
  await fc.assert(
    fc.asyncProperty(texts, cuts, async (text, places) => {
      expect(await outcome(text, places)).toEqual(await outcome(text, []));
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
    expect(first).toEqual({ number: 1, cells, fault: undefined });
  }
});

const formula = '="00123"';
const cases: [string, string, string[][]][] = [
  ["line ends of every kind", "a\nb\r\nc\rd", [["a"], ["b"], ["c"], ["d"]]],
  [
    "empty cells",
    "a,\nb,,\n",
    [
      ["a", ""],
      ["b", "", ""],
    ],
  ],
  ["lines without content", "\n  \n,,\na\n\n \t\n,\nb\n", [["a"], ["b"]]],
  ["blanks around quotes", '"a" , "b","c"\t\n', [["a", "b", "c"]]],
  ["tabs between quotes", '"a"\t "b"\t\t"c"\n', [["a", "b", "", "c"]]],
  ["blanks around cells that are not quoted", "a , b\n", [["a ", " b"]]],
  [
    "a text as a formula",
    `${formula},x\n="say ""a, b""" ,${formula}\n`,
    [
      ["00123", "x"],
      ['say "a, b"', "00123"],
    ],
  ],
  ["a text as a formula in quotes, as an export writes it", '"=""00123"""\n', [[formula]]],
  ["formulas", '="a"&"b"\n="a\n=1+1\n', [['="a"&"b"'], ['="a'], ["=1+1"]]],
  ["a quote inside a cell that is not quoted", '5" pipe,x\n', [['5" pipe', "x"]]],
  ["no last line end after a quoted cell", '"a,b"', [["a,b"]]],
];
test.each(cases)("a text with %s is split into rows and cells", async (_, text, rows) => {
  expect((await read(text)).map(({ cells }) => cells)).toEqual(rows);
});

const rowsAfter: [string, string, string, string[][]][] = [
  ["sep=", "sep=;\na,b;c\n", ";", [["a,b", "c"]]],
  ["sep= with a tab", "sep=\t\r\na\tb\r\n", "\t", [["a", "b"]]],
  ["sep= with the name of a tab", "sep=\\t\na\tb\n", "\t", [["a", "b"]]],
  ["sep= in another case, after a byte order mark and a blank line", "\ufeff\nSEP=^\na^b\n", "^", [["a", "b"]]],
  ["sep= that a spreadsheet has read as cells", '"sep=;",,\n"a;b",c\n', ",", [["a;b", "c"]]],
  ["#TYPE", "#TYPE System.Object, x\r\na;b\r\n", ";", [["a", "b"]]],
  ["sep=, #TYPE, blank lines and empty cells", "\n#TYPE A\nsep=|\n||\na|b;c\n", "|", [["a", "b;c"]]],
];
test.each(rowsAfter)("lines before the header: %s", async (_, text, delimiter, rows) => {
  for (let cut = 0; cut <= text.length; cut++) {
    expect((await read(text, [cut])).map(({ cells }) => cells)).toEqual(rows);
  }
  const parts = await Array.fromAsync(readCsvRows(pieces(text, [])));
  expect(parts.at(-1)?.delimiter).toBe(delimiter);
});

const joined: [string, string, string[][]][] = [
  [
    "sep= and #TYPE again",
    "sep=;\na;b\nsep=;\n\ufeff#TYPE x\n\ufeff1;2\n",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  ["a byte order mark before a row", "a\n\ufeff1\n", [["a"], ["1"]]],
  ["a byte order mark in quotes, as an export writes it", 'a\n"\ufeff1"\n', [["a"], ["\ufeff1"]]],
  [
    "a byte order mark in another cell",
    "a,b\n1,\ufeff2\n",
    [
      ["a", "b"],
      ["1", "\ufeff2"],
    ],
  ],
];
test.each(joined)("joined files: %s", async (_, text, rows) => {
  expect(await cellsOf(text)).toEqual(rows);
});

test("joined files: another delimiter", async () => {
  await expect(read("sep=;\na;b\n1;2\nsep=,\n")).rejects.toThrow("row 3, `sep=,`, begins a part");
});

test("row numbers: as in a spreadsheet, which hides sep=", async () => {
  expect((await read("sep=;\n\na\n\nb\n#TYPE x\nc\n")).map(({ number }) => number)).toEqual([2, 4, 6]);
});

test("text after a closing quote, or an unclosed quote: error in that row", async () => {
  const rows = await read('"a"b,c\nd\n "e\nf\n');
  expect(rows.map(({ fault }) => fault?.text)).toEqual(['"a"b,c\n', undefined, ' "e\nf\n']);
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
