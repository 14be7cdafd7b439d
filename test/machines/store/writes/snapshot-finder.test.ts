// Finds records by texts in the snapshot of a site, also after commits of others.

import { describe, expect, test } from "bun:test";
import type { Engine } from "../../../../src/model/engine.ts";
import { OutdatedError } from "../../../../src/model/errors.ts";
import { findTextField, type TextFieldPath } from "../../../../src/model/resource.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { brand } from "../../../../src/resources/brand.ts";
import { orderStatus } from "../../../../src/resources/order-status.ts";
import { SiteViews } from "../../../../src/store/reads/site-views.ts";
import { SnapshotFinder } from "../../../../src/store/writes/snapshot-finder.ts";
import { engines, maxCreatedSite, useTwoEngines } from "../../../support/engine/engines.ts";
import { createBrand, createIntent, deleteBrand, updateBrand } from "../../../support/engine/intents.ts";

describe.each(engines)("a snapshot finder on $name", (kind) => {
  let both: readonly [Engine, Engine];
  let siteViews: SiteViews;
  let site = maxCreatedSite;
  useTwoEngines(kind, (first, second) => {
    both = [first, second];
    siteViews = new SiteViews(first, allResources, 1 << 26);
  });

  const open = async (texts: readonly string[], isWanted = () => true) =>
    SnapshotFinder.open(await siteViews.getUpToDate(site), {
      siteViews,
      isWanted,
      wanted: [brand, orderStatus].map((resource) => ({
        resource,
        textField: findTextField(resource, "Name") as TextFieldPath,
        texts: new Set(texts),
      })),
    });
  const status = (name: string) => createIntent({ site, resource: "order-status", values: { Name: name } });

  test("finds the records of each resource with a text, names six of them at most, and counts them all", async () => {
    site++;
    await both[1].commit(
      Array.from({ length: 300 }, (_, n) => createBrand(site, n % 40 === 7 ? "Many" : `Brand ${n}`)),
    );
    await both[1].commit([status("Many"), status("Open")]);
    const finder = await open(["Many", "Open", "Brand 299", "None"]);
    expect(finder.revision).toBe(302);
    expect(finder.find("brand", "Many")).toEqual({ ids: [8, 48, 88, 128, 168, 208], count: 8 });
    expect(finder.find("brand", "Brand 299")).toEqual({ ids: [300], count: 1 });
    expect(finder.find("order-status", "Many")).toEqual({ ids: [1], count: 1 });
    expect(finder.find("order-status", "Open")).toEqual({ ids: [2], count: 1 });
    expect(finder.find("brand", "Open")).toEqual({ ids: [], count: 0 });
  });

  test("catches up to the commits of others, also to more of them than a request waits for", async () => {
    site++;
    await both[1].commit([createBrand(site, "A"), createBrand(site, "B"), createBrand(site, "C")]);
    const finder = await open(["A", "B", "C", "D", "Late"]);
    await both[1].commit([deleteBrand(site, 1), updateBrand(site, 2, { Name: "D" })]);
    expect(finder.find("brand", "A").ids).toEqual([1]);
    await finder.catchUp();
    expect(["A", "B", "C", "D"].map((text) => finder.find("brand", text).ids)).toEqual([[], [], [3], [2]]);
    await both[1].commit(Array.from({ length: 1200 }, (_, n) => createBrand(site, n === 1100 ? "Late" : "Other")));
    await finder.catchUp();
    expect([finder.revision, finder.find("brand", "Late")]).toEqual([1205, { ids: [1104], count: 1 }]);
  });

  test("finds nothing in a site that was never written to", async () => {
    site++;
    const finder = await open(["A"]);
    expect([finder.revision, finder.find("brand", "A")]).toEqual([0, { ids: [], count: 0 }]);
  });

  test("does not continue with the records of another epoch", async () => {
    site++;
    await both[1].commit([createBrand(site, "A")]);
    const finder = await open(["A"]);
    await both[1].replaceEpochs();
    await expect(finder.catchUp()).rejects.toBeInstanceOf(OutdatedError);
  });
});
