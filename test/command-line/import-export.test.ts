import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { ProblemError } from "../../src/model/errors.ts";
import type { Fields } from "../../src/model/field.ts";
import { publicResources } from "../../src/model/resource.ts";
import type { FileFormat, RowOptions } from "../../src/operator/import/file-rows.ts";
import { allResources } from "../../src/resources/all.ts";
import { openWorkspace, withoutRootCapabilities } from "../support/programs/command.ts";
import { slowly } from "../support/time.ts";

const unused = Array.from({ length: 170 }, (_, n) => `site-${n}`);
const workspace = openWorkspace();
await workspace.mustRun(["site", "add", "--from", "-"], { stdin: ["name", ...unused].join("\n") });
afterAll(() => workspace.close());

/** A site name that no other test uses. */
function newSite(): string {
  return unused.pop() as string;
}

const load = (site: string, content: string | Uint8Array, ...more: string[]) =>
  workspace.run(["import", "--site", site, "brands", "-", "--json", ...more], { stdin: content });
const names = async (site: string) => (await workspace.data.brands(site)).map(({ ID, Name }) => `${ID} ${Name}`);

const awkward = [
  "CR\rLF\nCRLF\r\nTAB\tend",
  ' "quoted", and blanks  ',
  "=1+1",
  "@SUM(A1)",
  "\ufeffBOM in front",
  "👩‍👩‍👧‍👦 e\u0301 ]]> &amp; <b>",
  "\t",
  '"',
  ",",
  "\r",
  "\n",
  "a;b",
];

/** A record with `value` in every field that accepts any text, cut to the maximum length. */
function valuesOf(fields: Fields, value: string): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, field]) => {
    if (field.kind === "group") return [name, valuesOf(field.fields, value)];
    return [name, field.pattern ? field.example : [...value].slice(0, field.max).join("")];
  });
  return Object.fromEntries(entries);
}

describe("exported records are imported unchanged", () => {
  for (const { path: resource, fields } of publicResources(allResources)) {
    test.each(["csv", "json", "xml", "xlsx"] as const)(`${resource} as %s`, async (format) => {
      const { data } = workspace;
      const [from, to] = [newSite(), newSite()];
      const json = JSON.stringify(awkward.map((value) => valuesOf(fields, value)));
      await data.load(from, resource, json, { format: "json" });
      const file = await data.bytes(from, resource, format);
      expect(await data.load(to, resource, file, { format })).toMatchObject({ created: awkward.length, rejected: 0 });
      const one = await data.file(from, resource, "json");
      expect(await data.file(to, resource, "json")).toBe(one);
      expect(JSON.parse(one).map(({ Name }: { Name: string }) => Name)).toEqual(awkward);
      const again = await data.load(to, resource, file, { format });
      expect(again).toMatchObject({ unchanged: awkward.length, created: 0, updated: 0 });
    });
  }

  const files: [string, string[], string][] = [
    ["brands.csv", [], "\ufeffID,Name,"],
    ["brands.TSV", [], "\ufeffID\tName\t"],
    ["brands.tsv", ["--delimiter", ";"], "\ufeffID;Name;"],
    ["brands.txt", ["--delimiter", "|"], "\ufeffID|Name|"],
    ["brands.json", [], "[\n{"],
    ["brands.xml", [], "<?xml"],
    ["brands.xlsx", [], "PK"],
    ["brands", ["--format", "xlsx"], "PK"],
  ];
  test.each(files)("by the commands, as %s with the options %j", async (name, options, start) => {
    const [from, to] = [newSite(), newSite()];
    await workspace.data.load(from, "brands", JSON.stringify(awkward.map((Name) => ({ Name }))), { format: "json" });
    const file = workspace.file(`${from}${name}`);
    await workspace.mustRun(["export", "--site", from, "brands", file, ...options]);
    const bytes = readFileSync(file);
    expect(bytes.toString()).toStartWith(start);
    const summary = JSON.parse(await workspace.mustRun(["import", "--site", to, "brands", file, "--json"]));
    expect(summary).toMatchObject({ created: awkward.length, rejected: 0 });
    expect(await names(to)).toEqual(await names(from));
    const again = JSON.parse(await workspace.mustRun(["import", "--site", from, "brands", file, "--json"]));
    expect(again).toMatchObject({ unchanged: awkward.length, created: 0, updated: 0 });
  });

  test("by the commands through a pipe, without a byte order mark", async () => {
    const site = newSite();
    await workspace.data.addBrands(site, "A");
    for (const to of [[], ["-"], ["/dev/stdout"]])
      expect(await workspace.mustRun(["export", "--site", site, "brands", ...to])).toStartWith("ID,Name,");
    expect(await workspace.mustRun(["export", "--site", site, "brands", "--delimiter", "tab"])).toStartWith(
      "ID\tName\t",
    );
    const { code, stderr } = await workspace.run(["export", "--site", site, "brands", "--json", "--delimiter", ";"]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("--delimiter only works with CSV files, and this one is json"),
    ]);
  });
});

