// Subscribers of a site are woken by a change of any process, and cost little while nothing changes.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Engine } from "../../../../../src/model/engine.ts";
import type { Head } from "../../../../../src/model/head.ts";
import { allResources } from "../../../../../src/resources/all.ts";
import { SiteChangeNotifier } from "../../../../../src/store/changes/site-change-notifier.ts";
import { openEngine } from "../../../../../src/store/open.ts";
import { engineKinds } from "../../../../support/engine/engines.ts";
import { createIntent } from "../../../../support/engine/intents.ts";
import { waitUntil } from "../../../../support/time.ts";

const never: Head = { revision: 0, epoch: "" };

describe.each(engineKinds)("on $name", (kind) => {
  let opened: Engine[] = [];
  let watches: SiteChangeNotifier[] = [];

  /** Two processes with the same database. The first process subscribes. */
  async function start(): Promise<[watch: SiteChangeNotifier, own: Engine, other: Engine]> {
    const url = await kind.newDatabase();
    opened = [await openEngine(url, allResources), await openEngine(url, allResources)];
    const [own, other] = opened as [Engine, Engine];
    const watch = new SiteChangeNotifier(own);
    watches.push(watch);
    return [watch, own, other];
  }

  beforeAll(() => kind.open());
  afterEach(async () => {
    for (const watch of watches) watch.stop();
    for (const engine of opened) await engine.close();
    [watches, opened] = [[], []];
  });
  afterAll(() => kind.close());

  const write = (engine: Engine, site: number) => engine.commit([createIntent({ site })]);

  /** A site of which only `later` knows. */
  const otherSite = 99;

  /**
   * Waits until changes that were made now have woken a subscriber. By then, an earlier change would have done the same. Two changes are needed: the first
   * may be found by the check of the new subscription, which reads no other site.
   */
  async function later(watch: SiteChangeNotifier, engine: Engine): Promise<void> {
    const [head] = await engine.readHeads([otherSite]);
    let calls = 0;
    const stop = watch.subscribe(otherSite, head as Head, () => void calls++);
    for (const count of [1, 2]) {
      await write(engine, otherSite);
      await waitUntil(() => calls === count, "the call for a later change");
    }
    stop();
  }

  test("a change by any process wakes the subscribers of its site, each once, and no others", async () => {
    const [watch, own, other] = await start();
    const calls = [0, 0, 0];
    for (const [index, site] of [1, 1, 2].entries()) {
      const [head] = await own.readHeads([site]);
      watch.subscribe(site, head as Head, () => {
        calls[index] = (calls[index] as number) + 1;
      });
    }
    await write(own, 1);
    await waitUntil(() => calls[0] === 1 && calls[1] === 1, "the calls for the first change");
    await write(other, 1);
    await waitUntil(() => calls[0] === 2 && calls[1] === 2, "the calls for the second change");
    await write(other, 2);
    await waitUntil(() => calls[2] === 1, "the call for the change of the other site");
    await later(watch, other);
    expect(calls).toEqual([2, 2, 1]);
  });

  test("a change before the subscription wakes the subscriber", async () => {
    const [watch, own] = await start();
    const stop = watch.subscribe(2, never, () => {});
    await write(own, 1);
    await later(watch, own);
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    watch.subscribe(1, never, () => resolve());
    await woken;
    stop();
  });

  test("another epoch wakes, also with the same revision and with a lower one", async () => {
    const [watch, own, other] = await start();
    await write(own, 1);
    await write(own, 1);
    let calls = 0;
    watch.subscribe(1, (await own.readHeads([1]))[0] as Head, () => void calls++);
    await later(watch, own);
    expect(calls).toBe(0);
    await other.replaceEpochs();
    await waitUntil(() => calls === 1, "the call for the new epoch");
    await other.replaceAllData((async function* () {})());
    await waitUntil(() => calls === 2, "the call for the restore");
    expect((await own.readHeads([1]))[0]?.revision).toBe(0);
  });

  test("a change during a call leads to another call, and two never run at once", async () => {
    const [watch, own] = await start();
    let [calls, running, most] = [0, 0, 0];
    const pending = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    watch.subscribe(1, never, async () => {
      most = Math.max(most, ++running);
      await pending[calls++]?.promise;
      running--;
    });
    await write(own, 1);
    await waitUntil(() => calls === 1, "the first call");
    await write(own, 1);
    await write(own, 1);
    await later(watch, own);
    expect(calls).toBe(1);
    for (const { resolve } of pending) resolve();
    await waitUntil(() => calls === 2, "the second call");
    await later(watch, own);
    expect([calls, most]).toEqual([2, 1]);
  });

  test("a subscriber that has unsubscribed is not called, and takes no memory", async () => {
    const [watch, own] = await start();
    let calls = 0;
    const stops = Array.from({ length: 100 }, (_, index) =>
      watch.subscribe(1 + (index % 10), never, () => void calls++),
    );
    expect(watch.size).toBe(10);
    for (const stop of [...stops, ...stops]) stop();
    expect(watch.size).toBe(0);
    await write(own, 1);
    await later(watch, own);
    expect(calls).toBe(0);
    // It can be used again.
    watch.subscribe(1, never, () => void calls++);
    await waitUntil(() => calls === 1, "a call");
  });
});

