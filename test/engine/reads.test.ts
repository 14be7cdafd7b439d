// Reading heads, records and the journal on each engine (src/model/engine.ts).

import { describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import type { Head } from "../../src/model/head.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { engineKinds, useEngineAndOpener } from "../support/engine/engines.ts";
import { createBrand, deleteBrand, updateBrand } from "../support/engine/intents.ts";

describe.each(engineKinds)("on $name", (kind) => {
  let engine: Engine;
  let url: string;
  useEngineAndOpener(kind, (first, address) => {
    [engine, url] = [first, address];
  });
  let site = 0;
  const newSite = () => ++site;

  test("site never written to: empty, at revision 0", async () => {
    const number = newSite();
    expect((await engine.readHeads([number]))[0]?.revision).toBe(0);
    expect((await readAllRows(engine, number)).rows).toEqual([]);
    expect(await engine.readChangesSince(number, 0)).toEqual([]);
  });

  test("load: same JSON text as created", async () => {
    const number = newSite();
    const name = "Ça \"va\"? 日本 \\ 'x' \u{1f600} \t\r\n";
    await engine.commit([createBrand(number, name)]);
    const { head, rows } = await readAllRows(engine, number);
    expect(head.revision).toBe(1);
    expect(rows).toEqual([{ resource: "brand", id: 1, revision: 1, body: JSON.stringify({ ID: 1, Name: name }) }]);
  });

  test("rows after an ID: with the site's state, including deleted records", async () => {
    const number = newSite();
    await engine.commit([..."abcd"].map((name) => createBrand(number, name)));
    await engine.commit([deleteBrand(number, 2)]);
    const { rows, head, counts } = await engine.readRowsAfter(number, "brand", { after: 1, limit: 2 });
    expect(rows.map(({ id, revision, body }) => [id, revision, body])).toEqual([
      [2, 5, null],
      [3, 3, '{"ID":3,"Name":"c"}'],
    ]);
    expect([head.revision, counts]).toEqual([5, { brand: { count: 3, revision: 5 } }]);
    const end = await engine.readRowsAfter(number, "brand", { after: 4, limit: 2 });
    expect([end.rows, end.head]).toEqual([[], head]);
    expect((await engine.readRowsAfter(newSite(), "brand", { after: 0, limit: 2 })).rows).toEqual([]);
  });

  test("rows by key: with the last IDs and the site's state", async () => {
    const number = newSite();
    await engine.commit([..."abc"].map((name) => createBrand(number, name)));
    await engine.commit([deleteBrand(number, 2)]);
    const keys = [3, 2, 4].map((id) => ({ resource: "brand", id }));
    const { rows, ...found } = await engine.readRows(number, [...keys, { resource: "order-status", id: 3 }]);
    expect(rows.toSorted((a, b) => a.id - b.id)).toEqual([
      { resource: "brand", id: 2, revision: 4, body: null },
      { resource: "brand", id: 3, revision: 3, body: '{"ID":3,"Name":"c"}' },
    ]);
    expect(found).toEqual({
      head: (await engine.readHeads([number]))[0] as Head,
      counts: { brand: { count: 2, revision: 4 } },
      lastIds: { brand: 3 },
    });
    expect((await engine.readRows(number, [])).head).toEqual(found.head);
    expect(await engine.readRows(newSite(), keys)).toMatchObject({ counts: {}, lastIds: {}, rows: [] });
  });

  test("heads: in the order requested, including sites without writes", async () => {
    const [one, two, three] = [newSite(), newSite(), newSite()];
    await engine.commit([createBrand(one, "a"), createBrand(three, "a"), createBrand(three, "b")]);
    const heads = (await engine.readHeads([three, two, one])) as Head[];
    expect(heads.map(({ revision }) => revision)).toEqual([2, 0, 1]);
    expect(new Set(heads.map(({ epoch }) => epoch)).size).toBe(3);
  });

  test("journal: every change once, in order, from any revision", async () => {
    const number = newSite();
    await engine.commit([createBrand(number, "a"), createBrand(number, "b")]);
    await engine.commit([updateBrand(number, 1, { Name: "c" }), deleteBrand(number, 2)]);
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

  test("journal: not another epoch's", async () => {
    const number = newSite();
    await engine.commit([createBrand(number, "a")]);
    const [head] = await engine.readHeads([number]);
    expect(await engine.readChangesSince(number, 0, { epoch: head?.epoch as string })).toHaveLength(1);
    expect(await engine.readChangesSince(number, 0, { epoch: "another" })).toBeUndefined();
  });

  test("database behind a site's known head: rejected, unless it has another epoch", async () => {
    const number = newSite();
    await engine.commit([createBrand(number, "a")]);
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

  test("load of many records: complete and in order", async () => {
    const number = newSite();
    for (let i = 0; i < 12; i++) await engine.commit(Array.from({ length: 500 }, () => createBrand(number, "a")));
    const { rows } = await readAllRows(engine, number);
    expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 6000 }, (_, i) => i + 1));
  });

  test("SQL reports: a column per field", async () => {
    const number = newSite();
    await engine.commit([{ ...createBrand(number, "Acme"), valuesJson: '{"Name":"Acme","Address":{"Town":"Ulm"}}' }]);
    await engine.commit([createBrand(number, "gone"), deleteBrand(number, 2)]);
    expect(await kind.select(url, `select id, name, address_town from brand where site_id = ${number}`)).toEqual([
      { id: 1, name: "Acme", address_town: "Ulm" },
    ]);
  });
});
