// Importing tables with the command: formats recognized by content, sheets and header rows, guessed columns, and saved mappings.

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { openWorkspace } from "../support/programs/command.ts";
import { toWorkbook } from "../support/workbooks.ts";

const unused = Array.from({ length: 60 }, (_, n) => `site-${n}`);
const workspace = openWorkspace();
await workspace.mustRun(["site", "add", "--from", "-"], { stdin: ["name", ...unused].join("\n") });
afterAll(() => workspace.close());

/** Writes a file, and imports it into a new site. */
function importer(name: string, content: string | Uint8Array) {
  const site = unused.pop() as string;
  writeFileSync(workspace.file(name), content);
  const run = (...more: string[]) => workspace.run(["import", "--site", site, "brands", name, ...more]);
  const names = async () => (await workspace.data.brands(site)).map(({ Name }) => Name);
  return { site, run, names };
}

const titled = [
  ["Our list", "", "January 2026"],
  ["Firma", "Ort", "Fax"],
  ["Acme", "Oslo", "1"],
  ["Best", "Bergen", ""],
];
const csv = (rows: readonly (readonly string[])[]) => rows.map((row) => row.join(";")).join("\n");
const guesses = [
  "row 2 names the columns; for another one, add --header-row",
  "guessed: Firma is Name",
  "guessed: Ort is Address.Town",
  "not imported: Fax",
];

