// The commands `journal`, `restore-record`, `backup`, `restore` and `check`.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { systemSite } from "../../src/model/system-site.ts";
import { readEntries as journalOf } from "../../src/operator/journal/journal-entries.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { fetchWithKey, openWorkspace, type Served, type Workspace } from "../support/programs/command.ts";
import { dataOf } from "../support/programs/command-data.ts";
import { waitUntil } from "../support/time.ts";

let workspace: Workspace;
let server: Served;
let key: string;
beforeAll(async () => {
  workspace = openWorkspace();
  await workspace.data.addSite("main", { isDefault: true });
  key = await workspace.data.addKey("main");
  server = await workspace.serve(["--rate", "0"]);
});
afterAll(() => workspace.close());

const send = async (method: string, path: string, body?: unknown) => {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  return fetchWithKey(`${server.url}/restapi/${path}`, key, init);
};
const create = async (Name: string) => (await bodyOf(await send("POST", "brands.json", { Name }))).ID;
const nameOf = async (id: number) => (await bodyOf(await send("GET", `brands/${id}.json`))).Name;
const bodyOf = async (response: Response) => (await response.json()) as { ID: number; Name: string };
const journal = async (...args: string[]) =>
  (await workspace.mustRun(["journal", "--site", "main", "--json", ...args]))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

/** Returns the revision of the last change. */
const lastRevision = () => workspace.data.use(async (engine) => (await engine.readHeads([1]))[0]?.revision as number);

