// Writes' outcomes on each engine (`commit` in src/model/engine.ts).

import { describe, expect, test } from "bun:test";
import { headVersion, type Outcome } from "../../src/model/change.ts";
import type { Engine } from "../../src/model/engine.ts";
import type { Head } from "../../src/model/head.ts";
import { idempotencyLifetimeMs } from "../../src/model/limits.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { engineKinds, useEngineAndOpener } from "../support/engine/engines.ts";
import { createBrand, deleteBrand, idOf, updateBrand, versionAfter } from "../support/engine/intents.ts";
import { retainedBytesOutsideCells } from "../support/memory.ts";

describe.each(engineKinds)("on $name", (kind) => {
  let engine: Engine;
  useEngineAndOpener(kind, (first) => {
    engine = first;
  });
  let site = 0;
  const newSite = () => ++site;

  test("IDs: from 1 per site and resource", async () => {
    const [one, two] = [newSite(), newSite()];
    const outcomes = await engine.commit([
      createBrand(one, "Acme"),
      createBrand(one, "Bolt"),
      createBrand(two, "Acme"),
      { ...createBrand(one, "New"), resource: "order-status" },
    ]);
    expect(outcomes.map(idOf)).toEqual([1, 2, 1, 1]);
  });

  test("update: changes the fields given, and adds no journal entry if nothing changes", async () => {
    const number = newSite();
    await engine.commit([
      { ...createBrand(number, "Acme"), valuesJson: '{"Name":"Acme","Address":{"Town":"Ulm","Title":""}}' },
    ]);
    const [changed, same] = await engine.commit([
      updateBrand(number, 1, { Address: { Town: "Bonn" } }),
      updateBrand(number, 1, { Name: "Acme" }),
    ]);
    expect(changed).toMatchObject({
      kind: "done",
      body: '{"ID":1,"Name":"Acme","Address":{"Town":"Bonn","Title":""}}',
    });
    expect(same).toMatchObject({ kind: "unchanged", id: 1 });
    expect((await engine.readHeads([number]))[0]?.revision).toBe(2);
  });

  test("batch: writes see each other, even on one record", async () => {
    const number = newSite();
    const outcomes = await engine.commit([
      createBrand(number, "Acme"),
      updateBrand(number, 1, { Name: "Bolt" }),
      deleteBrand(number, 1),
      updateBrand(number, 1, { Name: "Cord" }),
      createBrand(number, "Dash"),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "done", "done", "rejected", "done"]);
    expect(idOf(outcomes[4])).toBe(2);
    const { rows } = await readAllRows(engine, number);
    expect(rows.map(({ id, body }) => [id, body])).toEqual([
      [1, null],
      [2, '{"ID":2,"Name":"Dash"}'],
    ]);
  });

  test("IDs: never reused, and a write can choose one", async () => {
    const number = newSite();
    await engine.commit([createBrand(number, "a"), { ...createBrand(number, "b"), id: 7 }, deleteBrand(number, 7)]);
    const [used, next] = await engine.commit([{ ...createBrand(number, "c"), id: 7 }, createBrand(number, "d")]);
    expect(used).toMatchObject({ kind: "rejected", rejectionReason: "id-used" });
    expect(idOf(next)).toBe(8);
  });

  test("restore: a deleted record keeps its ID", async () => {
    const number = newSite();
    await engine.commit([createBrand(number, "a"), deleteBrand(number, 1)]);
    const [outcome] = await engine.commit([
      { ...updateBrand(number, 1, {}), operation: "restore", valuesJson: '{"ID":1,"Name":"a"}' },
    ]);
    expect(outcome).toMatchObject({ kind: "done", id: 1, body: '{"ID":1,"Name":"a"}' });
    expect((await readAllRows(engine, number)).rows).toMatchObject([
      { id: 1, revision: 3, body: '{"ID":1,"Name":"a"}' },
    ]);
  });

  test("missing record: rejected", async () => {
    const number = newSite();
    expect(await engine.commit([updateBrand(number, 1, {}), deleteBrand(number, 1)])).toEqual([
      { kind: "rejected", rejectionReason: "not-found" },
      { kind: "rejected", rejectionReason: "not-found" },
    ]);
  });

  test("required version: rejected if the record has another", async () => {
    const number = newSite();
    const [made] = await engine.commit([createBrand(number, "a")]);
    const version = versionAfter(made);
    const [first, second] = await engine.commit([
      { ...updateBrand(number, 1, { Name: "b" }), ifVersion: [version] },
      { ...updateBrand(number, 1, { Name: "c" }), ifVersion: [version] },
    ]);
    expect(first?.kind).toBe("done");
    expect(second).toMatchObject({ kind: "rejected", rejectionReason: "precondition-failed" });
  });

  test("excluded version: rejected if the record has it", async () => {
    const number = newSite();
    const [made] = await engine.commit([createBrand(number, "a")]);
    const version = versionAfter(made);
    const outcomes = await engine.commit([
      { ...updateBrand(number, 1, { Name: "b" }), ifNotVersion: [version] },
      { ...updateBrand(number, 1, { Name: "c" }), ifNotVersion: ["*"] },
      { ...updateBrand(number, 1, { Name: "d" }), ifNotVersion: ["another"] },
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["rejected", "rejected", "done"]);
  });

  test("required head: rejected if the site has a later head or another epoch", async () => {
    const number = newSite();
    await engine.commit([{ ...createBrand(number, "a"), ifHead: "" }]);
    const [head] = (await engine.readHeads([number])) as [Head];
    const seen = { ifHead: headVersion(head), ifEpoch: head.epoch };
    const [first] = await engine.commit([{ ...createBrand(number, "b"), ...seen }]);
    const [moved] = await engine.commit([{ ...createBrand(number, "c"), ...seen }]);
    const [another] = await engine.commit([{ ...createBrand(number, "d"), ifEpoch: "another" }]);
    expect(first?.kind).toBe("done");
    expect(moved).toMatchObject({ kind: "rejected", rejectionReason: "precondition-failed" });
    expect(another).toEqual({ kind: "rejected", rejectionReason: "other-epoch" });
  });

  test("all or nothing: one rejection means nothing is stored", async () => {
    const number = newSite();
    const outcomes = await engine.commit(
      [createBrand(number, "a"), updateBrand(number, 9, {}), createBrand(number, "b")],
      { atomic: true },
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "rejected"]);
    expect((await readAllRows(engine, number)).rows).toEqual([]);
    expect((await engine.readHeads([number]))[0]?.revision).toBe(0);
  });

  test("idempotency key: repeated request creates one record and has one response", async () => {
    const number = newSite();
    const intent = { ...createBrand(number, "a"), idempotency: { keyId: 3, name: 'it\'s \\ "mine"', digest: "d1" } };
    const [first] = await engine.commit([intent]);
    const [again, twice] = await engine.commit([intent, intent]);
    for (const outcome of [again, twice]) {
      expect(outcome).toMatchObject({ kind: "replayed", id: 1 });
      expect(versionAfter(outcome)).toBe(versionAfter(first));
    }
    expect((await readAllRows(engine, number)).rows).toHaveLength(1);
  });

  test("idempotency key: rejected for another request, expires after a day", async () => {
    const number = newSite();
    const named = (digest: string) => ({ ...createBrand(number, "a"), idempotency: { keyId: 3, name: "k", digest } });
    await engine.commit([named("d1")]);
    expect(await engine.commit([named("d2")])).toEqual([
      { kind: "rejected", rejectionReason: "idempotency-key-reused" },
    ]);
    const [late] = await engine.commit([{ ...named("d2"), at: idempotencyLifetimeMs + 2 }]);
    expect(late).toMatchObject({ kind: "done", id: 2 });
  });

  test("clock jumps back: revisions continue, times never go backwards", async () => {
    const number = newSite();
    await engine.commit([{ ...createBrand(number, "a"), at: 1_000_000 }]);
    await engine.commit([{ ...createBrand(number, "b"), at: 5 }]);
    const changes = await engine.readChangesSince(number, 0);
    expect(changes?.map(({ revision, at }) => [revision, at])).toEqual([
      [1, 1_000_000],
      [2, 1_000_000],
    ]);
  });

  // The test is about texts in memory, which do not depend on prepared statements.
  if (!kind.isForPooler)
    test("a kept record keeps nothing else of its batch in memory", async () => {
      const [number, batchSize, batches] = [newSite(), 64, 60];
      await engine.commit(Array.from({ length: batchSize }, () => createBrand(number, "a")));
      const kept: string[] = [];
      const before = await retainedBytesOutsideCells();
      for (let i = 0; i < batches; i++) {
        const batch = Array.from({ length: batchSize }, (_, at) =>
          updateBrand(number, at + 1, { Name: `${i}`.padEnd(1000) }),
        );
        const [first] = (await engine.commit(batch)) as [Extract<Outcome, { kind: "done" }>];
        // The response is a read.
        expect(first.body).toContain(`"Name":"${i} `);
        kept.push(first.body);
      }
      expect((await retainedBytesOutsideCells()) - before).toBeLessThan((batches * batchSize * 1000) / 4);
      expect(new Set(kept).size).toBe(batches);
    });
});
