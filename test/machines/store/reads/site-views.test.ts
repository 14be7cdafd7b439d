// Races between loading, changing and querying snapshots, on an engine whose calls return when the test says so.

import { expect, test } from "bun:test";
import type { Change, JournalEntry } from "../../../../src/model/change.ts";
import type { RecordRow } from "../../../../src/model/engine.ts";
import { unavailableError } from "../../../../src/model/errors.ts";
import type { Head } from "../../../../src/model/head.ts";
import { brand } from "../../../../src/resources/brand.ts";
import type { WholeSite } from "../../../../src/store/database/read-all-rows.ts";
import type { Snapshot } from "../../../../src/store/memory/snapshot.ts";
import { SiteViews } from "../../../../src/store/reads/site-views.ts";
import { UncachedSite } from "../../../../src/store/reads/uncached-site.ts";
import { createManualEngine, type ManualEngine, type PendingCall } from "../../../support/engine/manual-engine.ts";
import { loadUpToDate } from "../../../support/engine/snapshots.ts";
import { failureOf } from "../../../support/failure.ts";

const plenty = 1 << 30;
const bodyOf = (id: number, Name: string) => JSON.stringify({ ID: id, Name });

/** A site whose one brand is named after the revision. */
function contentsAt(revision: number, epoch = "a"): WholeSite {
  const row = { resource: "brand", id: 1, revision, body: bodyOf(1, `r${revision}`) };
  return { head: { revision, epoch }, rows: revision === 0 ? [] : [row] };
}

function changeTo(revision: number, name = `r${revision}`): Change {
  const body = bodyOf(1, name);
  return { revision, at: 1, actor: "test", resource: "brand", id: 1, operation: "update", body };
}

const nameIn = (snapshot: Snapshot) => JSON.parse(snapshot.collection(brand).find(1)?.json ?? "{}").Name;
const systemHead = { revision: 0, epoch: "" };
const headAt = (revision: number, epoch = "a") => ({ revision, epoch });

/** Snapshots that have the system site and site 1, at `revision`, in memory. */
async function loaded(manual: ManualEngine, revision: number): Promise<SiteViews> {
  const siteViews = new SiteViews(manual.engine, [brand], plenty);
  const view = loadUpToDate(siteViews, 1);
  (await manual.next("readHeads")).resolve([systemHead, headAt(revision)]);
  (await manual.next("load")).resolve(contentsAt(0, ""));
  (await manual.next("load")).resolve(contentsAt(revision));
  expect(nameIn(await view)).toBe(`r${revision}`);
  return siteViews;
}

/** Waits for the next query for heads, and answers that the head of site 1 is `revision`. */
async function tellHead(manual: ManualEngine, revision: number, epoch = "a"): Promise<void> {
  (await manual.next("readHeads")).resolve([systemHead, headAt(revision, epoch)]);
}

test.each([
  ["far away", undefined],
  ["that detects commits by itself", () => false],
])("with a store %s, a request waits for an earlier load and reads the changes since", async (_, unchanged) => {
  const manual = createManualEngine(unchanged);
  const siteViews = new SiteViews(manual.engine, [brand], plenty);
  const early = loadUpToDate(siteViews, 1);
  await tellHead(manual, 1);
  (await manual.next("load")).resolve(contentsAt(0, ""));
  const load = await manual.next("load");
  const late = loadUpToDate(siteViews, 1);
  // Another process has written since the load began.
  await tellHead(manual, 2);
  expect(await manual.waiting()).toEqual([]);
  load.resolve(contentsAt(1));
  const since = await manual.next("readChangesSince");
  expect(since.args.slice(0, 2)).toEqual([1, 1]);
  since.resolve([changeTo(2)]);
  expect(nameIn(await late)).toBe("r2");
  expect((await early).siteId).toBe(1);
});

test("failed load: later requests don't fail", async () => {
  const manual = createManualEngine();
  const siteViews = new SiteViews(manual.engine, [brand], plenty);
  const early = Promise.resolve(loadUpToDate(siteViews, 1)).catch((error) => error.message);
  await tellHead(manual, 1);
  (await manual.next("load")).resolve(contentsAt(0, ""));
  const load = await manual.next("load");
  const late = loadUpToDate(siteViews, 1);
  await tellHead(manual, 1);
  load.reject(new Error("lost"));
  (await manual.next("load")).resolve(contentsAt(1));
  expect(nameIn(await late)).toBe("r1");
  expect(await early).toBe("lost");
});

