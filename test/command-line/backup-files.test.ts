// Which files `backup` overwrites, names and deletes; and `check` of a backup, which needs no restore.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { openWorkshop, type Workshop } from "../support/programs/command.ts";

let shop: Workshop;
beforeAll(async () => {
  shop = openWorkshop();
  await shop.data.addSite("main", { isDefault: true });
  await shop.data.addBrands("main", "Acme", "Zenith");
});
afterAll(() => shop.close());

test("a backup replaces only an earlier backup or an empty file, and never the database itself", async () => {
  await shop.must(["export-site", "main", "main.site"]);
  writeFileSync(shop.file("notes.txt"), "remember the milk\n");
  writeFileSync(shop.file("packed.gz"), gzipSync('{"other":1}\n'));
  for (const file of ["notes.txt", "packed.gz", "main.site", "test.db"]) {
    const before = readFileSync(shop.file(file));
    const { code, stderr } = await shop.run(["backup", file]);
    expect([code, stderr]).toEqual([
      1,
      `storefront: ${file} was not written by \`storefront backup\`, and is left as it is: choose another name, or delete it first\n`,
    ]);
    expect(readFileSync(shop.file(file)).equals(before)).toBe(true);
  }
  expect((await shop.run(["export-site", "main", "notes.txt"])).stderr).toContain("`storefront export-site`");
  writeFileSync(shop.file("new.backup"), "");
  for (let n = 0; n < 2; n++) await shop.must(["backup", "new.backup"]);
  expect(gunzipSync(readFileSync(shop.file("new.backup"))).toString()).toContain("Zenith");
  await shop.must(["backup", "/dev/null"]);
});

test("a backup creates no folder, for itself or for a database that does not exist", async () => {
  expect(await shop.run(["backup", "missing/a.backup"])).toMatchObject({
    code: 1,
    stderr: "storefront: cannot write missing/a.backup: there is no folder missing\n",
  });
  const other = ["--database", `sqlite:${shop.file("elsewhere/other.db")}`];
  expect(await shop.run(["backup", "a.backup", ...other])).toMatchObject({ code: 1 });
  for (const name of ["missing", "elsewhere", "a.backup"]) expect(existsSync(shop.file(name))).toBe(false);
});

test("a backup in a folder is named by its time; --keep deletes only the oldest backups of the folder", async () => {
  mkdirSync(shop.file("backups"));
  const others = ["notes.txt", "storefront-2026-01-01.backup", "storefront-before.backup"];
  const old = ["2026-01-01T03-17-00Z", "2026-01-02T03-17-00Z", "2026-01-03T03-17-00Z"].map(
    (t) => `storefront-${t}.backup`,
  );
  // A backup of a time when the clock was ahead.
  const ahead = "storefront-2999-01-01T03-17-00Z.backup";
  for (const name of [...others, ...old, ahead]) writeFileSync(shop.file(`backups/${name}`), "");
  const { file, deleted } = JSON.parse(await shop.must(["backup", "--keep", "3", "backups", "--json"]));
  expect(file).toMatch(/^backups\/storefront-20\d\d-\d\d-\d\dT\d\d-\d\d-\d\dZ\.backup$/);
  expect(deleted).toEqual(old.slice(0, 2).map((name) => `backups/${name}`));
  const expected = [...others, ...old.slice(2), ahead, file.slice("backups/".length)];
  expect(readdirSync(shop.file("backups")).sort()).toEqual(expected.sort());
  expect(await shop.run(["backup", "--keep", "1", "backups"])).toMatchObject({ code: 0 });
  const left = readdirSync(shop.file("backups")).filter((name) => !others.includes(name));
  expect(left).toHaveLength(1);
  expect(left).not.toContain(ahead);
  for (const wrong of [
    ["--keep", "0", "backups"],
    ["--keep", "2", "a.backup"],
    ["--keep", "2", "-"],
  ])
    expect(await shop.run(["backup", ...wrong])).toMatchObject({ code: 2, stdout: "" });
});

test("a backup, or the latest backup of a folder, is checked without a database", async () => {
  mkdirSync(shop.file("checked"));
  const nowhere = { env: { STOREFRONT_DATABASE: `sqlite:${shop.file("nowhere/none.db")}` } };
  expect((await shop.run(["check", "checked"], nowhere)).stderr).toContain("there is no backup in checked");
  writeFileSync(shop.file("checked/storefront-2026-01-01T03-17-00Z.backup"), "older");
  await shop.must(["backup", "checked"]);
  const good = readdirSync(shop.file("checked")).sort().at(-1) as string;
  for (const target of ["checked", `checked/${good}`])
    expect(await shop.run(["check", target], nowhere)).toEqual({
      code: 0,
      stdout: "",
      stderr: `no faults found in checked/${good}\n`,
    });
  expect(existsSync(shop.file("nowhere"))).toBe(false);

  const bytes = readFileSync(shop.file(`checked/${good}`));
  const damages = new Map([
    ["cut.backup", bytes.subarray(0, bytes.length - 20)],
    ["text.backup", gzipSync(gunzipSync(bytes).toString().replace("Zenith", "Zen1th"))],
  ]);
  for (const [name, content] of damages) {
    writeFileSync(shop.file(name), content);
    const { code, stderr } = await shop.run(["check", name], nowhere);
    expect([name, code]).toEqual([name, 1]);
    expect(stderr).toStartWith(`storefront: ${name} cannot be `);
  }
});

test("the inconsistencies of a backup are listed, like those of a database", async () => {
  await shop.must(["backup", "whole.backup"]);
  const lines = gunzipSync(readFileSync(shop.file("whole.backup")))
    .toString()
    .split("\n");
  const rows = lines.slice(1, -2).filter((line) => !(line.startsWith('["journal"') && line.includes("Zenith")));
  const sha256 = new Bun.CryptoHasher("sha256").update(rows.map((row) => `${row}\n`).join("")).digest("hex");
  writeFileSync(
    shop.file("gap.backup"),
    gzipSync([lines[0], ...rows, JSON.stringify({ rows: rows.length, sha256 }), ""].join("\n")),
  );
  const { code, stdout, stderr } = await shop.run(["check", "gap.backup"]);
  expect([code, stderr]).toEqual([1, "faults found in gap.backup: 2\n"]);
  expect(stdout).toContain("brand 2 is at revision 2 and has no journal entry");
});
