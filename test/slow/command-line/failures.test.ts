// Commands and servers that can't use their database, or run out of disk space, print one line that says why.

import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteFile } from "../../support/engine/sqlite-file.ts";
import {
  fetchWithKey,
  openWorkspace,
  type Workspace,
  withoutRootCapabilities,
} from "../../support/programs/command.ts";
import { waitUntil } from "../../support/time.ts";

let workspace: Workspace;
let key: string;
beforeEach(async () => {
  workspace = openWorkspace();
  await workspace.data.addSite("main", { isDefault: true });
  key = await workspace.data.addKey("main");
});
afterEach(() => workspace.close());

/** Limits all files to about half a megabyte. This works like a full disk, even for root. */
const onFullDisk = (command: string) => `trap '' XFSZ; ulimit -f 1000; ${command}`;

const create = (url: string, Name: string, headers: Record<string, string> = {}) =>
  fetchWithKey(`${url}/restapi/brands.json`, key, { method: "POST", body: JSON.stringify({ Name }), headers });
const list = async (url: string) =>
  (await (await fetchWithKey(`${url}/restapi/brands.json`, key)).json()) as { ID: number; Name: string }[];

describe("commands and servers reject in one clear line", () => {
  const makes: [string, (file: string) => void, RegExp][] = [
    ["a file that is not a database", (file) => writeFileSync(file, "x".repeat(5000)), /file is not a database/],
    ["a folder", (file) => mkdirSync(file), /unable to open database file/],
    [
      "a newer program's database",
      (file) => sql(file, "pragma user_version = 99"),
      /made by a newer version of this program \(schema 99, this one knows \d+\); upgrade this one/,
    ],
    ["another program's database", (file) => sql(file, "create table theirs (x)"), /belongs to another program/],
    ["a database with only a view", (file) => sql(file, "create view v as select 1"), /belongs to another program/],
    [
      "a database with another program's table and version",
      (file) => sql(file, "create table journal (x); pragma user_version = 1"),
      /another program/,
    ],
  ];
  test.each(makes)("%s", async (_, make, line) => {
    const file = workspace.file("bad.db");
    make(file);
    const before = contentOf(file);
    for (const command of [["site", "list"], ["site", "add", "x"], ["check"], ["serve", "--port", "0"]]) {
      const { code, stdout, stderr } = await workspace.run([...command, "--database", `sqlite:${file}`], {
        asProcess: false,
      });
      expect([code, stdout, stderr.trim().split("\n").length]).toEqual([1, "", 1]);
      expect(stderr).toMatch(line);
    }
    // WAL mode would be stored in the file permanently.
    expect(contentOf(file)).toBe(before);
  });

  test("a database that doesn't exist, without creating it when they only read", async () => {
    for (const command of [["site", "list"], ["key", "list", "--site", "x"], ["backup", "x"], ["check"]]) {
      const { code, stderr } = await workspace.run([...command, "--database", "sqlite:folder/none.db"]);
      expect([code, stderr]).toEqual([
        1,
        "storefront: no database at sqlite:folder/none.db; check the path, or create it with `site add` or `serve`\n",
      ]);
    }
    expect(existsSync(workspace.file("folder"))).toBe(false);
  });

  test.each([0o555, 0])("a database in a folder with the mode %i", async (mode) => {
    const folder = workspace.file("closed");
    mkdirSync(folder);
    chmodSync(folder, mode);
    const args = ["site", "add", "x", "--database", "sqlite:closed/new.db"];
    const { code, stderr } = await workspace.run(args, { wrap: withoutRootCapabilities });
    rmdirSync(folder);
    expect([code, stderr]).toEqual([
      1,
      `storefront: the database closed/new.db can't be used: permission denied for ${folder}, which belongs to user ID ${process.getuid?.()}\n`,
    ]);
  });

  test("a link to a database in a closed folder", async () => {
    const folder = workspace.file("closed");
    mkdirSync(folder);
    symlinkSync(join(folder, "x.db"), workspace.file("link.db"));
    chmodSync(folder, 0);
    const args = ["site", "add", "x", "--database", "sqlite:link.db"];
    const { code, stderr } = await workspace.run(args, { wrap: withoutRootCapabilities });
    rmdirSync(folder);
    expect([code, stderr]).toEqual([
      1,
      `storefront: the database link.db can't be used: permission denied for ${workspace.file("link.db")}\n`,
    ]);
  });

  test("a database file nobody may write to", async () => {
    chmodSync(workspace.file("test.db"), 0o444);
    const { code, stderr } = await workspace.run(["site", "add", "x"], { wrap: withoutRootCapabilities });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^storefront: the database .*readonly database\n$/)]);
    expect(await workspace.mustRun(["site", "list"])).not.toContain("x ");
  });

  function sql(file: string, statement: string): void {
    const database = new Database(file);
    database.run(statement);
    database.close();
  }

  function contentOf(file: string): string | undefined {
    return statSync(file).isFile() ? readFileSync(file, "base64") : undefined;
  }
});