test("load without a response: waiting requests fail, so none waits twice", async () => {
  const manual = createManualEngine();
  const siteViews = new SiteViews(manual.engine, [brand], plenty);
  const early = failureOf(loadUpToDate(siteViews, 1));
  await tellHead(manual, 1);
  (await manual.next("load")).resolve(contentsAt(0, ""));
  const load = await manual.next("load");
  const late = failureOf(loadUpToDate(siteViews, 1));
  await tellHead(manual, 1);
  expect(await manual.waiting()).toEqual([]);
  load.reject(unavailableError("the database did not respond"));
  expect((await late).message).toBe((await early).message);
  expect(await manual.waiting()).toEqual([]);
});

test("requests waiting for a load: share the next one and its failure", async () => {
  const manual = createManualEngine();
  const siteViews = new SiteViews(manual.engine, [brand], plenty);
  const failures = Promise.all(
    Array.from({ length: 10 }, () => loadUpToDate(siteViews, 1).catch((error) => error.message)),
  );
  let loads = 0;
  for (let [name] = await manual.waiting(); name; [name] = await manual.waiting()) {
    if (name === "readHeads") await tellHead(manual, 1);
    else {
      const load = await manual.next("load");
      if (load.args[0] === 0) load.resolve(contentsAt(0, ""));
      else load.reject(new Error(`failure ${++loads}`));
    }
  }
  expect(await failures).toEqual(["failure 1", ...new Array(9).fill("failure 2")]);
});

test("requests waiting during a restore: don't each load the site again", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 1);
  const view = Promise.resolve(siteViews.getUpToDate(2));
  await tellHead(manual, 1);
  const site = await view;
  if (!(site instanceof UncachedSite)) throw new Error("the site is in memory");
  const lists = Array.from({ length: 10 }, () =>
    Promise.resolve(site.loadSnapshot()).then(String, (error) => error.constructor.name),
  );
  let loads = 0;
  for (; (await manual.waiting()).length > 0; loads++) (await manual.next("load")).resolve(contentsAt(1, "b"));
  expect(await Promise.all(lists)).toEqual(new Array(10).fill("OutdatedError"));
  expect(loads).toBe(2);
});

test("shared call: includes changes since", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 1);
  const respond = ({ args: [, revision, options], resolve }: PendingCall<"readChangesSince">) =>
    resolve(Array.from({ length: options?.limit as number }, (_, i) => changeTo(revision + 1 + i)));
  const names: Promise<string>[] = [];
  const first: PendingCall<"readChangesSince">[] = [];
  // The second waits for the first and then applies as many changes again. The third shares that.
  for (const head of [1001, 2001, 2301]) {
    names.push(loadUpToDate(siteViews, 1).then(nameIn));
    if ((await manual.waiting())[0] === "readChangesSince") first.push(await manual.next("readChangesSince"));
    await tellHead(manual, head);
  }
  first.forEach(respond);
  while ((await manual.waiting()).length > 0) respond(await manual.next("readChangesSince"));
  expect(await Promise.all(names)).toEqual(["r1001", "r2001", "r2301"]);
});

test("shared query: shares the load that follows", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 1);
  const first = loadUpToDate(siteViews, 1);
  const shared = [loadUpToDate(siteViews, 1), loadUpToDate(siteViews, 1), loadUpToDate(siteViews, 1)];
  await tellHead(manual, 1);
  expect(nameIn(await first)).toBe("r1");
  await tellHead(manual, 2);
  (await manual.next("readChangesSince")).resolve([changeTo(2)]);
  expect((await Promise.all(shared)).map(nameIn)).toEqual(["r2", "r2", "r2"]);
  expect(await manual.waiting()).toEqual([]);
});

test("many changes: read in several steps", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 1);
  const view = loadUpToDate(siteViews, 1);
  await tellHead(manual, 2100);
  const first = await manual.next("readChangesSince");
  const limit = first.args[2]?.limit as number;
  first.resolve(Array.from({ length: limit }, (_, i) => changeTo(2 + i)));
  const second = await manual.next("readChangesSince");
  expect(second.args[1]).toBe(1 + limit);
  second.resolve(Array.from({ length: 2100 - 1 - limit }, (_, i) => changeTo(2 + limit + i)));
  expect(nameIn(await view)).toBe("r2100");
});

test("earlier head than before: site is loaded again", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 5);
  const view = loadUpToDate(siteViews, 1);
  await tellHead(manual, 4);
  (await manual.next("load")).resolve(contentsAt(4));
  expect(nameIn(await view)).toBe("r4");
});

