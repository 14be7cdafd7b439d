// `match` in batch requests: updates find their record by a value or create it, unless an earlier operation touches that value (contract section 14).

import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { BatchResults } from "../../src/http/batch/batch.ts";
import type { Engine } from "../../src/model/engine.ts";
import { engines } from "../support/engine/engines.ts";
import {
  createBatchRunner,
  faultsIn,
  sendBatch,
  statusesIn,
  toCreate,
  toDelete,
  toUpdate,
  toUpsert,
} from "../support/http/batch.ts";
import { type TestServer, useServer } from "../support/http/server.ts";

const match = "AccountNumber";
const query = `match=${match}`;

describe.each(engines)("`match` in a batch on $name", (kind) => {
  let server: TestServer;
  let runBatch: Awaited<ReturnType<typeof createBatchRunner>>;
  /** Called before each transaction of `runBatch`, with the transaction's number. */
  let beforeCommit: (number: number) => Promise<unknown> = async () => {};
  let commits = 0;
  let accounts = 0;
  useServer(kind, (started) => {
    server = started;
  });
  beforeAll(async () => {
    const engine: Engine = {
      ...server.engine,
      async commitAtomically(...args) {
        await beforeCommit(++commits);
        return server.engine.commitAtomically(...args);
      },
    };
    runBatch = await createBatchRunner(server, engine);
  });
  beforeEach(() => {
    commits = 0;
    beforeCommit = async () => {};
  });

  const newAccount = () => `${kind.name} ${++accounts}`;
  const createBrand = async (AccountNumber: string, Name = "Acme"): Promise<number> =>
    (await server.call("POST", "/restapi/brands.json", { body: { Name, AccountNumber } })).json.ID;
  const put = (id: number, body: object) => server.call("PUT", `/restapi/brands/${id}.json`, { body });
  const nameOf = async (id: number) => (await server.call("GET", `/restapi/brands/${id}.json`)).json.Name;
  const idsWith = async (account: string): Promise<number[]> =>
    (await server.call("GET", `/restapi/brands.json?filter[AccountNumber]=${encodeURIComponent(account)}`)).json.map(
      ({ ID }: { ID: number }) => ID,
    );
  const idsIn = ({ results }: BatchResults) =>
    results.map((result) => ("outcome" in result ? result.outcome.id : result.problem.code));

  test("updates the record with that value, or creates one", async () => {
    const [known, unknown] = [newAccount(), newAccount()];
    const id = await createBrand(known);
    const response = await sendBatch(
      server,
      [
        toUpsert({ AccountNumber: known, Name: "Changed" }),
        toUpsert({ AccountNumber: unknown, Name: "New" }),
        toUpdate(id, { Name: "Named" }),
      ],
      { query },
    );
    expect(statusesIn(response)).toEqual([200, 201, 200]);
    expect(response.json.Results[0].Record).toMatchObject({ ID: id, Name: "Changed", AccountNumber: known });
    const [created] = await idsWith(unknown);
    expect([response.json.Results[1].Record.ID, await nameOf(created as number), await nameOf(id)]).toEqual([
      created,
      "New",
      "Named",
    ]);
    const again = await sendBatch(server, [toUpsert({ AccountNumber: unknown, Name: "New" })], { query });
    expect([again.json.Run, again.json.Results[0].Changed]).toEqual([null, false]);
  });

  test("takes a dotted path for a field in a group, and one field per resource", async () => {
    const town = newAccount();
    const operations = [toUpsert({ Name: "In", Address: { Town: town } })];
    expect(statusesIn(await sendBatch(server, operations, { query: "match=Address.Town" }))).toEqual([201]);
    expect(statusesIn(await sendBatch(server, operations, { query: "match=Address.Town" }))).toEqual([200]);
    const Name = newAccount();
    const both = [toUpsert({ Name }), { Method: "PUT", Resource: "orderstatuses", Record: { Name } }];
    expect(statusesIn(await sendBatch(server, both, { query: "match=Name" }))).toEqual([201, 201]);
    expect(statusesIn(await sendBatch(server, both, { query: "match=Name" }))).toEqual([200, 200]);
  });

  test("rejects a value that an earlier operation on the same resource has", async () => {
    const [account, other] = [newAccount(), newAccount()];
    const id = await createBrand(other);
    const sent = toUpsert({ AccountNumber: account, Name: "Later" });
    const earlier = [
      toCreate({ Name: "x", AccountNumber: account }),
      toUpsert({ Name: "x", AccountNumber: account }),
      toUpdate(id, { AccountNumber: account }),
      toUpdate(9999, { AccountNumber: account }),
    ];
    for (const first of earlier) {
      const response = await sendBatch(server, [first, sent], { query: `${query}&atomic=1` });
      expect([response.status, faultsIn(response).at(-1)]).toEqual([
        first.ID === 9999 ? 404 : 400,
        [2, match, "operation 1 has the same value; send one for each value"],
      ]);
    }
    expect(await idsWith(account)).toEqual([]);
    const later = await sendBatch(server, [sent, toCreate({ Name: "y", AccountNumber: account })], {
      query: `${query}&dryRun=1`,
    });
    expect(statusesIn(later)).toEqual([201, 201]);
  });

  test("rejects a value whose record an earlier operation deletes or changes", async () => {
    const account = newAccount();
    const id = await createBrand(account);
    const sent = toUpsert({ AccountNumber: account, Name: "Later" });
    const fault = "operation 1 already deletes or changes the record with this value; use one operation for it";
    for (const first of [
      toDelete(id),
      toUpdate(id, { AccountNumber: newAccount() }),
      toUpdate(id, { AccountNumber: "" }),
    ]) {
      for (const parameter of ["dryRun=0", "dryRun=1"]) {
        const response = await sendBatch(server, [first, sent], { query: `${query}&${parameter}` });
        expect([response.status, faultsIn(response)]).toEqual([400, [[2, match, fault]]]);
      }
    }
    const alone = await sendBatch(server, [toDelete(id), sent], { query: `${query}&atomic=0` });
    expect(statusesIn(alone)).toEqual([200, 400]);
    // An operation that isn't stored doesn't move its value.
    const second = newAccount();
    const failed = [toDelete(await createBrand(second), '"other"'), toUpsert({ AccountNumber: second, Name: "Later" })];
    expect(statusesIn(await sendBatch(server, failed, { query: `${query}&atomic=0` }))).toEqual([412, 200]);
    // However many operations come in between.
    const [third, untouched] = [newAccount(), await createBrand(newAccount())];
    const far = [
      toDelete(await createBrand(third)),
      ...Array.from({ length: 600 }, () => toUpdate(untouched, { Name: "x" })),
      toUpsert({ AccountNumber: third, Name: "Later" }),
    ];
    for (const parameter of ["dryRun=0", "dryRun=1"]) {
      const response = await sendBatch(server, far, { query: `${query}&${parameter}` });
      expect(faultsIn(response)).toEqual([[602, match, fault]]);
    }
    const other = newAccount();
    const kept = await createBrand(other);
    const before = [toUpsert({ AccountNumber: other, Name: "Kept" }), toDelete(kept)];
    expect(statusesIn(await sendBatch(server, before, { query }))).toEqual([200, 200]);
  });

  const toMatchedDelete = (AccountNumber: string, IfMatch?: string) => ({
    ...toUpsert({ AccountNumber }, IfMatch),
    Method: "DELETE",
  });

  test("deletes the record with that value, and undo brings it back", async () => {
    const [known, unknown] = [newAccount(), newAccount()];
    const id = await createBrand(known);
    const both = [toMatchedDelete(known), toMatchedDelete(unknown)];
    for (const parameter of ["dryRun=0", "dryRun=1"]) {
      const response = await sendBatch(server, both, { query: `${query}&${parameter}` });
      expect([response.status, faultsIn(response)]).toEqual([404, [[2, "", "no brand has this `AccountNumber`"]]]);
    }
    expect(await idsWith(known)).toEqual([id]);
    const response = await sendBatch(server, both, { query: `${query}&atomic=0` });
    expect(response.json.Results).toMatchObject([
      { Status: 200, Changed: true, Record: { ID: id, AccountNumber: known } },
      { Status: 404, Problem: { type: "/docs/problems/not-found" } },
    ]);
    expect(response.json.Results[0].ETag).toBeUndefined();
    expect(await idsWith(known)).toEqual([]);
    const undone = await server.call("POST", "/restapi/undo.json", { body: { Run: response.json.Run } });
    expect([undone.json.Restored, await idsWith(known)]).toEqual([1, [id]]);
    const xml = `<Batch><Operation Method="DELETE" Resource="brands"><Brand><AccountNumber>${known}</AccountNumber></Brand></Operation></Batch>`;
    const deleted = await server.call("POST", `/restapi/batch.xml?${query}`, { body: xml });
    expect([deleted.status, await idsWith(known)]).toEqual([200, []]);
  });

  test("deletes only the version in `IfMatch`, and none of several records", async () => {
    const account = newAccount();
    const id = await createBrand(account);
    const etag = (await server.call("GET", `/restapi/brands/${id}.json`)).headers.get("ETag") as string;
    await put(id, { Name: "Changed" });
    expect((await sendBatch(server, [toMatchedDelete(account, etag)], { query })).status).toBe(412);
    expect((await sendBatch(server, [toMatchedDelete(newAccount(), "*")], { query })).status).toBe(404);
    await createBrand(account);
    const several = await sendBatch(server, [toMatchedDelete(account)], { query });
    expect([several.status, several.json.errors[0].code, (await idsWith(account)).length]).toEqual([
      400,
      "several-matches",
      2,
    ]);
  });

  test("a second delete finds no record, but a value can't be written and deleted", async () => {
    const [first, second, third, fourth] = [newAccount(), newAccount(), newAccount(), newAccount()];
    const id = await createBrand(second);
    for (const account of [first, third, fourth]) await createBrand(account);
    const moved = "operation 6 already deletes or changes the record with this value; use one operation for it";
    const same = (number: number) => `operation ${number} has the same value; send one for each value`;
    const { json } = await sendBatch(
      server,
      [
        toMatchedDelete(first),
        toMatchedDelete(first),
        toUpsert({ AccountNumber: first, Name: "Again" }),
        toDelete(id),
        toMatchedDelete(second),
        toUpdate(await createBrand(`${third} old`), { AccountNumber: newAccount() }),
        toMatchedDelete(`${third} old`),
        toUpsert({ AccountNumber: third, Name: "Kept" }),
        toMatchedDelete(third),
        toMatchedDelete(fourth),
        toCreate({ AccountNumber: fourth, Name: "Kept" }),
        toMatchedDelete(fourth),
      ],
      { query: `${query}&atomic=0` },
    );
    expect(
      json.Results.map(({ Status, Problem }: { Status: number; Problem?: { errors?: { detail: string }[] } }) =>
        Problem?.errors ? [Status, Problem.errors[0]?.detail] : Status,
      ),
    ).toEqual([200, 404, [400, same(1)], 200, 404, 200, [400, moved], 200, [400, same(8)], 200, 201, [400, same(11)]]);
    expect([await idsWith(first), (await idsWith(third)).length, (await idsWith(fourth)).length]).toEqual([[], 1, 1]);
  });

  test("with `confirm`, stores exactly the results shown, or nothing", async () => {
    const [account, created, removed] = [newAccount(), newAccount(), newAccount()];
    const id = await createBrand(account);
    await createBrand(removed);
    const sent = [
      toUpsert({ AccountNumber: account, Name: "Shown" }),
      toUpsert({ AccountNumber: created, Name: "Created" }),
      toUpdate(id, { Name: "Shown last" }),
      toMatchedDelete(removed),
    ];
    const dry = await runBatch(sent, { match, isDry: true, confirm: () => {} });
    const touched: string[] = [];
    const confirm = (planned: BatchResults) => {
      touched.push(planned.touched());
      if (planned.touched() !== dry.touched()) throw new Error("another plan");
    };
    beforeCommit = async (number) => {
      if (number === 1) await put(id, { Name: "Changed meanwhile" });
    };
    await expect(runBatch(sent, { match, confirm })).rejects.toThrow("another plan");
    expect([touched.length, touched[0], await nameOf(id), await idsWith(created)]).toEqual([
      2,
      dry.touched(),
      "Changed meanwhile",
      [],
    ]);
    beforeCommit = async (number) => {
      if (number === 2) await createBrand(newAccount());
    };
    // Another record takes the ID that the dry run showed.
    const second = await runBatch(sent, { match, isDry: true, confirm: () => {} });
    const isSame = (planned: BatchResults) => {
      if (planned.touched() !== second.touched()) throw new Error("another plan");
    };
    await expect(runBatch(sent, { match, confirm: isSame })).rejects.toThrow("another plan");
    const third = await runBatch(sent, { match, isDry: true, confirm: () => {} });
    const stored = await runBatch(sent, {
      match,
      confirm: (planned) => expect(planned.touched()).toBe(third.touched()),
    });
    expect(idsIn(stored)).toEqual(idsIn(third));
    expect([await nameOf(id), (await idsWith(created)).length, await idsWith(removed)]).toEqual(["Shown last", 1, []]);
  });
});