describe("a file", () => {
  const table = [["Name"], ["Acme"]];
  const files: [string, string, string | Uint8Array][] = [
    ["a workbook", "brands.xlsx", toWorkbook({ Brands: table })],
    ["a workbook named .csv", "workbook.csv", toWorkbook({ Brands: table })],
    ["JSON named .xlsx", "json.xlsx", '\n [{"Name": "Acme"}]'],
    ["CSV named .xlsx", "csv.xlsx", "Name\nAcme\n"],
    ["XML named .json", "xml.json", "<Results><Brand><Name>Acme</Name></Brand></Results>"],
  ];
  test.each(files)("is recognized by its content: %s", async (_, name, content) => {
    for (const input of [name, "-"]) {
      const { site, names } = importer(name, content);
      const args = ["import", "--site", site, "brands", input, "--json"];
      const { code, stdout } = await workspace.run(args, { stdin: input === "-" ? content : "" });
      expect([code, JSON.parse(stdout)]).toMatchObject([0, { created: 1, rejected: 0 }]);
      expect(await names()).toEqual(["Acme"]);
    }
  });

  test("that's a workbook can come from a pipe or redirected input", async () => {
    const { site, names } = importer("piped.xlsx", toWorkbook({ Brands: table }));
    for (const wrap of [
      (command: string) => `cat piped.xlsx | ${command}`,
      (command: string) => `${command} < piped.xlsx`,
    ]) {
      const args = ["import", "--site", site, "brands", "-", "--match", "Name"];
      expect(await workspace.mustRun(args, { wrap })).toMatch(/^1 row: [01] created/);
    }
    expect(await names()).toEqual(["Acme"]);
  });

  const wrong: [string, string | Uint8Array, string[], number, string][] = [
    [
      "a workbook as CSV",
      toWorkbook({ Brands: table }),
      ["--format", "csv"],
      1,
      "the file is a workbook, not csv; leave out",
    ],
    ["CSV as a workbook", "Name\nA\n", ["--format", "xlsx"], 1, "the file isn't a workbook; leave out --format"],
    [
      "a workbook with --delimiter",
      toWorkbook({ Brands: table }),
      ["--delimiter", ";"],
      2,
      "--delimiter only works with CSV files, and this one is xlsx",
    ],
    [
      "a workbook with --encoding",
      toWorkbook({ Brands: table }),
      ["--encoding", "utf-8"],
      2,
      "--encoding only works with CSV files, and",
    ],
    ["CSV with --sheet", "Name\nA\n", ["--sheet", "2"], 2, "--sheet only works with workbooks, and this one is csv"],
    [
      "JSON with --guess",
      "[]",
      ["--guess"],
      2,
      "--guess only works with CSV files and workbooks, and this one is json",
    ],
    ["JSON with --header-row", "[]", ["--header-row", "2"], 2, "--header-row only works with CSV files and workbooks"],
    ["XML with --no-header", "<Results/>", ["--no-header"], 2, "--no-header only works with CSV files and workbooks"],
    ["JSON with --save-map", "[]", ["--save-map", "m.json"], 2, "--save-map only works with CSV files and workbooks"],
    ["--header-row 0", "Name\nA\n", ["--header-row", "0"], 2, "Use a row number, such as 3, or --no-header"],
    ["--header-row -1", "Name\nA\n", ["--header-row", "-1"], 2, "Use a row number, such as 3"],
    [
      "a header row beyond the file",
      "Name\nA\n",
      ["--header-row", "3"],
      1,
      "row 3 has no content, so it can't name the columns",
    ],
    [
      "--header-row and --no-header",
      "Name\nA\n",
      ["--header-row", "1", "--no-header"],
      2,
      "use either --header-row or --no-header",
    ],
    ["--guess and --no-header", "Name\nA\n", ["--guess", "--no-header"], 2, "--guess goes by the columns' names"],
    ["--guess and --map", "Name\nA\n", ["--guess", "--map", "m.json"], 2, "use either --guess or --map, not both"],
    ["--guess without any field", "Foo\nA\n", ["--guess"], 1, "no column looks like a field: Foo; map them with --map"],
    ["--save-map to the imported file", "Name\nA\n", ["--save-map", "wrong"], 2, "--save-map would overwrite wrong"],
    [
      "--save-map to the rejected rows",
      "Name\nA\n",
      ["--rejects", "r.csv", "--save-map", "r.csv"],
      2,
      "--save-map would overwrite r.csv",
    ],
    ["--save-map to standard output", "Name\nA\n", ["--save-map", "-"], 2, "--save-map needs a file"],
    [
      "--save-map to no folder",
      "Name\nA\n",
      ["--save-map", "no/m.json"],
      1,
      "can't write no/m.json: there's no folder no",
    ],
    ["a PDF", "%PDF-1.7\n", [], 1, "this is a PDF"],
  ];
  test.each(wrong)("can't be imported: %s", async (_, content, more, status, message) => {
    const { run, names } = importer("wrong", content);
    const { code, stdout, stderr } = await run(...more);
    expect([code, stdout]).toEqual([status, ""]);
    expect(stderr).toContain(message);
    expect(await names()).toEqual([]);
  });
});

describe("--guess", () => {
  test.each([
    ["CSV", "guess.csv", csv(titled)],
    ["a workbook", "guess.xlsx", toWorkbook({ Brands: titled })],
  ])("maps the columns of %s, prints how, and saves a mapping that does the same", async (_, name, content) => {
    const { run, names } = importer(name, content);
    const plain = await run();
    expect(plain.stderr).toContain(
      "`Firma`: unknown field; did you mean Name? (for other names, add --guess or --map;",
    );
    const dry = await run("--guess", "--dry-run", "--save-map", "map.json");
    expect(dry.stdout).toStartWith("2 rows: 2 would be created");
    expect(dry.stderr.trim().split("\n")).toEqual(guesses);
    expect(JSON.parse(readFileSync(workspace.file("map.json"), "utf8"))).toEqual({
      fields: { Name: "Firma", "Address.Town": "Ort" },
    });
    const mapped = await run("--map", "map.json", "--match", "Name");
    expect(mapped.stdout).toStartWith("2 rows: 2 created");
    expect(mapped.stderr).not.toContain("guessed");
    expect((await run("--guess", "--match", "Name")).stdout).toStartWith("2 rows: 0 created, 0 updated, 2 unchanged");
    expect(await names()).toEqual(["Acme", "Best"]);
  });

  test("reads windows-1252 if a file isn't UTF-8, even if that only shows at its end", async () => {
    const text = `Firma\n${"Acme\n".repeat(20_000)}Müller\n`;
    const { run } = importer("western.csv", Buffer.from(text, "latin1"));
    const { stderr } = await run("--guess", "--match", "Name", "--dry-run");
    expect(stderr).toStartWith("the file isn't UTF-8, so it's read as windows-1252");
    for (const encoding of ["utf-8", "utf-16le"] as const) {
      const { site, names } = importer("unicode.csv", "");
      const stdin = Buffer.from("Firma\nMüller\n", encoding === "utf-8" ? "utf8" : "utf16le");
      const piped = await workspace.run(["import", "--site", site, "brands", "-", "--guess"], { stdin });
      expect(piped.stderr).not.toContain("windows-1252");
      expect(await names()).toEqual(["Müller"]);
    }
  });

  test("doesn't guess what to match by", async () => {
    const { run } = importer("twice.csv", "Firma\nAcme\n");
    for (const _ of [1, 2]) expect((await run("--guess")).stdout).toStartWith("1 row: 1 created");
  });
});