for (const { what, stored, shown } of [
  { what: "is served if its last change is stored there", stored: changeTo(5), shown: "r5" },
  {
    what: "is evicted, and gets a new epoch, if another change is stored there",
    stored: changeTo(5, "other"),
    shown: "new",
  },
]) {
  test(`when another machine has taken over, a site in memory ${what}`, async () => {
    const manual = createManualEngine();
    const siteViews = await loaded(manual, 4);
    siteViews.applyOwnCommit(1, changeTo(5), "a");
    const view = loadUpToDate(siteViews, 1);
    (await manual.next("readHeads")).resolve([
      { ...systemHead, timeline: 2 },
      { ...headAt(5), timeline: 2 },
    ]);
    const system = { ...systemHead, timeline: 2 };
    (await manual.next("readJournalPage")).resolve({ head: system, floor: 0, entries: [] });
    const call = await manual.next("readJournalPage");
    expect(call.args).toEqual([1, 4, 1]);
    // A change on the new machine is not applied after changes that may be lost.
    siteViews.applyOwnCommit(1, changeTo(6), "a", 2);
    call.resolve({ head: { ...headAt(5), timeline: 2 }, floor: 0, entries: [stored as JournalEntry] });
    if (shown === "new") {
      const replacement = await manual.next("replaceEpoch");
      expect(replacement.args).toEqual([1, "a"]);
      replacement.resolve({ ...headAt(5, "b"), timeline: 2 });
      (await manual.next("readHeads")).resolve([system, { ...headAt(5, "b"), timeline: 2 }]);
      const { rows } = contentsAt(5);
      const body = bodyOf(1, "new");
      (await manual.next("load")).resolve({
        head: { ...headAt(5, "b"), timeline: 2 },
        rows: rows.map((row) => ({ ...row, body })),
      });
    }
    expect(nameIn(await view)).toBe(shown);
    expect(await manual.waiting()).toEqual([]);
  });
}

test("when another machine has taken over, sites in memory are compared even without requests", async () => {
  const manual = createManualEngine();
  const lost: number[] = [];
  const siteViews = new SiteViews(manual.engine, [brand], plenty, { onLost: (site) => void lost.push(site) });
  const on = (head: Head, timeline: number) => ({ ...head, timeline });
  const first = loadUpToDate(siteViews, 1);
  (await manual.next("readHeads")).resolve([on(systemHead, 1), on(headAt(3), 1)]);
  (await manual.next("load")).resolve({ ...contentsAt(0, ""), head: on(systemHead, 1) });
  (await manual.next("load")).resolve({ ...contentsAt(3), head: on(headAt(3), 1) });
  await first;
  const later = siteViews.getUpToDate(0);
  (await manual.next("readHeads")).resolve([on(systemHead, 2)]);
  const journal = await manual.next("readJournalPage");
  expect(journal.args).toEqual([1, 2, 1]);
  journal.resolve({ head: on(headAt(2), 2), floor: 0, entries: [] });
  (await manual.next("readJournalPage")).resolve({ head: on(systemHead, 2), floor: 0, entries: [] });
  await later;
  const replacement = await manual.next("replaceEpoch");
  expect(replacement.args).toEqual([1, "a"]);
  expect(lost).toEqual([]);
  replacement.resolve(on(headAt(2, "b"), 2));
  await manual.waiting();
  expect(lost).toEqual([1]);
  expect(siteViews.usage.sites).toBe(1);
});

test("system site change after a reload: not applied", async () => {
  const manual = createManualEngine();
  const siteViews = new SiteViews(manual.engine, [brand], plenty);
  const followed: string[] = [];
  siteViews.subscribeToSystemSite({
    onSnapshot: ({ epoch }) => void followed.push(`reset to ${epoch}`),
    onEntry: ({ revision }) => void followed.push(`change ${revision}`),
  });
  const first = loadUpToDate(siteViews, 0);
  (await manual.next("readHeads")).resolve([headAt(1)]);
  (await manual.next("load")).resolve(contentsAt(1));
  await first;
  const slow = loadUpToDate(siteViews, 0);
  (await manual.next("readHeads")).resolve([headAt(2)]);
  const since = await manual.next("readChangesSince");
  // Another process restores a backup.
  const late = loadUpToDate(siteViews, 0);
  (await manual.next("readHeads")).resolve([headAt(1, "b")]);
  (await manual.next("load")).resolve(contentsAt(1, "b"));
  await late;
  since.resolve([changeTo(2)]);
  // The slow request has read the data of the epoch before, so it queries again.
  (await manual.next("readHeads")).resolve([headAt(1, "b")]);
  expect((await slow).epoch).toBe("b");
  expect(followed).toEqual(["reset to a", "reset to b"]);
});

