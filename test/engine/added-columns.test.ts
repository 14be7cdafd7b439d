// Columns that were added later, on a database that older programs continue to use.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DumpedRow, Engine, Head } from "../../src/model/engine.ts";
import { backUp, restore } from "../../src/operator/backup.ts";
import { allResources } from "../../src/resources/all.ts";
import { readAllRows } from "../../src/store/database/site-state.ts";
import { isRequired, type TableName } from "../../src/store/database/tables.ts";
import { openEngine } from "../../src/store/open.ts";
import { changeAsEarlier } from "../earlier-version/statements.ts";
import { type EngineKind, engines } from "../support/engines.ts";
import { createIntent } from "../support/intents.ts";
import { webhookSecret, webhookState } from "../support/webhooks.ts";

for (const kind of engines) {
  describe(kind.name, () => {
    let folder: string;
    let url: string;
    let engine: Engine;
    const opened: Engine[] = [];
    const open = async () => {
      const another = await openEngine(url, allResources);
      opened.push(another);
      return another;
    };
    const openNew = async () => {
      url = await kind.newEmptyDatabase();
      engine = await open();
    };
    beforeAll(async () => {
      await kind.open();
      folder = mkdtempSync(join(tmpdir(), "storefront-added-"));
    });
    afterAll(async () => {
      for (const one of opened) await one.close();
      await kind.close();
      rmSync(folder, { recursive: true });
    });

    test("the tables of an older program get the columns, and keep its rows", async () => {
      await openNew();
      await engine.commit([createIntent({ at: 7 }), createIntent({ at: 8 })]);
      await engine.saveWebhook(webhookState({ cursor: "a", resumes: 3, since: "b", goneAt: 4 }), [webhookSecret()]);
      await engine.close();
      await removeAddedColumns(kind, url);
      const [one, two] = await Promise.all([open(), open()]);
      expect(await siteIn(one)).toMatchObject({ revision: 2, last_at: 8, floor: null, live: null });
      expect(await one.webhookStates()).toEqual([webhookState({ cursor: "a" })]);
      await one.removeWebhook(webhookState());
      expect(await one.findInconsistencies()).toEqual([]);
      await two.commit([createIntent()]);
      expect((await readAllRows(two, 1)).rows).toHaveLength(3);
    });

    test("a database without the tables of webhooks gets them from the first of two processes, with one name", async () => {
      await openNew();
      await engine.commit([createIntent()]);
      await engine.close();
      for (const table of ["webhook_state", "webhook_secrets", "webhook_attempts", "this_database"])
        await kind.select(url, `drop table ${table}`);
      const [one, two] = await Promise.all([open(), open()]);
      expect(await one.readDatabaseId()).toBe(await two.readDatabaseId());
      await one.saveWebhook(webhookState(), [webhookSecret()]);
      expect(await two.webhookStates()).toEqual([webhookState()]);
      expect((await readAllRows(two, 1)).rows).toHaveLength(1);
    });

    test("an older program writes between two writes of this one, and nothing is counted wrong", async () => {
      await openNew();
      await engine.commit([createIntent(), createIntent()]);
      expect(await siteIn(engine)).toMatchObject({ live: '{"brand":{"count":2,"revision":2}}', live_revision: 2 });
      await writeAsBefore(kind, url);
      await engine.commit([createIntent()]);
      expect(await siteIn(engine)).toMatchObject({ revision: 4, live: null });
      expect(await engine.findInconsistencies()).toEqual([]);
    });

    test("an older program wrote the last entry, and the next one is not earlier", async () => {
      await openNew();
      await engine.commit([createIntent({ at: 3 }), createIntent({ at: 3 })]);
      await writeAsBefore(kind, url, 5);
      await engine.commit([createIntent({ at: 4 })]);
      expect((await engine.readChangesSince(1, 2))?.map(({ at }) => at)).toEqual([5, 5]);
      await openNew();
      await engine.commit([createIntent({ at: 3 }), createIntent({ at: 3 })]);
      await writeAsBefore(kind, url, 5);
      const [head] = await engine.readHeads([1]);
      await engine.noteCounts(1, head as Head, { brand: { count: 3, revision: 3 } });
      expect(await siteIn(engine)).toMatchObject({ live_revision: 3, last_at: 5 });
    });

    test("a record that an older program has restored is an update in the journal", async () => {
      await openNew();
      await engine.commit([createIntent()]);
      await kind.select(url, "update journal set operation = 'restore'");
      expect(await engine.readChangesSince(1, 0)).toMatchObject([{ operation: "update" }]);
    });

    test("records are counted when they are created, changed, deleted and restored", async () => {
      await openNew();
      const deletion = createIntent({ operation: "delete", id: 1, values: {} });
      const update = createIntent({ operation: "update", id: 2, values: { Name: "B" } });
      const body = (await engine.commit([createIntent()]))[0];
      await engine.commit([createIntent(), deletion, createIntent({ resource: "location" }), update, deletion]);
      expect(await siteIn(engine)).toMatchObject({
        live: '{"brand":{"count":1,"revision":5},"location":{"count":1,"revision":4}}',
      });
      const text = body?.kind === "done" ? body.body : "";
      await engine.commit([{ ...deletion, operation: "restore", valuesJson: text }]);
      expect(JSON.parse((await siteIn(engine)).live as string).brand).toEqual({ count: 2, revision: 6 });
      expect(await engine.findInconsistencies()).toEqual([]);
    });

    test("a backup of an older program is restored, and one of this program keeps the columns", async () => {
      await openNew();
      await engine.commit([createIntent()]);
      const state = webhookState({ resumes: 3, since: "b" });
      const ofNewSite = webhookState({ site: 2, webhook: 2, epoch: "" });
      for (const one of [state, ofNewSite]) await engine.saveWebhook(one, [webhookSecret()]);
      const rows = await Array.fromAsync(engine.dump());
      const [old, made] = [join(folder, `old-${kind.name}`), join(folder, `made-${kind.name}`)];
      await backUp({ ...engine, dump: () => rows.map(asBefore) }, old, 0);
      await backUp(engine, made, 0);
      await restore(engine, old, join(folder, "kept"), 0);
      expect(await siteIn(engine)).toMatchObject({ live: null });
      // Otherwise, it would accept any epoch, and its receiver would keep changes that the restore discarded.
      const anotherEpoch = { ...ofNewSite, epoch: expect.stringMatching(/./) };
      expect(await engine.webhookStates()).toEqual([webhookState(), anotherEpoch]);
      await restore(engine, made, join(folder, "kept"), 0);
      expect(await siteIn(engine)).toMatchObject({ live_revision: 1 });
      expect(await engine.webhookStates()).toEqual([state, anotherEpoch]);
      for (const one of [state, ofNewSite]) await engine.removeWebhook(one);
      expect(await engine.findInconsistencies()).toEqual([]);
    });

    test("`check` finds a wrong count", async () => {
      await openNew();
      await engine.commit([createIntent()]);
      await kind.select(url, `update sites set live = '{"brand":{"count":7,"revision":1}}' where id = 1`);
      expect(await engine.findInconsistencies()).toEqual(["site 1: 7 records of brand are counted, and there are 1"]);
    });
  });
}

async function siteIn(engine: Engine): Promise<DumpedRow["row"]> {
  const rows = await Array.fromAsync(engine.dump());
  return rows.find(({ table, row }) => table === "sites" && row.id === 1)?.row ?? {};
}

function asBefore({ table, row }: DumpedRow): DumpedRow {
  return {
    table,
    row: Object.fromEntries(Object.entries(row).filter(([column]) => isRequired(table as TableName, column))),
  };
}

async function removeAddedColumns(kind: EngineKind, url: string): Promise<void> {
  for (const column of ["floor", "last_at", "live", "live_revision"])
    await kind.select(url, `alter table sites drop column ${column}`);
  for (const column of ["run", "before"]) await kind.select(url, `alter table journal drop column ${column}`);
  for (const column of ["resumes", "since", "gone_at"])
    await kind.select(url, `alter table webhook_state drop column ${column}`);
}

/** Creates the brand with the ID and revision 3, as an older program does. */
function writeAsBefore(kind: EngineKind, url: string, at?: number): Promise<void> {
  return changeAsEarlier(kind, url, { revision: 3, at, id: 3, values: { Name: "Old" }, counters: { brand: 3 } });
}
