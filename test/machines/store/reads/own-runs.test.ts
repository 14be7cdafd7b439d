// The snapshot gets this process's own transactions without a read (src/store/reads/snapshot-cache.ts).

import { describe, expect, test } from "bun:test";
import type { Change } from "../../../../src/model/change.ts";
import type { Engine } from "../../../../src/model/engine.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { brand } from "../../../../src/resources/brand.ts";
import { SiteViews } from "../../../../src/store/reads/site-views.ts";
import { engines, useEngine } from "../../../support/engine/engines.ts";
import { createBrand, updateBrand } from "../../../support/engine/intents.ts";
import { loadUpToDate } from "../../../support/engine/snapshots.ts";
import { waitUntil } from "../../../support/time.ts";

/** More changes than are applied at once. */
const many = 1200;

describe.each(engines)("on $name", (kind) => {
  let engine: Engine;
  useEngine(kind, (opened) => {
    engine = opened;
  });
  let site = 0;

  /** Starts a process that has a new site with one record in memory. `calls` has the names of its further reads. */
  async function start() {
    site++;
    const number = site;
    await engine.commit([createBrand(number, "first")]);
    const calls: string[] = [];
    let loadsWait: Promise<void> | undefined;
    const differences: number[] = [];
    const siteViews = new SiteViews(
      {
        ...engine,
        readChangesSince: (...args) => {
          if (args[0] === number) calls.push("readChangesSince");
          return engine.readChangesSince(...args);
        },
        readSite: async (...args) => {
          if (args[0] === number) calls.push("readSite");
          if (args[0] === number) await loadsWait;
          return engine.readSite(...args);
        },
      },
      allResources,
      1e9,
      { onDifferences: () => void differences.push(number) },
    );
    await loadUpToDate(siteViews, number);
    calls.length = 0;
    /** Commits changes as another process, which `siteViews` does not learn of yet. Returns them. */
    const commit = async (count: number): Promise<readonly Change[]> => {
      const [head] = await engine.readHeads([number]);
      await engine.commitAtomically([Array.from({ length: count }, (_, n) => createBrand(number, `${n}`))], () => {});
      return (await engine.readChangesSince(number, head?.revision ?? 0)) ?? [];
    };
    const apply = async (changes: readonly Change[]) => {
      const [head] = await engine.readHeads([number]);
      siteViews.applyOwnCommits(number, changes, head?.epoch as string, head?.timeline);
    };
    const inMemory = () => siteViews.findCached(number)?.revision;
    const recordsOf = async () => [...(await loadUpToDate(siteViews, number)).collection(brand)].length;
    const delayLoads = (until: Promise<void> | undefined) => {
      loadsWait = until;
    };
    return { number, siteViews, calls, differences, commit, apply, inMemory, recordsOf, delayLoads };
  }

  test("few changes: in the snapshot right away", async () => {
    const { calls, commit, apply, inMemory, recordsOf } = await start();
    await apply(await commit(500));
    expect(inMemory()).toBe(501);
    expect(await recordsOf()).toBe(501);
    expect(calls).toEqual([]);
  });

  test("many changes: applied in the background, all or none, without a read", async () => {
    const { calls, commit, apply, inMemory, recordsOf, siteViews, number } = await start();
    const before = siteViews.findCached(number);
    await apply(await commit(many));
    expect(inMemory()).toBe(1);
    const seen = new Set<number | undefined>();
    await waitUntil(() => {
      seen.add(inMemory());
      return inMemory() === 1 + many;
    }, "the changes");
    expect([...seen]).toEqual([1, 1 + many]);
    expect(await recordsOf()).toBe(1 + many);
    expect(calls).toEqual([]);
    // A reader that has the earlier snapshot continues with the earlier records.
    expect([...(before?.collection(brand) ?? [])]).toHaveLength(1);
  });

  test("many changes: a request in the meantime finds them all", async () => {
    const { commit, apply, recordsOf } = await start();
    const changes = await commit(many);
    await apply(changes);
    const counts = await Promise.all(Array.from({ length: 5 }, () => recordsOf()));
    expect(counts).toEqual(new Array(5).fill(1 + many));
  });

  test("changes that don't continue the snapshot, or that it has: left to requests", async () => {
    for (const count of [2, many]) {
      const { commit, apply, inMemory, recordsOf } = await start();
      await commit(1);
      const later = await commit(count);
      await apply(later);
      expect(inMemory()).toBe(1);
      expect(await recordsOf()).toBe(2 + count);
      await apply(later);
      expect(await recordsOf()).toBe(2 + count);
    }
  });

  test("another epoch's changes: not applied", async () => {
    const { number, siteViews, commit, inMemory } = await start();
    siteViews.applyOwnCommits(number, await commit(many), "another");
    siteViews.applyOwnCommits(number, await commit(1), "another");
    expect(inMemory()).toBe(1);
  });

  test("single write right after many changes: not lost", async () => {
    const { number, siteViews, commit, apply, recordsOf } = await start();
    await apply(await commit(many));
    const [outcome] = await engine.commit([updateBrand(number, 1, { Name: "later" })]);
    if (outcome?.kind !== "done") throw new Error("it was not done");
    siteViews.applyOwnCommit(number, outcome.change, outcome.epoch, outcome.timeline);
    expect(await recordsOf()).toBe(1 + many);
    expect((await loadUpToDate(siteViews, number)).collection(brand).find(1)?.json).toContain("later");
  });

  test("snapshot dropped meanwhile: read again, not replaced by the copy", async () => {
    const { number, siteViews, calls, commit, apply, inMemory } = await start();
    const snapshot = siteViews.findCached(number);
    if (!snapshot) throw new Error("the site is not in memory");
    await apply(await commit(many));
    siteViews.drop(snapshot, []);
    await waitUntil(() => inMemory() === 1 + many, "the site");
    expect(calls).toEqual(["readSite"]);
  });

  test("changes that don't fit the records in memory: site is read again", async () => {
    for (const count of [3, many]) {
      const { number, siteViews, calls, differences, commit, apply, recordsOf } = await start();
      const changes = await commit(count);
      const unfit = changes.map((change, index) =>
        index === 1 ? { ...change, operation: "delete" as const } : change,
      );
      await apply(unfit);
      await waitUntil(() => differences.length > 0, "the difference");
      expect(await recordsOf()).toBe(1 + count);
      expect(calls).toContain("readSite");
      expect(siteViews.findCached(number)?.revision).toBe(1 + count);
    }
  });

  test("site not in memory, or being loaded: unchanged", async () => {
    const { number, siteViews, commit, apply, recordsOf, delayLoads, inMemory } = await start();
    const released = Promise.withResolvers<void>();
    delayLoads(released.promise);
    const snapshot = siteViews.findCached(number);
    if (snapshot) siteViews.drop(snapshot, []);
    const loading = recordsOf();
    await apply(await commit(many));
    expect(inMemory()).toBeUndefined();
    released.resolve();
    expect([1, 1 + many]).toContain(await loading);
    expect(await recordsOf()).toBe(1 + many);
  });
});