describe("sheets and headers", () => {
  test("the import says which sheet it reads if others have rows too, and reads another with --sheet", async () => {
    const content = toWorkbook({ Cover: [["Our list"]], Brands: [["Name"], ["A"]], More: [["Name"], ["B"]] });
    const { run, names } = importer("sheets.xlsx", Buffer.from(content));
    expect((await run()).stderr).toStartWith("reading the sheet `Brands`; for `Cover` or `More");
    expect((await run("--sheet", "3")).stderr).not.toContain("reading the sheet");
    expect(await names()).toEqual(["A", "B"]);
    const { code, stderr } = await run("--sheet", "Brnds");
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("the workbook has no sheet `Brnds`, only `Cover`, `Brands`"),
    ]);
  });

  test("rejected rows of a file with titles, without a header or from a sheet can be imported with the same options", async () => {
    writeFileSync(workspace.file("letters.json"), '{"fields": {"Name": "A", "Address.Country": "C"}}');
    const rows = [
      ["Acme", "x", "NO"],
      ["Best", "y", "N-O"],
    ];
    const files: [string, string | Uint8Array, string[]][] = [
      ["bare.csv", csv(rows), ["--no-header"]],
      ["titled.csv", csv([["T"], ["Name", "Nr", "Nr"], ...rows]), ["--header-row", "2"]],
      ["bare.xlsx", toWorkbook({ One: [["T"]], Two: rows }), ["--no-header", "--sheet", "2"]],
      ["titled.xlsx", toWorkbook({ One: [["T"]], Two: [["T"], ["Name", "Nr", "Nr"], ...rows] }), ["--sheet", "Two"]],
    ];
    for (const [name, content, more] of files) {
      const { site, run, names } = importer(name, content);
      const rejected = `rejected.${name.split(".")[1]}`;
      const first = await run("--map", "letters.json", "--match", "Name", "--rejects", rejected, ...more);
      expect(first.stdout).toStartWith("2 rows: 1 created, 0 updated, 0 unchanged, 1 rejected");
      const args = ["import", "--site", site, "brands", rejected, "--map", "letters.json", "--match", "Name", ...more];
      const again = await workspace.run([...args, "--json"]);
      expect(JSON.parse(again.stdout)).toMatchObject({ rows: 1, faults: [{ field: "Address.Country" }] });
      expect(await names()).toEqual(["Acme"]);
    }
  });

  test("cells beside the header of a workbook are reported", async () => {
    const { run } = importer("notes.xlsx", toWorkbook({ Brands: [["Name"], ["A", "", "note"], ["B"]] }));
    const { code, stdout, stderr } = await run();
    expect([code, stdout]).toEqual([0, "2 rows: 2 created, 0 updated, 0 unchanged, 0 rejected, 1 warning\n"]);
    expect(stderr).toContain("row 2: C: not imported, because the column has no name");
  });
});
