// The contract of every engine (src/model/engine.ts), tested with each engine.

import { heapStats } from "bun:jsc";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { headVersion, type Intent, type Outcome } from "../../src/model/change.ts";
import type { DumpedRow, Engine, Head } from "../../src/model/engine.ts";
import { idempotencyLifetimeMs } from "../../src/model/limits.ts";
import { allResources } from "../../src/resources/all.ts";
import { readAllRows } from "../../src/store/database/site-state.ts";
import { openEngine } from "../../src/store/open.ts";
import { engineKinds } from "../support/engines.ts";
import { createIntent, deleteSiteRecord, versionAfter } from "../support/intents.ts";

for (const kind of engineKinds) {
  describe(kind.name, () => {
    let engine: Engine;
    let url: string;
    const opened: Engine[] = [];
    const open = async (address: string) => {
      const another = await openEngine(address, allResources);
      opened.push(another);
      return another;
    };

    beforeAll(async () => {
      await kind.open();
      url = await kind.newDatabase();
      engine = await open(url);
    });
    afterAll(async () => {
      for (const one of opened) await one.close();
      await kind.close();
    });

    let site = 0;
    const newSite = () => ++site;

    test("a site that was never written to is empty and at revision 0", async () => {
      const number = newSite();
      expect((await engine.readHeads([number]))[0]?.revision).toBe(0);
      expect((await readAllRows(engine, number)).rows).toEqual([]);
      expect(await engine.readChangesSince(number, 0)).toEqual([]);
    });

    // The test is about texts in memory, which do not depend on prepared statements.
    if (!kind.isVariant)
      test("a record that is kept keeps nothing else of the batch that changed it", async () => {
        const [number, batchSize, batches] = [newSite(), 64, 60];
        await engine.commit(Array.from({ length: batchSize }, () => create(number, "a")));
        const kept: string[] = [];
        const before = memoryOfTexts();
        for (let i = 0; i < batches; i++) {
          const batch = Array.from({ length: batchSize }, (_, at) =>
            update(number, at + 1, { Name: `${i}`.padEnd(1000) }),
          );
          const [first] = (await engine.commit(batch)) as [Extract<Outcome, { kind: "done" }>];
          // The response is a read.
          expect(first.body).toContain(`"Name":"${i} `);
          kept.push(first.body);
        }
        expect(memoryOfTexts() - before).toBeLessThan((batches * batchSize * 1000) / 4);
        expect(new Set(kept).size).toBe(batches);
      });

    test("records get IDs from 1 per site and resource", async () => {
      const [one, two] = [newSite(), newSite()];
      const outcomes = await engine.commit([
        create(one, "Acme"),
        create(one, "Bolt"),
        create(two, "Acme"),
        { ...create(one, "New"), resource: "order-status" },
      ]);
      expect(outcomes.map(idOf)).toEqual([1, 2, 1, 1]);
    });

    test("a created record is loaded with the same JSON text", async () => {
      const number = newSite();
      const name = "Ça \"va\"? 日本 \\ 'x' \u{1f600} \t\r\n";
      await engine.commit([create(number, name)]);
      const { head, rows } = await readAllRows(engine, number);
      expect(head.revision).toBe(1);
      expect(rows).toEqual([{ resource: "brand", id: 1, revision: 1, body: JSON.stringify({ ID: 1, Name: name }) }]);
    });

    test("heads come in the order of the request, sites without writes among them", async () => {
      const [one, two, three] = [newSite(), newSite(), newSite()];
      await engine.commit([create(one, "a"), create(three, "a"), create(three, "b")]);
      const heads = (await engine.readHeads([three, two, one])) as Head[];
      expect(heads.map(({ revision }) => revision)).toEqual([2, 0, 1]);
      expect(new Set(heads.map(({ epoch }) => epoch)).size).toBe(3);
    });

    test("updates change the fields that they name, and an update that changes nothing has no journal entry", async () => {
      const number = newSite();
      await engine.commit([
        { ...create(number, "Acme"), valuesJson: '{"Name":"Acme","Address":{"Town":"Ulm","Title":""}}' },
      ]);
      const [changed, same] = await engine.commit([
        update(number, 1, { Address: { Town: "Bonn" } }),
        update(number, 1, { Name: "Acme" }),
      ]);
      expect(changed).toMatchObject({
        kind: "done",
        body: '{"ID":1,"Name":"Acme","Address":{"Town":"Bonn","Title":""}}',
      });
      expect(same).toMatchObject({ kind: "unchanged", id: 1 });
      expect((await engine.readHeads([number]))[0]?.revision).toBe(2);
    });

    test("the writes of a batch see one another, on one record too", async () => {
      const number = newSite();
      const outcomes = await engine.commit([
        create(number, "Acme"),
        update(number, 1, { Name: "Bolt" }),
        remove(number, 1),
        update(number, 1, { Name: "Cord" }),
        create(number, "Dash"),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "done", "done", "rejected", "done"]);
      expect(idOf(outcomes[4])).toBe(2);
      const { rows } = await readAllRows(engine, number);
      expect(rows.map(({ id, body }) => [id, body])).toEqual([
        [1, null],
        [2, '{"ID":2,"Name":"Dash"}'],
      ]);
    });

    test("an ID is never used again, and a record can be created with an ID that the write names", async () => {
      const number = newSite();
      await engine.commit([create(number, "a"), { ...create(number, "b"), id: 7 }, remove(number, 7)]);
      const [used, next] = await engine.commit([{ ...create(number, "c"), id: 7 }, create(number, "d")]);
      expect(used).toEqual({ kind: "rejected", rejectionReason: "id-used" });
      expect(idOf(next)).toBe(8);
    });

    test("a deleted record can be restored under its ID", async () => {
      const number = newSite();
      await engine.commit([create(number, "a"), remove(number, 1)]);
      const [outcome] = await engine.commit([
        { ...update(number, 1, {}), operation: "restore", valuesJson: '{"ID":1,"Name":"a"}' },
      ]);
      expect(outcome).toMatchObject({ kind: "done", id: 1, body: '{"ID":1,"Name":"a"}' });
      expect((await readAllRows(engine, number)).rows).toMatchObject([
        { id: 1, revision: 3, body: '{"ID":1,"Name":"a"}' },
      ]);
    });

    test("a write to a record that does not exist is rejected", async () => {
      const number = newSite();
      expect(await engine.commit([update(number, 1, {}), remove(number, 1)])).toEqual([
        { kind: "rejected", rejectionReason: "not-found" },
        { kind: "rejected", rejectionReason: "not-found" },
      ]);
    });

    test("a write that requires a version is rejected when the record has another", async () => {
      const number = newSite();
      const [made] = await engine.commit([create(number, "a")]);
      const version = versionAfter(made);
      const [first, second] = await engine.commit([
        { ...update(number, 1, { Name: "b" }), ifVersion: [version] },
        { ...update(number, 1, { Name: "c" }), ifVersion: [version] },
      ]);
      expect(first?.kind).toBe("done");
      expect(second).toEqual({ kind: "rejected", rejectionReason: "precondition-failed" });
    });

    test("a write that excludes a version is rejected when the record has it", async () => {
      const number = newSite();
      const [made] = await engine.commit([create(number, "a")]);
      const version = versionAfter(made);
      const outcomes = await engine.commit([
        { ...update(number, 1, { Name: "b" }), ifNotVersion: [version] },
        { ...update(number, 1, { Name: "c" }), ifNotVersion: ["*"] },
        { ...update(number, 1, { Name: "d" }), ifNotVersion: ["another"] },
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["rejected", "rejected", "done"]);
    });

    test("a write that names the head of the site is rejected when the site has a later head, or another epoch", async () => {
      const number = newSite();
      await engine.commit([{ ...create(number, "a"), ifHead: "" }]);
      const [head] = (await engine.readHeads([number])) as [Head];
      const seen = { ifHead: headVersion(head), ifEpoch: head.epoch };
      const [first] = await engine.commit([{ ...create(number, "b"), ...seen }]);
      const [moved] = await engine.commit([{ ...create(number, "c"), ...seen }]);
      const [another] = await engine.commit([{ ...create(number, "d"), ifEpoch: "another" }]);
      expect(first?.kind).toBe("done");
      expect(moved).toEqual({ kind: "rejected", rejectionReason: "precondition-failed" });
      expect(another).toEqual({ kind: "rejected", rejectionReason: "other-epoch" });
    });

    test("all intents or none: if one is rejected, nothing is stored", async () => {
      const number = newSite();
      const outcomes = await engine.commit([create(number, "a"), update(number, 9, {}), create(number, "b")], true);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "rejected"]);
      expect((await readAllRows(engine, number)).rows).toEqual([]);
      expect((await engine.readHeads([number]))[0]?.revision).toBe(0);
    });

    test("a repeated request with an idempotency key creates one record and has one response", async () => {
      const number = newSite();
      const intent = { ...create(number, "a"), idempotency: { keyId: 3, name: 'it\'s \\ "mine"', digest: "d1" } };
      const [first] = await engine.commit([intent]);
      const [again, twice] = await engine.commit([intent, intent]);
      for (const outcome of [again, twice]) {
        expect(outcome).toMatchObject({ kind: "replayed", id: 1 });
        expect(versionAfter(outcome)).toBe(versionAfter(first));
      }
      expect((await readAllRows(engine, number)).rows).toHaveLength(1);
    });

    test("an idempotency key used for another request is rejected, and expires after a day", async () => {
      const number = newSite();
      const named = (digest: string) => ({ ...create(number, "a"), idempotency: { keyId: 3, name: "k", digest } });
      await engine.commit([named("d1")]);
      expect(await engine.commit([named("d2")])).toEqual([
        { kind: "rejected", rejectionReason: "idempotency-key-reused" },
      ]);
      const [late] = await engine.commit([{ ...named("d2"), at: idempotencyLifetimeMs + 2 }]);
      expect(late).toMatchObject({ kind: "done", id: 2 });
    });

    test("a clock that jumps back loses nothing: revisions continue, and no entry is earlier than the one before", async () => {
      const number = newSite();
      await engine.commit([{ ...create(number, "a"), at: 1_000_000 }]);
      await engine.commit([{ ...create(number, "b"), at: 5 }]);
      const changes = await engine.readChangesSince(number, 0);
      expect(changes?.map(({ revision, at }) => [revision, at])).toEqual([
        [1, 1_000_000],
        [2, 1_000_000],
      ]);
    });

    test("the journal has every change once, in order, from any revision", async () => {
      const number = newSite();
      await engine.commit([create(number, "a"), create(number, "b")]);
      await engine.commit([update(number, 1, { Name: "c" }), remove(number, 2)]);
      const changes = await engine.readChangesSince(number, 1);
      expect(changes).toEqual([
        {
          revision: 2,
          at: 1,
          actor: "test",
          resource: "brand",
          id: 2,
          operation: "create",
          body: '{"ID":2,"Name":"b"}',
        },
        {
          revision: 3,
          at: 1,
          actor: "test",
          resource: "brand",
          id: 1,
          operation: "update",
          body: '{"ID":1,"Name":"c"}',
        },
        {
          revision: 4,
          at: 1,
          actor: "test",
          resource: "brand",
          id: 2,
          operation: "delete",
          body: '{"ID":2,"Name":"b"}',
        },
      ]);
      expect((await engine.readChangesSince(number, 0, { limit: 2 }))?.map(({ revision }) => revision)).toEqual([1, 2]);
      expect(await engine.readChangesSince(number, 4)).toEqual([]);
    });

    test("the journal of another epoch is not returned", async () => {
      const number = newSite();
      await engine.commit([create(number, "a")]);
      const [head] = await engine.readHeads([number]);
      expect(await engine.readChangesSince(number, 0, { epoch: head?.epoch as string })).toHaveLength(1);
      expect(await engine.readChangesSince(number, 0, { epoch: "another" })).toBeUndefined();
    });

    test("a database that is behind the known head of a site is rejected, unless it has another epoch", async () => {
      const number = newSite();
      await engine.commit([create(number, "a")]);
      const [head] = (await engine.readHeads([number])) as [Head];
      const ahead = { ...head, revision: head.revision + 1 };
      const rejected = { code: "unavailable", retryAfterSeconds: 1 };
      const errorOf = async (work: () => unknown) => {
        try {
          return await work();
        } catch (error) {
          return error;
        }
      };
      expect(await errorOf(() => readAllRows(engine, number, ahead))).toMatchObject(rejected);
      expect(await errorOf(() => engine.readChangesSince(number, 0, { requiredHead: ahead }))).toMatchObject(rejected);
      for (const requiredHead of [head, { ...ahead, epoch: "another" }]) {
        expect((await readAllRows(engine, number, requiredHead)).rows).toHaveLength(1);
        expect(await engine.readChangesSince(number, 0, { requiredHead })).toHaveLength(1);
      }
    });

    test("two processes write to one site at once: no revision is missing, and each is there once", async () => {
      const number = newSite();
      const other = await open(url);
      const write = async (one: Engine) => {
        for (let i = 0; i < 20; i++) await one.commit([create(number, "a"), create(number, "b")]);
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
        for (let i = 0; i < 20; i++) await process.commit(sites.map((number) => create(number, "a")));
      };
      await Promise.all([run(engine, [one, two]), run(other, [two, one])]);
      expect((await engine.readHeads([one, two])).map(({ revision }) => revision)).toEqual([40, 40]);
    });

    test("a subscription gets the commits of this process, and of all others unless it says that it may miss some", async () => {
      const other = await open(url);
      const seen: (readonly number[] | undefined)[] = [];
      const watch = engine.subscribeToCommits((sites) => void seen.push(sites));
      const number = newSite();
      // Behind a pooler, a subscription gets only the commits of its own process.
      const writers = kind.isVariant ? [engine] : [engine, other];
      for (let round = 0; round < 3; round++) {
        for (const writer of writers) {
          seen.length = 0;
          await writer.commit([create(number, "a")]);
          while (!seen.some((sites) => sites === undefined || sites.includes(number))) await Bun.sleep(5);
        }
      }
      expect(watch.mayMissCommits || !kind.isVariant).toBe(true);
      watch.stop();
      watch.stop();
      await Bun.sleep(30);
      seen.length = 0;
      await engine.commit([create(number, "a")]);
      await Bun.sleep(50);
      expect(seen).toEqual([]);
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
      await one.commit([create(1, "a")]);
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

    test("a dropped site is empty and takes no more writes, also under an idempotency key that it knew", async () => {
      const [number, other] = [newSite(), newSite()];
      const keyed = { ...create(number, "a"), idempotency: { keyId: 1, name: "once", digest: "d" } };
      await engine.commit([keyed, create(other, "a")]);
      await deleteSiteRecord(engine, number);
      await engine.dropSite(number);
      expect(await readAllRows(engine, number)).toMatchObject({ head: { revision: 0, epoch: "" }, rows: [] });
      const [again, new_, elsewhere] = await engine.commit([keyed, create(number, "b"), create(other, "b")]);
      expect([again, new_]).toEqual(Array(2).fill({ kind: "rejected", rejectionReason: "other-epoch" }));
      expect(elsewhere).toMatchObject({ kind: "done", id: 2 });
      expect((await readAllRows(engine, number)).rows).toEqual([]);
      await engine.dropSite(number);
    });

    test("a site is dropped in chunks, between which others write; the remaining rows are found, and dropped by the next call", async () => {
      const url = await kind.newDatabase();
      const [one, other] = [await open(url), await open(url)];
      await one.commit([{ ...create(0, "gone"), resource: "site" }]);
      for (let i = 0; i < 10; i++) await one.commit(Array.from({ length: 500 }, () => create(1, "a")));
      expect(await one.readSitesToDrop()).toEqual([]);
      await one.commit([{ ...remove(0, 1), resource: "site" }]);
      expect(await one.readSitesToDrop()).toEqual([1]);
      // This opens its connection.
      await other.commit([create(2, "b")]);
      let isOver = false;
      const dropping = one.dropSite(1).then(() => {
        isOver = true;
      });
      let commits = 0;
      const late: string[] = [];
      while (!isOver) {
        const [outcome, lateOutcome] = await other.commit([create(2, "b"), create(1, "late")]);
        if (outcome?.kind === "done") commits++;
        late.push(lateOutcome?.kind as string);
      }
      await dropping;
      expect(commits).toBeGreaterThan(1);
      expect(late.at(-1)).toBe("rejected");
      expect(await one.readSitesToDrop()).toEqual([]);
      expect((await readAllRows(one, 1)).rows).toEqual([]);
      expect(await one.findInconsistencies()).toEqual([]);
    });

    test("a load of many records is complete and in order", async () => {
      const number = newSite();
      for (let i = 0; i < 12; i++) await engine.commit(Array.from({ length: 500 }, () => create(number, "a")));
      const { rows } = await readAllRows(engine, number);
      expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 6000 }, (_, i) => i + 1));
    });

    test("a dump put into another database is the same under new epochs, and nothing is wrong with it", async () => {
      const other = await open(await kind.newDatabase());
      await other.commit([create(99, "gone")]);
      const dumped: DumpedRow[] = [];
      for await (const row of engine.dump()) dumped.push(row);
      await other.replaceAllData(rowsOf(dumped));
      const copied: DumpedRow[] = [];
      for await (const row of other.dump()) copied.push(row);
      expect(copied.map(withoutEpoch)).toEqual(dumped.map(withoutEpoch));
      expect(await other.findInconsistencies()).toEqual([]);
      expect((await other.readHeads([2]))[0]?.epoch).not.toBe((await engine.readHeads([2]))[0]?.epoch);
    });

    test("others write during a restore; their writes are in the replaced data, and not in the new data", async () => {
      const url = await kind.newDatabase();
      const [one, other] = [await open(url), await open(url)];
      await one.commit([create(0, "system"), create(1, "old")]);
      const backup = await Array.fromAsync(one.dump());
      const [before] = await one.readHeads([1]);
      let kept: DumpedRow[] = [];
      const replaced = await one.replaceAllData(
        (async function* () {
          yield* backup;
          await other.commit([create(1, "late"), create(2, "first of its site")]);
        })(),
        async (rows) => {
          await other.commit([create(1, "after")]);
          kept = await Array.fromAsync(rows);
        },
      );
      expect(namesIn(kept)).toEqual(["system", "old", "late", "first of its site"]);
      expect([replaced.get(1), replaced.get(2)?.revision]).toEqual([
        { revision: 2, epoch: before?.epoch as string },
        1,
      ]);
      for (const engine of [one, other]) {
        expect((await engine.readHeads([1, 2])).map(({ revision }) => revision)).toEqual([2, 0]);
        expect(namesIn(await Array.fromAsync(engine.dump()))).toEqual(["system", "old", "after"]);
      }
      expect(await one.findInconsistencies()).toEqual([]);
      expect(await kind.select(url, "select id, name from brand where site_id = 1 order by id")).toEqual([
        { id: 1, name: "old" },
        { id: 2, name: "after" },
      ]);
    });

    test("reports in SQL find a column per field", async () => {
      const number = newSite();
      await engine.commit([{ ...create(number, "Acme"), valuesJson: '{"Name":"Acme","Address":{"Town":"Ulm"}}' }]);
      await engine.commit([create(number, "gone"), remove(number, 2)]);
      expect(await kind.select(url, `select id, name, address_town from brand where site_id = ${number}`)).toEqual([
        { id: 1, name: "Acme", address_town: "Ulm" },
      ]);
    });
  });
}

function create(site: number, name: string): Intent {
  return createIntent({ site, values: { Name: name } });
}

function update(site: number, id: number, values: object): Intent {
  return createIntent({ site, operation: "update", id, values });
}

function remove(site: number, id: number): Intent {
  return createIntent({ site, operation: "delete", id, values: {} });
}

function idOf(outcome: Outcome | undefined): number | undefined {
  return outcome && "id" in outcome ? outcome.id : undefined;
}

/** Returns the names of the records in a dump, in its order. */
function namesIn(rows: readonly DumpedRow[]): string[] {
  return rows.flatMap(({ table, row }) => (table === "records" ? [JSON.parse(row.body as string).Name] : []));
}

function withoutEpoch({ table, row }: DumpedRow) {
  return { table, row: { ...row, epoch: "" } };
}

async function* rowsOf(rows: readonly DumpedRow[]): AsyncGenerator<DumpedRow> {
  yield* rows;
}

/** Returns the bytes outside the heap of objects. */
function memoryOfTexts(): number {
  Bun.gc(true);
  return heapStats().extraMemorySize;
}