describe("a full disk", () => {
  // Only root can mount a small disk.
  const disk = mkdtempSync(join(tmpdir(), "storefront-disk-"));
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", disk]).status === 0;
  afterAll(() => {
    if (isMounted) spawnSync("umount", ["-l", disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  /** Fills the disk until `free` KiB are left. Returns a function that frees the space. */
  const fill = (free: number) => {
    const other = join(disk, "other");
    expect(() => writeFileSync(other, Buffer.alloc(8 * 1024 * 1024))).toThrow("ENOSPC");
    truncateSync(other, statSync(other).size - free * 1024);
    return () => rmSync(other);
  };

  test.skipIf(!isMounted)("is reported by every command, with the file there's no space for", async () => {
    const file = join(disk, "shop.db");
    const database = ["--database", `sqlite:${file}`];
    await workspace.mustRun(["site", "add", "main", ...database]);
    const empty = fill(0);
    for (const command of [["export", "--site", "main", "brands"], ["check"], ["serve", "--port", "0"]]) {
      expect(await workspace.run([...command, ...database])).toMatchObject({
        code: 1,
        stderr: `storefront: the database ${file} can't be used: the disk is full, so ${file}-shm couldn't be created\n`,
      });
    }
    empty();
    expect(await workspace.run(["check", ...database])).toMatchObject({ code: 0 });
  });

  test.skipIf(!isMounted).each([3, 200])("with %d KiB left is reported by a restore", async (free) => {
    const database = ["--database", `sqlite:${join(disk, "restored.db")}`];
    const backup = workspace.file("large.backup");
    const names = Array.from({ length: 1200 }, (_, n) => `Brand ${n} ${crypto.randomUUID()}`);
    await workspace.data.addBrands("main", ...names);
    await workspace.mustRun(["backup", backup]);
    // While a server runs, the files of the database exist.
    const server = await workspace.serve(database);
    const empty = fill(free);
    expect(await workspace.run(["restore", backup, ...database])).toMatchObject({
      code: 1,
      stderr: "storefront: the database can't be used: the disk is full\n",
    });
    empty();
    await workspace.mustRun(["restore", backup, ...database]);
    expect(await workspace.run(["check", ...database])).toMatchObject({ code: 0 });
    server.kill();
    await server.exited;
  });

  test("makes the server respond with 503, and no acknowledged write is lost", async () => {
    const full = await workspace.serve([], { wrap: onFullDisk });
    const acknowledged: string[] = [];
    let failed: Response | undefined;
    for (let n = 0; !failed && n < 5000; n++) {
      const names = Array.from({ length: 50 }, (_, i) => `Brand ${n}.${i} ${"x".repeat(200)}`);
      const responses = await Promise.all(names.map((name) => create(full.url, name)));
      responses.forEach((response, i) => {
        if (response.status === 201) acknowledged.push(names[i] as string);
        else failed = response;
      });
    }
    expect(failed?.status).toBe(503);
    expect(failed?.headers.get("Retry-After")).toBe("1");
    expect((await list(full.url)).map(({ Name }) => Name).sort()).toEqual(acknowledged.toSorted());
    full.kill("SIGKILL");
    await full.exited;
    const server = await workspace.serve();
    expect((await list(server.url)).map(({ Name }) => Name).sort()).toEqual(acknowledged.toSorted());
    expect((await create(server.url, "Room again")).status).toBe(201);
    expect(await workspace.data.check()).toEqual([]);
  });

  test("stops an import with one clear line about the rows already stored", async () => {
    const rows = Array.from({ length: 20_000 }, (_, n) => `Brand ${n} ${"x".repeat(200)}`).join("\n");
    const args = ["import", "--site", "main", "brands", "-"];
    const { code, stderr } = await workspace.run(args, { stdin: `Name\n${rows}\n`, wrap: onFullDisk });
    const lines = stderr.trim().split("\n");
    expect([code, lines.filter((line) => !line.startsWith("to undo what was stored: "))]).toEqual([
      1,
      [expect.stringContaining("storefront: ")],
    ]);
    const stored = Number(/(\d+) records were created/.exec(stderr)?.[1] ?? 0);
    expect(await workspace.data.brands("main")).toHaveLength(stored);
    expect(await workspace.data.check()).toEqual([]);
  });
});

test("after kill -9 during writes, every acknowledged write is stored, and a repeated one is stored once", async () => {
  const server = await workspace.serve();
  const acknowledged = new Set<string>();
  const send = async (url: string, n: number) => {
    const name = `Brand ${n}`;
    const response = await create(url, name, { "Idempotency-Key": name }).catch(() => undefined);
    if (response?.status === 201) acknowledged.add(name);
  };
  const all = Array.from({ length: 400 }, (_, n) => n);
  const sending = Promise.all(
    Array.from({ length: 8 }, async (_, lane) => {
      for (const n of all.filter((number) => number % 8 === lane)) await send(server.url, n);
    }),
  );
  await waitUntil(() => acknowledged.size >= 100, "a hundred writes");
  server.kill("SIGKILL");
  await sending;
  expect(acknowledged.size).toBeLessThan(400);
  const next = await workspace.serve();
  const names = (await list(next.url)).map(({ Name }) => Name);
  expect([...acknowledged].filter((name) => !names.includes(name))).toEqual([]);
  for (const n of all) await send(next.url, n);
  const after = (await list(next.url)).map(({ Name }) => Name);
  expect(after.toSorted()).toEqual(all.map((n) => `Brand ${n}`).toSorted());
  expect(await workspace.data.check()).toEqual([]);
});

test("while another process locks the database, a write gets a 503 without internals, and later writes succeed", async () => {
  const server = await workspace.serve();
  const holder = openSqliteFile(workspace.database);
  holder.run("begin immediate");
  const failed = await create(server.url, "Too early");
  expect(failed.status).toBe(503);
  expect(await failed.text()).not.toMatch(/database|sqlite|locked/i);
  holder.run("rollback");
  holder.close();
  expect((await create(server.url, "In time")).status).toBe(201);
  expect((await list(server.url)).map(({ Name }) => Name)).toEqual(["In time"]);
});
