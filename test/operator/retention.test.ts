// Pruned journals, and what operations make of them.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toMetricsText } from "../../src/lib/metrics.ts";
import type { DumpedRow, Engine } from "../../src/model/engine.ts";
import { systemSite } from "../../src/model/system-site.ts";
import { backUp, restore } from "../../src/operator/backup/backup.ts";
import { copyDatabase } from "../../src/operator/backup/copy.ts";
import { recordEvent } from "../../src/operator/journal/events.ts";
import { readEntries } from "../../src/operator/journal/journal-entries.ts";
import { pruneJournals } from "../../src/operator/journal/prune-journals.ts";
import { restoreRecord } from "../../src/operator/journal/restore-record.ts";
import { undo } from "../../src/operator/journal/undo.ts";
import { createOperator, listOperators, removeOperator } from "../../src/operator/operators/operators.ts";
import { createKey, listKeys, setKey } from "../../src/operator/sites/keys.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { brand } from "../../src/resources/brand.ts";
import { readRevisionBefore } from "../../src/store/changes/journal-pruning.ts";
import { startRetention } from "../../src/store/changes/retention.ts";
import { openEngine } from "../../src/store/open.ts";
import { SiteViews } from "../../src/store/reads/site-views.ts";
import { engines, maxCreatedSite, useEngine } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";
import { loadUpToDate } from "../support/engine/snapshots.ts";
import { waitUntil } from "../support/time.ts";
import { webhookSecret, webhookState } from "../support/webhooks/states.ts";

