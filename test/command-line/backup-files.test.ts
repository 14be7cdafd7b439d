// Which files `backup` overwrites, names and deletes.

import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { openWorkspace } from "../support/programs/command.ts";

const workspace = openWorkspace();
await workspace.data.addSite("main", { isDefault: true });
await workspace.data.addBrands("main", "Acme", "Zenith");
afterAll(() => workspace.close());

test("backup only replaces an earlier backup or an empty file, and never the database itself", async () => {
  await workspace.mustRun(["export-site", "main", "main.site"]);
  writeFileSync(workspace.file("notes.txt"), "remember the milk\n");
  writeFileSync(workspace.file("packed.gz"), gzipSync('{"other":1}\n'));
  for (const file of ["notes.txt", "packed.gz", "main.site", "test.db"]) {
    const before = readFileSync(workspace.file(file));
    const { code, stderr } = await workspace.run(["backup", file]);
    expect([code, stderr]).toEqual([
      1,
      `storefront: ${file} exists, and wasn't written by \`storefront backup\`; use another name, or delete it first\n`,
    ]);
    expect(readFileSync(workspace.file(file)).equals(before)).toBe(true);
  }
  expect((await workspace.run(["export-site", "main", "notes.txt"])).stderr).toContain("`storefront export-site`");
  writeFileSync(workspace.file("new.backup"), "");
  for (let n = 0; n < 2; n++) await workspace.mustRun(["backup", "new.backup"]);
  expect(gunzipSync(readFileSync(workspace.file("new.backup"))).toString()).toContain("Zenith");
  await workspace.mustRun(["backup", "/dev/null"]);
});

test("backup creates no folders, either for itself or for a database that doesn't exist", async () => {
  expect(await workspace.run(["backup", "missing/a.backup"])).toMatchObject({
    code: 1,
    stderr: "storefront: can't write missing/a.backup: there's no folder missing\n",
  });
  const other = ["--database", `sqlite:${workspace.file("elsewhere/other.db")}`];
  expect(await workspace.run(["backup", "a.backup", ...other])).toMatchObject({ code: 1 });
  for (const name of ["missing", "elsewhere", "a.backup"]) expect(existsSync(workspace.file(name))).toBe(false);
});

test("backup in a folder names the file after its time, and --keep only deletes the folder's oldest backups", async () => {
  mkdirSync(workspace.file("backups"));
  const others = ["notes.txt", "storefront-2026-01-01.backup", "storefront-before.backup"];
  const old = ["2026-01-01T03-17-00Z", "2026-01-02T03-17-00Z", "2026-01-03T03-17-00Z"].map(
    (t) => `storefront-${t}.backup`,
  );
  // A backup from when the clock was ahead.
  const ahead = "storefront-2999-01-01T03-17-00Z.backup";
  for (const name of [...others, ...old, ahead]) writeFileSync(workspace.file(`backups/${name}`), "");
  others.push("storefront-2000-01-01T03-17-00Z.backup", "storefront-2999-12-31T03-17-00Z.backup");
  for (const folder of others.slice(-2)) mkdirSync(workspace.file(`backups/${folder}`));
  const { file, deleted } = JSON.parse(await workspace.mustRun(["backup", "--keep", "3", "backups", "--json"]));
  expect(file).toMatch(/^backups\/storefront-20\d\d-\d\d-\d\dT\d\d-\d\d-\d\dZ\.backup$/);
  expect(deleted).toEqual(old.slice(0, 2).map((name) => `backups/${name}`));
  const expected = [...others, ...old.slice(2), ahead, file.slice("backups/".length)];
  expect(readdirSync(workspace.file("backups")).sort()).toEqual(expected.sort());
  expect(await workspace.run(["backup", "--keep", "1", "backups"])).toMatchObject({ code: 0 });
  const left = readdirSync(workspace.file("backups")).filter((name) => !others.includes(name));
  expect(left).toHaveLength(1);
  expect(left).not.toContain(ahead);
  for (const wrong of [
    ["--keep", "0", "backups"],
    ["--keep", "2", "a.backup"],
    ["--keep", "2", "-"],
  ])
    expect(await workspace.run(["backup", ...wrong])).toMatchObject({ code: 2, stdout: "" });
});