describe("a workbook", () => {
  test("is exported to a pipe or file, but not to a terminal", async () => {
    const site = newSite();
    await workspace.data.addBrands(site, "A");
    const args = ["export", "--site", site, "brands", "--format", "xlsx"];
    const file = workspace.file(`${site}.xlsx`);
    expect((await workspace.run(args, { to: { stdout: file } })).code).toBe(0);
    expect(readFileSync(file)).toEqual(await workspace.data.bytes(site, "brands", "xlsx"));
    const { code, shown } = await workspace.runOnTerminal(args);
    expect([code, shown]).toEqual([2, expect.stringContaining("add a file name")]);
  });

  test("keeps leading zeros and formulas as text, and IDs of up to 16 digits", async () => {
    const site = newSite();
    const records = [
      { ID: 999_999_999_999_999, Name: "=1+1", AccountNumber: "00123", Address: { Postcode: "01067" } },
      { ID: 12, Name: "Largest", AccountNumber: "1e5", Address: { Postcode: "1-2" } },
    ];
    await workspace.data.load(site, "brands", JSON.stringify(records), { format: "json" });
    await workspace.data.addBrands(site, "Beyond 15 digits");
    const file = await workspace.data.bytes(site, "brands", "xlsx");
    expect(await workspace.data.load(site, "brands", file, { format: "xlsx" })).toMatchObject({
      unchanged: 3,
      rows: 3,
    });
  });
});

describe("two rows for the same record", () => {
  const csv = "ID,Name\n1,A\n1,A\n1,B\n";

  test("cause a warning if they differ, also in a dry run", async () => {
    const site = newSite();
    for (const more of [["--dry-run"], []]) {
      const { code, stdout, stderr } = await load(site, csv, ...more);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ created: 1, updated: 1, unchanged: 1, warnings: [{ row: 4 }] });
      expect(stderr).toContain("warning: row 4: ID: row 2 has the same value");
    }
    expect(await names(site)).toEqual(["1 B"]);
    const args = ["import", "--site", site, "brands", "-", "--dry-run"];
    expect(await workspace.mustRun(args, { stdin: csv })).toEndWith("0 rejected, 1 warning\n");
  });
});

describe("invalid rows", () => {
  const csv = "Name,Address.Country\nGood,GB\n,GB\nBad country,1!\nToo,many,cells\nLast,NO\n";

  test("are reported with their number and field, and don't stop the others", async () => {
    const site = newSite();
    const { code, stdout, stderr } = await load(site, csv);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ rows: 5, created: 2, rejected: 3 });
    expect(stderr).toContain("row 3: Name: a value is required");
    expect(stderr).toContain("row 4: Address.Country: use a country code");
    expect(stderr).toContain("row 5: send at most 2 cells, one for each column; this row has 3");
    expect(await names(site)).toEqual(["1 Good", "2 Last"]);
  });

  test("with --atomic keep any row from being stored", async () => {
    const site = newSite();
    const { code, stderr } = await load(site, csv, "--atomic");
    expect(code).toBe(1);
    expect(stderr).toContain("nothing was stored");
    expect(await names(site)).toEqual([]);
    expect((await load(site, "Name\nA\nB\n", "--atomic")).code).toBe(0);
    expect(await names(site)).toEqual(["1 A", "2 B"]);
  });

  test("are listed up to 10,000, and the file of --rejects has them all", async () => {
    const site = newSite();
    const text = `ID,Name\n${"x,A\n".repeat(10_002)}`;
    const some = await load(site, text, "--dry-run");
    expect(some.stderr).toContain(
      'row 10001: ID: use a whole number, 1 or more, not "x"\nand 2 more errors; see --rejects <file> for all rejected rows and their errors\n',
    );
    expect(JSON.parse(some.stdout)).toMatchObject({ rejected: 10_002, moreFaults: 2 });
    const file = workspace.file("many.csv");
    const all = await load(site, text, "--dry-run", "--rejects", file);
    expect(all.stderr).toContain(`\nand 2 more errors; see ${file} for all rejected rows and their errors\n`);
    expect((await Bun.file(file).text()).split("use a whole number")).toHaveLength(10_003);
  });

  test("may be any value in a list that isn't a record", async () => {
    const site = newSite();
    const { stdout } = await load(
      site,
      '[null, 5, "x", [], {"Name": 7}, {"ID": "1", "Name": "A"}, {"Name": "Good"}]',
      "--format",
      "json",
    );
    const { faults, created } = JSON.parse(stdout);
    expect(created).toBe(1);
    expect(faults.map(({ row }: { row: number }) => row)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(faults[0].detail).toBe("send an object, not null");
  });
});

