// Finds records by text in a site's snapshot.

import { describe, expect, test } from "bun:test";
import type { Engine } from "../../../../src/model/engine.ts";
import { OutdatedError } from "../../../../src/model/errors.ts";
import { findTextField, type TextFieldPath } from "../../../../src/model/resource.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { brand } from "../../../../src/resources/brand.ts";
import { orderStatus } from "../../../../src/resources/order-status.ts";
import type { Snapshot } from "../../../../src/store/memory/snapshot.ts";
import { type SiteView, SiteViews } from "../../../../src/store/reads/site-views.ts";
import { findByTexts } from "../../../../src/store/writes/snapshot-finder.ts";
import { engines, maxCreatedSite, useTwoEngines } from "../../../support/engine/engines.ts";
import { createBrand, createIntent } from "../../../support/engine/intents.ts";

describe.each(engines)("a search by texts on $name", (kind) => {
  let both: readonly [Engine, Engine];
  let siteViews: SiteViews;
  let site = maxCreatedSite;
  useTwoEngines(kind, (first, second) => {
    both = [first, second];
    siteViews = new SiteViews(first, allResources, 1 << 26);
  });

  const find = async (texts: readonly string[], view?: SiteView) => {
    const wanted = [brand, orderStatus].map((resource) => ({
      resource,
      textField: findTextField(resource, "Name") as TextFieldPath,
      texts: new Set(texts),
    }));
    return findByTexts(view ?? (await siteViews.getUpToDate(site)), wanted, () => true);
  };
  const status = (name: string) => createIntent({ site, resource: "order-status", values: { Name: name } });

  test("each resource's records with a text: names up to six, counts all", async () => {
    site++;
    await both[1].commit(
      Array.from({ length: 300 }, (_, n) => createBrand(site, n % 40 === 7 ? "Many" : `Brand ${n}`)),
    );
    await both[1].commit([status("Many"), status("Open")]);
    const found = await find(["Many", "Open", "Brand 299", "None"]);
    expect(found.revision).toBe(302);
    expect(found.find(brand, "Many")).toEqual({ ids: [8, 48, 88, 128, 168, 208], count: 8 });
    expect(found.find(brand, "Brand 299")).toEqual({ ids: [300], count: 1 });
    expect(found.find(orderStatus, "Many")).toEqual({ ids: [1], count: 1 });
    expect(found.find(orderStatus, "Open")).toEqual({ ids: [2], count: 1 });
    expect(found.find(brand, "Open")).toEqual({ ids: [], count: 0 });
  });

  test("site never written to: nothing", async () => {
    site++;
    const found = await find(["A"]);
    expect([found.revision, found.epoch, found.find(brand, "A")]).toEqual([0, "", { ids: [], count: 0 }]);
  });

  test("another epoch's records: not found", async () => {
    site++;
    await both[1].commit([createBrand(site, "A")]);
    const view = (await siteViews.getUpToDate(site)) as Snapshot;
    const uncached = { siteId: site, epoch: "before", loadSnapshot: async () => view } as unknown as SiteView;
    await expect(find(["A"], uncached)).rejects.toBeInstanceOf(OutdatedError);
  });
});
