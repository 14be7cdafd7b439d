// While a batch with `match` waits, another process moves the values to other records. The match is correct as of the transaction that stores the batch.

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

describe.each(engines)("batch with match on $name", (kind) => {
  let both: readonly [Engine, Engine];
  let server: Listener;
  let key: string;
  let otherKey: string;
  let site: number;
  let sites = 0;
  /** Called before each transaction, with its number. */
  let beforeCommit: (number: number) => Promise<unknown>;
  let commits = 0;
  useTwoEngines(kind, (first, second) => {
    both = [first, second];
  });
  beforeAll(() => {
    server = serveWithCommits(both[0], {
      commitAtomically: async (...args) => {
        await beforeCommit(++commits);
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
    commits = 0;
    beforeCommit = async () => {};
  });

  const other = (...intents: Intent[]) => both[1].commit(intents);
  const stored = async () =>
    (await readAllRows(both[0], site)).rows.flatMap(({ id, body }) => {
      const { Name, AccountNumber } = JSON.parse(body ?? "{}");
      return body === null ? [] : [`${id} ${Name} ${AccountNumber ?? ""}`.trim()];
    });
  const put = (Name: string) => ({ Method: "PUT", Resource: "brands", Record: { Name, AccountNumber: "set" } });
  const send = (names: readonly string[], query = "", sentKey = key, Method = "PUT") =>
    call(`${server.url}/restapi/batch.json?match=Name${query}`, "POST", {
      key: sentKey,
      headers: { Host: `shop-${sites}.test` },
      body: { Operations: names.map((name) => ({ ...put(name), Method })) },
    });
  const modes = [
    ["by default", ""],
    ["with `atomic=0`", "&atomic=0"],
  ] as const;

  test.each(modes)("value moved to another record meanwhile: the match follows it (%s)", async (_, query) => {
    await other(createBrand(site, "A"), createBrand(site, "B"));
    beforeCommit = () => other(updateBrand(site, 1, { Name: "Former" }), deleteBrand(site, 2), createBrand(site, "B"));
    const { status, json } = await send(["A", "B"], query);
    expect([status, commits]).toEqual([200, 1]);
    expect(json.Results).toMatchObject([
      { Status: 201, Record: { ID: 4, Name: "A" } },
      { Status: 200, Record: { ID: 3, Name: "B" } },
    ]);
    expect(await stored()).toEqual(["1 Former", "3 B set", "4 A set"]);
  });

  test.each(modes)("value of a record to delete moved meanwhile: the delete follows it (%s)", async (_, query) => {
    await other(createBrand(site, "A"));
    beforeCommit = () => other(updateBrand(site, 1, { Name: "Former" }), createBrand(site, "A"));
    const { status, json } = await send(["A"], query, key, "DELETE");
    expect([status, commits, json.Results[0].Record.ID]).toEqual([200, 1, 2]);
    expect(await stored()).toEqual(["1 Former"]);
  });

  test("value meanwhile shared by several records: rejected", async () => {
    await other(createBrand(site, "A"));
    beforeCommit = () => other(createBrand(site, "A"));
    const { status, json } = await send(["New", "A"]);
    const detail = "2 records have this value (1, 2); name one by its ID";
    const errors = [{ operation: 2, field: "Name", code: "several-matches", count: 2, detail }];
    expect([status, json.errors, commits]).toMatchObject([400, errors, 1]);
    expect(await stored()).toEqual(["1 A", "2 A"]);
  });

  test("record deleted meanwhile and the operation can't create one: rejected", async () => {
    await other(createBrand(site, "A"), updateBrand(site, 1, { AccountNumber: "old" }));
    beforeCommit = () => other(deleteBrand(site, 1));
    const { status, json } = await call(`${server.url}/restapi/batch.json?match=AccountNumber`, "POST", {
      key,
      headers: { Host: `shop-${sites}.test` },
      body: {
        Operations: [
          { Method: "PUT", Resource: "brands", Record: { Name: "New", AccountNumber: "new" } },
          { Method: "PUT", Resource: "brands", Record: { AccountNumber: "old" } },
        ],
      },
    });
    expect([status, json.errors]).toMatchObject([400, [{ operation: 2, field: "Name" }]]);
    expect(await stored()).toEqual([]);
  });

  test.each(modes)("more changes meanwhile than one transaction reads: matched again (%s)", async (_, query) => {
    await other(createBrand(site, "A"));
    beforeCommit = async (number) => {
      if (number > 1) return;
      await other(updateBrand(site, 1, { Name: "Former" }), createBrand(site, "A"));
      await both[1].pruneJournal(site, 3, 10);
    };
    const { status, json } = await send(["A", "B"], query);
    expect([status, commits]).toEqual([200, 2]);
    expect(json.Results).toMatchObject([
      { Status: 200, Record: { ID: 2 } },
      { Status: 201, Record: { ID: 3 } },
    ]);
  });

  test("idempotency key: replays the errors of its matches", async () => {
    await other(createBrand(site, "A"), createBrand(site, "A"), createBrand(site, "B"));
    const operations = [
      { Method: "DELETE", Resource: "brands", ID: 3 },
      put("A"),
      put("B"),
      put("C"),
      { ...put("D"), IfMatch: "*" },
      { ...put("E"), Method: "DELETE" },
    ];
    const sendAgain = () =>
      call(`${server.url}/restapi/batch.json?match=Name&atomic=0`, "POST", {
        key,
        headers: { Host: `shop-${sites}.test`, "Idempotency-Key": "same" },
        body: { Operations: operations },
      });
    const first = await sendAgain();
    expect(first.json.Results).toMatchObject([
      { Status: 200 },
      { Status: 400, Problem: { errors: [{ detail: "2 records have this value (1, 2); name one by its ID" }] } },
      {
        Status: 400,
        Problem: { errors: [{ detail: expect.stringContaining("operation 1 already deletes or changes the record") }] },
      },
      { Status: 201 },
      { Status: 412 },
      { Status: 404 },
    ]);
    await other(updateBrand(site, 1, { Name: "x" }), ...["D", "B", "E"].map((name) => createBrand(site, name)));
    const again = await sendAgain();
    expect(again.headers.get("Idempotency-Replayed")).toBe("true");
    const withoutInstances = ({ text }: { text: string }) => text.replaceAll(/"instance":"[^"]*"/g, "");
    expect(withoutInstances(again)).toBe(withoutInstances(first));
  });

  test("several clients send the same list at once: each record is created once", async () => {
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
