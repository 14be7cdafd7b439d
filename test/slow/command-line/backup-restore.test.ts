// `backup` and `restore` as processes: messages, files, and effects on running servers.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { gunzipSync } from "node:zlib";
import { engines } from "../../support/engine/engines.ts";
import {
  fetchWithKey,
  openWorkspace,
  useWorkspace,
  type Workspace,
  withoutRootCapabilities,
} from "../../support/programs/command.ts";
import { waitUntil } from "../../support/time.ts";

describe.each(engines)("backup and restore on $name", (kind) => {
  let workspace: Workspace;
  let count = 0;
  useWorkspace(kind, (opened) => {
    workspace = opened;
  });
  beforeEach(async () => {
    await workspace.data.addSite("main", { isDefault: true });
    await add("Acme");
  });
  const mustRun = (args: string[], stdin = "") => workspace.mustRun(args, { stdin });
  const run = (args: string[], stdin: string | Uint8Array = "") => workspace.run(args, { stdin });
  const add = (...names: string[]) => workspace.data.addBrands("main", ...names);
  const names = async () => (await workspace.data.brands("main")).map(({ Name }) => Name);
  const otherTables = async () => JSON.stringify(await kind.extraTables(workspace.database));
  const newFile = () => workspace.file(`${kind.name}-${++count}.backup`);
  const backUp = async () => {
    const file = newFile();
    await mustRun(["backup", file]);
    return file;
  };
  const brandsIn = (file: string) =>
    [
      ...gunzipSync(readFileSync(file))
        .toString()
        .matchAll(/^\["records".*"resource":"brand".*\\"Name\\":\\"([^\\]*)/gm),
    ].map(([, brand]) => brand);

  test("a restore killed before the swap changes nothing, and the next one removes its tables", async () => {
    const file = await backUp();
    await add("Bolt");
    const killed = workspace.start(["restore", "-"]);
    await waitUntil(async () => (await otherTables()).includes("storefront_unused_"), "its tables");
    killed.kill("SIGKILL");
    await killed.exited;
    expect(await names()).toEqual(["Acme", "Bolt"]);
    expect(await run(["check"])).toMatchObject({
      code: 1,
      stdout: "a `restore` is in progress or was interrupted: its tables take up space until the next `restore`\n",
    });
    await mustRun(["restore", file]);
    expect([await names(), await otherTables()]).toEqual([["Acme"], "[]"]);
    expect(await workspace.data.check()).toEqual([]);
  });

  test("a restore killed after the swap leaves the replaced data, and the next one keeps that data in a file", async () => {
    const file = await backUp();
    const many = Array.from({ length: 20_000 }, (_, n) => `Brand ${n}`);
    await add(...many);
    const killed = workspace.start(["restore", file]);
    await waitUntil(async () => (await otherTables()).includes("storefront_replaced_"), "the replaced tables");
    killed.kill("SIGKILL");
    await killed.exited;
    expect(await names()).toEqual(["Acme"]);
    await add("Bolt");
    expect((await run(["check"])).stdout).toContain("the next `restore` will save it to a file");
    const kept = keptBy((await run(["restore", file])).stderr);
    expect(kept.map((path) => brandsIn(path).length)).toEqual([20_001, 2]);
    expect(kept[1]).toBe(`${kept[0]}-2`);
    expect([await names(), await otherTables()]).toEqual([["Acme"], "[]"]);
  });

  test("a server accepts writes during a restore", async () => {
    const key = await workspace.data.addKey("main");
    await add(...Array.from({ length: 2000 }, (_, n) => `Brand ${n}`));
    const file = await backUp();
    const server = await workspace.serve([]);
    const statuses: number[] = [];
    let isOver = false;
    const writing = (async () => {
      while (!isOver) {
        const body = '{"Name":"During"}';
        statuses.push((await fetchWithKey(`${server.url}/restapi/brands.json`, key, { method: "POST", body })).status);
      }
    })();
    await waitUntil(() => statuses.length > 10, "some writes");
    const restored = await workspace.run(["restore", file], { asProcess: true });
    const [kept = ""] = keptBy(restored.stderr);
    isOver = true;
    await writing;
    server.kill();
    await server.exited;
    // A write that arrives during the swap is rejected, because it was meant for the old epoch.
    expect(statuses.filter((status) => status !== 201).length).toBeLessThan(3);
    const stored = new Set([...brandsIn(kept), ...(await names())]);
    expect(stored.size).toBe(2002);
    const during = [...brandsIn(kept), ...(await names())].filter((brand) => brand === "During");
    expect(during.length).toBe(statuses.filter((status) => status === 201).length);
  });

  // One engine is enough for the other tests: operator/ tests the functions on both, and on-postgres.test.ts the command.
  if (kind !== engines[0]) return;

  test("restore prints how many changes it discards, and for how many sites the number is unknown", async () => {
    const file = await backUp();
    await add("Bolt", "Cord");
    const { code, stdout, stderr } = await run(["restore", file, "--json"]);
    expect([code, await names()]).toEqual([0, ["Acme"]]);
    expect(stderr).toContain("; 2 changes made since the backup are discarded; the previous content is in ");
    const [kept = ""] = keptBy(stderr);
    expect(JSON.parse(stdout)).toMatchObject({ file, kept: [kept], discarded: 2, otherHistories: 0 });
    expect(brandsIn(kept)).toEqual(["Acme", "Bolt", "Cord"]);
    await workspace.data.addSite("late");
    await add("Dash");
    const again = await run(["restore", kept, "--json"]);
    expect(again.stderr).toContain("; the changes of 2 sites can't be counted");
    expect(JSON.parse(again.stdout)).toMatchObject({ discarded: 0, otherHistories: 2 });
  });

  test("the discarded changes include a site added since the backup, and its records", async () => {
    const file = await backUp();
    await workspace.data.addSite("late");
    await workspace.data.addBrands("late", "Bolt");
    expect((await run(["restore", file])).stderr).toContain("; 2 changes made since the backup are discarded;");
  });

  test("a key revoked since the backup stays revoked, except with --as-of-backup", async () => {
    const key = await workspace.data.addKey("main");
    const file = await backUp();
    const server = await workspace.serve([]);
    const status = async () => (await fetchWithKey(`${server.url}/restapi/brands.json`, key)).status;
    await mustRun(["key", "revoke", key]);
    expect(await status()).toBe(401);
    const { stderr, stdout } = await run(["restore", file, "--json"]);
    const Prefix = key.slice(0, 12);
    expect(stderr).toContain(`\nthe key ${Prefix} of main stays revoked\n`);
    const restriction = { kind: "key", name: Prefix, site: "main", change: "revoked" };
    expect(JSON.parse(stdout)).toMatchObject({ stays: [restriction], revived: [], isUnknown: false });
    expect([await status(), await names()]).toEqual([401, ["Acme"]]);
    const old = await run(["restore", file, "--as-of-backup", "--json"]);
    expect(old.stderr).toContain(`\nthe key ${Prefix} of main is valid again (revoked since the backup)\n`);
    expect(JSON.parse(old.stdout)).toMatchObject({ stays: [], revived: [restriction] });
    expect(await status()).toBe(200);
    server.kill();
    await server.exited;
    const empty = await run(["restore", file, "--database", await kind.newDatabase()]);
    expect(empty.stderr).toContain("the backup is from another database");
  });

  test("a revoked key stays revoked after restoring an older backup, then the right one", async () => {
    const older = await backUp();
    const key = await workspace.data.addKey("main");
    const right = await backUp();
    await mustRun(["key", "revoke", key]);
    for (const file of [older, right, right]) {
      const { stderr } = await run(["restore", file]);
      expect(stderr.includes(`the key ${key.slice(0, 12)} of main stays revoked`)).toBe(file === right);
    }
    const server = await workspace.serve([]);
    expect((await fetchWithKey(`${server.url}/restapi/brands.json`, key)).status).toBe(401);
    server.kill();
    await server.exited;
  });

  test("`backup -` and `restore -` use pipes, and the replaced data is kept in the current folder", async () => {
    const file = newFile();
    const wrap = (command: string) => `(${command.replace("exec ", "")}) | cat > '${file}'`;
    await workspace.mustRun(["backup", "-"], { wrap });
    await add("Bolt");
    const { code, stderr } = await run(["restore", "-"], readFileSync(file));
    expect([code, await names()]).toEqual([0, ["Acme"]]);
    expect(brandsIn(workspace.file(keptBy(stderr)[0] as string))).toEqual(["Acme", "Bolt"]);
    const cut = await run(["restore", "-"], readFileSync(file).subarray(0, 200));
    expect(cut).toMatchObject({ code: 1, stdout: "" });
    expect([await names(), await otherTables()]).toEqual([["Acme"], "[]"]);
  });
});

describe("backup", () => {
  let workspace: Workspace;
  beforeAll(async () => {
    workspace = openWorkspace();
    await workspace.data.addSite("main");
    const names = Array.from({ length: 2000 }, (_, n) => `Brand ${n} ${crypto.randomUUID()}`);
    await workspace.data.addBrands("main", ...names);
  });
  afterAll(() => workspace.close());

  test.each(["-", "/dev/stdout"])("to %s writes nothing but the backup to standard output", async (to) => {
    // Reads a pipe slowly.
    const { code, stdout, stderr } = await workspace.run(["backup", to, "--json"], {
      wrap: (command) => `(${command.replace("exec ", "")}) | (sleep 1; cat) > '${workspace.file("copy.backup")}'`,
    });
    expect([code, stdout]).toEqual([0, ""]);
    // Includes its own entries in the audit log.
    expect(stderr).toMatch(/^wrote 40\d\d rows to standard output\n$/);
    expect(existsSync(workspace.file("-"))).toBe(false);
    await workspace.mustRun([
      "restore",
      workspace.file("copy.backup"),
      "--database",
      `sqlite:${workspace.file("copy.db")}`,
    ]);
  });

  test("fails if its reader stops early", async () => {
    const { stderr } = await workspace.run(["backup", "-"], {
      wrap: (command) => `((${command.replace("exec ", "")}); echo "status $?" >&2) | head -c 10 > /dev/null`,
    });
    expect(stderr).toMatch(/^storefront: can't write standard output: .*EPIPE.*\nstatus 1\n$/);
  });

  test("can only be read by its owner, and so can the files that a restore keeps", async () => {
    const file = workspace.file("private.backup");
    await workspace.mustRun(["backup", file]);
    const { stderr } = await workspace.run(["restore", file]);
    for (const path of [file, keptBy(stderr)[0] as string]) expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("ended by %s leaves no partial file", async (signal) => {
    const file = workspace.file("ended.backup");
    const left = () => readdirSync(workspace.folder).filter((entry) => entry.startsWith("ended."));
    const backup = workspace.start(["backup", file]);
    await waitUntil(() => left().length > 0, "the file");
    backup.kill(signal);
    expect(await backup.exited).toBeGreaterThan(128);
    expect(left()).toEqual([]);
  });

  test("is restored from a read-only folder, unless the restore has to keep data there", async () => {
    mkdirSync(workspace.file("archive"));
    const file = workspace.file("archive/shop.backup");
    await workspace.mustRun(["backup", file]);
    chmodSync(workspace.file("archive"), 0o555);
    const options = { wrap: withoutRootCapabilities };
    const { code, stderr } = await workspace.run(["restore", file], options);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^storefront: can't write .*\.before-.*EACCES.*\n$/)]);
    await workspace.mustRun(["restore", file, "--database", `sqlite:${workspace.file("fresh.db")}`], options);
    chmodSync(workspace.file("archive"), 0o755);
  });

  test("removes killed processes' partial files once they're over an hour old", async () => {
    const gone = Bun.spawn(["true"]);
    await gone.exited;
    const part = (name: string, hours: number) => {
      const at = Date.now() / 1000 - hours * 3600;
      writeFileSync(workspace.file(name), "x");
      utimesSync(workspace.file(name), at, at);
      return name;
    };
    const stale = part(`monday.backup.storefront-${gone.pid}.part`, 2);
    const others = [
      part(`tuesday.backup.storefront-${gone.pid}.part`, 0.5),
      part(`wednesday.backup.storefront-${process.pid}.part`, 2),
      part("other.1.part", 2),
    ];
    await workspace.mustRun(["backup", workspace.file("next.backup")]);
    const left = readdirSync(workspace.folder);
    expect([left.includes(stale), others.filter((name) => !left.includes(name))]).toEqual([false, []]);
  });
});

/** The files in which a restore kept the replaced data, according to its message. */
function keptBy(stderr: string): string[] {
  return (/the previous content is in (.+)/.exec(stderr)?.[1] ?? "").split(" and ");
}
