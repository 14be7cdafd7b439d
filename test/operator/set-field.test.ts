// An operator sets one field of many records (operator/records/set-field.ts).

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { ProblemError } from "../../src/model/errors.ts";
import type { Head } from "../../src/model/head.ts";
import { findTextField, type TextFieldPath } from "../../src/model/resource.ts";
import { undo } from "../../src/operator/journal/undo.ts";
import { planField, storeField } from "../../src/operator/records/set-field.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { allResources } from "../../src/resources/all.ts";
import { brand } from "../../src/resources/brand.ts";
import { openEngine } from "../../src/store/open.ts";
import { SiteViews } from "../../src/store/reads/site-views.ts";
import { withActor } from "../../src/system/with-actor.ts";
import { engines } from "../support/engine/engines.ts";
import { failureOf } from "../support/failure.ts";

/** More than fit in one transaction (src/operator/records/set-field.ts). */
const count = 5001;

describe.each(engines)("setting one field of many records on $name", (kind) => {
  let engine: Engine;
  let site: number;
  beforeAll(() => kind.open());
  afterAll(() => kind.close());
  beforeEach(async () => {
    engine = await openEngine(await kind.newDatabase(), allResources);
    site = (await createSite(engine, "garden", {}, 1)).ID;
    const names = Array.from({ length: count }, (_, index) => JSON.stringify({ Name: `Brand ${index}` }));
    const common = { site, resource: brand.name, operation: "create", actor: "operator", at: 1 } as const;
    for (let from = 0; from < count; from += 500)
      await engine.commit(names.slice(from, from + 500).map((valuesJson) => ({ ...common, valuesJson })));
    return () => engine.close();
  });

  const field = findTextField(brand, "AccountNumber") as TextFieldPath;
  const set = async (through: Engine, value = "A-1") => {
    const views = new SiteViews(engine, allResources, 64 << 20);
    const setting = { field, value, ids: undefined, search: "" };
    const [head] = (await engine.readHeads([site])) as [Head];
    const plan = await planField(views, site, brand, setting, () => true);
    return storeField(through, site, brand, setting, plan, { head, at: 2 });
  };
  const batchesOf = (calls: number[], fail?: () => Promise<void>): Engine => ({
    ...engine,
    commitAtomically: async (batches, onOutcomes, options) => {
      const list = [...batches];
      if (calls.length === 2) await fail?.();
      calls.push(list.flat().length);
      return engine.commitAtomically(list, onOutcomes, options);
    },
  });

  test("takes short transactions that form one run, which one undo reverts", async () => {
    const calls: number[] = [];
    const result = await set(withActor(batchesOf(calls), "console:anna", "run1"));
    expect(result).toEqual({ changed: count, unchanged: 0, revisions: { first: count + 1, last: 2 * count } });
    expect([calls.length, Math.max(...calls)]).toEqual([11, 500]);
    expect(await set(engine)).toMatchObject({ changed: 0, unchanged: count });
    expect(await undo(engine, site, { since: count, run: "run1" }, { at: 3 })).toMatchObject({ restored: count });
  });
  if (kind.name === "PostgreSQL") return;

  test("continues with the rest after a failure, but not if the site is removed meanwhile, and says how many were changed", async () => {
    const broken = batchesOf([], async () => {
      throw new ProblemError("unavailable", "the disk is full");
    });
    const message = `the disk is full; by then, 1000 of ${count} records had been changed; repeat it to do the rest`;
    expect(await failureOf(set(broken))).toMatchObject({ code: "unavailable", message });
    const calls: number[] = [];
    expect(await set(batchesOf(calls))).toMatchObject({ changed: count - 1000, unchanged: 1000 });
    expect(calls.length).toBe(1);
    const removed = batchesOf([], async () => void (await removeSite(engine, "garden", 1)));
    const reason = "the site was restored, renewed or removed in the meantime";
    const late = { code: "conflict", message: `${reason}; by then, 1000 of ${count} records had been changed` };
    expect(await failureOf(set(removed, "A-2"))).toMatchObject(late);
  });
});
