// A SQLite database's files are removed or replaced while a server runs (contract section 7).

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { DumpedRow } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { fetchWithKey, openWorkspace, type Served, type Workspace } from "../../support/programs/command.ts";
import { waitUntil } from "../../support/time.ts";

let workspace: Workspace;
let folder: string;
let database: string;
let key: string;
beforeEach(async () => {
  workspace = openWorkspace();
  folder = workspace.file("data");
  database = `sqlite:${workspace.file("data/shop.db")}`;
  await run("site", "add", "main", "--default");
  key = (await run("key", "create", "--site", "main")).trim();
});
afterEach(() => workspace.close());

const run = (...args: string[]) => workspace.mustRun([...args, "--database", database]);
const serve = () => workspace.serve(["--database", database]);
const read = async ({ url }: Served) => (await fetchWithKey(`${url}/restapi/brands.json`, key)).status;
const ready = async ({ url }: Served) => (await fetch(`${url}/readyz`)).status;
const create = async ({ url }: Served, Name: string) =>
  (await fetchWithKey(`${url}/restapi/brands.json`, key, { method: "POST", body: JSON.stringify({ Name }) })).status;
const names = async ({ url }: Served) =>
  ((await (await fetchWithKey(`${url}/restapi/brands.json`, key)).json()) as { Name: string }[]).map(
    ({ Name }) => Name,
  );

describe("all writes and reads fail and the server isn't ready after", () => {
  const losses: [string, () => void][] = [
    ["the database file is removed", () => rmSync(join(folder, "shop.db"))],
    ["the write-ahead log is removed", () => rmSync(join(folder, "shop.db-wal"))],
    ["the index of the write-ahead log is removed", () => rmSync(join(folder, "shop.db-shm"))],
    ["another database replaces the file", () => replace(join(folder, "shop.db"))],
    ["its folder is moved away", () => renameSync(folder, workspace.file("away"))],
    ["its folder is replaced", () => replaceFolder()],
  ];
  test.each(losses)("%s", async (_, lose) => {
    const server = await serve();
    expect([await create(server, "before"), await read(server), await ready(server)]).toEqual([201, 200, 200]);
    lose();
    const statuses: number[] = [];
    for (let n = 0; n < 40; n++) statuses.push(await create(server, `after ${n}`));
    expect(new Set(statuses)).toEqual(new Set([503]));
    await waitUntil(async () => (await read(server)) === 503, "reads to fail");
    await waitUntil(async () => (await ready(server)) === 503, "the server not to be ready");
  });

  function replace(file: string): void {
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
  }

  function replaceFolder(): void {
    renameSync(folder, workspace.file("away"));
    mkdirSync(folder);
    for (const name of ["shop.db", "shop.db-wal", "shop.db-shm"])
      copyFileSync(workspace.file(`away/${name}`), join(folder, name));
  }
});

test("a key revoked after the write-ahead log's index was removed is soon rejected", async () => {
  const server = await serve();
  expect(await read(server)).toBe(200);
  rmSync(join(folder, "shop.db-shm"));
  await workspace.run(["key", "revoke", key.slice(0, 12), "--database", database]);
  await waitUntil(async () => (await read(server)) !== 200, "the key to be rejected");
});

test("files moved away and back are used again, with all acknowledged writes", async () => {
  const server = await serve();
  expect(await create(server, "before")).toBe(201);
  renameSync(folder, workspace.file("away"));
  expect(await create(server, "meanwhile")).toBe(503);
  renameSync(workspace.file("away"), folder);
  expect(await create(server, "after")).toBe(201);
  expect(await names(server)).toEqual(["before", "after"]);
  await waitUntil(async () => (await ready(server)) === 200, "/readyz to be 200");
});

test("a server stopped after the write-ahead log was removed writes all acknowledged changes into the database", async () => {
  const server = await serve();
  const acknowledged = ["one", "two", "three"];
  for (const name of acknowledged) expect(await create(server, name)).toBe(201);
  rmSync(join(folder, "shop.db-wal"));
  expect(await create(server, "four")).toBe(503);
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
  const next = await serve();
  expect(await names(next)).toEqual(acknowledged);
  expect(await create(next, "four")).toBe(201);
  await run("check");
});

test("a database behind a symbolic link is served until the link points to another file", async () => {
  const link = workspace.file("link.db");
  symlinkSync(join(folder, "shop.db"), link);
  const server = await workspace.serve(["--database", `sqlite:${link}`]);
  expect([await create(server, "before"), await read(server)]).toEqual([201, 200]);
  copyFileSync(join(folder, "shop.db"), workspace.file("other.db"));
  rmSync(link);
  symlinkSync(workspace.file("other.db"), link);
  expect(await create(server, "after")).toBe(503);
});

test("a command that keeps reading doesn't recreate a removed database", async () => {
  const engine = await openEngine(database, allResources);
  rmSync(join(folder, "shop.db"));
  expect(() => [...(engine.dump() as Iterable<DumpedRow>)]).toThrow("was removed while in use");
  await expect(engine.saveKeyUses(new Map([[1, 1]]))).rejects.toThrow("was removed while in use");
  expect(existsSync(join(folder, "shop.db"))).toBe(false);
  await engine.close();
});
