// Tables in CSV files and workbooks: which row names the columns, which sheet is read, columns by letter, and cells outside of the table.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseMapping } from "../../src/formats/csv-mapping.ts";
import { ProblemError } from "../../src/model/errors.ts";
import { describeColumns } from "../../src/operator/import/column-guess.ts";
import { type FileContent, openTable, readTableRows } from "../../src/operator/import/file-rows.ts";
import type { TableOptions } from "../../src/operator/import/open-table.ts";
import { brand } from "../../src/resources/brand.ts";
import { toWorkbook, toWorkbookOfXml } from "../support/workbooks.ts";

type Cells = readonly (string | number)[];

function stored(bytes: Uint8Array): FileContent {
  return { size: bytes.length, read: async (start, length) => bytes.subarray(start, start + length) };
}

async function read(content: FileContent, format: "csv" | "xlsx", options: TableOptions = {}) {
  const table = await openTable(brand, content, format, options);
  const rows = await Array.fromAsync(readTableRows(brand, table, options));
  return { table, rows };
}

/** Returns each row's number and text values, or its errors. */
async function linesOf(content: FileContent, format: "csv" | "xlsx", options: TableOptions = {}): Promise<string[]> {
  const textsIn = (value: unknown): unknown[] =>
    typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [value];
  const { rows } = await read(content, format, options);
  return rows.map(({ number, decoded: { input, fieldErrors } }) => {
    const errors = fieldErrors.map(({ field, detail }) => `${field}: ${detail}`);
    return [number, ...(errors.length > 0 ? errors : textsIn(input))].join(" ");
  });
}

const csv = (text: string, options?: TableOptions) => linesOf(stored(Buffer.from(text)), "csv", options);
const workbook = (sheets: Record<string, readonly Cells[]>, options?: TableOptions) =>
  linesOf(stored(toWorkbook(sheets)), "xlsx", options);
const errorOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(() => undefined).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(ProblemError);
  return error.message;
};
const mapped = (fields: object, skip?: object) => parseMapping(brand, JSON.stringify({ fields, skip }));
const towns = mapped({ Name: "Marke", "Address.Town": "Ort" });

