// A journal entry's columns besides the change, and those in a site's row about its journal and records.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { DumpedRow, Engine } from "../../src/model/engine.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { engines, useEngine } from "../support/engine/engines.ts";
import { createIntent, versionAfter } from "../support/engine/intents.ts";

describe.each(engines)("an entry of the journal on $name", (kind) => {
  let engine: Engine;
  useEngine(kind, (opened) => {
    engine = opened;
  });
  let site = 10;
  const rows = async (table: string) =>
    (await Array.fromAsync(engine.dump())).filter((row) => row.table === table).map(({ row }) => row);
  const entries = async () => (await rows("journal")).filter((row) => row.site_id === site);
  const siteRow = async () => (await rows("sites")).find(({ id }) => id === site) as DumpedRow["row"];

  test("has the record before an update, and its command's run", async () => {
    site++;
    await engine.commit([createIntent({ site, run: "r1" })]);
    await engine.commit([createIntent({ site, operation: "update", id: 1, values: { Name: "B" }, run: "r2" })]);
    await engine.commit([createIntent({ site, operation: "delete", id: 1, values: {} })]);
    expect((await entries()).map(({ operation, run, before, body }) => [operation, run, before, body])).toEqual([
      ["create", "r1", null, '{"ID":1,"Name":"Acme"}'],
      ["update", "r2", '{"ID":1,"Name":"Acme"}', '{"ID":1,"Name":"B"}'],
      ["delete", null, null, '{"ID":1,"Name":"B"}'],
    ]);
  });

  test("has the state between two updates in a batch", async () => {
    site++;
    const rename = (Name: string) => createIntent({ site, operation: "update", id: 1, values: { Name } });
    await engine.commit([createIntent({ site, id: 1 }), rename("B"), rename("C")]);
    expect((await entries()).map(({ before }) => before && JSON.parse(before as string).Name)).toEqual([
      null,
      "Acme",
      "B",
    ]);
  });

  test("restore: a create if the record was deleted, otherwise an update", async () => {
    site++;
    const remove = createIntent({ site, operation: "delete", id: 1, values: {} });
    const restore = (Name: string) => createIntent({ site, operation: "restore", id: 1, values: { ID: 1, Name } });
    await engine.commit([createIntent({ site }), remove]);
    const [back] = await engine.commit([restore("Back")]);
    const [changed] = await engine.commit([restore("Changed")]);
    const [same] = await engine.commit([restore("Changed")]);
    expect([back, changed, same]).toMatchObject([
      { kind: "done", operation: "create", body: '{"ID":1,"Name":"Back"}', change: { operation: "create" } },
      { kind: "done", operation: "update", body: '{"ID":1,"Name":"Changed"}' },
      { kind: "unchanged", operation: "update" },
    ]);
    expect((await entries()).slice(2).map(({ operation, before }) => [operation, before])).toEqual([
      ["create", null],
      ["update", '{"ID":1,"Name":"Back"}'],
    ]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("restore: not written if the record has changed since it was read", async () => {
    site++;
    const [made] = await engine.commit([createIntent({ site })]);
    const ifVersion = [versionAfter(made)];
    await engine.commit([createIntent({ site, operation: "delete", id: 1, values: {} })]);
    const restore = createIntent({ site, operation: "restore", id: 1, values: { ID: 1, Name: "Back" }, ifVersion });
    expect(await engine.commit([restore])).toMatchObject([
      { kind: "rejected", rejectionReason: "precondition-failed" },
    ]);
  });

  test("never earlier than the one before, in a batch or across processes", async () => {
    site++;
    await engine.commit([createIntent({ site, at: 50 }), createIntent({ site, at: 40 })]);
    await engine.commit([
      createIntent({ site, at: 30 }),
      createIntent({ site, at: 60 }),
      createIntent({ site, at: 59 }),
    ]);
    expect((await entries()).map(({ at }) => at)).toEqual([50, 50, 50, 60, 60]);
    expect(await siteRow()).toMatchObject({ floor: 0, last_at: 60 });
  });
});

describe.each(engines)("the row of a site on $name", (kind) => {
  let engine: Engine;
  let url: string;
  beforeAll(() => kind.open());
  beforeEach(async () => {
    url = await kind.newDatabase();
    engine = await openEngine(url, allResources);
  });
  afterEach(() => engine.close());
  afterAll(() => kind.close());
  const counts = async () => {
    const rows = await Array.fromAsync(engine.dump());
    return JSON.parse(String(rows.find(({ table, row }) => table === "sites" && row.id === 1)?.row.counts));
  };

  test("counts records as they come, change, go and come back", async () => {
    const deletion = createIntent({ operation: "delete", id: 1, values: {} });
    const update = createIntent({ operation: "update", id: 2, values: { Name: "B" } });
    const [made] = await engine.commit([createIntent()]);
    await engine.commit([createIntent(), deletion, createIntent({ resource: "location" }), update, deletion]);
    expect(await counts()).toEqual({ brand: { count: 1, revision: 5 }, location: { count: 1, revision: 4 } });
    const valuesJson = made?.kind === "done" ? made.body : "";
    await engine.commit([{ ...deletion, operation: "restore", valuesJson }]);
    expect((await counts()).brand).toEqual({ count: 2, revision: 6 });
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("wrong count: `check` finds it", async () => {
    await engine.commit([createIntent()]);
    await kind.select(url, `update sites set counts = '{"brand":{"count":7,"revision":1}}' where id = 1`);
    expect(await engine.findInconsistencies()).toEqual([
      "site 1: the count of brand is 7 (last change: 1), but should be 1 (last change: 1)",
    ]);
  });
});
