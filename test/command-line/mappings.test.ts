// Imports of other programs' files: the recipes in docs/importing.md, and --map.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openWorkspace, type Workspace } from "../support/programs/command.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(`${root}docs/importing.md`, "utf8");

/** The page's commands, by the name of their mapping. */
const recipes = new Map(
  [...page.matchAll(/^ {4}storefront (import --site garden (\S+) \S+ --map docs\/mappings\/(\S+)\.json.*)$/gm)].map(
    ([, command = "", resource = "", name = ""]) => [name, { args: command.split(" "), resource }],
  ),
);

/** The record without its empty fields. */
function filled(record: object): unknown {
  const entries = Object.entries(record).flatMap(([name, value]): [string, unknown][] => {
    const inner = typeof value === "object" ? filled(value) : value;
    return inner === "" || (typeof inner === "object" && Object.keys(inner as object).length === 0)
      ? []
      : [[name, inner]];
  });
  return Object.fromEntries(entries);
}

interface Expected {
  readonly records: readonly object[];
  /** The messages about rejected rows. */
  readonly rejected?: string;
}

/** What each recipe creates from its sample in test/mappings. The samples follow the formats documented by the other programs. */
const expected: Record<string, Expected> = {
  "prestashop-manufacturers": {
    records: [
      { ID: 1, Name: "Studio Design" },
      {
        ID: 2,
        Name: "Graphic Corner",
        Telephone: { Daytime: "01 23 45 67 89", Mobile: "06 12 34 56 78" },
        Address: {
          Firstname: "Erika",
          Surname: "Muster",
          AddressLine1: "1 Rue de la Paix",
          AddressLine2: "Bâtiment B",
          Town: "Paris",
          Postcode: "75002",
          Country: "FR",
        },
      },
      {
        ID: 4,
        Name: "O'Neil & Söhne",
        Telephone: { Daytime: "0102030405" },
        Address: {
          Firstname: "Ada",
          Surname: "Smith",
          AddressLine1: "16 Main St.",
          Town: "Miami",
          County: "Florida",
          Postcode: "33133",
          Country: "US",
        },
      },
    ],
  },
  "prestashop-order-states": {
    records: [
      { ID: 1, Name: "Awaiting check payment" },
      { ID: 2, Name: "Payment accepted" },
      { ID: 3, Name: "Processing in progress" },
      { ID: 4, Name: "Shipped" },
      { ID: 14, Name: "Expédié – à vérifier" },
    ],
  },
  "prestashop-stores": {
    records: [
      {
        ID: 1,
        Code: "1",
        Name: "Dade County",
        Email: "dade@shop.example",
        Address: {
          AddressLine1: "3030 SW 8th St Miami",
          Town: "Miami",
          County: "Florida",
          Postcode: "33135",
          Country: "US",
        },
      },
      {
        ID: 2,
        Code: "2",
        Name: "Café du Nord",
        Telephone: { Daytime: "03 20 00 00 00" },
        Address: { AddressLine1: "12 Rue d'Été", Town: "Lille", Postcode: "59000", Country: "FR" },
      },
    ],
  },
  "woocommerce-brands": {
    records: [
      { ID: 1, Name: "Acme" },
      { ID: 2, Name: "Grüne Wiese, GmbH" },
    ],
  },
  "shopify-brands": {
    records: [
      { ID: 1, Name: "Acme" },
      { ID: 2, Name: "Smith, Jones & Co" },
    ],
  },
  "shopify-locations": {
    records: [
      { ID: 1, Name: "126 York Street" },
      { ID: 2, Name: "Warehouse, Leeds" },
    ],
  },
  "spreadsheet-locations": {
    rejected: 'row 5: Address.Country: add "Norge" to the lookup in the mapping, or an `otherwise`',
    records: [
      {
        ID: 1,
        Code: "1",
        Name: "Grey Street",
        Manager: "Ada Smith",
        Telephone: { Daytime: "0191 496 0001" },
        Address: {
          AddressLine1: "1 Grey Street",
          Town: "Newcastle",
          County: "Tyne and Wear",
          Postcode: "NE1 6EE",
          Country: "GB",
        },
      },
      {
        ID: 2,
        Code: "2",
        Name: "Quays",
        Telephone: { Daytime: "01 496 0002" },
        Address: { AddressLine1: "2 Quays", Town: "Dublin", County: "Tyne and Wear", Postcode: "D01", Country: "IE" },
      },
      {
        ID: 3,
        Code: "5",
        Name: "South Shields",
        Address: { Town: "South Shields", County: "Tyne and Wear", Country: "GB" },
      },
    ],
  },
};

