// Commands read a database on a read-only disk, or in a file or folder nobody may write to.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DumpedRow } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import {
  fetchWithKey,
  openWorkspace,
  type Workspace,
  withoutRootCapabilities,
} from "../../support/programs/command.ts";

let workspace: Workspace;
let folder: string;
let database: string;
let isMounted = false;
beforeEach(() => {
  workspace = openWorkspace();
  folder = workspace.file("data");
  mkdirSync(folder);
  database = `sqlite:${join(folder, "shop #1%.db")}`;
});
afterEach(async () => {
  if (isMounted) spawnSync("umount", [folder], { stdio: "ignore" });
  isMounted = false;
  chmodSync(folder, 0o755);
  await workspace.close();
});

const run = (...args: string[]) => workspace.run([...args, "--database", database], { wrap: withoutRootCapabilities });
// On a mounted disk, commands run as processes: files open in the test's own process would keep the disk from becoming read-only.
const mustRun = (args: string[], stdin = "") =>
  workspace.mustRun([...args, "--database", database], { stdin, ...(isMounted && { asProcess: true }) });

/** Creates a site with a brand in a database that was closed normally. Returns a key. */
async function fill(): Promise<string> {
  await mustRun(["site", "add", "main", "--default"]);
  await mustRun(["import", "--site", "main", "brands", "-"], "Name\nAcme\n");
  return (await mustRun(["key", "create", "--site", "main"])).trim();
}

/** Starts a server that stores a second brand, and kills it, so that only the write-ahead log has that brand. */
async function writeAndKill(key: string): Promise<void> {
  const server = await workspace.serve(["--database", database]);
  const body = '{"Name":"Bolt"}';
  expect((await fetchWithKey(`${server.url}/restapi/brands.json`, key, { method: "POST", body })).status).toBe(201);
  server.kill("SIGKILL");
  await server.exited;
}

function protectFolder(): void {
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o444);
  chmodSync(folder, 0o555);
}

/** Mounts a disk at the folder, and returns whether that succeeded. Only root can do it. */
function mount(): boolean {
  isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], { stdio: "ignore" }).status === 0;
  return isMounted;
}

async function expectReadable(names: string[]): Promise<void> {
  const exported = await run("export", "--site", "main", "brands", "--json");
  expect(exported.code).toBe(0);
  // In one case, the file itself can be written.
  expect(exported.stderr).toMatch(/^(?:couldn't record this in the audit log: .*\n)?$/);
  expect(JSON.parse(exported.stdout).map(({ Name }: { Name: string }) => Name)).toEqual(names);
}

async function expectAllCommandsToRead(): Promise<void> {
  expect(await run("check")).toMatchObject({ code: 0, stderr: "no faults found\n" });
  const backup = workspace.file("read.backup");
  expect(await run("backup", backup)).toMatchObject({ code: 0 });
  for (const args of [
    ["site", "list"],
    ["key", "list", "--site", "main"],
    ["journal", "--site", "main"],
  ]) {
    expect(await run(...args)).toMatchObject({ code: 0, stderr: "" });
  }
  await workspace.mustRun(["restore", backup, "--database", `sqlite:${workspace.file("restored.db")}`]);
}

async function expectUnwritable(): Promise<void> {
  for (const args of [
    ["site", "add", "second"],
    ["key", "create", "--site", "main"],
  ]) {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stdout, stderr.trim().split("\n").length]).toEqual([1, "", 1]);
    expect(stderr).toMatch(/read-?only|unable to open database file|permission denied for/);
  }
}

const protections: [string, () => void][] = [
  ["in a folder and a file that no user may write to", protectFolder],
  ["in a folder that no user may write to", () => chmodSync(folder, 0o555)],
  [
    "in a file that no user may write to",
    () => readdirSync(folder).forEach((name) => void chmodSync(join(folder, name), 0o444)),
  ],
];

describe.each(protections)("a database %s can be read", (_, protect) => {
  test("after it was closed normally", async () => {
    await fill();
    protect();
    await expectReadable(["Acme"]);
    if (protect === protectFolder) await expectAllCommandsToRead();
    await expectUnwritable();
  });

  test("after its server was killed, with the changes in the write-ahead log", async () => {
    await writeAndKill(await fill());
    protect();
    await expectReadable(["Acme", "Bolt"]);
    if (protect === protectFolder) await expectAllCommandsToRead();
  });
});

test("a database on a read-only disk can be read", async () => {
  if (!mount()) return;
  await writeAndKill(await fill());
  spawnSync("mount", ["-o", "remount,ro", folder]);
  await expectReadable(["Acme", "Bolt"]);
  await expectUnwritable();
  spawnSync("mount", ["-o", "remount,rw", folder]);
  await mustRun(["check"]);
  expect(existsSync(join(folder, "shop #1%.db-wal"))).toBe(false);
  spawnSync("mount", ["-o", "remount,ro", folder]);
  await expectReadable(["Acme", "Bolt"]);
  await expectUnwritable();
});

test("a read without a write-ahead log fails if another process writes meanwhile", async () => {
  if (!mount()) return;
  await fill();
  spawnSync("mount", ["-o", "remount,ro", folder]);
  const engine = await openEngine(database, allResources, { orReadOnly: true });
  const rows = (engine.dump() as Iterable<DumpedRow>)[Symbol.iterator]();
  rows.next();
  spawnSync("mount", ["-o", "remount,rw", folder]);
  await mustRun(["site", "add", "second"]);
  expect(() => {
    while (!rows.next().done);
  }).toThrow("was written to while it was being read");
  await engine.close();
});

test("a write-ahead log without its index is rejected, because the newest records would be missing", async () => {
  await writeAndKill(await fill());
  rmSync(join(folder, "shop #1%.db-shm"));
  protectFolder();
  const { code, stdout, stderr } = await run("export", "--site", "main", "brands");
  expect([code, stdout, stderr.trim().split("\n").length]).toEqual([1, "", 1]);
  expect(stderr).toMatch(/its latest changes are only in .*-wal.*copy both/);
});

test("a server doesn't start on a database it can't write to", async () => {
  await fill();
  protectFolder();
  const { code, stderr } = await run("serve", "--port", "0");
  expect([code, stderr.trim().split("\n").length]).toEqual([1, 1]);
  expect(stderr).toMatch(/readonly/);
});