describe("the header row", () => {
  const titled: [string, string, TableOptions, string[]][] = [
    ["a title without a separator", "Our suppliers\n\nName;Address.Town\nA, B;Oslo\n", {}, ["4 A, B Oslo"]],
    ["a title with more commas than the header", "A, b, c, d\nName;Address.Town\nA;Oslo\n", {}, ["3 A Oslo"]],
    ["a title in quotes", '"List ""A"";x"\nName,Address.Town\nA,Oslo\n', {}, ["3 A Oslo"]],
    ["a title of one column", "Our suppliers\nName\nA\n", {}, ["3 A"]],
    [
      "a title after a byte order mark and blank lines",
      "\ufeff\n \nTitle\nName\tAddress.Town\nA\tOslo",
      {},
      ["5 A Oslo"],
    ],
    ["a title after sep=", "sep=;\nTitle\nName;Address.Town\nA,B;Oslo\n", {}, ["3 A,B Oslo"]],
    ["a title after #TYPE", "#TYPE x\nTitle\nName;Address.Town\nA;Oslo\n", {}, ["4 A Oslo"]],
    ["a title that looks like JSON", "[Export 2026]\nName;Address.Town\nA;Oslo\n", {}, ["3 A Oslo"]],
    [
      "several titles, with empty cells",
      "Title,,\nDate,2026-01-31,\n,,\nName,Address.Town,\nA,Oslo,\n",
      {},
      ["5 A Oslo"],
    ],
    ["a title before the columns of a mapping", "Liste\nOrt;Marke\nOslo;A\n", { mapping: towns }, ["3 A Oslo"]],
    ["a delimiter that's given", "T\nName~Address.Town\nA~Oslo\n", { delimiter: "~" }, ["3 A Oslo"]],
    [
      "fields' names in rows",
      "Name,AccountNumber\nx,Name\nOslo,Address.Town\n",
      {},
      ["2 x Name", "3 Oslo Address.Town"],
    ],
    [
      "fields' names below a mapping's columns",
      "Marke;Ort\nx;AccountNumber\n",
      { mapping: towns },
      ["2 x AccountNumber"],
    ],
    ["a row that's named like one field", "Marke;Nr;x\nLand;1;2\n", { mapping: mapped({ Name: "A" }) }, ["2 Land"]],
    ["a constant", "Foo;Bar\nx;AccountNumber\n", { mapping: mapped({ Name: { constant: "A" } }) }, ["2 A"]],
    [
      "joined files with titles",
      "T\nName,AccountNumber\nA,\nT\nName,AccountNumber\nT\nB,\n",
      {},
      ["3 A ", "6 T ", "7 B "],
    ],
    ["a row like the title at the end", "T\nName,AccountNumber\nA,\nT\n", {}, ["3 A ", "4 T "]],
  ];
  test.each(titled)("is found by its names of fields: %s", async (_, text, options, lines) => {
    expect(await csv(text, options)).toEqual(lines);
    // The same table in a workbook, whose rows keep their numbers.
    if (/sep=|#TYPE|\ufeff|"/.test(text)) return;
    const { table } = await read(stored(Buffer.from(text)), "csv", options);
    const rows = text
      .split("\n")
      .map((line) => line.split(table.delimiter).map((cell) => cell.replaceAll(/["&<]/g, "")));
    expect(await workbook({ Sheet: rows }, options)).toEqual(lines);
  });

  test("can be chosen, which also tells its delimiter", async () => {
    const text = `a,b,c,d\n\nName;Address.Town\nNr|Name\n${"x|A\n".repeat(30)}Foo;Name\nx;Last\n`;
    expect(await csv(text, { headerRow: 3 })).toContain("5 x|A ");
    expect((await csv(text, { headerRow: 4, mapping: mapped({ Name: "Name" }) })).slice(0, 2)).toEqual(["5 A", "6 A"]);
    expect(await errorOf(csv(text, { headerRow: 1 }))).toContain("`a`: unknown field");
    // Below the rows that tell the delimiter.
    expect(await csv(text, { headerRow: 35, delimiter: ";", mapping: mapped({ Name: "Name" }) })).toEqual(["36 Last"]);
    for (const headerRow of [2, 37, 1_048_576])
      expect(await errorOf(csv(text, { headerRow }))).toBe(
        `row ${headerRow} has no content, so it can't name the columns; choose another one`,
      );
  });

  test("isn't searched below the first 20 rows with content", async () => {
    const text = (titles: number) => `${"Our list\n\n".repeat(titles)}Name;AccountNumber\nA;\n`;
    expect(await csv(text(19))).toEqual(["40 A "]);
    expect(await errorOf(csv(text(20)))).toContain(
      "`Our list`: unknown field (for other names, add --guess or --map; ",
    );
  });

  test("has up to 16,384 columns", async () => {
    const names = ["Name", ...Array.from({ length: 16_383 }, (_, index) => `# ${index}`)];
    expect(await csv(`Our list\n${names.join(";")}\nA\n`)).toEqual(["3 A"]);
    expect(await workbook({ Sheet: [["Our list"], names, ["A"]] })).toEqual(["3 A"]);
    expect(await errorOf(csv(`${names.join(";")};x\nA\n`))).toContain("the file has 16385 columns");
    const { table } = await read(stored(Buffer.from(`${names.join(";")}\nA\n`)), "csv");
    expect(() => describeColumns(brand, table)).toThrow("more than 1000 columns");
  });

  const part = fc.constantFrom(
    "Name",
    "AccountNumber",
    "Title",
    ";",
    ",",
    "\t",
    '"',
    "\n",
    "\n\n",
    "x",
    "sep=;",
    "\ufeff",
    "Ort",
  );
  test("is the same wherever the text is split", async () => {
    const outcome = async (content: FileContent) => {
      try {
        const { table, rows } = await read(content, "csv");
        return { number: table.header.number, delimiter: table.delimiter, rows };
      } catch (error) {
        return (error as Error).message;
      }
    };
    const inPieces = async function* (text: string, cuts: readonly number[]) {
      let start = 0;
      for (const length of [...cuts, text.length]) {
        yield Buffer.from(text.slice(start, start + length));
        start += length;
      }
    };
    const parts = fc.array(part, { maxLength: 40 }).map((all) => all.join(""));
    await fc.assert(
      fc.asyncProperty(parts, fc.array(fc.integer({ min: 0, max: 9 })), async (text, cuts) => {
        expect(await outcome(inPieces(text, cuts))).toEqual(await outcome(stored(Buffer.from(text))));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("columns by letter", () => {
  const lettered: [string, string, object, TableOptions, string[]][] = [
    [
      "without a header",
      "A;Oslo\nName;AccountNumber\n",
      { Name: "A", "Address.Town": "B" },
      { headerRow: 0 },
      ["1 A Oslo", "2 Name AccountNumber"],
    ],
    ["with the same name", "Name;Tel;Tel\nA;1;2\n", { Name: "Name", "Telephone.Daytime": "C" }, {}, ["2 A 2"]],
    ["without a name", "Name;;\nA;Oslo;\n", { Name: "Name", "Address.Town": "B" }, {}, ["2 A Oslo"]],
    [
      "to the right of the header",
      "Name\nA;Oslo\n",
      { Name: "Name", "Address.Town": "B" },
      { delimiter: ";" },
      ["2 A Oslo"],
    ],
    ["which are also names", "B;A\n1;2\n", { Name: "A" }, {}, ["2 2"]],
    [
      "of two letters",
      `Name${";".repeat(26)}Ort\nA${";".repeat(26)}Oslo\n`,
      { Name: "A", "Address.Town": "AA" },
      {},
      ["2 A Oslo"],
    ],
    [
      "in a file of rejected rows",
      "# row;# fault;Name;Tel;Tel\n7;x;A;1;2\n",
      { Name: "A", "Telephone.Daytime": "C" },
      {},
      ["2 A 2"],
    ],
    [
      "in a file of rejected rows without a header",
      "# row;# fault;A;B\n7;x;y;Oslo\n",
      { Name: "A", "Address.Town": "B" },
      { headerRow: 0 },
      ["2 y Oslo"],
    ],
  ];
  test.each(lettered)("columns %s", async (_, text, fields, options, lines) => {
    expect(await csv(text, { ...options, mapping: mapped(fields) })).toEqual(lines);
  });

  test("letters beyond the table, or not in capitals, are unknown names", async () => {
    for (const column of ["C", "ZZZ", "XFE", "a", "AAAA", "A1"])
      expect(await errorOf(csv("A;Oslo\n", { headerRow: 0, mapping: mapped({ Name: column }) }))).toBe(
        `\`Name\`: the file has no column \`${column}\`; its columns are A, B`,
      );
    expect(await errorOf(csv("A;Oslo\n", { headerRow: 0 }))).toContain("without a header, use --map with letters");
  });

  test("columns with the same name: the error says which letters they have", async () => {
    const text = "Name;Tel;x;Tel\nA;1;2;3\n";
    const mapping = mapped({ Name: "Name", "Telephone.Daytime": "Tel" });
    expect(await errorOf(csv(text, { mapping }))).toContain("two columns `Tel`; use their letters, B and D, instead");
    expect(await csv(text, { mapping: mapped({ Name: "Name", "Telephone.Daytime": "D" }) })).toEqual(["2 A 3"]);
    expect(await errorOf(csv("Name;Name\nA;B\n"))).toContain("columns A and B have the same name");
  });

  test("columns are described by their letters, and by the keys that a mapping uses", async () => {
    const { table } = await read(stored(Buffer.from("T\nFirma;Tel;Tel;\nA;1;2;x\n")), "csv", {
      mapping: mapped({ Name: "Firma" }),
    });
    expect(describeColumns(brand, table)).toEqual([
      { letter: "A", name: "Firma", key: "Firma", samples: ["A"], field: "Name", isGuessed: true },
      { letter: "B", name: "Tel", key: "B", samples: ["1"], field: undefined, isGuessed: false },
      { letter: "C", name: "Tel", key: "C", samples: ["2"], field: undefined, isGuessed: false },
      { letter: "D", name: "", key: "D", samples: ["x"], field: undefined, isGuessed: false },
    ]);
  });
});

describe("cells outside of the table", () => {
  test("in a CSV file, their rows are rejected", async () => {
    expect(await csv("Name,,AccountNumber\nA,,\nB,x,\nC,,,y\n,,\nD,,,\n".replace("B,x", "B, "))).toEqual([
      "2 A ",
      "3 B ",
      "4 : send at most 3 cells, one for each column; this row has 4",
      "6 D ",
    ]);
    const late = `Name,,AccountNumber\n${"A,,\n".repeat(30)}B,x,\n`;
    expect((await csv(late)).at(-1)).toContain("32 : column B has no name, but this row has content there");
    expect(await errorOf(csv("Name,,AccountNumber\nB,x,\n"))).toContain(
      "column B has no name; name it, or map it by its letter",
    );
  });

  test("in a workbook, their rows are imported without them, with a warning", async () => {
    const rows = [["Name"], ["A", "", "note"], ["B", " "], ["C"]];
    for (const mapping of [undefined, mapped({ Name: "Name" })]) {
      const { rows: read_ } = await read(stored(toWorkbook({ Sheet: rows })), "xlsx", { mapping });
      const detail = "not imported, because the column has no name";
      expect(read_.map(({ number, warnings }) => [number, warnings])).toEqual([
        [2, [{ column: "C", detail }]],
        [3, undefined],
        [4, undefined],
      ]);
    }
  });
});

test("a formula that nobody has calculated rejects its row, if its column is imported", async () => {
  const cells = [
    "<c><f>A1</f><v/></c>",
    "<c><f>A1</f></c>",
    '<c t="str"><f>A1</f><v></v></c>',
    "<c><f>A1</f><v>7</v></c>",
  ];
  const rows = cells.map((cell, index) => `<row><c><v>${index}</v></c>${cell}</row>`).join("");
  const header = '<row><c t="str"><v>Name</v></c><c t="str"><v>AccountNumber</v></c></row>';
  const content = stored(toWorkbookOfXml({ sheets: { Sheet: header + rows } }));
  const uncalculated = expect.stringContaining("AccountNumber: this formula hasn't been calculated");
  expect(await linesOf(content, "xlsx")).toEqual([uncalculated, uncalculated, "4 2 ", "5 3 7"]);
  const lines = await linesOf(content, "xlsx", { mapping: mapped({ Name: "Name" }) });
  expect(lines).toEqual(["2 0", "3 1", "4 2", "5 3"]);
});

describe("sheets", () => {
  const table: Cells[] = [
    ["Name", "Address.Town"],
    ["A", "Oslo"],
  ];
  const sheets: [string, Record<string, readonly Cells[]>, TableOptions, string, string[]][] = [
    [
      "the first with names of fields",
      { Cover: [["Our list"], ["Anna"]], Brands: table },
      {},
      "Brands",
      ["Cover", "Brands"],
    ],
    [
      "the first with several names of fields",
      {
        Cover: [
          ["Name", "Our list"],
          ["Telephone", "1"],
        ],
        Brands: table,
      },
      {},
      "Brands",
      ["Cover", "Brands"],
    ],
    [
      "the one with the mapping's columns in the header row",
      { Cover: [["Our list", "x"]], Brands: [["Marke XY", "Ort Z"]] },
      { headerRow: 1, mapping: mapped({ Name: "Marke XY", "Address.Town": "Ort Z" }) },
      "Brands",
      ["Cover", "Brands"],
    ],
    ["the first with rows", { Empty: [], One: [["# x"]], Two: [["y"]] }, {}, "One", ["One", "Two"]],
    ["a name", { Brands: table, More: [["Name"], ["B"]] }, { sheet: "More" }, "More", ["More"]],
    ["a number", { Brands: table, More: [["Name"], ["B"]] }, { sheet: "2" }, "More", ["More"]],
    ["a name that's a number", { Brands: [["x"]], "3": [["y"]], "1": table }, { sheet: "1" }, "1", ["1"]],
  ];
  test.each(sheets)("%s is chosen", async (_, content, options, name, filled) => {
    const opened = await openTable(brand, stored(toWorkbook(content)), "xlsx", options);
    await opened.close();
    expect(opened.sheets).toMatchObject({ read: name, filled });
  });

  test("a hidden sheet is only read if it's named", async () => {
    const row = (text: string) => `<row><c t="inlineStr"><is><t>${text}</t></is></c></row>`;
    const bytes = toWorkbookOfXml({
      sheets: { Secret: row("Name") + row("A"), Open: row("Name") + row("B") },
      attributes: { Secret: 'state="hidden"' },
    });
    expect(await linesOf(stored(bytes), "xlsx")).toEqual(["2 B"]);
    expect(await linesOf(stored(bytes), "xlsx", { sheet: "Secret" })).toEqual(["2 A"]);
    const { table: read_ } = await read(stored(bytes), "xlsx");
    expect(read_.sheets?.visible).toEqual(["Open"]);
  });

  const wrong: [string, Record<string, readonly Cells[]>, string, string][] = [
    ["a name that's unknown", { Brands: table, More: table }, "Moor", "no sheet `Moor`, only `Brands`, `More`"],
    ["a number that's too high", { Brands: table, More: table }, "3", "no sheet `3`, only `Brands`, `More`"],
    ["0", { Brands: table }, "0", "no sheet `0`, only `Brands`"],
    ["a name in other letters", { Brands: table }, "brands", "no sheet `brands`, only `Brands`"],
    ["an empty sheet", { Brands: table, More: [] }, "More", "there are no rows in this sheet"],
  ];
  test.each(wrong)("can't be chosen by %s", async (_, content, sheet, message) => {
    expect(await errorOf(workbook(content, { sheet }))).toContain(message);
  });

  test("a workbook of rejected rows is read whatever sheet they came from", async () => {
    const rejected: Cells[] = [
      ["# row", "# fault", "Name"],
      [7, "x", "A"],
    ];
    expect(await workbook({ Rejected: rejected }, { sheet: "3", headerRow: 5 })).toEqual(["2 A"]);
  });

  test("an empty workbook is rejected", async () => {
    expect(await errorOf(workbook({ Brands: [], More: [[""]] }))).toBe("there are no rows in any visible sheet");
  });
});