/** An engine that reports the commits that the test chooses. */
function createReporting(mayMiss: boolean) {
  const heads = new Map<number, number>();
  const state = {
    ...{ reads: 0, sitesRead: 0, isDown: false, watches: 0, cost: 0, timeline: 1 },
    report: (_?: readonly number[]) => {},
  };
  const engine: Pick<Engine, "readsOnThisThread" | "readHeads" | "subscribeToCommits"> = {
    readsOnThisThread: true,
    async readHeads(sites) {
      state.reads++;
      state.sitesRead += sites.length;
      if (state.isDown) throw new Error("down");
      const end = performance.now() + state.cost;
      while (performance.now() < end);
      return sites.map((site) => ({ revision: heads.get(site) ?? 0, epoch: "x", timeline: state.timeline }));
    },
    subscribeToCommits(onCommit) {
      state.watches++;
      state.report = onCommit;
      return { mayMissCommits: mayMiss, stop: () => void state.watches-- };
    },
  };
  return { engine, heads, state };
}

const known: Head = { revision: 0, epoch: "x", timeline: 1 };

/** Shorter times than usual. */
const times = { checkIntervalMs: 20, lingerMs: 50 };

describe("an engine", () => {
  let watch: SiteChangeNotifier;
  afterEach(() => watch.stop());

  test("that may miss commits is queried periodically, and an engine that misses none only when it reports", async () => {
    const [complete, lossy] = [createReporting(false), createReporting(true)];
    watch = new SiteChangeNotifier(complete.engine, times);
    const other = new SiteChangeNotifier(lossy.engine, times);
    const calls = { complete: 0, lossy: 0 };
    watch.subscribe(1, known, () => void calls.complete++);
    other.subscribe(1, known, () => void calls.lossy++);
    await waitUntil(() => complete.state.reads === 1 && lossy.state.reads === 1, "the first queries");
    for (const { heads } of [complete, lossy]) heads.set(1, 1);
    await waitUntil(() => calls.lossy === 1, "the call without a report");
    // The other engine would be queried just before this one.
    await waitUntil(() => lossy.state.reads > 2, "further queries");
    other.stop();
    expect([calls, complete.state.reads]).toEqual([{ complete: 0, lossy: 1 }, 1]);
  });

  test("on which another machine has taken over may have other changes under the same numbers", async () => {
    const { engine, state } = createReporting(false);
    watch = new SiteChangeNotifier(engine, times);
    const calls: Head[] = [];
    watch.subscribe(1, known, (head) => void calls.push(head));
    await waitUntil(() => state.reads === 1, "the first query");
    state.timeline = 2;
    state.report();
    await waitUntil(() => calls.length === 1, "the call");
    expect(calls).toEqual([{ ...known, timeline: 2 }]);
  });

  test("that names sites is queried for these sites only, and not for sites without subscribers", async () => {
    const { engine, heads, state } = createReporting(false);
    watch = new SiteChangeNotifier(engine, times);
    let calls = 0;
    for (let site = 1; site <= 1000; site++) watch.subscribe(site, known, () => void calls++);
    await waitUntil(() => state.sitesRead === 1000, "the first queries");
    state.report([5000]);
    heads.set(7, 1);
    state.report([7, 5000]);
    await waitUntil(() => calls === 1, "the call");
    expect(state.sitesRead).toBe(1001);
  });

  test("that fails is queried again until it responds, and no change is lost", async () => {
    const { engine, heads, state } = createReporting(false);
    watch = new SiteChangeNotifier(engine, times);
    let calls = 0;
    for (let site = 1; site <= 500; site++) watch.subscribe(site, known, () => void calls++);
    await waitUntil(() => state.sitesRead === 500, "the first queries");
    state.isDown = true;
    heads.set(1, 1);
    heads.set(500, 1);
    state.report();
    const { reads } = state;
    await waitUntil(() => state.reads >= reads + 3, "three failing queries");
    expect(calls).toBe(0);
    state.isDown = false;
    await waitUntil(() => calls === 2, "the calls");
  });

  test("that reports all the time is queried for about a tenth of the time, a chunk of the sites at a time", async () => {
    const { engine, state } = createReporting(false);
    watch = new SiteChangeNotifier(engine, times);
    for (let site = 1; site <= 10_000; site++) watch.subscribe(site, known, () => {});
    state.cost = 1;
    const begun = performance.now();
    while (state.reads <= 2 * 50) {
      state.report();
      await new Promise((resolve) => setImmediate(resolve));
    }
    // A scan has 50 reads of 1 ms, and then a pause of about 500 ms. On a busy machine, both are longer.
    expect(performance.now() - begun).toBeGreaterThan(2 * 300);
    expect(state.sitesRead / state.reads).toBeLessThanOrEqual(200);
  });

  test("has a subscription only while somebody subscribes, and for a moment after that", async () => {
    const { engine, state } = createReporting(true);
    watch = new SiteChangeNotifier(engine, times);
    expect(state.watches).toBe(0);
    for (let round = 0; round < 3; round++) {
      const stops = [watch.subscribe(1, known, () => {}), watch.subscribe(2, known, () => {})];
      expect(state.watches).toBe(1);
      for (const stop of stops) stop();
    }
    expect(state.watches).toBe(1);
    await waitUntil(() => state.watches === 0, "the end of the subscription");
  });
});