describe("import recipes", () => {
  let workspace: Workspace;
  beforeAll(() => {
    workspace = openWorkspace();
  });
  afterAll(() => workspace.close());

  test("each creates the expected records, and changes nothing when run again", async () => {
    for (const [name, { records, rejected = "" }] of Object.entries(expected)) {
      const { args, resource } = recipes.get(name) as { args: string[]; resource: string };
      await workspace.data.addSite(name);
      const run = () => {
        const own: Record<string, string> = { garden: name, [args[4] as string]: `${root}test/mappings/${name}.csv` };
        return workspace.run(args.map((arg) => own[arg] ?? (arg.startsWith("docs/") ? root + arg : arg)));
      };
      const { code, stderr } = await run();
      const messages = stderr.split("\n").filter((line) => line.startsWith("row "));
      expect([code, messages.join("; ")]).toEqual([rejected ? 1 : 0, rejected]);
      const stored = JSON.parse(await workspace.data.file(name, resource, "json"));
      expect(stored.map(filled)).toEqual(records);
      expect((await run()).stdout).toMatch(/: 0 created, 0 updated, [1-9]/);
    }
  });
});

describe("--map", () => {
  let workspace: Workspace;
  beforeAll(async () => {
    workspace = openWorkspace();
    await workspace.data.addSite("main");
  });
  afterAll(() => workspace.close());

  async function load(mapping: string, csv: string, ...more: string[]) {
    writeFileSync(workspace.file("mapping.json"), mapping);
    return workspace.run(["import", "--site", "main", "brands", "-", "--map", "mapping.json", ...more], { stdin: csv });
  }

  const faults: [string, string, string, string, number][] = [
    ["is not JSON", "{", "A\n", "storefront: mapping.json: the file isn't valid JSON: line 1, column 2: .*", 1],
    ["is empty", "", "A\n", "storefront: mapping.json: the file is empty; .*", 1],
    [
      "has several errors",
      '{"fields": {"Nmae": "A", "Town": "A"}}',
      "A\n",
      "storefront: mapping.json: `fields.Nmae`: unknown field; did you mean `Name`\\? \\(and 1 more\\)\nstorefront: `fields.Town`: .*",
      1,
    ],
    [
      "names a column that the file does not have",
      '{"fields": {"Name": "Marke"}}',
      "Mark;B\n",
      "storefront: `Name`: the file has no column `Marke`; did you mean `Mark`\\?",
      1,
    ],
    ["is for JSON", "{}", "[]", "storefront: --map only works with CSV files and workbooks, and this one is json", 2],
  ];
  test.each(
    faults,
  )("a mapping that %s is rejected in clear lines, and nothing is stored", async (name, mapping, csv, lines, status) => {
    const more = name === "is for JSON" ? ["--format", "json"] : [];
    const { code, stdout, stderr } = await load(mapping, csv, ...more);
    expect([code, stdout]).toEqual([status, ""]);
    expect(stderr).toMatch(new RegExp(`^${lines}\n$`));
  });

  test("a mapping that is too large, a folder, missing, or standard input like the rows is rejected", async () => {
    const run = async (map: string) =>
      (await workspace.run(["import", "--site", "main", "brands", "-", "--map", map], { stdin: "Name\nA\n" })).stderr;
    expect(await run("/dev/zero")).toContain(
      "/dev/zero is larger than 1 MiB, too large for a column mapping; check --map",
    );
    expect(await run(".")).toContain(". is a folder");
    expect(await run("absent.json")).toContain("file not found: absent.json");
    expect(await run("-")).toContain("--map and the rows can't both be standard input; use a file for one of them");
  });

  test("a mapping in UTF-16 is read", async () => {
    const map = workspace.file("utf16.json");
    writeFileSync(map, Buffer.from('\ufeff{"fields": {"Name": "Größe"}}', "utf16le"));
    const args = ["import", "--site", "main", "brands", "-", "--map", map, "--dry-run"];
    expect(await workspace.mustRun(args, { stdin: "Größe\nA\n" })).toStartWith("1 row: 1 would be created");
  });

  test("rows that the mapping skips are counted", async () => {
    const mapping = '{"fields": {"Name": "A"}, "skip": {"A": ["", "x"], "B": ["0"]}}';
    const csv = "A,B\n,1\nx,1\nX,0\nX,1\n,\n";
    const { stdout } = await load(mapping, csv, "--dry-run");
    expect(stdout).toBe(
      "1 row: 1 would be created, 0 would be updated, 0 unchanged, 0 rejected; 3 more skipped by the mapping\n",
    );
    expect(JSON.parse((await load(mapping, csv, "--dry-run", "--json")).stdout)).toMatchObject({ rows: 1, skipped: 3 });
  });

  test("--match takes mapped fields, and --rejects writes the file's own columns", async () => {
    const mapping = '{"fields": {"Name": "Marke", "Address.Country": {"column": "Land", "lookup": {"Norge": "NO"}}}}';
    await load(mapping, "Land;Marke;Andere\nNorge;Fjord;1\n");
    const csv = "Land;Marke;Andere\nNorge;Fjord;1\nNarnia;Aslan;2\n";
    const { stdout } = await load(mapping, csv, "--match", "Name", "--rejects", "bad.csv");
    expect(stdout).toBe("2 rows: 0 created, 0 updated, 1 unchanged, 1 rejected\n");
    const rejects = readFileSync(workspace.file("bad.csv"), "utf8");
    expect(rejects).toMatch(
      /^\ufeff# row;# fault;Land;Marke;Andere\r\n3;"Address.Country: add ""Narnia"" to the lookup in the mapping, or an `otherwise`";Narnia;Aslan;2\r\n$/,
    );
    const again = await load(mapping, rejects.replace("Narnia;", "Norge;"), "--match", "Name");
    expect(again.stdout).toBe("1 row: 1 created, 0 updated, 0 unchanged, 0 rejected\n");
  });

  test("--save-map saves suggestions for values that aren't valid, and --map uses them", async () => {
    await workspace.data.addSite("countries");
    const args = (...more: string[]) => ["import", "--site", "countries", "brands", "suppliers.csv", ...more];
    writeFileSync(
      workspace.file("suppliers.csv"),
      "Lieferant;Land\nAcme;Deutschland\nBest;FR\nCube;Atlantis\nDot;Deutschland\nEcho;\nFox;GB \n",
    );
    writeFileSync(workspace.file("given.json"), '{"fields": {"Name": "Lieferant", "Address.Country": "Land"}}');
    const checked = await workspace.run(args("--map", "given.json", "--dry-run", "--save-map", "saved.json", "--json"));
    const { values, created } = JSON.parse(checked.stdout);
    expect(created).toBe(2);
    expect(values).toEqual([
      {
        field: "Address.Country",
        contents: [
          { content: "Deutschland", rows: 2, suggestion: "DE" },
          { content: "Atlantis", rows: 1 },
          { content: "GB ", rows: 1, suggestion: "GB" },
        ],
      },
    ]);
    expect(checked.stderr).toMatch(/"Deutschland" +2 +DE\n +"Atlantis" +1\n/);
    expect(JSON.parse(readFileSync(workspace.file("saved.json"), "utf8"))).toEqual({
      fields: {
        Name: "Lieferant",
        "Address.Country": {
          column: "Land",
          keep: true,
          lookup: { Deutschland: "DE", Atlantis: null, "GB ": "GB" },
        },
      },
    });
    const imported = await workspace.run(args("--map", "saved.json", "--save-map", "saved.json"));
    expect(imported.stdout).toBe("6 rows: 5 created, 0 updated, 0 unchanged, 1 rejected\n");
    expect(imported.stderr).toContain("row 4: Address.Country: use a country code");
    const saved = readFileSync(workspace.file("saved.json"), "utf8");
    writeFileSync(workspace.file("saved.json"), saved.replace('"Atlantis": null', '"Atlantis": "XA"'));
    const again = await workspace.run(args("--map", "saved.json", "--match", "Name"));
    expect([again.code, again.stdout]).toEqual([0, "6 rows: 1 created, 0 updated, 5 unchanged, 0 rejected\n"]);
  });

  test("a lookup that rejects other values still does so after --save-map", async () => {
    const mapping = '{"fields": {"Name": "A", "Address.Country": {"column": "B", "lookup": {"Norge": "NO"}}}}';
    const { stderr } = await load(mapping, "A,B\nx,FR\ny,Sverige\n", "--save-map", "strict.json", "--dry-run");
    expect(stderr).toContain('row 2: Address.Country: add "FR" to the lookup');
    const { fields } = JSON.parse(readFileSync(workspace.file("strict.json"), "utf8"));
    expect(fields["Address.Country"]).toEqual({ column: "B", lookup: { Norge: "NO", FR: "FR", Sverige: "SE" } });
  });

  test("only the first 100 values are listed, and none that nobody would map", async () => {
    const mapping = '{"fields": {"Name": "A", "Address.Country": "B"}}';
    const rows = Array.from({ length: 150 }, (_, n) => `x,Country ${n}\n`).join("");
    const { stdout } = await load(mapping, `A,B\nx,${"y".repeat(201)}\n${rows}${rows}`, "--dry-run", "--json");
    const [{ contents, moreRows }] = JSON.parse(stdout).values;
    expect(contents).toHaveLength(100);
    expect(contents[0]).toEqual({ content: "Country 0", rows: 2 });
    expect(moreRows).toBe(101);
  });
});
