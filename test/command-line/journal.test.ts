import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { systemSite } from "../../src/model/system-site.ts";
import { openSqliteFile } from "../support/engine/sqlite-file.ts";
import { brandRequests } from "../support/programs/brand-requests.ts";
import { openWorkspace } from "../support/programs/command.ts";
import { dataOf } from "../support/programs/command-data.ts";
import { waitUntil } from "../support/time.ts";

const workspace = openWorkspace();
await workspace.data.addSite("main", { isDefault: true });
const key = await workspace.data.addKey("main");
const server = await workspace.serve(["--rate", "0"]);
afterAll(() => workspace.close());

const { send, create, nameOf, bodyOf } = brandRequests(() => ({ url: server.url, key }));
const journal = async (...args: string[]) =>
  (await workspace.mustRun(["journal", "--site", "main", "--json", ...args]))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

/** The revision of the last change. */
const lastRevision = () => workspace.data.use(async (engine) => (await engine.readHeads([1]))[0]?.revision as number);

describe("journal", () => {
  test("lists the changes since a revision, with the key that made each", async () => {
    const id = await create("First");
    await send("PUT", "brands.json", { ID: id, Name: "Second" });
    await send("DELETE", `brands/${id}.json`);
    const entries = (await journal()).slice(-3);
    expect(entries.map(({ operation }) => operation)).toEqual(["create", "update", "delete"]);
    expect(entries[1]).toMatchObject({ id, resource: "brand", actor: key.slice(0, 12), record: { Name: "Second" } });
    expect(await journal("--since", String(entries[1].revision))).toEqual([entries[2]]);
    const lines = await workspace.mustRun(["journal", "--site", "main", "--since", String(entries[1].revision)]);
    expect(lines.trim().split("\t").slice(2)).toEqual([key.slice(0, 12), "delete", "brand", String(id), '"Second"']);
  });

  test("--follow prints a server's writes as they happen", async () => {
    const revision = await lastRevision();
    const following = workspace.start(["journal", "--site", "main", "--follow", "--since", `${revision}`]);
    await create("While you watch");
    await following.until(/create\tbrand\t\d+\t"While you watch"/);
    await create("And again");
    await following.until(/"And again"\n/);
    following.kill("SIGINT");
    await following.exited;
  });

  test("--follow starts over after a restore, and ends when the site is removed", async () => {
    const database = `sqlite:${workspace.file("followed.db")}`;
    const run = (...args: string[]) => workspace.mustRun([...args, "--database", database]);
    await dataOf(database).addSite("brief");
    await dataOf(database).addBrands("brief", "A");
    await run("backup", workspace.file("followed.backup"));
    const following = workspace.start([
      "journal",
      "--site",
      "brief",
      "--follow",
      "--since",
      "0",
      "--database",
      database,
    ]);
    await following.until(/create\tbrand\t1/);
    await run("restore", workspace.file("followed.backup"));
    await following.until(/(create\tbrand\t1[^\n]*\n[\s\S]*){2}/);
    await run("site", "remove", "brief", "--yes");
    expect(await following.exited).toBe(0);
    expect(following.stderr()).toMatch(/the site has a new epoch.*\n.*the site was removed/);
  });

  test("--follow starts with the next change by default", async () => {
    await create("Before");
    const following = workspace.start(["journal", "--site", "main", "--follow"]);
    const line = await waitUntil(async () => {
      await create("After");
      return following.stdout().split("\n")[0] || undefined;
    }, "the first line");
    expect(line).toContain('"After"');
    following.kill("SIGINT");
    await following.exited;
  });

  test("filters changes by record, resource, actor, run and time", async () => {
    const args = ["import", "--site", "main", "locations", "-", "--json", "--as", "anna"];
    const { run, revisions } = JSON.parse(await workspace.mustRun(args, { stdin: "Name\nNorth\nSouth\n" }));
    await workspace.data.load("main", "locations", "ID,Name\n2,East\n");
    const ids = async (...args: string[]) => (await journal(...args)).map(({ id, operation }) => `${operation} ${id}`);
    expect(await ids("--resource", "locations")).toEqual(["create 1", "create 2", "update 2"]);
    expect(await ids("--resource", "location", "--id", "2")).toEqual(["create 2", "update 2"]);
    for (const anna of ["operator:anna", "anna"]) expect(await ids("--actor", anna)).toEqual(["create 1", "create 2"]);
    expect(await ids("--run", run, "--id", "1")).toEqual(["create 1"]);
    const [{ at }] = await journal("--since", String(revisions.first), "--id", "2", "--resource", "locations");
    expect(await ids("--since", at, "--resource", "locations", "--actor", "operator:anna")).toContain("create 2");
    expect(await journal("--since", "2999-01-01")).toEqual([]);
    expect((await journal("--since", "1h")).length).toBe(await lastRevision());
    for (const bad of ["yesterday", "2026-13-01", "2026-02-30", "2026-04-31T12:00Z", "5x"])
      expect((await workspace.run(["journal", "--site", "main", "--since", bad])).code).toBe(2);
    expect((await workspace.run(["journal", "--site", "main", "--resource", "brand-new"])).code).toBe(2);
  });

  test("--until ends at a revision or time, and CSV has a row for each changed field", async () => {
    await workspace.data.load("main", "brands", 'ID,Name\n901,"Late, ""one"""\n902,Later\n');
    const all = await journal();
    const [first, second] = all.slice(-2);
    expect(await journal("--until", String(first.revision))).toEqual(all.slice(0, -1));
    expect(await journal("--since", String(first.revision), "--until", second.at)).toEqual([second]);
    expect(await journal("--since", String(first.revision), "--until", "1h")).toEqual([]);
    const csv = await workspace.mustRun(["journal", "--site", "main", "--since", String(first.revision - 1), "--csv"]);
    const who = "operator,operator,";
    expect(csv.split("\r\n")).toEqual([
      "time,person,actor,run,change,resource,ID,name,field,before,after,revision",
      `${first.at},${who},create,brands,901,"Late, ""one""",Name,,"Late, ""one""",${first.revision}`,
      `${second.at},${who},create,brands,902,Later,Name,,Later,${second.revision}`,
      "",
    ]);
    const file = workspace.file("journal.csv");
    await workspace.mustRun(["journal", "--site", "main", "--since", String(first.revision - 1), "--csv", file]);
    expect(readFileSync(file, "utf8")).toBe(`\ufeff${csv}`);
    expect(await workspace.mustRun(["journal", "--site", "main", "--csv", "-"])).toStartWith("time,");
    for (const wrong of [
      ["--csv", "--json"],
      ["--csv", ""],
      ["--csv", file, "--follow"],
      ["--follow", "--until", "5"],
      ["--until", "2026-02-30"],
    ])
      expect((await workspace.run(["journal", "--site", "main", ...wrong])).code).toBe(2);
  });

  test("--system shows changes to sites and keys, without digests", async () => {
    await workspace.mustRun(["key", "create", "--site", "main", "--label", "till", "--as", "anna"]);
    const lines = (
      await workspace.mustRun(["journal", "--system", "--json", "--resource", "keys", "--actor", "operator:anna"])
    ).trim();
    expect(JSON.parse(lines)).toMatchObject({ resource: "key", operation: "create", record: { Label: "till" } });
    expect(lines).not.toContain("Digest");
    expect((await workspace.run(["journal"])).stderr).toContain("choose --site <name> or --system");
  });

  test("--system shows imports, exports, sign-in links and backups", async () => {
    writeFileSync(workspace.file("suppliers.csv"), `Name\nLinden\n${"x".repeat(300)}\n`);
    await workspace.run(["import", "--site", "main", "brands", "suppliers.csv"]);
    await workspace.run(["import", "--site", "main", "brands", "suppliers.csv", "--dry-run"]);
    await workspace.mustRun(["export", "--site", "main", "brands", "-"]);
    await workspace.mustRun(["operator", "add", "olga"]);
    await workspace.mustRun(["operator", "link", "olga", "--url", "https://console.example"]);
    await workspace.mustRun(["backup", "log.backup"]);
    await workspace.mustRun(["restore", "log.backup"]);
    const list = async (...options: string[]) =>
      (await workspace.mustRun(["journal", "--system", ...options])).trim().split("\n");
    const events = (await list("--json", "--resource", "events")).map((line) => JSON.parse(line)).slice(-5);
    expect(events.map(({ record }) => record.Kind)).toEqual(["import", "export", "link", "backup", "restore"]);
    const rows = "1 created, 0 updated, 0 removed, 1 rejected";
    expect(events[0]).toMatchObject({
      ...{ resource: "event", operation: "create", before: null },
      record: { Name: "suppliers.csv", Resource: "brands", Rows: rows },
    });
    expect((await list()).at(-6)).toContain("Kind import, Name suppliers.csv, Site");
    expect(
      (await list("--resource", "events", "--csv")).filter((line) => line.includes("log.backup,Kind,")),
    ).toHaveLength(2);
    expect((await workspace.run(["check"])).code).toBe(0);
  });

  test("prune deletes old entries of one site, all sites or the system site", async () => {
    const database = `sqlite:${workspace.file("pruned.db")}`;
    const run = (...args: string[]) => workspace.run([...args, "--database", database]);
    const data = dataOf(database);
    /** The first revision in the journals of the system site and both sites. */
    const begins = () =>
      data.use((engine) =>
        Promise.all(
          [systemSite, 1, 2].map(async (site) => (await engine.readJournalPage(site, 0, 1)).entries[0]?.revision),
        ),
      );
    for (const site of ["one", "two"]) {
      await data.addSite(site);
      await data.addBrands(site, "A", "B", "C");
    }
    expect((await run("journal", "prune", "--before", "2", "--site", "one")).stdout).toBe(
      "JOURNAL  DELETED  BEGINS\none      1        2\n",
    );
    expect(await begins()).toEqual([1, 2, 1]);
    expect((await run("journal", "--site", "one", "--since", "0")).stderr).toContain("starts at revision 2");
    expect((await run("journal", "prune", "--before", "1d", "--json")).stdout).toContain('"deleted": 0');
    await run("journal", "prune", "--before", "2999-01-01");
    expect(await begins()).toEqual([1, 3, 3]);
    await run("journal", "prune", "--before", "2", "--system");
    expect(await begins()).toEqual([2, 3, 3]);
    expect((await run("journal", "--system")).stdout).toStartWith("2\t");
    for (const wrong of [["--before", "2"], ["--before", "x"], [], ["--before", "2", "--site", "one", "--system"]])
      expect((await run("journal", "prune", ...wrong)).code).toBe(2);
    expect(await data.check()).toEqual([]);
  });
});

