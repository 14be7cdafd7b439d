import { describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { type UndoOptions, undo } from "../../src/operator/journal/undo.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { withActor } from "../../src/system/with-actor.ts";
import { engines, maxCreatedSite, testIf, useEngine } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";

describe.each(engines)("undo on $name", (kind) => {
  let engine: Engine;
  let url = "";
  let site = maxCreatedSite;
  useEngine({ ...kind, newDatabase: async () => (url = await kind.newDatabase()) }, (opened) => {
    engine = opened;
  });

  const create = (Name: string, run?: string) => createIntent({ site, values: { Name }, run });
  const update = (id: number, Name: string, run?: string) =>
    createIntent({ site, operation: "update", id, values: { Name }, run });
  const remove = (id: number, run?: string) => createIntent({ site, operation: "delete", id, values: {}, run });
  /** The names of the site's records, by ID. */
  const stored = async () =>
    Object.fromEntries(
      (await readAllRows(engine, site)).rows.flatMap(({ id, body }) => (body ? [[id, JSON.parse(body).Name]] : [])),
    );
  const undoRange = (range: Parameters<typeof undo>[2], options: Partial<UndoOptions> = {}) =>
    undo(withActor(engine, "operator:test", "undo"), site, range, { at: 1, ...options });

  test("deletes created records, and restores updated and deleted ones", async () => {
    site++;
    await engine.commit([create("A"), create("B")]);
    await engine.commit([update(1, "A2"), remove(2), create("C"), update(1, "A3"), update(3, "C2")]);
    expect(await undoRange({ since: 2 })).toEqual({
      deleted: 1,
      restored: 2,
      unchanged: 0,
      skippedCount: 0,
      skipped: [],
      records: 3,
      interrupted: false,
      revisions: { first: 8, last: 10 },
    });
    expect(await stored()).toEqual({ 1: "A", 2: "B" });
    expect(await engine.findInconsistencies()).toEqual([]);
  });
  if (kind.name === "PostgreSQL") return;

  test("can itself be undone, again and again", async () => {
    site++;
    await engine.commit([create("A"), create("B")]);
    await engine.commit([update(1, "A2"), remove(2), create("C")]);
    const after = await stored();
    await undoRange({ since: 2 });
    await undoRange({ since: 5, run: "undo" });
    expect(await stored()).toEqual(after);
    await undoRange({ since: 8 });
    expect(await stored()).toEqual({ 1: "A", 2: "B" });
  });

  test("of one run leaves others' changes in between alone", async () => {
    site++;
    await engine.commit([create("A"), create("B"), create("C")]);
    await engine.commit([update(1, "bad", "r"), create("from a client"), create("bad", "r"), update(2, "by a client")]);
    expect(await undoRange({ since: 3, run: "r" })).toMatchObject({ deleted: 1, restored: 1, skipped: [] });
    expect(await stored()).toEqual({ 1: "A", 2: "by a client", 3: "C", 4: "from a client" });
  });

  test("skips records changed again later and names the author, unless forced", async () => {
    site++;
    await engine.commit([create("A"), create("B")]);
    await engine.commit([update(1, "bad", "r"), update(2, "bad", "r"), create("bad", "r")]);
    await engine.commit([{ ...update(1, "good"), actor: "sfk_12345678" }, update(3, "useful")]);
    const skipped = [
      { resource: "brand", id: 1, changed: { revision: 6, actor: "sfk_12345678" } },
      { resource: "brand", id: 3, changed: { revision: 7, actor: "test" } },
    ];
    expect(await undoRange({ since: 2, run: "r" })).toMatchObject({ deleted: 0, restored: 1, skipped });
    expect(await stored()).toEqual({ 1: "good", 2: "B", 3: "useful" });
    expect(await undoRange({ since: 2, run: "r" }, { force: true })).toMatchObject({
      deleted: 1,
      restored: 1,
      unchanged: 1,
      skipped: [],
    });
    expect(await stored()).toEqual({ 1: "A", 2: "B" });
  });

  test("skips a record changed outside the run between two of its changes", async () => {
    site++;
    await engine.commit([create("A"), update(1, "bad", "r"), update(1, "good"), update(1, "worse", "r")]);
    expect(await undoRange({ since: 1, run: "r" })).toMatchObject({ restored: 0, skipped: [{ id: 1 }] });
  });

  test("up to a revision undoes no later change", async () => {
    site++;
    await engine.commit([create("A"), create("B"), update(1, "A2"), create("C"), update(2, "B2")]);
    expect(await undoRange({ since: 2, until: 4 })).toMatchObject({ deleted: 1, restored: 1, skipped: [] });
    expect(await stored()).toEqual({ 1: "A", 2: "B2" });
  });

  test("changes nothing the second time", async () => {
    site++;
    await engine.commit([create("A"), update(1, "bad", "r"), create("bad", "r")]);
    await undoRange({ since: 1, run: "r" });
    expect(await undoRange({ since: 1, run: "r" })).toMatchObject({ unchanged: 2, skipped: [], revisions: undefined });
    expect((await engine.readHeads([site]))[0]?.revision).toBe(5);
  });

  test("as a dry run changes nothing and reports the same", async () => {
    site++;
    await engine.commit([create("A"), update(1, "bad"), create("bad")]);
    expect(await undoRange({ since: 1 }, { dryRun: true })).toMatchObject({ deleted: 1, restored: 1 });
    expect(await stored()).toEqual({ 1: "bad", 2: "bad" });
  });

  test("keeps members that this version of the program doesn't declare", async () => {
    site++;
    const text = '{"Name":"A","Colour":"red"}';
    await engine.commit([{ ...create("A"), valuesJson: text }, update(1, "bad")]);
    await undoRange({ since: 1 });
    expect((await readAllRows(engine, site)).rows[0]?.body).toBe('{"ID":1,"Name":"A","Colour":"red"}');
  });

  /** An engine that calls `before` just before each transaction. */
  const disturb = (before: () => Promise<unknown>): Engine => ({
    ...engine,
    commitAtomically: async (...work) => {
      await before();
      return engine.commitAtomically(...work);
    },
  });

  test("skips records that change while it runs, and restores the others", async () => {
    site++;
    await engine.commit([create("A"), create("B"), create("C"), update(1, "bad"), update(2, "bad"), create("bad")]);
    const busy = disturb(() => engine.commit([update(1, "good"), remove(4)]));
    expect(await undo(busy, site, { since: 3 }, { at: 1 })).toEqual({
      deleted: 0,
      restored: 1,
      unchanged: 0,
      records: 3,
      interrupted: false,
      skippedCount: 2,
      skipped: [
        { resource: "brand", id: 1, changed: { revision: 7, actor: "test" } },
        { resource: "brand", id: 4, changed: { revision: 8, actor: "test" } },
      ],
      revisions: { first: 9, last: 9 },
    });
    expect(await stored()).toEqual({ 1: "good", 2: "B", 3: "C" });
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("restores records that change while it runs if forced", async () => {
    site++;
    await engine.commit([create("A"), update(1, "bad"), create("bad"), create("bad")]);
    const busy = disturb(() => engine.commit([update(1, "good"), remove(2), update(3, "good")]));
    expect(await undo(busy, site, { since: 1 }, { at: 1, force: true })).toMatchObject({
      deleted: 1,
      restored: 1,
      unchanged: 1,
      skipped: [],
    });
    expect(await stored()).toEqual({ 1: "A" });
  });

  test("ends even if others change a record in each batch", async () => {
    site++;
    await engine.commit([create("first")]);
    await engine.commit(Array.from({ length: 1200 }, () => create("bad")));
    const busy = disturb(() => engine.commit([500, 501, 1001, 1201].map((id) => update(id, "good"))));
    expect(await undo(busy, site, { since: 1 }, { at: 1 })).toMatchObject({
      deleted: 1196,
      skipped: [{ id: 500 }, { id: 501 }, { id: 1001 }, { id: 1201 }],
    });
    expect(await stored()).toEqual({ 1: "first", 500: "good", 501: "good", 1001: "good", 1201: "good" });
  });

  test("changes nothing if the site is removed or restored while it runs", async () => {
    site++;
    await engine.commit([create("A"), update(1, "bad")]);
    let n = 0;
    const gone = disturb(() => kind.select(url, `update sites set epoch = 'another ${++n}' where id = ${site}`));
    for (const force of [true, false])
      expect(await undo(gone, site, { since: 1 }, { at: 1, force }).catch((error) => error)).toMatchObject({
        code: "conflict",
        message: "the site was restored, renewed or removed in the meantime; nothing was changed",
      });
    expect(await stored()).toEqual({ 1: "bad" });
  });

  test("of more records than one transaction may change runs in chunks, and a second undo continues where the first was stopped", async () => {
    site++;
    const batches = Array.from({ length: 101 }, (_, n) =>
      Array.from({ length: n < 100 ? 500 : 1 }, () => create("bad", "r")),
    );
    await engine.commitAtomically(batches, () => {});
    const stop = new AbortController();
    const sizes: number[] = [];
    const counting: Engine = {
      ...engine,
      commitAtomically: (parts, onOutcomes) => {
        sizes.push(0);
        if (sizes.length === 2) stop.abort();
        return engine.commitAtomically(parts, (outcomes) => {
          sizes[sizes.length - 1] = (sizes.at(-1) ?? 0) + outcomes.length;
          return onOutcomes(outcomes);
        });
      },
    };
    const acting = withActor(counting, "operator:test", "undo");
    const stopped = await undo(acting, site, { since: 0, run: "r" }, { at: 1, signal: stop.signal });
    expect(stopped).toMatchObject({ deleted: 10_000, records: 50_001, interrupted: true });
    expect(sizes).toEqual([5000, 5000]);
    // Chunks work the same on every engine, so on the others a dry run of the rest is enough.
    const dryRun = kind !== engines[0];
    const rest = await undo(acting, site, { since: 0, run: "r" }, { at: 1, dryRun });
    expect(rest).toMatchObject({ deleted: 40_001, unchanged: 10_000, skippedCount: 0, interrupted: false });
    if (dryRun) return;
    expect(rest.revisions).toEqual({ first: 60_002, last: 100_002 });
    expect(await stored()).toEqual({});
    // All records but one are restored in one transaction.
    sizes.length = 0;
    const back = await undo(acting, site, { since: 50_001, until: 100_001 }, { at: 1 });
    expect([back.restored, sizes]).toEqual([50_000, [50_000]]);
  });

  testIf(kind === engines[0])("stopped by a restore after some transactions says what they have done", async () => {
    site++;
    const batches = Array.from({ length: 101 }, () => Array.from({ length: 500 }, () => create("bad", "r")));
    await engine.commitAtomically(batches, () => {});
    let transactions = 0;
    const busy = disturb(async () => {
      if (++transactions === 3) await kind.select(url, `update sites set epoch = 'another' where id = ${site}`);
    });
    expect(await undo(busy, site, { since: 0 }, { at: 1 }).catch((error) => error)).toMatchObject({
      code: "conflict",
      message:
        "the site was restored, renewed or removed in the meantime; by then, 10000 of 50500 records had been deleted and 0 restored",
    });
    expect(Object.keys(await stored())).toHaveLength(40_500);
  });

  test("is rejected if the range has no changes", async () => {
    site++;
    await engine.commit([create("A", "r")]);
    for (const range of [{ since: 1 }, { since: 0, run: "other" }, { since: 5, until: 9 }])
      expect(await undoRange(range).catch((error) => error)).toMatchObject({ code: "not-found" });
    expect(await stored()).toEqual({ 1: "A" });
  });
});
