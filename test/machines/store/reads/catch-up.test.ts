// A site in memory after another process changed a lot at once (src/store/reads/snapshot-cache.ts).

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Engine } from "../../../../src/model/engine.ts";
import { undo } from "../../../../src/operator/journal/undo.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { brand } from "../../../../src/resources/brand.ts";
import { Snapshot } from "../../../../src/store/memory/snapshot.ts";
import { openEngine } from "../../../../src/store/open.ts";
import { SiteViews } from "../../../../src/store/reads/site-views.ts";
import { UncachedSite } from "../../../../src/store/reads/uncached-site.ts";
import { engines } from "../../../support/engine/engines.ts";
import { createIntent } from "../../../support/engine/intents.ts";
import { loadUpToDate } from "../../../support/engine/snapshots.ts";
import { waitUntil } from "../../../support/time.ts";

const site = 1;
const count = 4000;
const chunk = 500;

describe.each(engines)("on $name", (kind) => {
  let writer: Engine;
  let reader: Engine;
  beforeAll(async () => {
    await kind.open();
    const database = await kind.newDatabase();
    writer = await openEngine(database, allResources);
    reader = await openEngine(database, allResources);
  });
  afterAll(async () => {
    await Promise.all([writer.close(), reader.close()]);
    await kind.close();
  });

  /** Creates records in one transaction. */
  async function createTogether(): Promise<void> {
    const batches = Array.from({ length: count / chunk }, () => Array.from({ length: chunk }, () => createIntent()));
    await writer.commitAtomically(batches, () => {});
  }

  test("changes are applied over several ticks, and readers see all or none", async () => {
    await writer.commit([createIntent()]);
    const siteViews = new SiteViews(reader, allResources, 1e9);
    const before = await loadUpToDate(siteViews, site);
    await createTogether();
    let ticks = 0;
    let isDone = false;
    const countTicks = () => {
      ticks++;
      if (!isDone) setImmediate(countTicks);
    };
    countTicks();
    const seen = new Set<number>();
    const readers = Array.from({ length: 20 }, () => loadUpToDate(siteViews, site));
    for (const view of await Promise.all(readers)) seen.add([...view.collection(brand)].length);
    isDone = true;
    expect([...seen]).toEqual([1 + count]);
    expect(ticks).toBeGreaterThan(count / chunk);
    // A reader that has read the site before continues with the earlier records.
    expect([...before.collection(brand)]).toHaveLength(1);
    await writer.commit([createIntent({ values: { Name: "Last" } })]);
    const after = await loadUpToDate(siteViews, site);
    expect(after.collection(brand).find(2 + count)?.json).toContain("Last");
    expect(siteViews.usage.loads).toBe(2);
  });

  test.each([
    1, 600,
  ])("a transaction committed while %d changes are read is seen completely or not at all", async (behind) => {
    let isCommitted = true;
    const since: Engine["readChangesSince"] = async (...args) => {
      if (!isCommitted) await createTogether();
      isCommitted = true;
      return reader.readChangesSince(...args);
    };
    const siteViews = new SiteViews({ ...reader, readChangesSince: since }, allResources, 1e9);
    const before = [...(await loadUpToDate(siteViews, site)).collection(brand)].length;
    await writer.commit(Array.from({ length: behind }, () => createIntent()));
    isCommitted = false;
    const seen = [...(await loadUpToDate(siteViews, site)).collection(brand)].length;
    expect(isCommitted).toBe(true);
    expect([before + behind, before + behind + count]).toContain(seen);
  });

  test("look-ups don't wait for it, and find all changes", async () => {
    const siteViews = new SiteViews(reader, allResources, 1e9);
    const before = await loadUpToDate(siteViews, site);
    const last = [...before.collection(brand)].length + count;
    await createTogether();
    const view = await siteViews.getUpToDate(site);
    if (!(view instanceof UncachedSite)) throw new Error("the look-up has waited");
    expect((await view.lookUpRecord(brand, last))?.id).toBe(last);
    expect([...(await loadUpToDate(siteViews, site)).collection(brand)]).toHaveLength(last);
    expect(await siteViews.getUpToDate(site)).toBeInstanceOf(Snapshot);
    expect(siteViews.usage.loads).toBe(2);
  });

  test("changes pruned: look-ups don't wait for the load", async () => {
    const siteViews = new SiteViews(reader, allResources, 1e9);
    const before = [...(await loadUpToDate(siteViews, site)).collection(brand)].length;
    await writer.commit([createIntent(), createIntent()]);
    const [head] = await writer.readHeads([site]);
    while (await writer.pruneJournal(site, (head?.revision ?? 0) - 1, 1000));
    const view = await siteViews.getUpToDate(site);
    if (!(view instanceof UncachedSite)) throw new Error("the look-up has waited");
    expect((await view.lookUpRecord(brand, before + 2))?.id).toBe(before + 2);
    await waitUntil(async () => (await siteViews.getUpToDate(site)) instanceof Snapshot, "the site to be loaded");
    expect([...(await loadUpToDate(siteViews, site)).collection(brand)]).toHaveLength(before + 2);
    expect(siteViews.usage.loads).toBe(3);
  });

  test("changes undone by another process aren't found", async () => {
    const siteViews = new SiteViews(reader, allResources, 1e9);
    const before = await loadUpToDate(siteViews, site);
    const had = [...before.collection(brand)].length;
    await createTogether();
    expect([...(await loadUpToDate(siteViews, site)).collection(brand)]).toHaveLength(had + count);
    await undo(writer, site, { since: before.revision }, { at: 1 });
    const collection = (await loadUpToDate(siteViews, site)).collection(brand);
    expect([...collection]).toHaveLength(had);
    expect((await collection.version()).size).toBe(had);
  });
});
