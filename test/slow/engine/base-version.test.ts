// The base version (commit 271c903): its databases and its backups, in the folder `base-version`, are opened, checked, backed up and restored.
// An older commit (c58fcee) made these databases, with the sites shop and garden. The base version then opened them, added the sites market and empty,
// and added and removed a fifth site. A database that only the older commit has opened is rejected.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readConfig } from "../../../src/config.ts";
import type { DumpedRow } from "../../../src/model/engine.ts";
import { backUp, checkBackup, restore } from "../../../src/operator/backup/backup.ts";
import { readEntries } from "../../../src/operator/journal/journal-entries.ts";
import { restoreRecord } from "../../../src/operator/journal/restore-record.ts";
import { undo } from "../../../src/operator/journal/undo.ts";
import { findSession } from "../../../src/operator/operators/sessions.ts";
import { exportSite } from "../../../src/operator/site-files/export-site.ts";
import { importSite } from "../../../src/operator/site-files/import-site.ts";
import { removeSite } from "../../../src/operator/sites/site-removal.ts";
import { getSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { brand } from "../../../src/resources/brand.ts";
import { type Running, start } from "../../../src/start.ts";
import { lastOfBase } from "../../../src/store/database/schema-versions.ts";
import { openEngine } from "../../../src/store/open.ts";
import { readSystemRecords } from "../../../src/system/read-system-records.ts";
import { type EngineKind, engines } from "../../support/engine/engines.ts";
import { type CallOptions, call } from "../../support/http/server.ts";

const fileOf = (name: string) => fileURLToPath(new URL(`../../base-version/${name}`, import.meta.url));
const textOf = (name: string) => readFileSync(fileOf(name), "utf8");
const failed = (work: Promise<unknown>) => work.catch((error) => error);

const keys = {
  shop: "sfk_HxKxlPdNcTb6vO1LNr7qG4YDkeV4kXFTMxgQ446Fnq",
  revoked: "sfk_3KTJkAmwZzaexYFvtcwZ5TE5VwpQMhdjsGKE10KVIF",
  garden: "sfk_uM3lq0ZbCY5ocZoNqKm0T6uuh86BCZIwTYFg0PI022",
  market: {
    SQLite: "sfk_r0i3PHXLPvILB5BtAbpIqM9mmUkKZcGFEvWS1IbU9P",
    PostgreSQL: "sfk_chcuOFldMntxc0Lcve3uJQabcrjNSznyiGBJ07YZ7c",
  },
};

/** The rows of `sites` for the sites whose counts the older commit has not stored. */
const completed = [
  { id: 1, floor: 0, last_at: 1795317521467, live_revision: 12 },
  { id: 2, floor: 0, live_revision: 2 },
  { id: 3, floor: 2, live_revision: 10 },
];
const counts = {
  brand: { count: 3, revision: 12 },
  "order-status": { count: 1, revision: 8 },
  location: { count: 2, revision: 10 },
};

describe.each(engines)("on $name", (kind) => {
  let folder: string;
  let server: Running;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "storefront-base-"));
    await kind.open();
  });
  afterAll(async () => {
    await kind.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const request = (method: string, path: string, options: CallOptions = {}) =>
    call(`${server.url}/restapi/${path}`, method, { key: keys.shop, ...options });
  const garden = { key: keys.garden, headers: { Host: "garden.example" } };
  const market = {
    key: keys.market[kind.name as keyof typeof keys.market],
    headers: { Host: "market.example" } as Record<string, string>,
  };
  const names = async (path: string, options?: CallOptions) =>
    (await request("GET", path, options)).json.map(({ ID, Name }: { ID: number; Name: string }) => [ID, Name]);
  const total = async (path: string, options?: CallOptions) =>
    (await request("GET", `${path}?limit=1`, options)).headers.get("X-Total-Count");
  const startOn = async (url: string) => {
    server = await start(readConfig({ PORT: "0", LOG: "silent", ADMIN: "none", DATABASE: url }));
  };

  /** Expects the data of the base version, complete. */
  async function expectAll(): Promise<void> {
    const rows: DumpedRow["row"][] = [];
    for await (const { table, row } of server.engine.dump()) if (table === "sites") rows.push(row);
    expect(rows.filter(({ id }) => [1, 2, 3].includes(Number(id)))).toMatchObject(completed);
    expect(JSON.parse(String(rows.find(({ id }) => id === 1)?.live))).toEqual(counts);
    expect(await total("brands.json")).toBe("3");
    expect(await names("brands.json")).toEqual([
      [1, "Acme"],
      [2, "Bolt GmbH"],
      [3, "Line\nbreak"],
    ]);
    expect(await names("brands.json", garden)).toEqual([[1, "Rose 2"]]);
    expect(await names("locations.json", market)).toEqual([
      [1, "Ulm"],
      [2, "Köln"],
    ]);
    const webhooks = await server.engine.readWebhookStates();
    expect(webhooks.map(({ webhook, site, resumes }) => [webhook, site, resumes])).toEqual([
      [1, 3, 0],
      [2, 4, 0],
    ]);
    expect(await server.engine.findInconsistencies()).toEqual([]);
  }

  describe("a database of the base version", () => {
    let url: string;
    beforeEach(async () => {
      url = await baseDatabase(kind);
      await startOn(url);
    });
    afterEach(() => server.stop());

    test("has its records, keys, counts and webhooks, and the tables of a new database", async () => {
      await expectAll();
      expect((await request("GET", "brands.json", { key: keys.revoked })).status).toBe(401);
      expect((await request("GET", "brands.json", { key: keys.garden })).status).toBe(403);
      const empty = await kind.newEmptyDatabase();
      await (await openEngine(empty, allResources)).close();
      expect(await columnsIn(kind, url)).toEqual(await columnsIn(kind, empty));
    });

    test("keeps its sessions and links: an operator who was signed in is signed in", async () => {
      const [secret, at] = ["x".repeat(32), Date.now()];
      await server.stop();
      url = await baseDatabase(kind);
      const digest = Bun.SHA256.hash(secret, "hex");
      const values = `('${digest}', 'session', 1, ${at + 60_000})`;
      await kind.run(url, `insert into credentials (digest, kind, operator_id, expires_at) values ${values}`);
      await startOn(url);
      const { engine } = server;
      const found = await findSession(engine, await readSystemRecords(engine), secret, at);
      expect(found).toMatchObject({ operator: { ID: 1 }, expiresAt: at + 60_000 });
    });

    test("is upgraded by one of two processes that open it at once", async () => {
      const another = await baseDatabase(kind);
      const opened = await Promise.all([1, 2].map(() => openEngine(another, allResources)));
      for (const engine of opened) expect(await engine.findInconsistencies()).toEqual([]);
      for (const engine of opened) await engine.close();
    });

    test("gives the stored response to a repeated request, and uses no ID twice", async () => {
      const body = '{"Name":"Acme","Address":{"Town":"Ulm"}}';
      const headers = { ...market.headers, "Idempotency-Key": "order-1" };
      const repeated = await request("POST", "brands.json", { ...market, headers, body });
      expect([repeated.status, repeated.headers.get("Idempotency-Replayed"), repeated.json.ID]).toEqual([
        201,
        "true",
        1,
      ]);
      expect((await request("POST", "brands.json", { ...market, body: { Name: "New" } })).json.ID).toBe(4);
      expect((await request("POST", "orderstatuses.json", { body: { Name: "New" } })).json.ID).toBe(3);
      expect(await server.engine.findInconsistencies()).toEqual([]);
    });

    test("has its history: changes are undone and a record is restored", async () => {
      const { engine } = server;
      const { ID } = await getSite(engine, "market");
      const [first] = await Array.fromAsync(readEntries(engine, ID));
      expect(first).toMatchObject({ revision: 3, operation: "update" });
      expect(await undo(engine, ID, { since: 2, until: 3 }, { at: Date.now() })).toMatchObject({ restored: 1 });
      expect((await request("GET", "brands/1.json", market)).json.AccountNumber).toBe("");
      await restoreRecord(engine, ID, brand, 3, undefined, Date.now());
      expect((await request("GET", "brands/3.json", market)).json.Name).toBe("Cora");
      expect(await engine.findInconsistencies()).toEqual([]);
    });

    test("has entries of the older commit: a restore is an update, and an update cannot be undone", async () => {
      const { engine } = server;
      expect(await engine.readChangesSince(1, 10, { limit: 1 })).toMatchObject([{ operation: "update", id: 3 }]);
      const lacks = (revision: number) => ({
        code: "not-found",
        message: expect.stringContaining(`entry ${revision} of the journal lacks the record before the change`),
      });
      expect(await failed(undo(engine, 1, { since: 3, until: 4 }, { at: 1 }))).toMatchObject(lacks(4));
      expect(await failed(restoreRecord(engine, 1, brand, 2, undefined, 1))).toMatchObject(lacks(4));
      await restoreRecord(engine, 1, brand, 2, 3, Date.now());
      expect((await request("GET", "brands/2.json")).json.Name).toBe("Bolt & Söhne");
      expect(await undo(engine, 1, { since: 8, until: 10 }, { at: Date.now() })).toMatchObject({ deleted: 2 });
    });

    test("can be moved as a site", async () => {
      const file = join(folder, `${kind.name}.site`);
      await exportSite(server.engine, "garden", file, Date.now());
      await removeSite(server.engine, "garden", Date.now());
      const { site } = await importSite(server.engine, file, { now: Date.now });
      expect(site.ID).toBe(6);
      expect(await names("brands.json", garden)).toEqual([[1, "Rose 2"]]);
      expect(await server.engine.findInconsistencies()).toEqual([]);
    });

    test("is backed up, with all that the base version requires of a backup", async () => {
      const made = join(folder, `${kind.name}.backup`);
      await backUp(server.engine, made, Date.now());
      const [earlier, present] = [contentsOf(backupOf(kind)), contentsOf(made)];
      expect(present.header).toMatchObject(earlier.header);
      expect([...present.columns.keys()]).toEqual([...earlier.columns.keys()]);
      for (const [table, columns] of earlier.columns)
        expect(present.columns.get(table)).toEqual(expect.arrayContaining(columns));
      await server.stop();
      await startOn(await kind.newEmptyDatabase());
      await restore(server.engine, made, join(folder, "none"), Date.now());
      await expectAll();
    });
  });

  test("a backup of the base version is checked and restored, and complete then", async () => {
    const file = backupOf(kind);
    expect(await checkBackup(file, () => {})).toEqual([]);
    await startOn(await kind.newEmptyDatabase());
    await restore(server.engine, file, join(folder, "none"), Date.now());
    await expectAll();
    // With an empty epoch, a webhook of a new site would accept every epoch of its site.
    for (const { epoch } of await server.engine.readWebhookStates()) expect(epoch).not.toBe("");
    await server.stop();
  });

  test("a site file with a row of the older commit is imported, and complete then", async () => {
    const engine = await openEngine(await kind.newDatabase(), allResources);
    const rows = await rowsOfSite(backupOf(kind), 1);
    await engine.importSiteRows(1, rows);
    const [row] = await Array.fromAsync(engine.dump(1));
    expect(row?.row).toMatchObject(completed[0] as object);
    expect(await engine.readChangesSince(1, 10, { limit: 1 })).toMatchObject([{ operation: "update", id: 3 }]);
    expect(await engine.findInconsistencies()).toEqual([]);
    await engine.close();
  });

  test("a database that only an older commit has opened is rejected with its name, and unchanged", async () => {
    const url = await kind.newEmptyDatabase();
    await kind.run(url, textOf(`older-${kind.name.toLowerCase()}.sql`));
    const before = await columnsIn(kind, url);
    expect(await failed(openEngine(url, allResources))).toMatchObject({
      code: "unavailable",
      message: `the database at ${nameIn(url)} was made by a version of Storefront before its first release (sites.live_revision is missing): open it once with commit 271c903, then start this version`,
    });
    expect(await columnsIn(kind, url)).toEqual(before);
  });

  test.each(
    lastOfBase.map((one) => [`${one.table}.${one.column}`, one] as const),
  )("a database without %s is rejected", async (name, { table, column }) => {
    const url = await kind.newDatabase();
    await (await openEngine(url, allResources)).close();
    await kind.run(url, `alter table ${table} drop column ${column}`);
    const message = expect.stringContaining(`(${name} is missing)`);
    expect(await failed(openEngine(url, allResources))).toMatchObject({ code: "unavailable", message });
    expect(await failed(openEngine(url, allResources, { orReadOnly: true }))).toMatchObject({ message });
  });
});

