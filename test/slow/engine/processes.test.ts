// Several processes on one database, on each engine: writes at the same time, subscriptions to commits, and stored times.

import { describe, expect, test } from "bun:test";
import type { DumpedRow, Engine } from "../../../src/model/engine.ts";
import { readAllRows } from "../../../src/store/database/read-all-rows.ts";
import { engineKinds, useEngineAndOpener } from "../../support/engine/engines.ts";
import { createBrand } from "../../support/engine/intents.ts";
import { waitUntil } from "../../support/time.ts";

/** The sites of each call of a subscription. */
type Commits = (readonly number[] | undefined)[];

describe.each(engineKinds)("on $name", (kind) => {
  let engine: Engine;
  let url: string;
  const { open } = useEngineAndOpener(kind, (first, address) => {
    [engine, url] = [first, address];
  });
  let site = 0;
  const newSite = () => ++site;

  test("two processes write to one site at once: no revision is missing, and each is there once", async () => {
    const number = newSite();
    const other = await open(url);
    const write = async (one: Engine) => {
      for (let i = 0; i < 20; i++) await one.commit([createBrand(number, "a"), createBrand(number, "b")]);
    };
    await Promise.all([write(engine), write(other), write(other)]);
    const { head, rows } = await readAllRows(engine, number);
    expect(head.revision).toBe(120);
    expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 120 }, (_, i) => i + 1));
    const changes = await other.readChangesSince(number, 0);
    expect(changes?.map(({ revision }) => revision)).toEqual(Array.from({ length: 120 }, (_, i) => i + 1));
  });

  test("two processes that each write to several sites do not block each other for ever", async () => {
    const [one, two] = [newSite(), newSite()];
    const other = await open(url);
    const run = async (process: Engine, sites: number[]) => {
      for (let i = 0; i < 20; i++) await process.commit(sites.map((number) => createBrand(number, "a")));
    };
    await Promise.all([run(engine, [one, two]), run(other, [two, one])]);
    expect((await engine.readHeads([one, two])).map(({ revision }) => revision)).toEqual([40, 40]);
  });

  test("a subscription gets the commits of this process, and of all others unless it says that it may miss some", async () => {
    const other = await open(url);
    const number = newSite();
    // Behind a pooler, a subscription gets only the commits of its own process.
    const writers = kind.isForPooler ? [engine] : [engine, other];
    /** Writes once per process, and waits until a subscription has got each commit. */
    const write = async (calls: Commits) => {
      for (const writer of writers) {
        calls.length = 0;
        await writer.commit([createBrand(number, "a")]);
        await waitUntil(() => calls.some((sites) => sites === undefined || sites.includes(number)), "the commit");
      }
    };
    const [seen, seenLater]: [Commits, Commits] = [[], []];
    const watch = engine.subscribeToCommits((sites) => void seen.push(sites));
    for (let round = 0; round < 3; round++) await write(seen);
    expect(watch.mayMissCommits || !kind.isForPooler).toBe(true);
    watch.stop();
    watch.stop();
    const later = engine.subscribeToCommits((sites) => void seenLater.push(sites));
    // Notifications of earlier commits may have been in flight.
    await write(seenLater);
    seen.length = 0;
    for (let round = 0; round < 2; round++) await write(seenLater);
    expect(seen).toHaveLength(0);
    later.stop();
  });

  test("when keys were last used is kept, and never goes back", async () => {
    await engine.saveKeyUses(
      new Map([
        [1, 100],
        [2, 200],
      ]),
    );
    await engine.saveKeyUses(
      new Map([
        [1, 50],
        [2, 300],
      ]),
    );
    expect([...(await engine.readLastKeyUses())]).toEqual([
      [1, 100],
      [2, 300],
    ]);
  });

  test("the time of the last backup is stored, decreases only if it is in the future, and is not part of a backup or restore", async () => {
    const address = await kind.newDatabase();
    const [one, other] = [await open(address), await open(address)];
    expect(await one.readLastBackupTime()).toBeUndefined();
    await Promise.all([one.saveBackupTime(2000), other.saveBackupTime(3000), one.saveBackupTime(1000)]);
    expect([await one.readLastBackupTime(), await other.readLastBackupTime()]).toEqual([3000, 3000]);
    await one.saveBackupTime(Date.now() + 1e10);
    await other.saveBackupTime(3000);
    expect([await one.readLastBackupTime(), await other.readLastBackupTime()]).toEqual([3000, 3000]);
    await one.commit([createBrand(1, "a")]);
    const dumped: DumpedRow[] = [];
    for await (const row of one.dump()) dumped.push(row);
    expect(dumped.map(({ table }) => table)).toEqual(["sites", "records", "journal"]);
    await other.replaceAllData(
      (async function* () {
        yield* dumped;
      })(),
    );
    expect([await one.readLastBackupTime(), await one.findInconsistencies()]).toEqual([3000, []]);
  });
});
