// Dumps and restores of a database, and dropped sites, on each engine.

import { describe, expect, test } from "bun:test";
import type { DumpedRow, Engine } from "../../../src/model/engine.ts";
import { readAllRows } from "../../../src/store/database/read-all-rows.ts";
import { engineKinds, useEngineAndOpener } from "../../support/engine/engines.ts";
import { createBrand, deleteBrand, deleteSiteRecord, updateBrand } from "../../support/engine/intents.ts";

describe.each(engineKinds)("on $name", (kind) => {
  let engine: Engine;
  const { open } = useEngineAndOpener(kind, (first) => {
    engine = first;
  });
  let site = 0;
  const newSite = () => ++site;

  test("a dropped site is empty and takes no more writes, also under an idempotency key that it knew", async () => {
    const [number, other] = [newSite(), newSite()];
    const keyed = { ...createBrand(number, "a"), idempotency: { keyId: 1, name: "once", digest: "d" } };
    await engine.commit([keyed, createBrand(other, "a")]);
    await deleteSiteRecord(engine, number);
    await engine.dropSite(number);
    expect(await readAllRows(engine, number)).toMatchObject({ head: { revision: 0, epoch: "" }, rows: [] });
    const [again, new_, elsewhere] = await engine.commit([keyed, createBrand(number, "b"), createBrand(other, "b")]);
    expect([again, new_]).toEqual(Array(2).fill({ kind: "rejected", rejectionReason: "other-epoch" }));
    expect(elsewhere).toMatchObject({ kind: "done", id: 2 });
    expect((await readAllRows(engine, number)).rows).toEqual([]);
    await engine.dropSite(number);
  });

  test("a site is dropped in chunks, between which others write; the remaining rows are found, and dropped by the next call", async () => {
    const url = await kind.newDatabase();
    const [one, other] = [await open(url), await open(url)];
    await one.commit([{ ...createBrand(0, "gone"), resource: "site" }]);
    // A deletion of 20,000 records and their changes has about 20 pauses. On a busy machine, others do not come to write in each of them.
    for (let i = 0; i < 40; i++) await one.commit(Array.from({ length: 500 }, () => createBrand(1, "a")));
    expect(await one.readSitesToDrop()).toEqual([]);
    await one.commit([{ ...deleteBrand(0, 1), resource: "site" }]);
    expect(await one.readSitesToDrop()).toEqual([1]);
    // This opens its connection.
    await other.commit([createBrand(2, "b")]);
    let isOver = false;
    const dropping = one.dropSite(1).then(() => {
      isOver = true;
    });
    let commits = 0;
    const late: string[] = [];
    while (!isOver) {
      const [outcome, lateOutcome] = await other.commit([createBrand(2, "b"), createBrand(1, "late")]);
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

  test("a dump put into another database is the same under new epochs, and nothing is wrong with it", async () => {
    const other = await open(await kind.newDatabase());
    await other.commit([createBrand(99, "gone")]);
    const number = newSite();
    await engine.commit([
      { ...createBrand(number, "Ça \"va\"? 日本 \\ 'x' \t\r\n"), idempotency: { keyId: 1, name: "once", digest: "d" } },
      updateBrand(number, 1, { Name: "Acme" }),
      createBrand(number, "gone"),
      deleteBrand(number, 2),
      { ...createBrand(number, "Paid"), resource: "order-status" },
    ]);
    const dumped: DumpedRow[] = [];
    for await (const row of engine.dump()) dumped.push(row);
    await other.replaceAllData(rowsOf(dumped));
    const copied: DumpedRow[] = [];
    for await (const row of other.dump()) copied.push(row);
    expect(copied.map(withoutEpoch)).toEqual(dumped.map(withoutEpoch));
    expect(await other.findInconsistencies()).toEqual([]);
    expect((await other.readHeads([number]))[0]?.epoch).not.toBe((await engine.readHeads([number]))[0]?.epoch);
  });

  test("others write during a restore; their writes are in the replaced data, and not in the new data", async () => {
    const url = await kind.newDatabase();
    const [one, other] = [await open(url), await open(url)];
    await one.commit([createBrand(0, "system"), createBrand(1, "old")]);
    const backup = await Array.fromAsync(one.dump());
    const [before] = await one.readHeads([1]);
    let kept: DumpedRow[] = [];
    const replaced = await one.replaceAllData(
      (async function* () {
        yield* backup;
        await other.commit([createBrand(1, "late"), createBrand(2, "first of its site")]);
      })(),
      async (rows) => {
        await other.commit([createBrand(1, "after")]);
        kept = await Array.fromAsync(rows);
      },
    );
    expect(namesIn(kept)).toEqual(["system", "old", "late", "first of its site"]);
    expect([replaced.get(1), replaced.get(2)?.revision]).toEqual([{ revision: 2, epoch: before?.epoch as string }, 1]);
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
});

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
