// Restores, while others write, on both engines.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { DumpedRow, Engine } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { engines } from "../../support/engine/engines.ts";
import { createIntent, deleteSiteRecord } from "../../support/engine/intents.ts";
import { waitUntil } from "../../support/time.ts";

describe.each(engines)("restore on $name", (kind) => {
  let url: string;
  let engine: Engine;
  let backup: DumpedRow[];
  const opened: Engine[] = [];
  const open = async () => {
    const another = await openEngine(url, allResources);
    opened.push(another);
    return another;
  };
  const create = (text: string) => createIntent({ values: { Name: text } });
  const namesNow = async () => namesIn(await Array.fromAsync(engine.dump()));
  const extraTables = () => kind.extraTables(url);

  beforeAll(() => kind.open());
  beforeEach(async () => {
    url = await kind.newDatabase();
    engine = await open();
    await engine.commit([create("old")]);
    backup = await Array.fromAsync(engine.dump());
    await engine.commit([create("newer")]);
  });
  afterAll(async () => {
    for (const one of opened) await one.close();
    await kind.close();
  });

  test("invalid rows change nothing, and no table stays", async () => {
    const bad = (async function* () {
      yield* backup;
      throw new Error("bad");
    })();
    await expect(engine.replaceAllData(bad)).rejects.toThrow("bad");
    expect(await namesNow()).toEqual(["old", "newer"]);
    expect(await extraTables()).toEqual([]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("a restore during which another restore completes changes nothing", async () => {
    const other = await open();
    const first = engine.replaceAllData(
      (async function* () {
        yield* backup;
        await other.commit([create("in between")]);
        await other.replaceAllData(rowsOf(backup));
        await other.commit([create("after the second")]);
      })(),
    );
    await expect(first).rejects.toThrow("another restore was started in the meantime; this one changed nothing");
    expect(await namesNow()).toEqual(["old", "after the second"]);
    expect(await extraTables()).toEqual([]);
  });

  test("of two restores at the same time, the data of the first is there as a whole or not at all", async () => {
    const other = await open();
    const sites = Array.from({ length: 6000 }, (_, n) => ({
      id: n + 100,
      epoch: "a",
      revision: 0,
      last_ids: "{}",
      counts: "{}",
      floor: 0,
      last_at: 0,
    }));
    const count = async () => (await Array.fromAsync(engine.dump())).filter(({ table }) => table === "sites").length;
    let found: unknown[] = [];
    let second: Promise<unknown> | undefined;
    const { promise: outcome, resolve } = Promise.withResolvers<string>();
    const first = engine.replaceAllData(
      (async function* () {
        yield* sites.map((row) => ({ table: "sites", row }) as const);
        yield* backup.filter(({ table }) => table !== "sites");
        second = other.replaceAllData(
          (async function* () {
            found = [await outcome, await count()];
            yield* backup;
          })(),
        );
      })(),
    );
    await first.then(
      () => resolve("restored"),
      () => resolve("overtaken"),
    );
    await second;
    expect(found).toEqual(found[0] === "restored" ? ["restored", 6000] : ["overtaken", 1]);
    expect([await namesNow(), await extraTables(), await engine.findInconsistencies()]).toEqual([["old"], [], []]);
  });

  test("a site that it restores is not dropped by processes that saw its removal", async () => {
    await engine.commit([createIntent({ site: 0, resource: "site" })]);
    const whole = await Array.fromAsync(engine.dump());
    await deleteSiteRecord(engine, 1);
    expect(await engine.readSitesToDrop()).toEqual([1]);
    await (await open()).replaceAllData(rowsOf(whole));
    await engine.dropSite(1);
    expect(await namesNow()).toEqual(["Acme", "old", "newer"]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("a site that is not in the backup is not closed by processes that drop it", async () => {
    await deleteSiteRecord(engine, 1);
    await (await open()).replaceAllData(rowsOf([]));
    await engine.dropSite(1);
    const [outcome] = await engine.commit([create("new")]);
    expect(outcome).toMatchObject({ kind: "done", id: 1 });
  });

  test("replaced data that could not be saved stays, is reported, and is saved by the next restore", async () => {
    const failing = engine.replaceAllData(rowsOf(backup), async () => {
      throw new Error("the disk is full");
    });
    await expect(failing).rejects.toThrow("the disk is full");
    expect(await namesNow()).toEqual(["old"]);
    expect(await engine.findInconsistencies()).toEqual([
      expect.stringContaining("the next `restore` will save it to a file"),
    ]);
    const kept: string[][] = [];
    await engine.replaceAllData(rowsOf(backup), async (rows) => void kept.push(namesIn(await Array.fromAsync(rows))));
    expect(kept).toEqual([["old", "newer"], ["old"]]);
    expect(await extraTables()).toEqual([]);
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("a restore that cannot drop the replaced tables is done all the same; the next restore drops them", async () => {
    const impatient = await openEngine(url, allResources, { timeoutMs: 100 });
    opened.push(impatient);
    let release = () => {};
    await impatient.replaceAllData(rowsOf(backup), async (rows) => {
      expect(namesIn(await Array.fromAsync(rows))).toEqual(["old", "newer"]);
      release = await kind.obstruct(url);
    });
    release();
    expect(await namesNow()).toEqual(["old"]);
    expect(await engine.findInconsistencies()).toEqual([expect.stringContaining("the next `restore`")]);
    await engine.replaceAllData(rowsOf(backup), async () => {});
    expect(await extraTables()).toEqual([]);
  });

  test("another restore may begin while the replaced data is still being saved; each saves it", async () => {
    const other = await open();
    const kept: string[][] = [];
    const keep = async (rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>) =>
      void kept.push(namesIn(await Array.fromAsync(rows)));
    let second: Promise<unknown> | undefined;
    await engine.replaceAllData(rowsOf(backup), async (rows) => {
      const reading = iterate(rows);
      const { value } = await reading.next();
      let isOver = false;
      second = other.replaceAllData(rowsOf(backup), keep).then(() => {
        isOver = true;
      });
      // On PostgreSQL, it waits for the end of this read before it drops the replaced data.
      await waitUntil(async () => isOver || (await kind.isWaitingForLock(url)), "the second restore");
      await keep(
        (async function* () {
          yield value as DumpedRow;
          yield* reading;
        })(),
      );
    });
    await second;
    expect(kept.filter((names) => names.join() === "old,newer")).toHaveLength(2);
    expect([await namesNow(), await extraTables()]).toEqual([["old"], []]);
  });

  test("a long read sees the data of its beginning, and delays no writer", async () => {
    const reader = await open();
    const reading = iterate(reader.dump());
    await reading.next();
    let isDone = false;
    const refilling = engine.replaceAllData(rowsOf(backup)).then(() => {
      isDone = true;
    });
    const writer = await open();
    await writer.commit([create("meanwhile")]);
    // On PostgreSQL, it tries repeatedly to get the locks of the tables.
    await waitUntil(async () => isDone || (await kind.isWaitingForLock(url)), "the swap of the tables");
    await writer.commit([create("meanwhile")]);
    const rest: DumpedRow[] = [];
    for (let next = await reading.next(); !next.done; next = await reading.next()) rest.push(next.value);
    expect(namesIn(rest)).toEqual(["old", "newer"]);
    await refilling;
    expect((await namesNow())[0]).toBe("old");
    expect(await namesNow()).not.toContain("newer");
  });

  test("twice in a row, every table is still found by its index", async () => {
    for (let i = 0; i < 2; i++) await engine.replaceAllData(rowsOf(backup));
    await engine.commit([create("after")]);
    expect(await namesNow()).toEqual(["old", "after"]);
    if (kind.name === "SQLite") {
      const plan = await kind.select(url, "explain query plan delete from idempotency where at <= 1");
      expect(JSON.stringify(plan)).toContain("USING INDEX");
    }
  });
});

describe("PostgreSQL", () => {
  const kind = engines[1] as (typeof engines)[number];
  let url: string;
  let engine: Engine;
  let backup: DumpedRow[];
  const sql = (text: string) => kind.select(url, text);
  beforeAll(() => kind.open());
  beforeEach(async () => {
    url = await kind.newDatabase();
    engine = await openEngine(url, allResources);
    await engine.commit([createIntent({ values: { Name: "old" } })]);
    backup = await Array.fromAsync(engine.dump());
  });
  afterAll(() => kind.close());

  test("views and permissions that others have made stay", async () => {
    await sql("create role reporter");
    await sql("grant select on records to reporter");
    await sql("create view on_top as select name from brand");
    await sql("create view directly with (security_barrier=true) as select count(*)::int as count from records");
    await sql("grant select on directly, brand to reporter");
    const permissions =
      "select relname, relacl::text, reloptions::text from pg_class where relname in ('records', 'directly', 'brand') order by 1";
    const before = await sql(permissions);
    await engine.replaceAllData(rowsOf(backup));
    await engine.commit([createIntent({ values: { Name: "after" } })]);
    expect(await sql(permissions)).toEqual(before);
    expect(await sql("select name from on_top order by 1")).toEqual([{ name: "after" }, { name: "old" }]);
    expect(await sql("select count from directly")).toEqual([{ count: 2 }]);
    await engine.close();
  });

  test("a disk that is full when the tables are made is named in the error", async () => {
    await sql(`create function disk_full() returns event_trigger language plpgsql as
      $$ begin raise exception 'No space left on device' using errcode = '53100'; end $$`);
    await sql(
      "create event trigger full_disk on ddl_command_start when tag in ('CREATE TABLE') execute function disk_full()",
    );
    await expect(engine.replaceAllData(rowsOf(backup))).rejects.toThrow("the database's disk is full");
    await sql("drop event trigger full_disk");
    expect(await kind.extraTables(url)).toEqual([]);
    await engine.close();
  });

  test("data that cannot be restored is rejected before anything is done", async () => {
    await sql("create materialized view stale as select id from records");
    await expect(engine.replaceAllData(rowsOf(backup))).rejects.toThrow("the view stale belongs to another user");
    expect(await kind.extraTables(url)).toEqual([]);
    await engine.close();
  });
});

async function* rowsOf(rows: readonly DumpedRow[]): AsyncGenerator<DumpedRow> {
  yield* rows;
}

async function* iterate(rows: AsyncIterable<DumpedRow> | Iterable<DumpedRow>): AsyncGenerator<DumpedRow> {
  yield* rows;
}

/** Returns the names of the records in a dump, in its order. */
function namesIn(rows: readonly DumpedRow[]): string[] {
  return rows.flatMap(({ table, row }) => (table === "records" ? [JSON.parse(row.body as string).Name] : []));
}