const backupOf = (kind: EngineKind) => fileOf(`${kind.name.toLowerCase()}.backup`);

/** A new database with the tables and rows of the base version. Its responses for idempotency keys are of this moment, not expired. */
async function baseDatabase(kind: EngineKind): Promise<string> {
  const url = await kind.newEmptyDatabase();
  await kind.run(url, textOf(`${kind.name.toLowerCase()}.sql`));
  await kind.run(url, `update idempotency set at = ${Date.now()}`);
  return url;
}

/** The name of a database in messages. */
function nameIn(url: string): string {
  if (url.startsWith("sqlite:")) return url.replace("sqlite:", "");
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/** Each column of each table, with its type and whether it may be null. */
function columnsIn(kind: EngineKind, url: string): Promise<unknown[]> {
  const isSqlite = kind.name === "SQLite";
  return kind.select(
    url,
    isSqlite
      ? `select tables.name as tbl, columns.name, columns.type, "notnull", pk from sqlite_master as tables, pragma_table_info(tables.name) as columns
where tables.type = 'table' and tables.name <> 'last_backup' order by 1, cid`
      : `select table_name, column_name, data_type, is_nullable from information_schema.columns join information_schema.tables using (table_schema, table_name)
where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'last_backup' order by table_name, ordinal_position`,
  );
}

/** The header of a backup without its time, and the columns that the rows of each table have. */
function contentsOf(file: string) {
  const [{ made, ...header }, ...rows] = linesOf(file).slice(0, -1);
  const columns: [string, string[]][] = rows.map(([table, row]) => [table, Object.keys(row)]);
  return { header, columns: new Map(columns) };
}

/** The rows of a site in a backup, in the order of `Engine.importSiteRows`: the row of `sites` comes last. */
async function* rowsOfSite(file: string, site: number): AsyncGenerator<DumpedRow> {
  const rows: DumpedRow[] = linesOf(file)
    .slice(1, -1)
    .map(([table, row]) => ({ table, row }));
  yield* rows.filter(({ row }) => row.site_id === site);
  yield* rows.filter(({ table, row }) => table === "sites" && row.id === site);
}

// biome-ignore lint/suspicious/noExplicitAny: the lines of a backup: a header, rows and an end
function linesOf(file: string): any[] {
  const text = new TextDecoder().decode(Bun.gunzipSync(readFileSync(file)));
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}