describe("journal", () => {
  test("lists the changes since a revision, with the key that made them", async () => {
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

  test("--follow prints the writes of a server as they happen", async () => {
    const revision = await lastRevision();
    const following = workspace.start(["journal", "--site", "main", "--follow", "--since", `${revision}`]);
    await create("While you watch");
    await following.until(/create\tbrand\t\d+\t"While you watch"/);
    await create("And again");
    await following.until(/"And again"\n/);
    following.kill("SIGINT");
    await following.exited;
  });

  test("--follow starts again after a restore of the database, and ends when the site is removed", async () => {
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
    expect(await ids("--actor", "operator:anna")).toEqual(["create 1", "create 2"]);
    expect(await ids("--run", run, "--id", "1")).toEqual(["create 1"]);
    const [{ at }] = await journal("--since", String(revisions.first), "--id", "2", "--resource", "locations");
    expect(await ids("--since", at, "--resource", "locations", "--actor", "operator:anna")).toContain("create 2");
    expect(await journal("--since", "2999-01-01")).toEqual([]);
    expect((await journal("--since", "1h")).length).toBe(await lastRevision());
    for (const bad of ["yesterday", "2026-13-01", "2026-02-30", "2026-04-31T12:00Z", "5x"])
      expect((await workspace.run(["journal", "--site", "main", "--since", bad])).code).toBe(2);
    expect((await workspace.run(["journal", "--site", "main", "--resource", "brand-new"])).code).toBe(2);
  });

  test("ends at a revision or a time with --until, and prints CSV with a header", async () => {
    await workspace.data.load("main", "brands", 'ID,Name\n901,"Late, ""one"""\n902,Later\n');
    const all = await journal();
    const [first, second] = all.slice(-2);
    expect(await journal("--until", String(first.revision))).toEqual(all.slice(0, -1));
    expect(await journal("--since", String(first.revision), "--until", second.at)).toEqual([second]);
    expect(await journal("--since", String(first.revision), "--until", "1h")).toEqual([]);
    const csv = await workspace.mustRun(["journal", "--site", "main", "--since", String(first.revision - 1), "--csv"]);
    const [, run = ""] = /,(\w{8})\r\n$/.exec(csv) ?? [];
    expect(csv.split("\r\n")).toEqual([
      "revision,time,actor,operation,resource,id,name,run",
      `${first.revision},${first.at},${first.actor},create,brand,901,"Late, ""one""",${run}`,
      `${second.revision},${second.at},${second.actor},create,brand,902,Later,${run}`,
      "",
    ]);
    for (const wrong of [
      ["--csv", "--json"],
      ["--follow", "--until", "5"],
      ["--until", "2026-02-30"],
    ])
      expect((await workspace.run(["journal", "--site", "main", ...wrong])).code).toBe(2);
  });

  test("--system shows the changes to sites and keys, without digests", async () => {
    await workspace.mustRun(["key", "create", "--site", "main", "--label", "till", "--as", "anna"]);
    const lines = (
      await workspace.mustRun(["journal", "--system", "--json", "--resource", "keys", "--actor", "operator:anna"])
    ).trim();
    expect(JSON.parse(lines)).toMatchObject({ resource: "key", operation: "create", record: { Label: "till" } });
    expect(lines).not.toContain("Digest");
    for (const wrong of [[], ["--site", "main", "--system"]])
      expect((await workspace.run(["journal", ...wrong])).stderr).toContain("choose --site <name> or --system");
  });

  test("prune deletes old entries of one site, of all sites, or of the system site", async () => {
    const database = `sqlite:${workspace.file("pruned.db")}`;
    const run = (...args: string[]) => workspace.run([...args, "--database", database]);
    const data = dataOf(database);
    /** Returns the first revision of the journals of the system site and of both sites. */
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
    expect((await run("journal", "--site", "one", "--since", "0")).stderr).toContain("begins with revision 2");
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

  test("escapes control characters in names, so that they cannot control the terminal", async () => {
    await create("\u009b31m red");
    expect(await workspace.mustRun(["journal", "--site", "main"])).toContain("\\u009b31m red");
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

  test("restores the state of a record before its last change, or at a revision", async () => {
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
    expect(again.stderr).toContain("nothing changed: the record is in this state already");
  });

  test("prints the fields that this program version declares, also if another version stored the record", async () => {
    const id = await create("Old");
    const { ID: _, ...declared } = await bodyOf(await send("GET", `brands/${id}.json`));
    const database = new Database(workspace.database.slice("sqlite:".length));
    database.run("update journal set body = ? where resource = 'brand' and id = ?", [
      JSON.stringify({ ID: id, Colour: "red", Name: "Old" }),
      id,
    ]);
    database.close();
    await send("PUT", "brands.json", { ID: id, Name: "New" });
    const out = await workspace.mustRun(["restore-record", "--site", "main", "brands", String(id)]);
    expect(out.trim()).toBe(JSON.stringify({ ID: id, ...declared }));
  });

  test("prints the reason if it cannot restore a record", async () => {
    const id = String(await create("New"));
    const revision = await lastRevision();
    const run = async (...args: string[]) => {
      const { code, stderr } = await workspace.run(["restore-record", "--site", "main", ...args]);
      return `${code} ${stderr.trim()}`;
    };
    expect(await run("brands", id)).toBe(`1 storefront: the brand ${id} has not changed since it was created`);
    expect(await run("brands", "99999")).toBe("1 storefront: the journal has no brand 99999");
    expect(await run("brands", id, "--revision", "1")).toContain(`the journal has no brand ${id} up to revision 1`);
    await send("DELETE", `brands/${id}.json`);
    expect(await run("brands", id, "--revision", String(revision + 1))).toContain("it was deleted at");
    expect(await run("brands", "0")).toMatch(/^2 .*whole number from 1/);
    expect(await run("brands", id, "--revision", "x")).toMatch(/^2 .*whole number/);
  });
});

describe("backup and restore", () => {
  /** Returns all records and the journal of the site. */
  const dump = (database: string) =>
    dataOf(database).use(async (engine) => {
      const { rows } = await readAllRows(engine, 1);
      const entries = await Array.fromAsync(journalOf(engine, 1));
      return { records: [...rows], entries };
    });

  test("a backup during writes contains the data as of one moment", async () => {
    let isWriting = true;
    const writing = (async () => {
      for (let n = 0; isWriting; n++) await create(`During the backup ${n}`);
    })();
    const file = workspace.file("during.backup");
    await workspace.mustRun(["backup", file]);
    isWriting = false;
    await writing;
    const other = `sqlite:${workspace.file("other.db")}`;
    await workspace.mustRun(["restore", file, "--database", other]);
    expect(await dataOf(other).check()).toEqual([]);
    const [backedUp, now] = [await dump(other), await dump(workspace.database)];
    const last = backedUp.entries.at(-1)?.revision as number;
    expect(now.entries.slice(0, backedUp.entries.length)).toEqual(backedUp.entries);
    expect(now.records.filter(({ revision }) => revision <= last)).toEqual(backedUp.records);
    expect(existsSync(`${file}.part`)).toBe(false);
  });

  test("a restored backup has the same records, keys and journal", async () => {
    const file = workspace.file("same.backup");
    await workspace.mustRun(["backup", file]);
    const other = `sqlite:${workspace.file("same.db")}`;
    await workspace.mustRun(["restore", file, "--database", other]);
    expect(await dump(other)).toEqual(await dump(workspace.database));
    const copy = await workspace.serve(["--database", other]);
    expect((await fetchWithKey(`${copy.url}/restapi/brands.json`, key)).status).toBe(200);
    copy.kill();
    await copy.exited;
  });

  test("after a restore into its database, a running server reads the restored data, and old ETags do not match", async () => {
    const id = await create("Before the backup");
    const file = workspace.file("live.backup");
    await workspace.mustRun(["backup", file]);
    const etag = (await send("GET", `brands/${id}.json`)).headers.get("ETag") as string;
    await send("PUT", "brands.json", { ID: id, Name: "After the backup" });
    const { stderr } = await workspace.run(["restore", file]);
    const read = await fetchWithKey(`${server.url}/restapi/brands/${id}.json`, key, {
      headers: { "If-None-Match": etag },
    });
    expect([read.status, (await bodyOf(read)).Name]).toEqual([200, "Before the backup"]);
    expect(read.headers.get("ETag")).not.toBe(etag);
    const kept = /the previous content is in (\S+)/.exec(stderr)?.[1] as string;
    await workspace.mustRun(["restore", kept]);
    expect(await nameOf(id)).toBe("After the backup");
  });

  test("every write during a restore is in the kept file or in the restored database", async () => {
    const file = workspace.file("keep.backup");
    await workspace.mustRun(["backup", file]);
    const created: number[] = [];
    let isWriting = true;
    const writing = (async () => {
      while (isWriting) {
        const response = await send("POST", "brands.json", { Name: "Unlucky" });
        if (response.status === 201) created.push((await bodyOf(response)).ID);
      }
    })();
    await waitUntil(() => created.length > 20, "some writes");
    const { stderr } = await workspace.run(["restore", file]);
    const kept = /the previous content is in (\S+)/.exec(stderr)?.[1] as string;
    isWriting = false;
    await writing;
    const text = gunzipSync(readFileSync(kept)).toString();
    const ids = new Set(
      [...text.matchAll(/"table|\["records",\{"site_id":1,"resource":"brand","id":(\d+)/g)].map((m) => Number(m[1])),
    );
    for (const { ID } of await workspace.data.brands("main")) ids.add(ID);
    expect(created.filter((id) => !ids.has(id))).toEqual([]);
  });

  const damages: [string, (bytes: Buffer) => Uint8Array][] = [
    ["cut short", (bytes) => bytes.subarray(0, bytes.length - 40)],
    [
      "cut short at the end of a line",
      (bytes) => gzipSync(gunzipSync(bytes).toString().split("\n").slice(0, -3).join("\n")),
    ],
    ["altered", (bytes) => gzipSync(gunzipSync(bytes).toString().replace("Before", "Behind"))],
    ["with a flipped bit", (bytes) => bytes.with(bytes.length >> 1, (bytes[bytes.length >> 1] as number) ^ 1)],
    [
      "of a newer program",
      (bytes) => gzipSync(gunzipSync(bytes).toString().replace('"storefront":1', '"storefront":2')),
    ],
    ["that is something else", () => Buffer.from("something else")],
    ["that is empty", () => Buffer.alloc(0)],
  ];
  test.each(damages)("a backup %s is rejected, and nothing is changed", async (_, damage) => {
    const good = workspace.file("good.backup");
    if (!existsSync(good)) await workspace.mustRun(["backup", good]);
    const before = await dump(workspace.database);
    writeFileSync(workspace.file("bad.backup"), damage(readFileSync(good)));
    const { code, stderr } = await workspace.run(["restore", workspace.file("bad.backup")]);
    expect([code, stderr.trim().split("\n").length]).toEqual([1, 1]);
    expect(stderr).toContain("bad.backup cannot be restored: ");
    expect(await dump(workspace.database)).toEqual(before);
    expect(readdirSync(workspace.folder).filter((name) => name.startsWith("bad.backup."))).toEqual([]);
  });

  test("a backup that cannot be written is an error", async () => {
    const { code, stderr } = await workspace.run(["backup", workspace.file("nowhere/x.backup")]);
    expect([code, stderr.trim().split("\n").length]).toEqual([1, 1]);
    const full = await workspace.run(["backup", "/dev/full"]);
    if (process.platform === "linux") expect(full.stderr).toMatch(/cannot write \/dev\/full: ENOSPC/);
    else expect(full.code).toBe(1);
  });
});

describe("check", () => {
  let path: string;
  let copies = 0;
  beforeAll(async () => {
    await create("Checked");
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

  test("finds nothing in a database without damage", async () => {
    const { code, stdout, stderr } = await workspace.run(["check", "--database", `sqlite:${path}`]);
    expect([code, stdout, stderr]).toEqual([0, "", "no faults found\n"]);
  });

  const last = "(select max(id) from records where site_id = 1 and resource = 'brand')";
  const damages: [string, string, RegExp][] = [
    [
      "a changed record",
      `update records set body = json_set(body, '$.Name', 'X') where site_id = 1 and id = ${last}`,
      /differs from its entry/,
    ],
    [
      "a record that is not JSON",
      `update records set body = '{' where site_id = 1 and id = ${last}`,
      /is damaged: its text is not that record's/,
    ],
    [
      "a missing record",
      `delete from records where site_id = 1 and resource = 'brand' and id = ${last}`,
      /is in the journal and nowhere else/,
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
    ["a missing journal", "delete from journal where site_id = 1", /site 1: the journal lacks the entries 1 to/],
    [
      "a journal that lacks its last entry",
      "delete from journal where site_id = 1 and revision = (select revision from sites where id = 1)",
      /site 1: the journal lacks entry/,
    ],
    [
      "a counter that is too low",
      `update sites set counters = json_set(counters, '$.brand', 1) where id = 1`,
      /has an ID above the last assigned ID/,
    ],
    [
      "counters that are not valid JSON",
      "update sites set counters = 'x' where id = 1",
      /site 1 is damaged: its counters/,
    ],
    ["a missing row of a site", "delete from sites where id = 1", /belongs to no site/],
  ];
  test.each(damages)("finds %s", async (_, sql, fault) => {
    const database = new Database(path);
    database.run(sql);
    database.close();
    expect((await dataOf(`sqlite:${path}`).check()).join("\n")).toMatch(fault);
  });

  test("prints the inconsistencies, and exits with 1", async () => {
    const [, sql, fault] = damages[0] as (typeof damages)[number];
    const database = new Database(path);
    database.run(sql);
    database.close();
    const { code, stdout, stderr } = await workspace.run(["check", "--json", "--database", `sqlite:${path}`]);
    expect([code, stderr]).toEqual([1, "faults found: 1\n"]);
    expect(JSON.parse(stdout).faults).toEqual([expect.stringMatching(fault)]);
  });
});