describe("restore-record", () => {
  test("restores a deleted record under its old ID, and a server serves it", async () => {
    const id = await create("Lost");
    await send("DELETE", `brands/${id}.json`);
    expect((await send("GET", `brands/${id}.json`)).status).toBe(404);
    const out = await workspace.mustRun(["restore-record", "--site", "main", "brands", String(id)]);
    expect(JSON.parse(out)).toMatchObject({ ID: id, Name: "Lost" });
    expect(await nameOf(id)).toBe("Lost");
  });

  test("restores a record to before its last change, or to a revision", async () => {
    const id = await create("One");
    const revision = await lastRevision();
    await send("PUT", "brands.json", { ID: id, Name: "Two" });
    await send("PUT", "brands.json", { ID: id, Name: "Three" });
    await workspace.mustRun(["restore-record", "--site", "main", "brands", String(id)]);
    expect(await nameOf(id)).toBe("Two");
    await workspace.mustRun(["restore-record", "--site", "main", "brands", String(id), "--revision", String(revision)]);
    expect(await nameOf(id)).toBe("One");
    const again = await workspace.run([
      "restore-record",
      "--site",
      "main",
      "brands",
      String(id),
      "--revision",
      `${revision}`,
    ]);
    expect(again.stderr).toContain("nothing changed: the record already has this content");
  });

  test("prints the fields this version of the program declares, even if another version stored the record", async () => {
    const id = await create("Old");
    const { ID: _, ...declared } = await bodyOf(await send("GET", `brands/${id}.json`));
    const database = openSqliteFile(workspace.database);
    database.run("update journal set body = ? where resource = 'brand' and id = ?", [
      JSON.stringify({ ID: id, Colour: "red", Name: "Old" }),
      id,
    ]);
    database.close();
    await send("PUT", "brands.json", { ID: id, Name: "New" });
    const out = await workspace.mustRun(["restore-record", "--site", "main", "brands", String(id)]);
    expect(out.trim()).toBe(JSON.stringify({ ID: id, ...declared }));
  });

  test("says why it can't restore a record", async () => {
    const id = String(await create("New"));
    const revision = await lastRevision();
    const run = async (...args: string[]) => {
      const { code, stderr } = await workspace.run(["restore-record", "--site", "main", ...args]);
      return `${code} ${stderr.trim()}`;
    };
    expect(await run("brands", id)).toBe(
      `1 storefront: the brand ${id} hasn't changed since it was created, so there's no earlier version`,
    );
    expect(await run("brands", "99999")).toBe("1 storefront: the journal has no brand 99999");
    expect(await run("brands", id, "--revision", "1")).toContain(`the journal has no brand ${id} up to revision 1`);
    await send("DELETE", `brands/${id}.json`);
    expect(await run("brands", id, "--revision", String(revision + 1))).toContain("it was deleted at");
    expect(await run("brands", "0")).toMatch(/^2 .*IDs are whole numbers/);
    expect(await run("brands", id, "--revision", "x")).toMatch(/^2 .*whole number/);
  });
});