describe("a file from another program", () => {
  const expected = ["1 Café €5; a,b", "2 Łódź"];
  const text = 'ID;Name\r\n1;"Café €5; a,b"\r\n2;Łódź\r\n';
  const western = 'ID;Name\r\n1;"Café €5; a,b"\r\n';
  const utf16be = Buffer.from(`\ufeff${text}`, "utf16le").swap16();
  const odd = "Łódź;Name\ny;x\n";
  const oddMapping = { sources: [{ field: "Name", column: "Name" }], skip: [] };
  const files: [string, string | Uint8Array, RowOptions, string[]][] = [
    ["semicolons", text, {}, expected],
    ["tabs", 'ID\tName\n1\t"Café €5; a,b"\n2\tŁódź\n', {}, expected],
    ["UTF-16, little-endian", Buffer.from(`\ufeff${text}`, "utf16le"), {}, expected],
    ["UTF-16, big-endian", utf16be, {}, expected],
    ["UTF-16 without a byte order mark", Buffer.from(text, "utf16le"), {}, expected],
    ["UTF-16, big-endian, without a byte order mark", Buffer.from(text, "utf16le").swap16(), {}, expected],
    ["UTF-16 that starts with a non-ASCII letter", Buffer.from(odd, "utf16le"), { mapping: oddMapping }, ["1 x"]],
    [
      "UTF-16, big-endian, that starts with a non-ASCII letter",
      Buffer.from(odd, "utf16le").swap16(),
      { mapping: oddMapping },
      ["1 x"],
    ],
    ["UTF-8 with a byte order mark", `\ufeff${text}`, {}, expected],
    ["UTF-8 with a byte order mark, whatever --encoding is", `\ufeff${text}`, { encoding: "windows-1252" }, expected],
  ];
  test.each(files)("with %s is imported as the other program shows it", async (_, content, more, rows) => {
    const site = newSite();
    await workspace.data.load(site, "brands", content, more);
    expect(await names(site)).toEqual(rows);
  });

  const options: [string, string | Uint8Array, string[], string[]][] = [
    ["a delimiter", "Name~ID\nx~7\n", ["--delimiter", "~"], ["7 x"]],
    ["tabs", "Name\tID\nx\t7\n", ["--delimiter", "tab"], ["7 x"]],
    ["an encoding", toWindows1252(western), ["--encoding", "windows-1252"], expected.slice(0, 1)],
  ];
  test.each(
    options,
  )("with %s named by an option is imported as the other program shows it", async (_, content, more, rows) => {
    const site = newSite();
    await load(site, content, ...more);
    expect(await names(site)).toEqual(rows);
  });

  const wrong: [string[], RegExp][] = [
    [["--delimiter", ";;"], /Use a single character/],
    [["--delimiter", ""], /Use a single character/],
    [["--delimiter", '"'], /Use a single character/],
    [["--encoding", "windows1252"], /did you mean windows-1252\?/],
    [["--encoding", "cp437"], /known: utf-8, .*, shift_jis, .*, x-mac-cyrillic/],
    [["--encoding", "utf-16le", "--format", "json"], /--encoding only works with CSV files, and this one is json/],
  ];
  test.each(wrong)("can't be imported with %j", async (args, message) => {
    const { code, stdout, stderr } = await workspace.run(["import", "--site", "x", "brands", "-", ...args]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(message);
  });
});

const mapping = {
  sources: [
    { field: "Name", column: "Marke" },
    { field: "Address.Town", column: "Ort" },
  ],
  skip: [],
};

describe("extra lines in a table", () => {
  const [header, rows] = ["Name,Address.Town", "A,Oslo"];
  const tables: [string, string, RowOptions, string[]][] = [
    ["sep=", `sep=;\r\nName;Address.Town\r\nA, B;Oslo\r\n`, {}, ["1 A, B"]],
    ["sep= with --delimiter", "sep=;\nName~AccountNumber\nA;B~1\n", { delimiter: "~" }, ["1 A;B"]],
    ["sep= for one column", "sep=;\nName\nA, B\n", {}, ["1 A, B"]],
    ["#TYPE", `#TYPE Selected.System.Object\r\n"Name","Address.Town"\r\n"A","Oslo"\r\n`, {}, ["1 A"]],
    ["blank lines", `\n \t\n,\n${header}\n \n${rows}\n\n`, {}, ["1 A"]],
    ["joined files", `${header}\n${rows}\n${header}\nB,Bergen\n`, {}, ["1 A", "2 B"]],
    ["joined files with marks", `\ufeffsep=,\n${header}\n${rows}\n\ufeffsep=,\n${header}\nB,\n`, {}, ["1 A", "2 B"]],
    ["a joined file without a header", `${header}\n${rows}\n\ufeffB,Bergen\n`, {}, ["1 A", "2 B"]],
    ["joined files with a mapping", "Marke;Ort\nA;Oslo\nMarke;Ort\nB;\n", { mapping }, ["1 A", "2 B"]],
    ["delimiters at the end of each line", `${header},,\n${rows},,\n`, {}, ["1 A"]],
    ["a comment", `# exported\n${header}\n${rows}\n`, {}, ["1 A"]],
    ["an empty column", ",Name,,Address.Town\n,A,,Oslo\n", {}, ["1 A"]],
  ];
  test.each(tables)("%s: only records are created", async (_, text, options, expected) => {
    const site = newSite();
    expect(await workspace.data.load(site, "brands", text, options)).toMatchObject({ rejected: 0 });
    expect(await names(site)).toEqual(expected);
  });

  const refused: [string, string, RowOptions, RegExp][] = [
    [
      "a second header in another order",
      `${header}\n${rows}\nAddress.Town,Name\nOslo,B\n`,
      {},
      /^row 3 is another header/,
    ],
    ["a second header with fewer columns", `${header}\n${rows}\nName\nB\n`, {}, /^row 3 is another header \(Name\)/],
    ["a second header with other columns", `${header}\n${rows}\nName,Foo\nB\n`, {}, /^row 3 is another header/],
    ["a second header with another delimiter", `${header}\n${rows}\nName;Address.Town\nB;\n`, {}, /^row 3 is another/],
    ["a second header in capitals", `${header}\n${rows}\nNAME,ADDRESS.TOWN\nB,\n`, {}, /^row 3 is another header/],
    [
      "a second header in a different encoding",
      `${header}\n${rows}\n\u00ef\u00bb\u00bf${header}\n`,
      {},
      /^row 3 is another/,
    ],
    [
      "a second header from a rejects file",
      `${header}\n${rows}\n# row,# fault,${header}\n`,
      {},
      /^row 3 is another header/,
    ],
    [
      "a second header that the mapping knows",
      "Marke;Ort\nA;Oslo\nOrt;Marke\n",
      { mapping },
      /^row 3 is another header/,
    ],
    [
      "a second header that the mapping does not know",
      "Marke;Ort\nA;Oslo\nName;Ort\n",
      { mapping },
      /^row 3 is another/,
    ],
    [
      "a part with another sep=",
      "sep=;\nName;ID\nA;\nsep=,\nName,ID\n",
      {},
      /^row 3, `sep=,`, begins a part of the file/,
    ],
    [
      "sep= without a delimiter",
      `sep=\n${header}\n`,
      {},
      /^the line "sep=" doesn't set a valid delimiter; use one such as `sep=;`/,
    ],
    ["only a comment", "# exported\n", {}, /the first row must name columns, not "# exported"/],
  ];
  test.each(refused)("%s: the import fails with the reason", async (_, text, options, reason) => {
    const site = newSite();
    const problem = await workspace.data.load(site, "brands", text, options).catch((error) => error);
    expect(problem).toBeInstanceOf(ProblemError);
    expect(problem.message).toMatch(reason);
    expect((await names(site)).filter((name) => !name.endsWith(" A"))).toEqual([]);
  });

  test("another header further down: what the message advises imports the rest", async () => {
    const site = newSite();
    const text = "Name,Address.Town\nA,Oslo\nName,AccountNumber\nB,7\n";
    const first = await load(site, text);
    expect([first.code, first.stderr]).toEqual([
      1,
      expect.stringMatching(/--header-row 3, .*; by then, 1 records had been/),
    ]);
    await load(site, text, "--header-row", "3");
    expect(await names(site)).toEqual(["1 A", "2 B"]);
  });

  test("brands named like columns: their export can be imported", async () => {
    const [from, to] = [newSite(), newSite()];
    const brands = ["Name", "ID", "sep=;", "#TYPE x", " ", "\ufeffName"].map((Name) => ({ Name, AccountNumber: Name }));
    await workspace.data.load(from, "brands", JSON.stringify(brands), { format: "json" });
    const file = await workspace.data.file(from, "brands", "csv");
    expect(await workspace.data.load(to, "brands", file)).toMatchObject({ created: brands.length, rejected: 0 });
    expect(await names(to)).toEqual(await names(from));
  });
});

describe("cells of a row", () => {
  const cells: [string, string, string, object][] = [
    [
      "missing at the end",
      "ID,Name,AccountNumber,Address.Town",
      "1,New",
      { Name: "New", AccountNumber: "", Address: { Town: "" } },
    ],
    ["missing columns", "ID,Name", "1,New", { Name: "New", AccountNumber: "B2", Address: { Town: "Oslo" } }],
    ["more, but empty", "ID,Name", "1,New,, ,", { Name: "New", AccountNumber: "B2" }],
    ["text as a formula", "ID,AccountNumber", '1,="00123"', { AccountNumber: "00123" }],
    ["other formulas", "ID,AccountNumber", "1,=1+1", { AccountNumber: "=1+1" }],
    ["blanks around quotes", "ID,Name", '"1" , "New" ', { Name: "New" }],
    ["blanks without quotes", "ID,Name", "1, New ", { Name: " New " }],
  ];
  test.each(cells)("%s", async (_, header, row, expected) => {
    const site = newSite();
    await workspace.data.load(site, "brands", "ID,Name,AccountNumber,Address.Town\n1,Old,B2,Oslo\n");
    expect(await workspace.data.load(site, "brands", `${header}\n${row}\n`)).toMatchObject({ updated: 1, rejected: 0 });
    expect(await workspace.data.brands(site)).toMatchObject([expected]);
  });

  test("more than the header has: the row is rejected", async () => {
    const site = newSite();
    const summary = await workspace.data.load(site, "brands", "Name,AccountNumber,\nA,1,\nB,2,,x\nC,3,y\n");
    expect(summary).toMatchObject({ created: 1, faults: [{ row: 3 }, { row: 4 }] });
    expect(summary.faults[0]?.detail).toBe("send at most 2 cells, one for each column; this row has 4");
  });
});

/** Encodes characters up to U+FFFF, little-endian. */
function toUtf32(text: string): Buffer {
  return Buffer.from([...text].map((character) => `${character}\0`).join(""), "utf16le");
}

/** Encodes text made of Latin-1 characters and the euro sign. */
function toWindows1252(text: string): Buffer {
  return Buffer.from(text.replaceAll("€", "\u0080"), "latin1");
}

describe("row with an ID", () => {
  test("updates that record, creates it, or is rejected if it was deleted", async () => {
    const site = newSite();
    await workspace.data.load(site, "brands", "ID,Name,AccountNumber\n1,One,A1\n7,Seven,A7\n");
    const key = await workspace.data.addKey(site);
    await workspace.mustRun(["site", "set", site, "--default"]);
    const server = await workspace.serve();
    await fetch(`${server.url}/restapi/brands/1.json`, { method: "DELETE", headers: { "X-API-AUTH": key } });
    const rows = "ID,Name\n7,Changed\n9,Nine\n9,Nine again\n1,Deleted\n0,Zero\n9007199254740991,Huge\n,Next\n";
    const dry = await load(site, rows, "--dry-run");
    const real = await load(site, rows);
    expect(JSON.parse(real.stdout)).toMatchObject(JSON.parse(dry.stdout));
    expect(JSON.parse(real.stdout)).toMatchObject({ created: 2, updated: 2, rejected: 3 });
    expect(real.stderr).toContain("row 5: the record 1 was deleted earlier; bring it back with `restore-record`");
    expect(real.stderr).toContain('row 6: ID: use a whole number, 1 or more, not "0"');
    expect(real.stderr).toContain("row 7: ID: use a whole number from 1 to 999999999999999");
    expect(await names(site)).toEqual(["7 Changed", "9 Nine again", "10 Next"]);
    const read = await fetch(`${server.url}/restapi/brands/7.json`, { headers: { "X-API-AUTH": key } });
    expect(await read.json()).toMatchObject({ Name: "Changed", AccountNumber: "A7" });
    server.kill();
    await server.exited;
  });
});

describe("--remove-missing", () => {
  const remove = (site: string, content: string, ...more: string[]) =>
    workspace.run(["import", "--site", site, "brands", "-", "--match", "Name", "--remove-missing", ...more], {
      stdin: content,
    });

  test("counts the records missing from the file in a dry run, removes them, and prints one undo command for everything", async () => {
    const site = newSite();
    await load(site, "Name\nAcme\nBest\nCube\n");
    const dry = await remove(site, "Name\nAcme\nCube\nNew\n", "--dry-run");
    expect([dry.code, dry.stdout]).toEqual([
      0,
      `3 rows: 1 would be created, 0 would be updated, 2 unchanged, 0 rejected\n1 of 3 brands would be removed, because it isn't in the file: 2 "Best"\n`,
    ]);
    const real = await remove(site, "Name\nAcme\nCube\nNew\n", "--json");
    const { undo, ...summary } = JSON.parse(real.stdout);
    expect(summary).toMatchObject({ created: 1, missing: { count: 1, total: 3, removed: 1, changed: 0 } });
    expect(await names(site)).toEqual(["1 Acme", "3 Cube", "4 New"]);
    await workspace.mustRun(undo.slice(undo.indexOf("undo")).split(" "));
    expect(await names(site)).toEqual(["1 Acme", "2 Best", "3 Cube"]);
  });

  test("only removes more than half of the records if that number of removals is allowed", async () => {
    const site = newSite();
    await load(site, "Name\nAcme\nBest\nCube\n");
    const { code, stderr } = await remove(site, "Name\nAcme\n");
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("nothing was removed: 2 of 3 brands aren't in the file"),
    ]);
    expect(await names(site)).toEqual(["1 Acme", "2 Best", "3 Cube"]);
    expect((await remove(site, "Name\nAcme\n", "--allow-removals", "2")).code).toBe(0);
    expect(await names(site)).toEqual(["1 Acme"]);
    expect((await load(site, "Name\nX\n", "--allow-removals", "2")).code).toBe(2);
    expect((await remove(site, "Name\nX\n", "--allow-removals", "half")).code).toBe(2);
  });
});

