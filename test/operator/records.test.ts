// An operator creates, updates and deletes records (operator/records/records.ts, operator/records/several-records.ts).

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { createRecord, deleteRecords } from "../../src/operator/records/records.ts";
import { changeRecords } from "../../src/operator/records/several-records.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { brand } from "../../src/resources/brand.ts";
import { openEngine } from "../../src/store/open.ts";
import { engines } from "../support/engine/engines.ts";
import { failureOf } from "../support/failure.ts";

describe.each(engines)("operator's records on $name", (kind) => {
  let engine: Engine;
  let site: number;
  let ids: readonly number[];
  beforeAll(() => kind.open());
  afterAll(() => kind.close());
  beforeEach(async () => {
    engine = await openEngine(await kind.newDatabase(), allResources);
    site = (await createSite(engine, "garden", {}, 1)).ID;
    const created = [];
    for (const Name of ["Acme", "Zenith"]) created.push(await createRecord(engine, site, brand, { Name }, 1));
    ids = created.map(({ record }) => record.ID as number);
    return () => engine.close();
  });

  const head = async () => (await engine.readHeads([site]))[0];

  test.each([
    "created",
    "updated",
  ])("can't be %s if the site is removed before the change is stored", async (change) => {
    const removed: Engine = {
      ...engine,
      commit: async (intents, options) => {
        await removeSite(engine, "garden", 1);
        return engine.commit(intents, options);
      },
      commitAtomically: async (...together) => {
        await removeSite(engine, "garden", 1);
        return engine.commitAtomically(...together);
      },
    };
    const [id] = ids as [number];
    const values = { Name: "Late" };
    const writing =
      change === "created"
        ? createRecord(removed, site, brand, values, 1)
        : changeRecords(removed, site, brand, [{ id, ifVersion: undefined, values }], 1);
    const message = "the site was restored, renewed or removed in the meantime; nothing was changed";
    expect(await failureOf(writing)).toMatchObject({ code: "conflict", message });
  });
  if (kind.name === "PostgreSQL") return;

  test("are deleted together", async () => {
    const { records } = await deleteRecords(engine, site, brand, ids, 1);
    expect(records.map((json) => JSON.parse(json).Name)).toEqual(["Acme", "Zenith"]);
    expect(await head()).toMatchObject({ revision: 4 });
  });

  test("are all kept if one of them doesn't exist", async () => {
    const error = await failureOf(deleteRecords(engine, site, brand, [...ids, 77], 1));
    expect(error).toMatchObject({ code: "not-found", message: "there's no brand 77, so nothing was deleted" });
    expect(await head()).toMatchObject({ revision: 2 });
  });

  test("are all kept if the site is restored before the deletion is stored", async () => {
    const restored: Engine = {
      ...engine,
      commit: async (intents, options) => {
        await engine.replaceEpochs();
        return engine.commit(intents, options);
      },
    };
    expect(await failureOf(deleteRecords(restored, site, brand, ids, 1))).toMatchObject({ code: "conflict" });
    expect(await head()).toMatchObject({ revision: 2 });
  });
});
