// `check` on a database, and directly on a backup.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { openWorkspace } from "../support/programs/command.ts";
import { dataOf } from "../support/programs/command-data.ts";

const workspace = openWorkspace();
await workspace.data.addSite("main", { isDefault: true });
await workspace.data.addBrands("main", "Acme", "Zenith");
afterAll(() => workspace.close());

describe("check", () => {
  let path: string;
  let copies = 0;
  beforeAll(async () => {
    await workspace.mustRun(["backup", workspace.file("check.backup")]);
    await workspace.mustRun([
      "restore",
      workspace.file("check.backup"),
      "--database",
      `sqlite:${workspace.file("sound.db")}`,
    ]);
  });
  beforeEach(() => {
    path = workspace.file(`copy-${++copies}.db`);
    copyFileSync(workspace.file("sound.db"), path);
  });

  test("finds nothing in an undamaged database", async () => {
    const { code, stdout, stderr } = await workspace.run(["check", "--database", `sqlite:${path}`]);
    expect([code, stdout, stderr]).toEqual([0, "", "no faults found\n"]);
  });

  const last = "(select max(id) from records where site_id = 1 and resource = 'brand')";
  const damages: [string, string, RegExp][] = [
    [
      "a changed record",
      `update records set body = json_set(body, '$.Name', 'X') where site_id = 1 and id = ${last}`,
      /differs from its journal entry/,
    ],
    [
      "a record that is not JSON",
      `update records set body = '{' where site_id = 1 and id = ${last}`,
      /is damaged: its JSON is invalid or has the wrong ID/,
    ],
    [
      "a missing record",
      `delete from records where site_id = 1 and resource = 'brand' and id = ${last}`,
      /is only in the journal/,
    ],
    [
      "a record without a journal entry",
      `insert into records values (1, 'brand', 99999, 1, '{"ID":99999}')`,
      /has an ID above the last assigned ID/,
    ],
    [
      "a journal that lacks an entry",
      "delete from journal where site_id = 1 and revision = 2",
      /site 1: the journal lacks entry 2/,
    ],
    [
      "a journal that lacks its first entry",
      "delete from journal where site_id = 1 and revision = 1",
      /site 1: the journal lacks entry 1/,
    ],
    ["a missing journal", "delete from journal where site_id = 1", /site 1: the journal lacks entries 1 to/],
    [
      "a journal that lacks its last entry",
      "delete from journal where site_id = 1 and revision = (select revision from sites where id = 1)",
      /site 1: the journal lacks entry/,
    ],
    [
      "a counter that is too low",
      `update sites set last_ids = json_set(last_ids, '$.brand', 1) where id = 1`,
      /has an ID above the last assigned ID/,
    ],
    [
      "last IDs that are not valid JSON",
      "update sites set last_ids = 'x' where id = 1",
      /site 1 is damaged: its last IDs/,
    ],
    ["a missing row of a site", "delete from sites where id = 1", /belongs to no site/],
  ];
  test.each(damages)("finds %s", async (_, sql, fault) => {
    const database = new Database(path);
    database.run(sql);
    database.close();
    expect((await dataOf(`sqlite:${path}`).check()).join("\n")).toMatch(fault);
  });

  test("prints what it finds, and exits with 1", async () => {
    const [, sql, fault] = damages[0] as (typeof damages)[number];
    const database = new Database(path);
    database.run(sql);
    database.close();
    const { code, stdout, stderr } = await workspace.run(["check", "--json", "--database", `sqlite:${path}`]);
    expect([code, stderr]).toEqual([1, "faults found: 1\n"]);
    expect(JSON.parse(stdout).faults).toEqual([expect.stringMatching(fault)]);
  });
});

test("check on a backup, or the latest one in a folder, needs no database", async () => {
  mkdirSync(workspace.file("checked"));
  const nowhere = { env: { STOREFRONT_DATABASE: `sqlite:${workspace.file("nowhere/none.db")}` } };
  expect((await workspace.run(["check", "checked"], nowhere)).stderr).toContain("no backup in checked");
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
    expect(stderr).toStartWith(`storefront: ${name} can't be `);
  }
});

test("check lists inconsistencies in a backup as it does in a database", async () => {
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
  expect(stdout).toContain("brand 2 is at revision 2, but has no journal entry");
});
