// `import --rejects` writes a file of rejected rows, to be corrected and imported again.

import { afterAll, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { openWorkbook } from "../../src/formats/workbook/workbook.ts";
import { openWorkspace } from "../support/programs/command.ts";
import { waitUntil } from "../support/time.ts";
import { toWorkbook } from "../support/workbooks.ts";

let site = "";
let sites = 0;
const workspace = openWorkspace();
beforeEach(async () => {
  site = `site-${++sites}`;
  await workspace.data.addSite(site);
});
afterAll(() => workspace.close());

const load = (content: string, ...more: string[]) =>
  workspace.run(["import", "--site", site, "brands", "-", ...more], { stdin: content });
const read = (name: string) => readFileSync(workspace.file(name), "utf8");
const names = async () => (await workspace.data.brands(site)).map(({ Name }) => Name);

test("rejects file: has each row's number and error, and once corrected is imported with the same options", async () => {
  const options = ["--delimiter", ";", "--encoding", "windows-1252", "--rejects"];
  const csv = "Name;Address.Country\nGood;GB\nA;United; Kingdom\nB;!\n;GB\n'C;FR\n";
  const { code, stdout, stderr } = await load(csv, ...options, workspace.file("first.csv"));
  expect([code, stdout]).toEqual([1, "5 rows: 2 created, 0 updated, 0 unchanged, 3 rejected\n"]);
  expect(stderr).toContain("first.csv; fix them, then import that file with the same options");
  expect(read("first.csv")).toBe(
    "\ufeff# row;# fault;Name;Address.Country\r\n" +
      '3;"send at most 2 cells, one for each column; this row has 3";A;United;" Kingdom"\r\n' +
      "4;Address.Country: use a country code of 2 or 3 letters, such as GB;B;!\r\n" +
      "5;Name: a value is required;;GB\r\n",
  );
  const corrected = read("first.csv").replace('United;" Kingdom"', "GB").replace("B;!", "Ä;DE");
  const second = await load(corrected, ...options, workspace.file("second.csv"));
  expect(second.stdout).toBe("3 rows: 2 created, 0 updated, 0 unchanged, 1 rejected\n");
  expect(await names()).toEqual(["Good", "'C", "A", "Ä"]);
  expect(read("second.csv")).toBe("\ufeff# row;# fault;Name;Address.Country\r\n4;Name: a value is required;;GB\r\n");
});

test("rejects file: empty if no row was rejected, and left alone if the import fails before its first row", async () => {
  writeFileSync(workspace.file("old.csv"), "before");
  expect((await load("Nmae\nA\n", "--rejects", workspace.file("old.csv"))).code).toBe(1);
  expect(read("old.csv")).toBe("before");
  expect((await load("Name\nA\n", "--rejects", workspace.file("old.csv"))).code).toBe(0);
  expect(read("old.csv")).toBe("");
  const broken = await workspace.run(
    ["import", "--site", site, "brands", "-", "--rejects", workspace.file("old.csv")],
    {
      stdin: Buffer.concat([Buffer.from(`Name,ID\n,1\n${"A brand,\n".repeat(60_000)}`), Buffer.from([0xff])]),
    },
  );
  expect(broken.stderr).toMatch(/isn't valid UTF-8.* records had been created/);
  expect(read("old.csv")).toBe("\ufeff# row,# fault,Name,ID\r\n2,Name: a value is required,,1\r\n");
  expect(readdirSync(workspace.folder).filter((name) => name.endsWith(".part"))).toEqual([]);
});

test("rejects file: written by a dry run too", async () => {
  const { stderr } = await load("Name,AccountNumber\nA,1\n,2\n", "--dry-run", "--rejects", "dry.csv");
  expect(stderr).toEndWith("the rejected rows are in dry.csv\n");
  expect(read("dry.csv")).toContain("3,Name: a value is required,,2");
  expect(await names()).toEqual([]);
});

test("rejects file: a full disk stops the import, and the error says how many rows were stored", async () => {
  const rows = `${"A,1\n".repeat(600)}${",2\n".repeat(20_000)}`;
  const { code, stderr } = await load(`Name,AccountNumber\n${rows}`, "--rejects", "/dev/full");
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^storefront: can't write \/dev\/full: .*no space.*; by then, \d+ records had been created and 0 updated$/m,
  );
});

test("rejects file: if the disk is full at the end of the import, the error follows the summary", async () => {
  const { code, stdout, stderr } = await load("Name,ID\nA,1\n,2\n", "--rejects", "/dev/full");
  expect([code, stdout]).toEqual([1, "2 rows: 1 created, 0 updated, 0 unchanged, 1 rejected\n"]);
  expect(stderr).toMatch(
    /^row 3: Name: a value is required\n.*storefront undo .*\nstorefront: can't write \/dev\/full: .*no space.*\n$/,
  );
});

test("rejects file: kept after Ctrl-C", async () => {
  const started = workspace.start([
    "import",
    "--site",
    site,
    "brands",
    "-",
    "--rejects",
    workspace.file("stopped.csv"),
    "--json",
  ]);
  started.write(`Name,AccountNumber\n,1\n${"A,2\n".repeat(200_000)}`);
  await waitUntil(
    () => readdirSync(workspace.folder).some((name) => name.includes("stopped.csv")),
    "a file of rejected rows",
  );
  started.kill("SIGINT");
  expect(await started.exited).toBe(1);
  expect(JSON.parse(started.stdout())).toMatchObject({ interrupted: true, rejected: 1 });
  expect(read("stopped.csv")).toBe("\ufeff# row,# fault,Name,AccountNumber\r\n2,Name: a value is required,,1\r\n");
});

const wrong: [string[], number, RegExp][] = [
  [["--rejects", "-"], 2, /needs a file, because standard output has the summary/],
  [["--rejects", ""], 2, /--rejects has an empty file name/],
  [["--rejects", "."], 2, /--rejects \. is a folder; give a file name/],
  [["--rejects", "no-folder/x.csv"], 1, /can't write no-folder\/x\.csv/],
  [
    ["--rejects", "x.csv", "--format", "xml"],
    2,
    /x\.csv: rejected rows keep the format of the import, so use a name that ends in \.xml/,
  ],
];
test.each(wrong)("rejects file: an import with %j exits with %i", async (args, status, message) => {
  const { code, stdout, stderr } = await load("Name\nA\n", ...args);
  expect([code, stdout]).toEqual([status, ""]);
  expect(stderr).toMatch(message);
});

test("rejects file: never overwrites the imported file or the mapping, whatever path names them", async () => {
  writeFileSync(workspace.file("in.csv"), "Name,ID\n,1\n");
  for (const name of ["in.csv", "./in.csv", workspace.file("in.csv")]) {
    const { code, stderr } = await workspace.run(["import", "--site", site, "brands", "in.csv", "--rejects", name]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("would overwrite in.csv")]);
  }
  writeFileSync(workspace.file("map.json"), "{}");
  const args = ["import", "--site", site, "brands", "in.csv", "--map", "map.json", "--rejects", "map.json"];
  expect((await workspace.run(args)).stderr).toContain("would overwrite map.json");
  expect(read("in.csv")).toBe("Name,ID\n,1\n");
  expect(existsSync(workspace.file("out.csv"))).toBe(false);
});

test("rejects file: of a workbook is a workbook, which keeps leading zeros", async () => {
  const rows = [
    ["Supplier list"],
    ["Name", "Account", "Land", "Extra"],
    ["Good", "00123", "FR", "x"],
    ["Bad", "00456", "Deutschland", "0x"],
    ["", "00789", "FR", "two\nlines"],
  ];
  writeFileSync(workspace.file("suppliers.xlsx"), toWorkbook({ Notes: [["See below"]], Suppliers: rows }));
  writeFileSync(
    workspace.file("map.json"),
    '{"fields": {"Name": "Name", "AccountNumber": "Account", "Address.Country": "Land"}}',
  );
  const options = ["--sheet", "Suppliers", "--header-row", "2", "--map", "map.json", "--save-map", "map.json"];
  const run = (file: string, rejects: string) =>
    workspace.run(["import", "--site", site, "brands", file, ...options, "--rejects", rejects]);
  expect((await run("suppliers.xlsx", "first.xlsx")).stdout).toBe(
    "3 rows: 1 created, 0 updated, 0 unchanged, 2 rejected\n",
  );
  expect((await run("first.xlsx", "second.xlsx")).stdout).toBe(
    "2 rows: 1 created, 0 updated, 0 unchanged, 1 rejected\n",
  );
  expect(await workspace.data.brands(site)).toMatchObject([
    { Name: "Good", AccountNumber: "00123" },
    { Name: "Bad", AccountNumber: "00456", Address: { Country: "DE" } },
  ]);
  expect(await cellsOf("first.xlsx")).toEqual([
    ["# row", "# fault", "Name", "Account", "Land", "Extra"],
    ["4", expect.stringContaining("such as DE for Germany"), "Bad", "00456", "Deutschland", "0x"],
    ["5", "Name: a value is required", "", "00789", "FR", "two\nlines"],
  ]);
  expect((await cellsOf("second.xlsx"))[1]).toEqual([
    "3",
    "Name: a value is required",
    "",
    "00789",
    "FR",
    "two\nlines",
  ]);
});

test("rejects file: a workbook that can be opened even if no row was rejected, or one has a cell that's too long", async () => {
  const run = async (rows: (string | number)[][]) => {
    writeFileSync(workspace.file("brands.xlsx"), toWorkbook({ Brands: [["Name", "AccountNumber"], ...rows] }));
    await workspace.run(["import", "--site", site, "brands", "brands.xlsx", "--rejects", "rejected.xlsx"]);
    return cellsOf("rejected.xlsx");
  };
  expect(await run([["A"]])).toEqual([["# row", "# fault"]]);
  const [, [, fault, name] = []] = await run([["x".repeat(40_000), "1"]]);
  expect(name).toHaveLength(32_767);
  expect(fault).toStartWith("a cell of this row was too long and has been cut; Name: use 255 characters or fewer");
});

async function cellsOf(name: string): Promise<string[][]> {
  const bytes = readFileSync(workspace.file(name));
  const workbook = await openWorkbook({
    size: bytes.length,
    read: async (start, length) => bytes.subarray(start, start + length),
  });
  return (await Array.fromAsync(workbook.rows(0))).flat().map(({ cells }) => cells);
}