describe("--match", () => {
  test("updates the record with the same value, even for two rows with that value", async () => {
    const site = newSite();
    await workspace.data.load(site, "brands", "Name,AccountNumber\nAcme,1\n");
    const rows = "Name,AccountNumber\nAcme,2\nNew,3\nNew,4\n";
    const dry = await load(site, rows, "--match", "Name", "--dry-run");
    const real = await load(site, rows, "--match", "Name");
    expect(JSON.parse(real.stdout)).toMatchObject(JSON.parse(dry.stdout));
    expect(JSON.parse(real.stdout)).toMatchObject({ created: 1, updated: 2, rejected: 0 });
    expect(await names(site)).toEqual(["1 Acme", "2 New"]);
  });

  test("rejects a row that matches several records or has no value to match", async () => {
    const site = newSite();
    await workspace.data.load(site, "brands", "Name,AccountNumber\nTwin,1\nTwin,2\nBlank,\n");
    const { stderr } = await load(site, "Name,AccountNumber\nTwin,3\n", "--match", "Name");
    expect(stderr).toContain("row 2: Name: 2 records have this value (1, 2); name one by its ID");
    const blank = await load(site, "Name,AccountNumber\nOther,\n", "--match", "AccountNumber");
    expect(blank.stderr).toContain("row 2: AccountNumber: a value is required to find the record by it");
    const misspelt = await load(site, "Name\nX\n", "--match", "Nmae");
    expect([misspelt.code, misspelt.stderr]).toEqual([
      2,
      expect.stringMatching(/invalid --match `Nmae`: did you mean `Name`\?/),
    ]);
  });

  test("with --atomic writes the rows to a temporary file and deletes it; if that can't be written, nothing is stored", async () => {
    const site = newSite();
    const folder = workspace.file("temporary");
    const run = (TMPDIR: string) =>
      workspace.run(["import", "--site", site, "brands", "-", "--atomic"], {
        stdin: `Name\n${"A\n".repeat(1200)}`,
        env: { TMPDIR },
      });
    const { code, stderr } = await run(folder);
    const fault = `can't keep the rows in ${folder} (set TMPDIR to use another folder): ENOENT: no such file or directory\n`;
    expect([code, stderr]).toEqual([1, expect.stringContaining(fault)]);
    expect(await names(site)).toEqual([]);
    mkdirSync(folder);
    expect((await run(folder)).stdout).toStartWith("1200 rows: 1200 created");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("with --atomic rejects a second row with the same value", async () => {
    const site = newSite();
    const { stderr } = await load(site, "Name\nNew\nNew\n", "--match", "Name", "--atomic");
    expect(stderr).toContain("row 3: Name: row 2 has the same value");
    expect(await names(site)).toEqual([]);
  });
});

describe("import file", () => {
  test("is read the same in whatever pieces it arrives", async () => {
    const site = newSite();
    const started = workspace.start(["import", "--site", site, "brands", "-"]);
    const pieces = ["\ufeffNa", "me", "\r", '\nA\r\n"B ""', '"" b"\r', "\n", "C\nD\rE 👩", "‍👧"];
    await slowly(pieces, 15, (piece) => started.write(piece));
    started.end();
    expect(await started.exited).toBe(0);
    expect(await names(site)).toEqual(["1 A", '2 B "" b', "3 C", "4 D", "5 E 👩‍👧"]);
  });

  test("changes nothing in a dry run", async () => {
    const site = newSite();
    const { code, stdout } = await workspace.run(["import", "--site", site, "brands", "-", "--dry-run"], {
      stdin: "Name\nA\n",
    });
    expect([code, stdout]).toEqual([0, "1 row: 1 would be created, 0 would be updated, 0 unchanged, 0 rejected\n"]);
    expect(await names(site)).toEqual([]);
    expect(await workspace.mustRun(["journal", "--site", site])).toBe("");
  });

  const empty: [string, string, FileFormat][] = [
    ["with only a header", "Name\n", "csv"],
    ["with rows without content", "Name;AccountNumber\n\n;\n;;;\n", "csv"],
    ["of JSON with an empty list", "[]", "json"],
    ["of XML with an empty list", "<Results/>", "xml"],
  ];
  test.each(empty)("%s is valid and has no rows", async (_, text, format) => {
    expect(await workspace.data.load(newSite(), "brands", text, { format })).toMatchObject({ rows: 0, faults: [] });
  });

  test("of JSON or XML may be a single record", async () => {
    const site = newSite();
    await load(site, '{"Name":"A"}', "--format", "json");
    await load(site, "<Brand><Name>B</Name></Brand>", "--format", "xml");
    await load(
      site,
      '<Results><Brand ID="5"><Name>C</Name></Brand><Brand><Name/></Brand></Results>',
      "--format",
      "xml",
    );
    expect(await names(site)).toEqual(["1 A", "2 B", "5 C"]);
  });

  const bad: [string, string | Uint8Array, FileFormat, RegExp][] = [
    ["that is empty", "", "csv", /the file is empty; the first line must name the columns/],
    ["with only a byte order mark", Buffer.from([0xff, 0xfe]), "csv", /the file is empty; the first line must name/],
    ["with a misspelt column", "Nmae\nA\n", "csv", /`Nmae`: unknown field; did you mean Name\?/],
    [
      "with a column whose name has an unseen character",
      "Name\u00a0\nA\n",
      "csv",
      /The name in the file ends with U\+00A0/,
    ],
    [
      "with an unknown column",
      "Qwertyuiop\nA\n",
      "csv",
      /`Qwertyuiop`: unknown field \(for other names, add --guess or --map/,
    ],
    [
      "with a column without a name",
      "Name;;ID\nA;x;1\n",
      "csv",
      /column B has no name; name it, or map it by its letter with --map/,
    ],
    ["with a repeated column", "Name,Name\nA,B\n", "csv", /send it only once/],
    ["with zero bytes", "Name\0\n", "csv", /isn't text/],
    [
      "of UTF-16 that is cut short",
      Buffer.from("\ufeffName\nA\n", "utf16le").subarray(0, -1),
      "csv",
      /isn't valid UTF-16LE/,
    ],
    ["of JSON that is imported as CSV", '[{"Name":"A"}]', "csv", /isn't CSV; leave out --format/],
    ["of XML that is imported as CSV", "<Results/>", "csv", /isn't CSV; leave out --format/],
    ["that is not UTF-8", Buffer.from("Name\nCaf\xe9\n", "latin1"), "csv", /isn't valid UTF-8/],
    ["of JSON that is cut short", '[{"Name":"A"}', "json", /^the file isn't valid JSON: line 1, column 14: /],
    ["of JSON that is nested too deeply", `[${"[".repeat(20)}`, "json", /^the file is nested too deeply: line 1, /],
    ["of XML that is cut short", "<Results>", "xml", /^the file isn't well-formed XML: line 1, column 10: /],
    [
      "of XML that is Latin-1",
      '<?xml version="1.0" encoding="latin1"?><Results/>',
      "xml",
      /declares the encoding latin1; save/,
    ],
    ...(["csv", "json", "xml"] as const).flatMap((format) =>
      [toUtf32("Name"), toUtf32("[]").swap32(), toUtf32("\ufeff<"), toUtf32("Łx"), toUtf32("\ufeffé").swap32()].map(
        (bytes): [string, Uint8Array, FileFormat, RegExp] => [
          `of UTF-32 as ${format}`,
          bytes,
          format,
          /^the file is UTF-32; save/,
        ],
      ),
    ),
    [
      "of JSON with its list in an object",
      '{"data":{"brands":[{"Name":"A"}]}}',
      "json",
      /save just the list in `data.brands`/,
    ],
    ["of XML with a DOCTYPE", "<!DOCTYPE x><Results/>", "xml", /DOCTYPE/],
    ["of XML with another root", "<Brands/>", "xml", /the root element must be <Results>/],
  ];
  test.each(bad)("%s is rejected in one line", async (_, content, format, line) => {
    const site = newSite();
    const problem = await workspace.data.load(site, "brands", content, { format }).catch((error) => error);
    expect(problem).toBeInstanceOf(ProblemError);
    expect(`${problem.message}\n`).toMatch(line);
    expect([problem.message.trim().split("\n").length, problem.fieldErrors.slice(1), await names(site)]).toEqual([
      1,
      [],
      [],
    ]);
  });

  test("that can't be parsed is rejected in one line by the command too", async () => {
    const { code, stdout, stderr } = await load(newSite(), "Nmae\nA\n");
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringMatching(/^storefront: .*did you mean Name\? .*\n$/)]);
  });

  test("with an unclosed quote is imported up to the row before it", async () => {
    const site = newSite();
    const { stderr } = await load(site, 'Name\nA\n"B\nC\nD\n');
    expect(stderr).toContain("row 3: a quoted cell of this row is never closed");
    expect(await names(site)).toEqual(["1 A"]);
    const huge = await load(site, `Name\nB\n"${"x".repeat(1_500_000)}`);
    expect(huge.stderr).toContain(
      "row 3 is longer than 1048576 characters; a quote may be missing at the end of a cell",
    );
    const cell = await load(site, `Name\n${"x".repeat(300_000)}\nC\n`);
    expect(cell.stderr).toContain("row 2: Name: use 255 characters or fewer (this has 300000)");
    expect(await names(site)).toEqual(["1 A", "2 B", "3 C"]);
  });

  test("that becomes invalid midway stops the import, and the error says how many rows were stored", async () => {
    const site = newSite();
    const rows = Array.from({ length: 30_000 }, (_, n) => `Brand ${n}`).join("\n");
    const bytes = Buffer.concat([Buffer.from(`Name\n${rows}\n`), Buffer.from([0xff, 0xfe])]);
    const { code, stderr } = await load(site, bytes);
    expect(code).toBe(1);
    expect(stderr).toMatch(/isn't valid UTF-8.*; by then, \d+ records had been created and 0 updated/);
  });

  test("that doesn't exist, can't be read or is a folder is rejected", async () => {
    const site = newSite();
    expect((await workspace.run(["import", "--site", site, "brands", "nowhere.csv"])).stderr).toMatch(/file not found/);
    for (const command of ["import", "export"]) {
      const nameless = await workspace.run([command, "--site", site, "brands", ""]);
      expect([nameless.code, nameless.stderr]).toEqual([2, expect.stringContaining("The file name is empty")]);
    }
    writeFileSync(workspace.file("closed.csv"), "Name\nA\n", { mode: 0 });
    const closed = await workspace.run(["import", "--site", site, "brands", "closed.csv"], {
      wrap: withoutRootCapabilities,
    });
    expect([closed.code, closed.stderr]).toEqual([
      1,
      expect.stringMatching(/^storefront: can't read closed.csv: .*\n$/),
    ]);
    expect((await workspace.run(["import", "--site", site, "brands", workspace.folder])).stderr).toMatch(/is a folder/);
    const { code, stderr } = await workspace.run(["import", "--site", site, "brnads", "x.csv"]);
    expect([code, stderr]).toEqual([2, "storefront: unknown resource `brnads`: did you mean `brands`?\n"]);
  });
});

test("20,000 rows are imported while a server runs, and its next read returns them", async () => {
  const site = newSite();
  await workspace.mustRun(["site", "set", site, "--default"]);
  const key = await workspace.data.addKey(site);
  const server = await workspace.serve();
  const count = async () => {
    const head = await fetch(`${server.url}/restapi/brands.json?limit=1`, { headers: { "X-API-AUTH": key } });
    return Number(head.headers.get("X-Total-Count"));
  };
  expect(await count()).toBe(0);
  const rows = Array.from({ length: 20_000 }, (_, n) => `Brand ${n},A-${n},Town ${n}`).join("\r\n");
  writeFileSync(workspace.file("many.csv"), `Name,AccountNumber,Address.Town\r\n${rows}\r\n`);
  const { code } = await workspace.run(["import", "--site", site, "brands", workspace.file("many.csv")]);
  expect([code, await count()]).toEqual([0, 20_000]);
  server.kill();
  await server.exited;
});

describe("export", () => {
  test("fails if its file can't be written, and leaves no partial file", async () => {
    const site = newSite();
    await workspace.data.addBrands(site, "A");
    const { code, stderr } = await workspace.run([
      "export",
      "--site",
      site,
      "brands",
      workspace.file("no-folder/x.csv"),
    ]);
    expect([code, stderr.trim().split("\n").length]).toEqual([1, 1]);
    expect(stderr).toContain("can't write");
    mkdirSync(workspace.file("folder.csv"));
    expect((await workspace.run(["export", "--site", site, "brands", workspace.file("folder.csv")])).code).toBe(1);
    expect(readdirSync(workspace.folder).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  test("writes through a symbolic link and to a named pipe, and replaces neither", async () => {
    const site = newSite();
    await workspace.data.addBrands(site, "A");
    writeFileSync(workspace.file("real.csv"), "before");
    symlinkSync(workspace.file("real.csv"), workspace.file("link.csv"));
    await workspace.mustRun(["export", "--site", site, "brands", workspace.file("link.csv")]);
    expect(readFileSync(workspace.file("real.csv"), "utf8")).toContain("1,A,");
    const fifo = workspace.file("pipe.csv");
    expect(Bun.spawnSync(["mkfifo", fifo]).exitCode).toBe(0);
    const reader = Bun.spawn(["cat", fifo], { stdout: "pipe" });
    await workspace.mustRun(["export", "--site", site, "brands", fifo]);
    expect(await new Response(reader.stdout).text()).toContain("1,A,");
    expect(existsSync(fifo)).toBe(true);
  });

  test("ends without an error if its reader stops early", async () => {
    const site = newSite();
    await workspace.data.addBrands(site, ...Array.from({ length: 5000 }, (_, n) => `Brand ${n}`));
    const { code, stdout, stderr } = await workspace.run(["export", "--site", site, "brands"], {
      wrap: (command) => `(${command}) | head -n 2`,
    });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.split("\r\n")).toHaveLength(3);
  });
});
