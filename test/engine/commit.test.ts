// The outcomes of writes, on each engine (`commit` of src/model/engine.ts).

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

  test("records get IDs from 1 per site and resource", async () => {
    const [one, two] = [newSite(), newSite()];
    const outcomes = await engine.commit([
      createBrand(one, "Acme"),
      createBrand(one, "Bolt"),
      createBrand(two, "Acme"),
      { ...createBrand(one, "New"), resource: "order-status" },
    ]);
    expect(outcomes.map(idOf)).toEqual([1, 2, 1, 1]);
  });

  test("updates change the fields that they name, and an update that changes nothing has no journal entry", async () => {
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

  test("the writes of a batch see one another, on one record too", async () => {
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

  test("an ID is never used again, and a record can be created with an ID that the write names", async () => {
    const number = newSite();
    await engine.commit([createBrand(number, "a"), { ...createBrand(number, "b"), id: 7 }, deleteBrand(number, 7)]);
    const [used, next] = await engine.commit([{ ...createBrand(number, "c"), id: 7 }, createBrand(number, "d")]);
    expect(used).toMatchObject({ kind: "rejected", rejectionReason: "id-used" });
    expect(idOf(next)).toBe(8);
  });

  test("a deleted record can be restored under its ID", async () => {
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

  test("a write to a record that does not exist is rejected", async () => {
    const number = newSite();
    expect(await engine.commit([updateBrand(number, 1, {}), deleteBrand(number, 1)])).toEqual([
      { kind: "rejected", rejectionReason: "not-found" },
      { kind: "rejected", rejectionReason: "not-found" },
    ]);
  });

  test("a write that requires a version is rejected when the record has another", async () => {
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

  test("a write that excludes a version is rejected when the record has it", async () => {
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

  test("a write that names the head of the site is rejected when the site has a later head, or another epoch", async () => {
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

  test("all intents or none: if one is rejected, nothing is stored", async () => {
    const number = newSite();
    const outcomes = await engine.commit(
      [createBrand(number, "a"), updateBrand(number, 9, {}), createBrand(number, "b")],
      { atomic: true },
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "rejected"]);
    expect((await readAllRows(engine, number)).rows).toEqual([]);
    expect((await engine.readHeads([number]))[0]?.revision).toBe(0);
  });

  test("a repeated request with an idempotency key creates one record and has one response", async () => {
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

  test("an idempotency key used for another request is rejected, and expires after a day", async () => {
    const number = newSite();
    const named = (digest: string) => ({ ...createBrand(number, "a"), idempotency: { keyId: 3, name: "k", digest } });
    await engine.commit([named("d1")]);
    expect(await engine.commit([named("d2")])).toEqual([
      { kind: "rejected", rejectionReason: "idempotency-key-reused" },
    ]);
    const [late] = await engine.commit([{ ...named("d2"), at: idempotencyLifetimeMs + 2 }]);
    expect(late).toMatchObject({ kind: "done", id: 2 });
  });

  test("a clock that jumps back loses nothing: revisions continue, and no entry is earlier than the one before", async () => {
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
    test("a record that is kept keeps nothing else of the batch that changed it", async () => {
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
