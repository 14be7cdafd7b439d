// Which files `backup` overwrites, names and deletes; and `check` of a backup, which needs no restore.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { openWorkspace, type Workspace } from "../support/programs/command.ts";

let workspace: Workspace;
beforeAll(async () => {
  workspace = openWorkspace();
  await workspace.data.addSite("main", { isDefault: true });
  await workspace.data.addBrands("main", "Acme", "Zenith");
});
afterAll(() => workspace.close());

test("a backup replaces only an earlier backup or an empty file, and never the database itself", async () => {
  await workspace.mustRun(["export-site", "main", "main.site"]);
  writeFileSync(workspace.file("notes.txt"), "remember the milk\n");
  writeFileSync(workspace.file("packed.gz"), gzipSync('{"other":1}\n'));
  for (const file of ["notes.txt", "packed.gz", "main.site", "test.db"]) {
    const before = readFileSync(workspace.file(file));
    const { code, stderr } = await workspace.run(["backup", file]);
    expect([code, stderr]).toEqual([
      1,
      `storefront: ${file} was not written by \`storefront backup\`, and is left as it is: choose another name, or delete it first\n`,
    ]);
    expect(readFileSync(workspace.file(file)).equals(before)).toBe(true);
  }
  expect((await workspace.run(["export-site", "main", "notes.txt"])).stderr).toContain("`storefront export-site`");
  writeFileSync(workspace.file("new.backup"), "");
  for (let n = 0; n < 2; n++) await workspace.mustRun(["backup", "new.backup"]);
  expect(gunzipSync(readFileSync(workspace.file("new.backup"))).toString()).toContain("Zenith");
  await workspace.mustRun(["backup", "/dev/null"]);
});

test("a backup creates no folder, for itself or for a database that does not exist", async () => {
  expect(await workspace.run(["backup", "missing/a.backup"])).toMatchObject({
    code: 1,
    stderr: "storefront: cannot write missing/a.backup: there is no folder missing\n",
  });
  const other = ["--database", `sqlite:${workspace.file("elsewhere/other.db")}`];
  expect(await workspace.run(["backup", "a.backup", ...other])).toMatchObject({ code: 1 });
  for (const name of ["missing", "elsewhere", "a.backup"]) expect(existsSync(workspace.file(name))).toBe(false);
});

test("a backup in a folder is named by its time; --keep deletes only the oldest backups of the folder", async () => {
  mkdirSync(workspace.file("backups"));
  const others = ["notes.txt", "storefront-2026-01-01.backup", "storefront-before.backup"];
  const old = ["2026-01-01T03-17-00Z", "2026-01-02T03-17-00Z", "2026-01-03T03-17-00Z"].map(
    (t) => `storefront-${t}.backup`,
  );
  // A backup of a time when the clock was ahead.
  const ahead = "storefront-2999-01-01T03-17-00Z.backup";
  for (const name of [...others, ...old, ahead]) writeFileSync(workspace.file(`backups/${name}`), "");
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

test("a backup, or the latest backup of a folder, is checked without a database", async () => {
  mkdirSync(workspace.file("checked"));
  const nowhere = { env: { STOREFRONT_DATABASE: `sqlite:${workspace.file("nowhere/none.db")}` } };
  expect((await workspace.run(["check", "checked"], nowhere)).stderr).toContain("there is no backup in checked");
  writeFileSync(workspace.file("checked/storefront-2026-01-01T03-17-00Z.backup"), "older");
  await workspace.mustRun(["backup", "checked"]);
  const good = readdirSync(workspace.file("checked")).sort().at(-1) as string;
  for (const target of ["checked", `checked/${good}`])
    expect(await workspace.run(["check", target], nowhere)).toEqual({
      code: 0,
      stdout: "",
      stderr: `no faults found in checked/${good}\n`,
    });
  expect(existsSync(workspace.file("nowhere"))).toBe(false);

  const bytes = readFileSync(workspace.file(`checked/${good}`));
  const damages = new Map([
    ["cut.backup", bytes.subarray(0, bytes.length - 20)],
    ["text.backup", gzipSync(gunzipSync(bytes).toString().replace("Zenith", "Zen1th"))],
  ]);
  for (const [name, content] of damages) {
    writeFileSync(workspace.file(name), content);
    const { code, stderr } = await workspace.run(["check", name], nowhere);
    expect([name, code]).toEqual([name, 1]);
    expect(stderr).toStartWith(`storefront: ${name} cannot be `);
  }
});

test("the inconsistencies of a backup are listed, like those of a database", async () => {
  await workspace.mustRun(["backup", "whole.backup"]);
  const lines = gunzipSync(readFileSync(workspace.file("whole.backup")))
    .toString()
    .split("\n");
  const rows = lines.slice(1, -2).filter((line) => !(line.startsWith('["journal"') && line.includes("Zenith")));
  const sha256 = new Bun.CryptoHasher("sha256").update(rows.map((row) => `${row}\n`).join("")).digest("hex");
  writeFileSync(
    workspace.file("gap.backup"),
    gzipSync([lines[0], ...rows, JSON.stringify({ rows: rows.length, sha256 }), ""].join("\n")),
  );
  const { code, stdout, stderr } = await workspace.run(["check", "gap.backup"]);
  expect([code, stderr]).toEqual([1, "faults found in gap.backup: 2\n"]);
  expect(stdout).toContain("brand 2 is at revision 2 and has no journal entry");
});
