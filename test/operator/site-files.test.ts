// A file with one site: each engine imports it completely, and rejects one that isn't exactly as `export-site` wrote it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { DumpedRow, Engine } from "../../src/model/engine.ts";
import { systemSite } from "../../src/model/system-site.ts";
import { backUp, restore } from "../../src/operator/backup/backup.ts";
import { exportSite } from "../../src/operator/site-files/export-site.ts";
import { importSite } from "../../src/operator/site-files/import-site.ts";
import { createKey, listKeys, rotateKey } from "../../src/operator/sites/keys.ts";
import { completeRemovals, removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite, getSite, listSites, setSite } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { engines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";

const now = Date.parse("2026-01-31T12:00:00Z");
const minute = 60_000;

const folder = mkdtempSync(join(tmpdir(), "storefront-site-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Adds the site `shop` with two changed brands, a deleted location, a response for an idempotency key, and four keys, one of which replaced another. */
async function addShop(engine: Engine): Promise<void> {
  const settings = { hostnames: ["shop.example", "www.shop.example"], isDefault: true };
  const site = await createSite(engine, "shop", settings, now);
  const { record } = await createKey(engine, site, { label: "till", rate: 5 }, now);
  await createKey(engine, site, { rights: ["read"], expiresAt: now + minute }, now);
  const lost = await createKey(engine, site, { label: "lost" }, now);
  await rotateKey(engine, lost.record.Prefix, 0, now);
  await engine.saveKeyUses(new Map([[record.ID, now + 5]]));
  const at = (time: number) => ({ site: site.ID, at: now + time });
  await engine.commit([
    createIntent({ ...at(1), idempotency: { keyId: record.ID, name: "first", digest: "d" } }),
    createIntent({ ...at(2), values: { Name: "Bolt" } }),
    createIntent({ ...at(3), resource: "location", values: { Name: "Closed" } }),
  ]);
  await engine.commit([
    createIntent({ ...at(4), operation: "update", id: 1, values: { Name: "Zürich \u{1f600}" } }),
    createIntent({ ...at(5), operation: "delete", resource: "location", id: 1, values: {} }),
  ]);
  await engine.commit([
    createIntent({
      ...at(6),
      actor: "sfk_AbCd1234",
      run: "k3J9aZ0q-6-1",
      operation: "update",
      id: 2,
      values: { Name: "Nut" },
    }),
  ]);
}

/** A site's stored rows without what differs in each database: the IDs of the site and its keys, and the epoch. */
async function contentOf(engine: Engine, name: string) {
  const site = await getSite(engine, name);
  const rows: DumpedRow[] = await Array.fromAsync(engine.dump(site.ID));
  const keys = (await listKeys(engine, site)).map(({ ID: _, Site: __, ...key }) => key);
  const ownRows = rows.map(({ table, row: { id, site_id: _, epoch: __, key_id: ___, ...row } }) => [
    table,
    table === "sites" ? row : { ...row, id },
  ]);
  return { rows: ownRows, keys, hostnames: site.Hostnames };
}

const recordsAndJournalOf = async (engine: Engine, name: string) =>
  (await contentOf(engine, name)).rows.filter(([table]) => table === "records" || table === "journal");

const epochOf = async (engine: Engine, site: number) => (await engine.readHeads([site]))[0]?.epoch;

const importFile = (engine: Engine, file: string, options: Partial<Parameters<typeof importSite>[2]> = {}) =>
  importSite(engine, file, { now: () => now, ...options });

describe.each(engines)("site file on $name", (kind) => {
  let shop: Engine;
  let file: string;
  beforeAll(async () => {
    await kind.open();
    shop = await openEngine(await kind.newDatabase(), allResources);
    await addShop(shop);
    file = join(folder, `${kind.name}.site`);
    await exportSite(shop, "shop", file, now);
  });
  afterAll(async () => {
    await shop.close();
    await kind.close();
  });

  const openEmpty = async () => openEngine(await kind.newDatabase(), allResources);

  test("import-site imports everything, under a new epoch", async () => {
    const engine = await openEmpty();
    await createSite(engine, "first", {}, now);
    const imported = await importFile(engine, file);
    const { site, ...counts } = imported;
    expect(counts).toEqual({
      keys: 4,
      webhooks: 0,
      records: 3,
      changes: 6,
      takenHostnames: [],
      takenKeys: [],
      takenDefault: false,
      restrictedKeys: [],
      omittedWebhooks: [],
      restrictedWebhooks: [],
      staysSuspended: false,
    });
    expect(site).toMatchObject({ ID: 2, Name: "shop", Default: "yes", Importing: "" });
    expect(await contentOf(engine, "shop")).toEqual(await contentOf(shop, "shop"));
    expect(await epochOf(engine, 2)).not.toBe(await epochOf(shop, 1));
    expect(await engine.findInconsistencies()).toEqual([]);
    await engine.close();
  });

  test("an imported site replays the responses for its idempotency keys, and reuses no ID", async () => {
    const engine = await openEmpty();
    const { site } = await importFile(engine, file);
    const keyId = (await listKeys(engine, site))[0]?.ID as number;
    const outcomes = await engine.commit([
      createIntent({ site: site.ID, at: now, idempotency: { keyId, name: "first", digest: "d" } }),
      createIntent({ site: site.ID, at: now, resource: "location" }),
    ]);
    expect(outcomes).toMatchObject([
      { kind: "replayed", id: 1 },
      { kind: "done", id: 2 },
    ]);
    await engine.close();
  });

  test("import-site into the same database needs another name, and skips hostnames and keys in use", async () => {
    const engine = await openEmpty();
    await addShop(engine);
    expect(await importFile(engine, file).catch(({ code }) => code)).toBe("conflict");
    await setSite(engine, "shop", { removedHostnames: ["www.shop.example"] }, now);
    const beside = await importFile(engine, file, { name: "copy" });
    expect(beside).toMatchObject({ keys: 4, takenHostnames: ["shop.example"], takenDefault: true });
    expect(beside.site).toMatchObject({ Name: "copy", Hostnames: "www.shop.example", Default: "" });
    const again = await importFile(engine, file, { name: "again" });
    expect(again).toMatchObject({ keys: 0, takenHostnames: ["shop.example", "www.shop.example"] });
    expect(again.takenKeys).toEqual((await listKeys(shop)).map(({ Prefix }) => Prefix));
    const without = await importFile(engine, file, { name: "without", withoutKeys: true });
    expect(without).toMatchObject({ keys: 0, takenKeys: [] });
    expect(await engine.findInconsistencies()).toEqual([]);
    await engine.close();
  });

  test("a site without writes is imported, and stays suspended", async () => {
    const engine = await openEmpty();
    await createSite(engine, "empty", {}, now);
    await setSite(engine, "empty", { isSuspended: true }, now);
    const empty = join(folder, "empty.site");
    await exportSite(engine, "empty", empty, now);
    const { site, ...counts } = await importFile(engine, empty, { name: "second" });
    expect(site.Suspended).not.toBe("");
    expect(counts).toMatchObject({ keys: 0, records: 0, changes: 0 });
    expect((await engine.commit([createIntent({ site: site.ID })]))[0]).toMatchObject({ kind: "done", id: 1 });
    await engine.close();
  });

  test("imports at the same time create one site per name", async () => {
    const engine = await openEmpty();
    const one = await Promise.allSettled([1, 2, 3].map(() => importFile(engine, file)));
    expect(one.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    const names = ["a", "b", "c"];
    await Promise.all(names.map((name) => importFile(engine, file, { name })));
    expect((await listSites(engine)).map(({ Name }) => Name).sort()).toEqual([...names, "shop"]);
    for (const name of names)
      expect(await recordsAndJournalOf(engine, name)).toEqual(await recordsAndJournalOf(shop, "shop"));
    expect(await engine.findInconsistencies()).toEqual([]);
    await engine.close();
  });

  /** Imports all but the file's last row, like a process killed during the import. */
  async function interrupt(engine: Engine): Promise<void> {
    const { promise: never } = Promise.withResolvers<never>();
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const killed: Engine = {
      ...engine,
      async importSiteRows(site, rows) {
        await engine.importSiteRows(site, withoutEnd(rows));
        resolve();
        await never;
      },
    };
    void importFile(killed, file);
    await begun;
  }

  async function* withoutEnd(rows: AsyncIterable<DumpedRow>): AsyncGenerator<DumpedRow> {
    for await (const row of rows) if (row.table !== "sites") yield row;
  }

  test("an interrupted import blocks its name for a minute, then the next command removes it", async () => {
    const engine = await openEmpty();
    await createSite(engine, "stays", {}, now);
    await interrupt(engine);
    expect((await listSites(engine)).map(({ Name, Hostnames }) => [Name, Hostnames])).toEqual([
      ["stays", ""],
      ["shop", ""],
    ]);
    expect(await engine.findInconsistencies()).toEqual([
      expect.stringMatching(/site 2: an `import-site` is in progress or was inter/),
    ]);
    for (const rejected of [
      () => getSite(engine, "shop"),
      () => setSite(engine, "shop", {}, now),
      () => importFile(engine, file),
    ])
      expect(await rejected().catch(({ message }) => message)).toMatch(
        /the site `shop` is still being imported; if the import was interrupted, the first command after 2026-01-31T12:01/,
      );
    expect(await completeRemovals(engine, now + minute - 1)).toEqual([]);
    expect(await completeRemovals(engine, now + minute)).toEqual([
      "removed the site shop, whose import was interrupted",
    ]);
    expect((await listSites(engine)).map(({ Name }) => Name)).toEqual(["stays"]);
    expect(await listKeys(engine)).toEqual([]);
    expect(await engine.findInconsistencies()).toEqual([]);
    expect((await importFile(engine, file)).site.ID).toBe(3);
    await engine.close();
  });

  /** An engine that calls `happen` before it stores an import's first row. */
  function whileImporting(engine: Engine, happen: () => Promise<unknown>): Engine {
    return {
      ...engine,
      async importSiteRows(site, rows) {
        let isFirst = true;
        const watched = async function* () {
          for await (const row of rows) {
            if (isFirst) await happen();
            isFirst = false;
            yield row;
          }
        };
        await engine.importSiteRows(site, watched());
      },
    };
  }

  test("a site removed during its import leaves no rows", async () => {
    const engine = await openEmpty();
    const removing = whileImporting(engine, () => removeSite(engine, "shop", now));
    expect(await importFile(removing, file).catch(({ code }) => code)).toBe("conflict");
    expect(await listSites(engine)).toEqual([]);
    expect(await engine.findInconsistencies()).toEqual([]);
    await engine.close();
  });

  test("an import running during a restore isn't in the restored database, and the next command removes it from the kept data", async () => {
    const engine = await openEmpty();
    await createSite(engine, "restored", {}, now);
    const backup = join(folder, `${kind.name}.backup`);
    const kept = join(folder, `${kind.name}.kept`);
    await backUp(engine, backup, now);
    const meeting = whileImporting(engine, () => restore(engine, backup, kept, now));
    expect(await importFile(meeting, file).catch(({ code }) => code)).toBe("conflict");
    expect((await listSites(engine)).map(({ Name }) => Name)).toEqual(["restored"]);
    expect(await listKeys(engine)).toEqual([]);
    expect(await engine.findInconsistencies()).toEqual([]);
    await restore(engine, kept, join(folder, `${kind.name}.kept-too`), now);
    expect(await completeRemovals(engine, now + minute)).toEqual([
      "removed the site shop, whose import was interrupted",
    ]);
    expect((await listSites(engine)).map(({ Name }) => Name)).toEqual(["restored"]);
    expect(await engine.findInconsistencies()).toEqual([]);
    await engine.close();
  });

  const damages: [string, (rows: DumpedRow[]) => void, RegExp][] = [
    ["without the record of its site", (rows) => rows.splice(1, 1), /it has no site/],
    [
      "with a record that is too long",
      (rows) => edit(rows, "records", { body: brand("x".repeat(256)) }),
      /`Name`: use 255/,
    ],
    ["with a record without its name", (rows) => edit(rows, "records", { body: '{"ID":1}' }), /`Name`/],
    [
      "with a record whose JSON has another ID",
      (rows) => edit(rows, "records", { body: '{"ID":7,"Name":"x"}' }),
      /brand 1: .* damaged/,
    ],
    [
      "with a record that is nested too deep",
      (rows) => edit(rows, "records", { body: `{"ID":1,"Name":"x","X":${"[".repeat(500_000)}${"]".repeat(500_000)}}` }),
      /brand 1: .* damaged/,
    ],
    ["with a record that is a list", (rows) => edit(rows, "records", { body: "[]" }), /brand 1: .* damaged/],
    [
      "with a record that is not canonical JSON",
      (rows) => edit(rows, "records", { body: '{"ID": 1, "Name":"x"}' }),
      /damaged/,
    ],
    [
      "with a record of an unknown resource",
      (rows) => edit(rows, "records", { resource: "theirs" }),
      /doesn't have that resource/,
    ],
    [
      "with a site among the records",
      (rows) => edit(rows, "records", { resource: "site" }),
      /doesn't have that resource/,
    ],
    ["with a record of another site", (rows) => edit(rows, "records", { site_id: 9 }), /belongs to another site/],
    ["with a record of the system site", (rows) => edit(rows, "records", { site_id: 0 }), /it has several sites/],
    [
      "with a record that differs from its journal entry",
      (rows) => edit(rows, "records", { body: brand("Other") }),
      /differs from its journal entry/,
    ],
    ["with a record of a later revision", (rows) => edit(rows, "records", { revision: 99 }), /the count of brand is/],
    ["with an ID of zero", (rows) => edit(rows, "records", { id: 0 }), /its ID or revision is invalid/],
    ["with a record twice", (rows) => rows.splice(6, 0, rows[6] as DumpedRow), /duplicate row/],
    [
      "without a journal entry in the middle",
      (rows) => rows.splice(indexOf(rows, "journal") + 1, 1),
      /the journal lacks entry 2/,
    ],
    [
      "without its last journal entry",
      (rows) => rows.splice(indexOf(rows, "journal") + 5, 1),
      /the journal lacks entry 6/,
    ],
    [
      "with a journal entry of an unknown operation",
      (rows) => edit(rows, "journal", { operation: "x" }),
      /operation is unknown/,
    ],
    ["with an actor that has a line break", (rows) => edit(rows, "journal", { actor: "a\nb" }), /actor is damaged/],
    [
      "with an actor that has a terminal escape",
      (rows) => edit(rows, "journal", { actor: "\u001b[31m" }),
      /actor is damaged/,
    ],
    ["without an actor", (rows) => edit(rows, "journal", { actor: "" }), /actor is damaged/],
    ["with a time that is too large", (rows) => edit(rows, "journal", { at: 9e15 }), /its time is invalid/],
    ["with a run that has a line break", (rows) => edit(rows, "journal", { run: "a\nb" }), /run is damaged/],
    ["with an invalid record before a change", (rows) => edit(rows, "journal", { before: "{}" }), /damaged/],
    [
      "with a counter below an ID",
      (rows) => edit(rows, "sites", { last_ids: '{"brand":1}' }),
      /above the last assigned ID/,
    ],
    [
      "with a counter that is not a number",
      (rows) => edit(rows, "sites", { last_ids: '{"brand":"x"}' }),
      /state of its site/,
    ],
    ["with a revision of zero", (rows) => edit(rows, "sites", { revision: 0 }), /state of its site/],
    [
      "with wrong counts",
      (rows) => edit(rows, "sites", { counts: '{"brand":{"count":7,"revision":6}}' }),
      /the count of/,
    ],
    ["with two sites", (rows) => rows.splice(2, 0, rows[1] as DumpedRow), /it has several sites/],
    ["with two rows of `sites`", (rows) => rows.push(rows[0] as DumpedRow), /there's more than one site/],
    ["with an invalid name", (rows) => edit(rows, "records", { body: '{"ID":1,"Name":"A B"}' }, 1), /`Name`/],
    [
      "with an invalid hostname",
      (rows) => edit(rows, "records", { body: '{"ID":1,"Name":"a","Hostnames":"-x"}' }, 1),
      /Hostnames/,
    ],
    ["with a key without digest", (rows) => editKey(rows, { Digest: "" }), /`Digest`/],
    [
      "with a key whose expiry is not a time",
      (rows) => editKey(rows, { Expires: "9999-99-99T99:99:99.999Z" }),
      /`Expires`: use a time/,
    ],
    [
      "with a suspension that is not a time",
      (rows) => edit(rows, "records", { body: '{"ID":1,"Name":"a","Suspended":"9999-99-99T99:99:99.999Z"}' }, 1),
      /`Suspended`: use a time/,
    ],
    ["with an invalid prefix of a key", (rows) => editKey(rows, { Prefix: "\u001b[31m" }), /`Prefix`/],
    ["with a key of a sandbox", (rows) => editKey(rows, { Prefix: "sfk_test_AbCd1234" }), /`Prefix`.*of a live site/],
    ["with an invalid time of a key's last use", (rows) => edit(rows, "key_uses", { at: -1 }), /an invalid time/],
    [
      "with a table of another version",
      (rows) => rows.push({ table: "webhooks", row: {} }),
      /has rows that this one doesn't know/,
    ],
  ];

  test("a pruned journal is imported, and starts where the original does", async () => {
    const engine = await openEmpty();
    const pruned = join(folder, "pruned.site");
    const rows = rowsIn(file);
    rows.splice(indexOf(rows, "journal"), 2);
    edit(rows, "sites", { floor: 2 });
    writeFileSync(pruned, gzipSync(toText(rows)));
    const { site, changes } = await importFile(engine, pruned);
    expect(changes).toBe(4);
    expect(await engine.readChangesSince(site.ID, 1)).toBeUndefined();
    expect((await engine.readChangesSince(site.ID, 2))?.map(({ revision }) => revision)).toEqual([3, 4, 5, 6]);
    expect(await engine.findInconsistencies()).toEqual([]);
    edit(rows, "sites", { floor: 1 });
    writeFileSync(pruned, gzipSync(toText(rows)));
    expect((await importFile(engine, pruned, { name: "gap" }).catch((error) => error)).message).toMatch(
      /lacks entry 2/,
    );
    await engine.close();
  });

  test("a site is imported as a live one even if its file says it's a sandbox", async () => {
    const engine = await openEmpty();
    await createSite(engine, "first", {}, now);
    const forged = join(folder, "forged.site");
    const rows = rowsIn(file);
    const record = JSON.parse(String(rows[1]?.row.body));
    edit(rows, "records", { body: JSON.stringify({ ...record, SandboxOf: "1" }) }, 1);
    writeFileSync(forged, gzipSync(toText(rows)));
    expect((await importFile(engine, forged)).site).toMatchObject({ Name: "shop", SandboxOf: "" });
    await engine.close();
  });

  test("a damaged file isn't imported, and none of its rows stay", async () => {
    const engine = await openEmpty();
    const bad = join(folder, "bad.site");
    // Rows are checked the same way on every engine, but removing rejected ones depends on the engine.
    const tried = kind === engines[0] ? damages : damages.filter((_, index) => index % 6 === 0);
    for (const [name, damage, reason] of tried) {
      const rows = rowsIn(file);
      damage(rows);
      writeFileSync(bad, gzipSync(toText(rows)));
      const error = await importFile(engine, bad).catch((thrown) => thrown);
      expect([name, error.code, error.message]).toEqual([
        name,
        expect.stringMatching(/^(bad-request|invalid-record)$/),
        expect.stringMatching(reason),
      ]);
      expect([name, await listSites(engine), await listKeys(engine)]).toEqual([name, [], []]);
    }
    writeFileSync(bad, gzipSync(toText(rowsIn(file)).replace('"Nut', '"Not')));
    expect((await importFile(engine, bad).catch((thrown) => thrown)).code).toBe("bad-request");
    expect(await listSites(engine)).toEqual([]);
    expect(await engine.findInconsistencies()).toEqual([]);
    writeFileSync(bad, gzipSync(toText(rowsIn(file))));
    expect((await importFile(engine, bad)).records).toBe(3);
    await engine.close();
  }, 120_000);
});

describe("site file imported by another engine", () => {
  beforeAll(() => Promise.all(engines.map((kind) => kind.open())));
  afterAll(() => Promise.all(engines.map((kind) => kind.close())));

  test.each([
    ["SQLite", "PostgreSQL"],
    ["PostgreSQL", "SQLite"],
  ])("has the same site, from %s to %s", async (from, to) => {
    const open = async (engine: string) =>
      openEngine((await engines.find(({ name }) => name === engine)?.newDatabase()) as string, allResources);
    const [source, target] = [await open(from), await open(to)];
    await addShop(source);
    const file = join(folder, `from-${from}.site`);
    await exportSite(source, "shop", file, now);
    await importFile(target, file);
    expect(await contentOf(target, "shop")).toEqual(await contentOf(source, "shop"));
    expect(await target.findInconsistencies()).toEqual([]);
    await Promise.all([source.close(), target.close()]);
  });
});

function brand(Name: string): string {
  return JSON.stringify({ ID: 1, Name });
}

function rowsIn(file: string): DumpedRow[] {
  const lines = gunzipSync(readFileSync(file)).toString().trim().split("\n").slice(1, -1);
  return lines.map((line) => {
    const [table, row] = JSON.parse(line);
    return { table, row };
  });
}

function toText(rows: readonly DumpedRow[]): string {
  const body = rows.map(({ table, row }) => `${JSON.stringify([table, row])}\n`).join("");
  const sha256 = new Bun.CryptoHasher("sha256").update(body).digest("hex");
  return `{"storefront-site":1}\n${body}${JSON.stringify({ rows: rows.length, sha256 })}\n`;
}

function indexOf(rows: readonly DumpedRow[], table: string): number {
  return rows.findIndex((row) => row.table === table && row.row.site_id !== systemSite);
}

/** Changes a table's first row that isn't the system site's, or the row at `at`. */
function edit(rows: DumpedRow[], table: string, change: DumpedRow["row"], at = indexOf(rows, table)): void {
  rows[at] = { table, row: { ...rows[at]?.row, ...change } };
}

function editKey(rows: DumpedRow[], change: object): void {
  edit(rows, "records", { body: JSON.stringify({ ...JSON.parse(String(rows[2]?.row.body)), ...change }) }, 2);
}