test("late subscriber: gets the system site's snapshot right away", async () => {
  const siteViews = await loaded(createManualEngine(), 5);
  const followed: string[] = [];
  siteViews.subscribeToSystemSite({
    onSnapshot: ({ epoch }) => void followed.push(`reset to ${epoch}`),
    onEntry: ({ revision }) => void followed.push(`change ${revision}`),
  });
  expect(followed).toEqual([`reset to ${siteViews.systemHead.epoch}`]);
});

test("own change during a head query: database isn't taken for one with an earlier head", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 5);
  const view = loadUpToDate(siteViews, 1);
  siteViews.applyOwnCommit(1, changeTo(6), "a");
  await tellHead(manual, 5);
  expect(nameIn(await view)).toBe("r6");
  expect(await manual.waiting()).toEqual([]);
});

for (const [what, applied, contents, shown] of [
  ["is not used if changes since are newer", [2, 3, 4], contentsAt(3), "r4"],
  ["is used if it is newer than the changes since", [2], contentsAt(3), "r3"],
  ["is used if it has another epoch, although its revision is lower", [2, 3, 4, 5], contentsAt(3, "b"), "r3"],
] as const) {
  test(`a second load of a site ${what}`, async () => {
    const manual = createManualEngine();
    const siteViews = await loaded(manual, 1);
    const view = loadUpToDate(siteViews, 1);
    await tellHead(manual, 3, contents.head.epoch);
    // The journal no longer has revision 1.
    if (contents.head.epoch === "a") (await manual.next("readChangesSince")).resolve(undefined);
    const load = await manual.next("load");
    for (const revision of applied) siteViews.applyOwnCommit(1, changeTo(revision), "a");
    load.resolve(contents);
    expect(nameIn(await view)).toBe(shown);
    expect((await view).epoch).toBe(contents.head.epoch);
  });
}

test("transaction committed after the head query: no part is seen", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 1);
  // The second time, a copy is made, because the changes are many.
  for (const head of [2, 1102]) {
    const view = loadUpToDate(siteViews, 1);
    await tellHead(manual, head);
    while ((await manual.waiting()).length > 0) {
      const { args, resolve } = await manual.next("readChangesSince");
      resolve(Array.from({ length: args[2]?.limit as number }, (_, i) => changeTo(args[1] + 1 + i)));
    }
    expect(nameIn(await view)).toBe(`r${head}`);
  }
});

test("second load of the same revision: keeps the snapshot and its lists", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 1);
  const asked = loadUpToDate(siteViews, 1);
  await tellHead(manual, 1);
  const before = await asked;
  const view = loadUpToDate(siteViews, 1);
  await tellHead(manual, 2);
  (await manual.next("readChangesSince")).resolve(undefined);
  const load = await manual.next("load");
  siteViews.applyOwnCommit(1, changeTo(2), "a");
  load.resolve(contentsAt(2));
  expect(await view).toBe(before);
});

test("changes with a gap: not applied, site is loaded again", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 1);
  const view = loadUpToDate(siteViews, 1);
  await tellHead(manual, 3);
  (await manual.next("readChangesSince")).resolve([changeTo(3)]);
  (await manual.next("load")).resolve(contentsAt(3));
  expect(nameIn(await view)).toBe("r3");
});

test("another epoch's change: not applied", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 1);
  siteViews.applyOwnCommit(1, changeTo(2), "b");
  const view = loadUpToDate(siteViews, 1);
  await tellHead(manual, 1);
  expect(nameIn(await view)).toBe("r1");
});

test("no commit reported: no query", async () => {
  let same = false;
  const manual = createManualEngine(() => same);
  const siteViews = await loaded(manual, 1);
  const asked = loadUpToDate(siteViews, 1);
  await tellHead(manual, 1);
  await asked;
  same = true;
  expect(nameIn(await loadUpToDate(siteViews, 1))).toBe("r1");
  expect(await manual.waiting()).toEqual([]);
  same = false;
  const view = loadUpToDate(siteViews, 1);
  await tellHead(manual, 2);
  (await manual.next("readChangesSince")).resolve([changeTo(2)]);
  expect(nameIn(await view)).toBe("r2");
});

test("query sent before a commit: later reads still see the commit", async () => {
  let same = false;
  const manual = createManualEngine(() => same);
  const siteViews = await loaded(manual, 1);
  const early = loadUpToDate(siteViews, 1);
  const call = await manual.next("readHeads");
  // A commit happens after the query and before its result arrives. The next read is informed once.
  const late = loadUpToDate(siteViews, 1);
  const lateCall = await manual.next("readHeads");
  call.resolve([systemHead, headAt(1)]);
  await early;
  same = true;
  const third = loadUpToDate(siteViews, 1);
  expect(await manual.waiting()).toEqual(["readHeads"]);
  await tellHead(manual, 2);
  (await manual.next("readChangesSince")).resolve([changeTo(2)]);
  expect(nameIn(await third)).toBe("r2");
  lateCall.resolve([systemHead, headAt(2)]);
  expect(nameIn(await late)).toBe("r2");
});

