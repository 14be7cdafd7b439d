// A batch request with `match`, while another process moves the values to other records: the match is still true in the transaction that stores the request.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Intent } from "../../src/model/change.ts";
import type { Engine } from "../../src/model/engine.ts";
import { createKey } from "../../src/operator/sites/keys.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import type { Listener } from "../../src/wire/listen.ts";
import { engines, useTwoEngines } from "../support/engine/engines.ts";
import { createBrand, deleteBrand, updateBrand } from "../support/engine/intents.ts";
import { call } from "../support/http/server.ts";
import { serveWithCommits } from "../support/http/wrapped-engine.ts";

describe.each(engines)("a batch request with match on $name", (kind) => {
  let both: readonly [Engine, Engine];
  let server: Listener;
  let key: string;
  let otherKey: string;
  let site: number;
  let sites = 0;
  /** Called before each attempt to store the request, with the number of the attempt. */
  let beforeAttempt: (attempt: number) => Promise<unknown>;
  let attempts = 0;
  useTwoEngines(kind, (first, second) => {
    both = [first, second];
  });
  beforeAll(() => {
    server = serveWithCommits(both[0], {
      commitAtomically: async (...args) => {
        await beforeAttempt(++attempts);
        return both[0].commitAtomically(...args);
      },
    });
  });
  afterAll(() => server.stop(1));
  beforeEach(async () => {
    const created = await createSite(both[0], `shop-${++sites}`, { hostnames: [`shop-${sites}.test`] }, 1);
    key = (await createKey(both[0], created, {}, 1)).key;
    otherKey = (await createKey(both[0], created, {}, 1)).key;
    site = created.ID;
    attempts = 0;
  });

  const other = (...intents: Intent[]) => both[1].commit(intents);
  const stored = async () =>
    (await readAllRows(both[0], site)).rows.flatMap(({ id, body }) => {
      const { Name, AccountNumber } = JSON.parse(body ?? "{}");
      return body === null ? [] : [`${id} ${Name} ${AccountNumber ?? ""}`.trim()];
    });
  const put = (Name: string) => ({ Method: "PUT", Resource: "brands", Record: { Name, AccountNumber: "set" } });
  const send = (names: readonly string[], query = "", sentKey = key) =>
    call(`${server.url}/restapi/batch.json?match=Name${query}`, "POST", {
      key: sentKey,
      headers: { Host: `shop-${sites}.test` },
      body: { Operations: names.map(put) },
    });
  /** Before each attempt, another record gets the name "Hot". */
  const moveHot = async (attempt: number) => {
    if (attempt > 1) await other(updateBrand(site, attempt - 1, { Name: "Former" }));
    await other(createBrand(site, "Hot"));
  };

  test.each([
    ["by default", ""],
    ["with `atomic=0`", "&atomic=0"],
  ])("follows a value that others move once, %s", async (_, query) => {
    await other(createBrand(site, "A"), createBrand(site, "B"));
    beforeAttempt = async (attempt) => {
      if (attempt === 1)
        await other(updateBrand(site, 1, { Name: "Former" }), deleteBrand(site, 2), createBrand(site, "B"));
    };
    const { status, json } = await send(["A", "B"], query);
    expect([status, attempts]).toEqual([200, 2]);
    expect(json.Results).toMatchObject([
      { Status: 201, Record: { ID: 4, Name: "A" } },
      { Status: 200, Record: { ID: 3, Name: "B" } },
    ]);
    expect(await stored()).toEqual(["1 Former", "3 B set", "4 A set"]);
  });

  test("is 412 and stores nothing, if others move a value before each of five attempts", async () => {
    beforeAttempt = moveHot;
    const { status, json } = await send(["New", "Hot"]);
    expect([status, attempts]).toEqual([412, 5]);
    expect(json.errors).toMatchObject([{ operation: 2 }]);
    expect((await stored()).filter((line) => line.endsWith("set"))).toEqual([]);
  });

  test("stores the other operations with atomic=0, if others move a value before each of five attempts", async () => {
    beforeAttempt = moveHot;
    const { status, json } = await send(["Hot", "New"], "&atomic=0");
    expect([status, attempts]).toEqual([200, 6]);
    expect(json.Results).toMatchObject([
      { Status: 412, Problem: { detail: "other writers keep moving this value to other records" } },
      { Status: 201 },
    ]);
    expect((await stored()).filter((line) => line.endsWith("set"))).toHaveLength(1);
  });

  test("is rejected if several records have a value then", async () => {
    await other(createBrand(site, "A"));
    beforeAttempt = async (attempt) => void (attempt === 1 && (await other(createBrand(site, "A"))));
    const { status, json } = await send(["New", "A"]);
    expect([status, json.errors]).toMatchObject([
      400,
      [{ operation: 2, field: "Name", detail: "2 records have this value: 1, 2" }],
    ]);
    expect(await stored()).toEqual(["1 A", "2 A"]);
  });

  test("of one list by several clients at once creates each record once", async () => {
    beforeAttempt = async () => {};
    const names = Array.from({ length: 700 }, (_, n) => `Brand ${n}`);
    const responses = await Promise.all([
      send(names),
      send(names, "&atomic=0"),
      send(names.toReversed(), "", otherKey),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    const results: { Status: number; Changed: boolean }[] = responses.flatMap(({ json }) => json.Results);
    expect(results.filter(({ Status }) => Status === 201)).toHaveLength(700);
    expect(results.filter(({ Status, Changed }) => Status === 200 && !Changed)).toHaveLength(1400);
    expect(await stored()).toHaveLength(700);
    expect(await both[0].findInconsistencies()).toEqual([]);
  });
});
