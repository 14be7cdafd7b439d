// Subscribers of a site are woken by a change of any process, and cost little while nothing changes.

import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Engine, Head } from "../../src/model/engine.ts";
import { allResources } from "../../src/resources/all.ts";
import { SiteChangeNotifier } from "../../src/store/changes/site-change-notifier.ts";
import { openEngine } from "../../src/store/open.ts";
import { engineKinds } from "../support/engines.ts";
import { createIntent } from "../support/intents.ts";

setDefaultTimeout(60_000);

const never: Head = { revision: 0, epoch: "" };

/** Waits for a condition, until the time limit of the test. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await Bun.sleep(2);
}

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
    await until(() => calls[0] === 1 && calls[1] === 1);
    await write(other, 1);
    await until(() => calls[0] === 2 && calls[1] === 2);
    await write(other, 2);
    await until(() => calls[2] === 1);
    await Bun.sleep(300);
    expect(calls).toEqual([2, 2, 1]);
  });

  test("a change before the subscription wakes the subscriber", async () => {
    const [watch, own] = await start();
    await write(own, 1);
    await Bun.sleep(50);
    let calls = 0;
    watch.subscribe(1, never, () => void calls++);
    await until(() => calls === 1);
  });

  test("another epoch wakes, also with the same revision and with a lower one", async () => {
    const [watch, own, other] = await start();
    await write(own, 1);
    await write(own, 1);
    let calls = 0;
    watch.subscribe(1, (await own.readHeads([1]))[0] as Head, () => void calls++);
    await Bun.sleep(50);
    expect(calls).toBe(0);
    await other.renewEpochs();
    await until(() => calls === 1);
    await other.replaceAllData((async function* () {})());
    await until(() => calls === 2);
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
    await until(() => calls === 1);
    await write(own, 1);
    await write(own, 1);
    await Bun.sleep(300);
    expect(calls).toBe(1);
    for (const { resolve } of pending) resolve();
    await until(() => calls === 2);
    await Bun.sleep(300);
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
    await Bun.sleep(300);
    expect(calls).toBe(0);
    // It can be used again.
    watch.subscribe(1, never, () => void calls++);
    await until(() => calls === 1);
  });
});

/** An engine that reports the commits that the test chooses. */
function createReporting(mayMiss: boolean) {
  const heads = new Map<number, number>();
  const state = {
    ...{ reads: 0, sitesRead: 0, isDown: false, watches: 0, cost: 0, timeline: 1 },
    report: (_?: readonly number[]) => {},
  };
  const engine: Pick<Engine, "isLocal" | "readHeads" | "subscribeToCommits"> = {
    isLocal: true,
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

describe("an engine", () => {
  let watch: SiteChangeNotifier;
  afterEach(() => watch.stop());

  test("that may miss commits is queried periodically, and an engine that misses none only when it reports", async () => {
    for (const mayMiss of [true, false]) {
      const { engine, heads, state } = createReporting(mayMiss);
      watch = new SiteChangeNotifier(engine);
      let calls = 0;
      watch.subscribe(1, known, () => void calls++);
      await until(() => state.reads === 1);
      heads.set(1, 1);
      if (mayMiss) await until(() => calls === 1);
      else {
        await Bun.sleep(600);
        expect([calls, state.reads]).toEqual([0, 1]);
      }
      watch.stop();
    }
  });

  test("on which another machine has taken over may have other changes under the same numbers", async () => {
    const { engine, state } = createReporting(false);
    watch = new SiteChangeNotifier(engine);
    const calls: Head[] = [];
    watch.subscribe(1, known, (head) => void calls.push(head));
    await until(() => state.reads === 1);
    state.timeline = 2;
    state.report();
    await until(() => calls.length === 1);
    expect(calls).toEqual([{ ...known, timeline: 2 }]);
  });

  test("that names sites is queried for these sites only, and not for sites without subscribers", async () => {
    const { engine, heads, state } = createReporting(false);
    watch = new SiteChangeNotifier(engine);
    let calls = 0;
    for (let site = 1; site <= 1000; site++) watch.subscribe(site, known, () => void calls++);
    await until(() => state.sitesRead === 1000);
    await Bun.sleep(50);
    state.report([5000]);
    await Bun.sleep(20);
    expect(state.sitesRead).toBe(1000);
    heads.set(7, 1);
    state.report([7, 5000]);
    await until(() => calls === 1);
    expect(state.sitesRead).toBe(1001);
  });

  test("that fails is queried again until it responds, and no change is lost", async () => {
    const { engine, heads, state } = createReporting(false);
    watch = new SiteChangeNotifier(engine);
    let calls = 0;
    for (let site = 1; site <= 500; site++) watch.subscribe(site, known, () => void calls++);
    await until(() => state.sitesRead === 500);
    state.isDown = true;
    heads.set(1, 1);
    heads.set(500, 1);
    state.report();
    const { reads } = state;
    await until(() => state.reads >= reads + 3);
    expect(calls).toBe(0);
    state.isDown = false;
    await until(() => calls === 2);
  });

  test("that reports all the time is queried for about a tenth of the time, a chunk of the sites at a time", async () => {
    const { engine, state } = createReporting(false);
    watch = new SiteChangeNotifier(engine);
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
    watch = new SiteChangeNotifier(engine);
    expect(state.watches).toBe(0);
    for (let round = 0; round < 3; round++) {
      const stops = [watch.subscribe(1, known, () => {}), watch.subscribe(2, known, () => {})];
      expect(state.watches).toBe(1);
      for (const stop of stops) stop();
    }
    expect(state.watches).toBe(1);
    await until(() => state.watches === 0);
  });
});