test("catch-up: keys first, so that nobody finds newer records with older keys", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 1);
  const first = loadUpToDate(siteViews, 1);
  // Another process has revoked a key and then changed the record.
  (await manual.next("readHeads")).resolve([headAt(1, ""), headAt(2)]);
  const { args, resolve } = await manual.next("readChangesSince");
  expect(args.slice(0, 2)).toEqual([0, 0]);
  expect(await manual.waiting()).toEqual([]);
  resolve([{ ...changeTo(1), operation: "create" }]);
  (await manual.next("readChangesSince")).resolve([changeTo(2)]);
  expect(nameIn(await first)).toBe("r2");
  expect(siteViews.systemHead.revision).toBe(1);
});

test("evicted while a request catches up: stays evicted", async () => {
  const manual = createManualEngine();
  const siteViews = new SiteViews(manual.engine, [brand], 1);
  const read = async (site: number, revision: number) => {
    const view = loadUpToDate(siteViews, site);
    (await manual.next("readHeads")).resolve([systemHead, headAt(revision)]);
    for (let [name] = await manual.waiting(); name === "load"; [name] = await manual.waiting()) {
      const load = await manual.next("load");
      load.resolve(load.args[0] === 0 ? contentsAt(0, "") : contentsAt(revision));
    }
    return view;
  };
  await read(1, 1);
  const slow = loadUpToDate(siteViews, 1);
  await tellHead(manual, 2);
  const since = await manual.next("readChangesSince");
  await read(2, 1);
  since.resolve([changeTo(2)]);
  expect(nameIn(await slow)).toBe("r2");
  const { bytes } = siteViews.usage;
  // It stays in memory, as a site that is larger than the budget does.
  const again = await read(1, 2);
  expect(await read(1, 2)).toBe(again);
  expect(siteViews.usage).toMatchObject({ sites: 2, bytes });
});

test("caught-up site: memory counted even without requests", async () => {
  const manual = createManualEngine();
  const siteViews = await loaded(manual, 1);
  const { bytes, sites } = siteViews.usage;
  const view = Promise.resolve(siteViews.getUpToDate(1));
  await tellHead(manual, 1001);
  expect((await view).revision).toBe(1001);
  while ((await manual.waiting()).length > 0) {
    const { args, resolve } = await manual.next("readChangesSince");
    resolve(Array.from({ length: args[2]?.limit as number }, (_, i) => changeTo(args[1] + 1 + i)));
  }
  expect(siteViews.usage.sites).toBe(sites);
  expect(siteViews.usage.bytes).toBeGreaterThanOrEqual(bytes);
});

test("over budget: least recently used site goes first, the system site never", async () => {
  const manual = createManualEngine();
  const rows = (site: number): RecordRow[] =>
    Array.from({ length: 100 }, (_, i) => ({
      resource: "brand",
      id: i + 1,
      revision: i + 1,
      body: bodyOf(i + 1, `${site}`.repeat(250)),
    }));
  /** Returns the sites that were loaded for an up-to-date snapshot of `site`. */
  async function read(site: number): Promise<number[]> {
    const view = loadUpToDate(siteViews, site);
    (await manual.next("readHeads")).resolve(site === 0 ? [systemHead] : [systemHead, headAt(100)]);
    const sites: number[] = [];
    while ((await manual.waiting()).length > 0) {
      const load = await manual.next("load");
      sites.push(load.args[0]);
      load.resolve(load.args[0] === 0 ? contentsAt(0, "") : { head: headAt(100), rows: rows(load.args[0]) });
    }
    await view;
    return sites;
  }
  let siteViews = new SiteViews(manual.engine, [brand], plenty);
  await read(1);
  await read(2);
  // A little more than two sites need.
  siteViews = new SiteViews(manual.engine, [brand], siteViews.usage.bytes * 1.25);
  expect(await read(0)).toEqual([0]);
  expect(await read(1)).toEqual([1]);
  expect(await read(2)).toEqual([2]);
  expect(await read(1)).toEqual([]);
  expect(await read(3)).toEqual([3]);
  expect(siteViews.usage.sites).toBe(3);
  expect(await read(1)).toEqual([]);
  expect(await read(3)).toEqual([]);
  expect(await read(2)).toEqual([2]);
  expect(await read(3)).toEqual([]);
  expect(await read(1)).toEqual([1]);
});