describe.each(engines)("pruned journal on $name", (kind) => {
  let engine: Engine;
  let url = "";
  let site = maxCreatedSite;
  useEngine({ ...kind, newDatabase: async () => (url = await kind.newDatabase()) }, (opened) => {
    engine = opened;
  });

  const update = (id: number, Name: string, at = 1) =>
    createIntent({ site, operation: "update", id, values: { Name }, at });
  const revisions = async (since?: number) =>
    (await Array.fromAsync(readEntries(engine, site, { since }))).map(({ revision }) => revision);
  const failed = (work: Promise<unknown>) => work.catch((error) => error);
  const rowOf = async (one: Engine) => {
    const rows: DumpedRow[] = await Array.fromAsync(one.dump());
    return rows.find(({ table, row }) => table === "sites" && row.id === site)?.row;
  };
  /** A site with the brands A2, B and C, whose journal starts with revision 4, the update of A. */
  async function makePruned(): Promise<void> {
    site++;
    await engine.commit([createIntent({ site }), createIntent({ site }), createIntent({ site })]);
    await engine.commit([update(1, "A2"), update(2, "B2"), update(1, "A3")]);
    await pruneJournals(engine, [site], { revision: 4 });
  }

  test("starts with the first revision kept, and `check` finds nothing wrong", async () => {
    await makePruned();
    expect(await revisions()).toEqual([4, 5, 6]);
    expect(await revisions(3)).toEqual([4, 5, 6]);
    expect(await failed(revisions(2))).toMatchObject({
      code: "not-found",
      message: "the journal starts at revision 4; older entries have been pruned",
    });
    expect(await engine.readChangesSince(site, 2)).toBeUndefined();
    expect(await engine.readChangesSince(site, 3)).toHaveLength(3);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("keeps its last entry, so that a client that has read everything can continue", async () => {
    await makePruned();
    expect(await pruneJournals(engine, [site], { revision: 1000 })).toEqual([
      { site, deleted: 2, begins: 6, webhooks: [] },
    ]);
    expect(await pruneJournals(engine, [site], { revision: 1000 })).toEqual([
      { site, deleted: 0, begins: 6, webhooks: [] },
    ]);
    expect([await revisions(), await revisions(6), await engine.readChangesSince(site, 6)]).toEqual([[6], [], []]);
    expect(await engine.readChangesSince(site, 4)).toBeUndefined();
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("may be empty after another program pruned it, and continues with the next change", async () => {
    await makePruned();
    await kind.run(url, `delete from journal where site_id = ${site}; update sites set floor = 6 where id = ${site}`);
    expect(await pruneJournals(engine, [site], { revision: 1000 })).toEqual([
      { site, deleted: 0, begins: 7, webhooks: [] },
    ]);
    expect([await revisions(), await revisions(6), await engine.readChangesSince(site, 6)]).toEqual([[], [], []]);
    expect(await engine.readChangesSince(site, 5)).toBeUndefined();
    expect(await engine.findInconsistencies()).toEqual([]);
    await engine.commit([update(3, "C2", 0)]);
    expect(await revisions()).toEqual([7]);
    expect(await engine.readChangesSince(site, 6)).toMatchObject([{ revision: 7, at: 1 }]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("is enough for undo and restore-record from its first entry on, and an error says where it starts", async () => {
    await makePruned();
    expect((await restoreRecord(engine, site, brand, 2, undefined, 1)).kind).toBe("done");
    expect(await failed(restoreRecord(engine, site, brand, 3, undefined, 1))).toMatchObject({
      message: "the journal has no brand 3 after revision 3, to which it has been pruned",
    });
    expect(await restoreRecord(engine, site, brand, 1, 3, 1)).toMatchObject({ body: '{"ID":1,"Name":"Acme"}' });
    expect(await failed(restoreRecord(engine, site, brand, 1, 2, 1))).toMatchObject({ code: "not-found" });
    expect(await undo(engine, site, { since: 3, until: 6 }, { at: 1 })).toMatchObject({ unchanged: 2 });
    expect(await failed(undo(engine, site, { since: 2 }, { at: 1 }))).toMatchObject({ code: "not-found" });
  });

  test("is copied, backed up and restored with its start", async () => {
    await makePruned();
    const folder = mkdtempSync(join(tmpdir(), "storefront-retention-"));
    await backUp(engine, join(folder, "a"), 0);
    const other = await openEngine(await kind.newDatabase(), allResources);
    await copyDatabase(engine, other);
    expect(await rowOf(other)).toMatchObject({ floor: 3 });
    expect(await other.findInconsistencies()).toEqual([]);
    await restore(other, join(folder, "a"), join(folder, "kept"), 0);
    expect((await other.readJournalPage(site, 0, 10)).entries.map(({ revision }) => revision)).toEqual([4, 5, 6]);
    expect(await other.findInconsistencies()).toEqual([]);
    await other.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("is loaded again by a server that had only read up to before its start", async () => {
    await makePruned();
    const siteViews = new SiteViews(engine, allResources, 1 << 20);
    const name = async () =>
      JSON.parse((await loadUpToDate(siteViews, site)).collection(brand).find(3)?.json ?? "{}").Name;
    expect(await name()).toBe("Acme");
    const another = await openEngine(url, allResources);
    await another.commit([update(3, "C2"), update(3, "C3")]);
    await pruneJournals(another, [site], { revision: 9 });
    expect(await name()).toBe("C3");
    await another.close();
  });

  test("fails `check` if an entry is missing or wasn't pruned", async () => {
    await makePruned();
    const faults = async () => (await engine.findInconsistencies()).filter((fault) => fault.includes(`site ${site}:`));
    await kind.select(url, `update sites set floor = 4 where id = ${site}`);
    expect(await faults()).toEqual([`site ${site}: entry 4 is before the start of the journal`]);
    await kind.select(url, `update sites set floor = 2 where id = ${site}`);
    expect(await faults()).toEqual([
      `site ${site}: the journal lacks entry 3`,
      `site ${site}: brand 3 is at revision 3, but has no journal entry`,
    ]);
    await kind.select(url, `update sites set floor = 3 where id = ${site}`);
  });

  test("is pruned up to a time, in chunks, while others write", async () => {
    site++;
    const entries = Array.from({ length: 3000 }, (_, n) => createIntent({ site, at: 1000 + Math.floor(n / 10) }));
    await engine.commit(entries);
    for (const [at, revision] of [
      [999, 0],
      [1000, 0],
      [1001, 10],
      [1250, 2500],
      [9999, 3000],
    ] as const)
      expect([at, await readRevisionBefore(engine, site, at)]).toEqual([at, revision]);
    const pruning = pruneJournals(engine, [site], { at: 1250 });
    await engine.commit([createIntent({ site, at: 2000 })]);
    expect(await pruning).toEqual([{ site, deleted: 2500, begins: 2501, webhooks: [] }]);
    expect((await revisions()).length).toBe(501);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("of a removed site stays removed", async () => {
    const { ID } = await createSite(engine, "gone", {}, 1);
    await engine.commit([createIntent({ site: ID })]);
    await removeSite(engine, "gone", 1);
    expect(await engine.pruneJournal(ID, 10, 10)).toBe(false);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("loses nothing to a clock that's ahead: age is relative to the newest entry of the whole database", async () => {
    const day = 24 * 60 * 60_000;
    const today = 1000 * day;
    const ahead = today + 400 * day;
    const { ID } = await createSite(engine, "quiet", {}, 1);
    await engine.commit(Array.from({ length: 20 }, (_, n) => createIntent({ site: ID, at: today - 100 * day + n })));
    const { ID: busy } = await createSite(engine, "busy", {}, 1);
    await engine.commit([createIntent({ site: busy, at: today - 500 * day }), createIntent({ site: busy, at: today })]);
    const log = { info: () => {}, warn: () => {} };
    const retention = startRetention(engine, { days: 365, log, now: () => ahead, firstPauseMs: 0 });
    await waitUntil(
      async () => (await engine.readJournalPage(busy, 0, 1)).floor > 0,
      "entries that are old by both clocks to be deleted",
    );
    await retention.stop();
    expect((await engine.readJournalPage(ID, 0, 1)).floor).toBe(0);
    const prune = (age: number, now = ahead) => pruneJournals(engine, [ID], { age: age * day, now });
    expect(await prune(365)).toMatchObject([{ deleted: 0 }]);
    // The clock counts if it's earlier than the newest entry.
    expect(await prune(99, today - 2 * day)).toMatchObject([{ deleted: 0 }]);
    expect(await prune(99)).toMatchObject([{ deleted: 19 }]);
  });

  /** Adds a site with nine old entries and a new one. Returns its ID, server options, and lists that collect the server's logs about the site. */
  async function addMostlyOld(name: string) {
    const day = 24 * 60 * 60_000;
    const at = 2000 * day;
    const { ID } = await createSite(engine, name, {}, 1);
    const old = Array.from({ length: 9 }, () => createIntent({ site: ID, at: at - 400 * day }));
    await engine.commit([...old, createIntent({ site: ID, at })]);
    const warnings: { sites: number[]; days?: number }[] = [];
    const deleted: number[] = [];
    const log = {
      info: ({ site: pruned, through }: { site: number; through: number }) => pruned === ID && deleted.push(through),
      warn: (warning: { sites?: number[] }) =>
        warning.sites?.includes(ID) && warnings.push({ ...warning, sites: warning.sites }),
    } as unknown as Parameters<typeof startRetention>[1]["log"];
    const floor = async () => (await engine.readJournalPage(ID, 0, 1)).floor;
    return { ID, options: { days: 365, log, now: () => at, firstPauseMs: 0 }, warnings, deleted, floor };
  }

  test("mostly old entries: a server waits a day and logs that, then prunes half per day", async () => {
    const { options, warnings, deleted, floor } = await addMostlyOld("jumped");
    // As after a server's restarts, or with several workers, each process starts with a round that deletes nothing from this journal.
    for (let n = 0; n < 3; n++) {
      warnings.length = 0;
      const first = startRetention(engine, options);
      const [{ sites = [], days } = {}] = await waitUntil(() => warnings.length > 0 && warnings, "the warning");
      expect(days).toBe(365);
      const metrics = await toMetricsText([first.families()]);
      expect(metrics).toContain(`\nstorefront_journals_pruned_slowly ${sites.length}\n`);
      await first.stop();
    }
    expect([await floor(), deleted]).toEqual([0, []]);
    warnings.length = 0;
    const next = startRetention(engine, { ...options, pauseMs: 20 });
    await waitUntil(async () => (await floor()) === 9, "the rest, day by day");
    await next.stop();
    expect(deleted).toEqual([5, 7, 8, 9]);
    // Every round but the last warns: the first deletes nothing, and the others half each.
    expect(warnings).toHaveLength(4);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("mostly old entries: all servers together prune half per day, and one's pruning restarts the day", async () => {
    const { ID, options, warnings, deleted, floor } = await addMostlyOld("shared");
    // Each round reads the system site twice. The other server prunes at the start of the second round.
    let reads = 0;
    const readSite: Engine["readSite"] = async (...args) => {
      if (++reads === 3) await engine.pruneJournal(ID, 2, 10);
      return engine.readSite(...args);
    };
    const retention = startRetention({ ...engine, readSite }, { ...options, pauseMs: 20 });
    await waitUntil(async () => (await floor()) === 9, "the rest, day by day");
    await retention.stop();
    expect(deleted).toEqual([6, 8, 9]);
    // The second round deletes nothing either.
    expect(warnings).toHaveLength(4);
  });

  test("many sites: other work gets a turn while they're checked", async () => {
    const sites = await Promise.all(Array.from({ length: 30 }, (_, n) => createSite(engine, `many-${n}`, {}, 1)));
    let ticks = 0;
    const count = () => {
      ticks++;
      immediate = setImmediate(count);
    };
    let immediate = setImmediate(count);
    let seen = 0;
    const ticksAt: number[] = [];
    const readJournalPage: Engine["readJournalPage"] = (site, revision, limit) => {
      if (revision === 0 && sites.some(({ ID }) => ID === site) && ++seen) ticksAt.push(ticks);
      return engine.readJournalPage(site, revision, limit);
    };
    const log = { info() {}, warn() {} } as unknown as Parameters<typeof startRetention>[1]["log"];
    const retention = startRetention(
      { ...engine, readJournalPage },
      { days: 365, log, now: Date.now, firstPauseMs: 0 },
    );
    await waitUntil(() => seen >= sites.length, "a read of each site");
    await retention.stop();
    clearImmediate(immediate);
    // Without yielding, there would be one tick. Two sites may share a tick.
    expect(new Set(ticksAt).size).toBeGreaterThan(sites.length / 4);
  });

  test("is pruned by a server once entries are old enough, and so is the system site's", async () => {
    const { ID } = await createSite(engine, "kept", {}, 1);
    const day = 24 * 60 * 60_000;
    await engine.commit([createIntent({ site: ID, at: day }), createIntent({ site: ID, at: 5 * day })]);
    const warnings: unknown[] = [];
    const log = { info: () => {}, warn: (warning: unknown) => warnings.push(warning) };
    const cursors = ["0.0", "aaaaaaaaaaaa.1", "aaaaaaaaaaaa.2"];
    for (const [n, cursor] of cursors.entries())
      await engine.saveWebhook(webhookState({ site: ID, webhook: 5 + n, cursor }), [webhookSecret()]);
    const { ID: idle } = await createSite(engine, "idle", {}, 1);
    await engine.commit([createIntent({ site: idle, at: day }), createIntent({ site: idle, at: day })]);
    // If most entries were old, the clock might be wrong.
    const [system] = await engine.readHeads([systemSite]);
    for (let n = 0; n <= (system?.revision ?? 0); n++) await recordEvent(engine, { kind: "backup" }, 5 * day);
    const retention = startRetention(engine, { days: 3, log, now: () => 6 * day, firstPauseMs: 0 });
    for (const pruned of [systemSite, ID])
      await waitUntil(async () => (await engine.readJournalPage(pruned, 0, 1)).floor > 0, "old entries to be deleted");
    await waitUntil(
      async () => (await engine.readJournalPage(idle, 0, 1)).floor > 0,
      "that of a site without new ones",
    );
    await waitUntil(async () => warnings.length > 0, "a warning about the webhooks that cannot continue");
    await retention.stop();
    expect(warnings).toEqual([{ site: ID, through: 1, webhooks: [5, 6] }]);
    expect((await engine.readJournalPage(ID, 0, 10)).entries.map(({ revision }) => revision)).toEqual([2]);
    expect((await engine.readJournalPage(idle, 0, 10)).entries.map(({ revision }) => revision)).toEqual([2]);
    expect((await engine.readJournalPage(systemSite, 0, 1)).floor).toBe(system?.revision as number);
  });

  test("of the system site isn't needed to keep revoked what a restore brings back, or to know who signed in", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-revoked-"));
    const shop = await createSite(engine, "revoking", {}, 1);
    const { record } = await createKey(engine, shop, {}, 1);
    await createOperator(engine, "anna", [], 1);
    const { ID: ben } = await createOperator(engine, "ben", [], 1);
    await backUp(engine, join(folder, "a"), 1);
    await setKey(engine, record.Prefix, { rights: ["brands:read"] }, 2);
    await removeOperator(engine, "ben", 2);
    await recordEvent(engine, { kind: "sign-in", operator: ben - 1, name: "anna" }, 3);
    const views = new SiteViews(engine, allResources, 1 << 20);
    await views.getUpToDate(systemSite);
    await recordEvent(engine, { kind: "sign-out", operator: ben - 1, name: "anna" }, 4);
    await recordEvent(engine, { kind: "backup" }, 4);
    const [pruned] = await pruneJournals(engine, [systemSite], { revision: 1_000_000 });
    const begins = pruned?.begins as number;
    expect(begins).toBe((await engine.readHeads([systemSite]))[0]?.revision as number);
    const { revision } = await views.getUpToDate(systemSite);
    expect(revision).toBe(begins);
    expect((await listOperators(engine)).map(({ Name, signedIn }) => [Name, signedIn])).toEqual([
      ["anna", "1970-01-01T00:00:00.003Z"],
    ]);
    const restored = await restore(engine, join(folder, "a"), join(folder, "kept"), 6);
    expect(restored.stays).toHaveLength(2);
    const [key] = await listKeys(engine, shop);
    expect(key?.Scope).toBe("brands:read");
    expect((await listOperators(engine)).map(({ Name }) => Name)).toEqual(["anna"]);
    rmSync(folder, { recursive: true, force: true });
  });
});
