// The MCP tools that write: dry runs, confirmations, and when a confirmation no longer counts.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Engine } from "../../../src/model/engine.ts";
import { makeSandbox } from "../../../src/operator/sandbox/make-sandbox.ts";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { engines } from "../../support/engine/engines.ts";
import { callTool, sendMessage } from "../../support/http/mcp.ts";
import { startTestServer, type TestServer } from "../../support/http/server.ts";
import { serveWithCommits } from "../../support/http/wrapped-engine.ts";
import { waitUntil } from "../../support/time.ts";
import { openClient, toRequest } from "../../support/wire/client.ts";

const brands = "/restapi/brands.json";

describe.each(engines)("MCP tools that write on $name:", (kind) => {
  let server: TestServer;
  beforeAll(() => kind.open());
  afterAll(() => kind.close());
  beforeEach(async () => {
    server = await startTestServer({ settings: { DATABASE: await kind.newDatabase() } });
    for (const Name of ["Acme", "Bolt"]) await server.call("POST", brands, { body: { Name, AccountNumber: Name } });
  });
  afterEach(() => server.stop());

  const batch = (operations: unknown, others: object = {}, key = server.key) =>
    callTool(server, "batch", { operations, ...others }, { key });
  const undo = (run: string, others: object = {}, key = server.key) =>
    callTool(server, "undo", { run, ...others }, { key });
  /** Does a dry run of these operations and confirms it. Returns the second result's data. */
  const store = async (operations: unknown, others: object = {}, key = server.key) => {
    const { data } = await batch(operations, others, key);
    const done = await batch(operations, { ...others, confirm: data.Confirm }, key);
    expect(done.isError).toBe(false);
    return done.data;
  };
  const put = (ID: number, Record: object) => ({ Method: "PUT", Resource: "brands", ID, Record });
  const post = (Name: string) => ({ Method: "POST", Resource: "brands", Record: { Name } });
  const remove = (ID: number) => ({ Method: "DELETE", Resource: "brands", ID });
  const names = async (key = server.key) =>
    (await server.call("GET", brands, { key })).json.map(({ Name }: { Name: string }) => Name);
  const cursor = async () => (await server.call("GET", "/restapi/changes.json?since=now")).json.Next;
  const sandboxKey = async () => {
    const { site } = await makeSandbox(server.engine, "shop", { now: Date.now });
    return (await createKey(server.engine, site, {}, Date.now())).key;
  };

  describe("on another process", () => {
    let engine: Engine;
    let other: { readonly url: string; readonly key: string; stop(): Promise<void> };
    /** Runs once, before the other process's next commit. */
    let beforeCommit: (() => Promise<unknown>) | undefined;
    beforeEach(async () => {
      engine = await openEngine(server.database, allResources);
      const listener = serveWithCommits(engine, {
        commitAtomically: async (...args) => {
          const change = beforeCommit;
          beforeCommit = undefined;
          await change?.();
          return engine.commitAtomically(...args);
        },
      });
      other = { url: listener.url, key: server.key, stop: () => listener.stop(1) };
    });
    afterEach(async () => {
      await other.stop();
      await engine.close();
    });

    test("a confirmation counts, because no process has to remember it", async () => {
      const operations = [put(1, { Name: "mine" }), post("Cord")];
      const { data: dry } = await batch(operations);
      const { data } = await callTool(other, "batch", { operations, confirm: dry.Confirm });
      expect([data.Results, await names()]).toEqual([dry.Results, ["mine", "Bolt", "Cord"]]);
      const { data: dryUndo } = await callTool(other, "undo", { run: data.Run });
      expect((await undo(data.Run, { confirm: dryUndo.Confirm })).isError).toBe(false);
      expect(await names()).toEqual(["Acme", "Bolt"]);
    });

    test("nothing is stored if a record changes between the call's own dry run and its commit", async () => {
      const operations = [put(1, { Name: "mine" }), post("Cord")];
      const { data: dry } = await batch(operations);
      const later = () => server.call("PUT", "/restapi/brands/1.json", { body: { AccountNumber: "later" } });
      beforeCommit = later;
      const { data, isError } = await callTool(other, "batch", { operations, confirm: dry.Confirm });
      expect([isError, data.Run, data.Results[0].Record]).toMatchObject([
        true,
        null,
        { Name: "mine", AccountNumber: "later" },
      ]);
      expect(await names()).toEqual(["Acme", "Bolt"]);
    });

    test("nothing is stored if another client's create takes the ID that was shown", async () => {
      const { data: dry } = await batch([post("Cord")]);
      beforeCommit = () => server.call("POST", brands, { body: { Name: "first" } });
      const { data, isError } = await callTool(other, "batch", { operations: [post("Cord")], confirm: dry.Confirm });
      expect([isError, data.Results[0].Record.ID, await names()]).toEqual([true, 4, ["Acme", "Bolt", "first"]]);
    });

    test("nothing is undone if a record changes between the call's own dry run and its commit", async () => {
      const { Run } = await store([put(1, { Name: "mine" }), put(2, { Name: "mine too" })]);
      const { data: dry } = await undo(Run);
      beforeCommit = () => server.call("PUT", "/restapi/brands/1.json", { body: { AccountNumber: "later" } });
      const { data, isError } = await callTool(other, "undo", { run: Run, confirm: dry.Confirm });
      expect([isError, data.Run, data.Restored, data.Skipped.length]).toEqual([true, null, 1, 1]);
      expect(await names()).toEqual(["mine", "mine too"]);
    });
  });
  if (kind.name === "PostgreSQL") return;

  describe("batch", () => {
    test("stores nothing without confirm, then exactly what the dry run showed", async () => {
      const before = await cursor();
      const operations = [post("Cord"), put(1, { Name: "Acme Ltd" }), remove(2)];
      const { data: dry, isError } = await batch(operations);
      const advice = "Nothing is stored yet. To store exactly this (create 1, update 1, delete 1), call again";
      expect([isError, dry.Run, dry.Advice]).toEqual([false, null, expect.stringContaining(advice)]);
      expect(dry.Confirm).toMatch(/^[0-9a-f]{32}$/);
      expect(
        dry.Results.map(({ Status, Changed, Record }: { Status: number; Changed: boolean; Record: { ID: number } }) => [
          Status,
          Changed,
          Record.ID,
        ]),
      ).toEqual([
        [201, true, 3],
        [200, true, 1],
        [200, true, 2],
      ]);
      expect([await cursor(), await names()]).toEqual([before, ["Acme", "Bolt"]]);
      const { data: done } = await batch(operations, { confirm: dry.Confirm });
      expect([done.Run, done.Results, Object.keys(done)]).toEqual([
        expect.any(String),
        dry.Results,
        ["Run", "Results"],
      ]);
      expect(await names()).toEqual(["Acme Ltd", "Cord"]);
      expect(await server.engine.findInconsistencies()).toEqual([]);
    });

    test("a dry run without changes says so", async () => {
      const { data } = await batch([put(1, { Name: "Acme" })]);
      expect(data.Advice).toBe("Nothing would change, so there's nothing to confirm.");
    });

    test("a confirmation works once: the same call again stores nothing, and shows what it would do now", async () => {
      const operations = [post("Cord")];
      const { data: dry } = await batch(operations);
      await batch(operations, { confirm: dry.Confirm });
      const { data: again, isError } = await batch(operations, { confirm: dry.Confirm });
      expect([isError, again.Run, again.Results[0].Record.ID]).toEqual([true, null, 4]);
      expect(again.Advice).toStartWith("`confirm` doesn't match");
      expect(await names()).toEqual(["Acme", "Bolt", "Cord"]);
    });

    test.each<[string, (server: TestServer) => Promise<unknown>]>([
      ["an update of a touched record", (to) => to.call("PUT", "/restapi/brands/1.json", { body: { Name: "other" } })],
      ["the deletion of a touched record", (to) => to.call("DELETE", "/restapi/brands/1.json")],
      ["a create, which takes the ID that was shown", (to) => to.call("POST", brands, { body: { Name: "first" } })],
    ])("after %s, nothing is stored", async (_, change) => {
      const operations = [put(1, { Name: "mine" }), post("Cord")];
      const { data: dry } = await batch(operations);
      await change(server);
      const before = await cursor();
      const { data, isError } = await batch(operations, { confirm: dry.Confirm });
      expect([isError, data.Run ?? null, await cursor()]).toEqual([true, null, before]);
    });

    test("a change to an unrelated record doesn't invalidate the confirmation", async () => {
      const operations = [put(1, { Name: "mine" })];
      const { data: dry } = await batch(operations);
      await server.call("PUT", "/restapi/brands/2.json", { body: { Name: "other" } });
      expect((await batch(operations, { confirm: dry.Confirm })).data.Run).toEqual(expect.any(String));
    });

    test("the order of members doesn't invalidate the confirmation; any other difference does", async () => {
      const { data: dry } = await batch([put(1, { Name: "a", AccountNumber: "b" })]);
      const others = [
        [[put(1, { Name: "a", AccountNumber: "c" })], {}],
        [[put(2, { Name: "a", AccountNumber: "b" })], {}],
        [[put(1, { Name: "a", AccountNumber: "b" }), remove(2)], {}],
        [[], {}],
        [[{ ...put(1, { Name: "a", AccountNumber: "b" }), IfMatch: "*" }], {}],
        [[put(1, { Name: "a", AccountNumber: "b" })], { match: "Name" }],
      ] as const;
      for (const [operations, more] of others) {
        const { data, isError } = await batch(operations, { ...more, confirm: dry.Confirm });
        expect([isError, data.Run]).toEqual([true, null]);
      }
      const reordered = { Record: { AccountNumber: "b", Name: "a" }, ID: 1, Resource: "brands", Method: "PUT" };
      expect((await batch([reordered], { confirm: dry.Confirm })).isError).toBe(false);
    });

    test("a confirmation only counts for its key, site and tool", async () => {
      const operations = [put(1, { Name: "mine" })];
      const { data: dry } = await batch(operations);
      const other = await server.issueKey();
      expect((await batch(operations, { confirm: dry.Confirm }, other)).isError).toBe(true);
      expect((await batch(operations, { confirm: dry.Confirm }, await sandboxKey())).isError).toBe(true);
      const { Run } = await store([put(2, { Name: "x" })]);
      const { data: dryUndo } = await undo(Run);
      expect((await batch(operations, { confirm: dryUndo.Confirm })).isError).toBe(true);
      expect((await undo(Run, { confirm: dry.Confirm })).isError).toBe(true);
      expect(await names()).toEqual(["Acme", "x"]);
      expect((await batch(operations, { confirm: dry.Confirm })).isError).toBe(false);
    });

    test.each([
      "",
      "x",
      "0".repeat(32),
      "constructor",
      "f".repeat(100),
    ])("the confirmation %p is rejected", async (confirm) => {
      const { data, isError } = await batch([put(1, { Name: "mine" })], { confirm });
      expect([isError, data.Run, await names()]).toEqual([true, null, ["Acme", "Bolt"]]);
    });

    test("renewing the sandbox invalidates its confirmations", async () => {
      const key = await sandboxKey();
      const operations = [put(1, { Name: "mine" })];
      const { data: dry } = await batch(operations, {}, key);
      await makeSandbox(server.engine, "shop", { now: Date.now });
      expect((await batch(operations, { confirm: dry.Confirm }, key)).isError).toBe(true);
      await store(operations, {}, key);
      expect([await names(key), await names()]).toEqual([
        ["mine", "Bolt"],
        ["Acme", "Bolt"],
      ]);
    });

    test("match finds a record by a value, and nothing is stored if the value has moved since", async () => {
      const matched = (AccountNumber: string) => ({
        Method: "PUT",
        Resource: "brands",
        Record: { Name: "matched", AccountNumber },
      });
      await server.call("POST", "/restapi/brands.json", { body: { Name: "old", AccountNumber: "old" } });
      const removed = { Method: "DELETE", Resource: "brands", Record: { AccountNumber: "old" } };
      const operations = [matched("Bolt"), matched("new"), removed];
      const match = "AccountNumber";
      const { data: dry } = await batch(operations, { match });
      expect(
        dry.Results.map(({ Status, Record }: { Status: number; Record: { ID: number } }) => [Status, Record.ID]),
      ).toEqual([
        [200, 2],
        [201, 4],
        [200, 3],
      ]);
      await server.call("PUT", "/restapi/brands/1.json", { body: { AccountNumber: "new" } });
      expect((await batch(operations, { match, confirm: dry.Confirm })).isError).toBe(true);
      await store(operations, { match });
      expect(await names()).toEqual(["matched", "matched"]);
    });

    test("confirmed twice at once: one call stores, the other shows what changed", async () => {
      const operations = [put(1, { Name: "mine" }), post("Cord")];
      const other = await server.issueKey();
      const [mine, others] = await Promise.all([batch(operations), batch(operations, {}, other)]);
      const results = await Promise.all([
        batch(operations, { confirm: mine.data.Confirm }),
        batch(operations, { confirm: others.data.Confirm }, other),
      ]);
      expect(results.map(({ isError }) => isError).sort()).toEqual([false, true]);
      expect(await names()).toEqual(["mine", "Bolt", "Cord"]);
    });

    test("errors name each operation, and are reported to the agent", async () => {
      const operations = [
        put(1, { Name: "" }),
        put(99, { Name: "x" }),
        post("fine"),
        { ...put(2, { Name: "x" }), IfMatch: '"x"' },
      ];
      const { data, isError } = await batch(operations);
      expect([isError, data.status, data.errors.map(({ operation }: { operation: number }) => operation)]).toEqual([
        true,
        400,
        [1, 2, 4],
      ]);
      expect(data.detail).toContain("operation 1");
    });

    test.each<[string, unknown, RegExp]>([
      ["no list", {}, /^`operations`: send an array, not an object$/],
      ["a list in a string", "[]", /^`operations`: send an array, not a string; remove the quotes around it$/],
      ["an operation in a string", ["{}"], /operation 1: send an object, not a string; remove the quotes/],
      ["no operations", null, /^`operations`: a value is required/],
      [
        "a field that is null",
        [{ Method: "PUT", Resource: "brands", ID: 1, Record: { Name: null } }],
        /operation 1.*`Name`: send a string, not null/,
      ],
      [
        "too many operations",
        Array(1001).fill({ Method: "DELETE", Resource: "brands", ID: 1 }),
        /^`operations`: send at most 1000 items/,
      ],
      ["an operation that is a string", ["x"], /operation 1: send an object, not a string/],
      ["an operation that is null", [null], /operation 1: send an object, not null/],
      ["an unknown member", [{ ...{ Method: "DELETE", Resource: "brands", ID: 1 }, id: 1 }], /operation 1.*`id`/],
      ["an unknown method", [{ Method: "UPSERT", Resource: "brands" }], /operation 1.*UPSERT/],
      ["an unknown resource", [{ Method: "POST", Resource: "brand", Record: {} }], /operation 1.*`brand`/],
      [
        "a resource that can only be read",
        [{ Method: "POST", Resource: "locations", Record: {} }],
        /operation 1.*locations can only be read/,
      ],
      [
        "an ID that is a string",
        [{ Method: "DELETE", Resource: "brands", ID: "1" }],
        /operation 1: `ID`: use a whole number, 1 or more, not "1"; remove the quotes/,
      ],
    ])("an error the agent can fix: %s", async (_, operations, detail) => {
      const { data, isError } = await batch(operations);
      expect([isError, data.status]).toEqual([true, 400]);
      expect(data.detail).toMatch(detail);
    });

    test("null counts as absent in operations", async () => {
      const nulls = { ID: null, IfMatch: null };
      await store(
        [
          { ...post("Cord"), ...nulls },
          { ...remove(2), IfMatch: null, Record: null },
        ],
        {
          match: null,
          confirm: undefined,
        },
      );
      expect(await names()).toEqual(["Acme", "Cord"]);
    });

    test("malformed operations are all listed, along with invalid records", async () => {
      const { data, isError } = await batch([
        { Method: "POST", Resource: "brnds", Record: {} },
        { Method: "UPSERT", Resource: "brands" },
        { Method: "POST", Resource: "brands", Record: [1] },
        post("fine"),
        "x",
        { Method: "DELETE", Resource: "locations", ID: "1", id: 1 },
        put(1, { Nmae: "x" }),
      ]);
      expect([isError, data.status, data.type]).toEqual([true, 400, "/docs/problems/bad-request"]);
      const errors = data.errors.map(({ operation, field }: Record<string, unknown>) => `${operation} ${field}`);
      expect(errors).toEqual(["1 Resource", "2 Method", "3 Record", "5 ", "6 id", "6 Resource", "6 ID", "7 Nmae"]);
      expect(await names()).toEqual(["Acme", "Bolt"]);
    });

    test("deeply nested operations are an error the agent can fix", async () => {
      const Record = Array.from({ length: 20 }).reduce<unknown>((value) => ({ a: value }), 1);
      const { data, isError } = await batch([{ Method: "POST", Resource: "brands", Record }]);
      expect([isError, data.status]).toEqual([true, 400]);
    });

    test("an unknown field or a wrong type in `match` is an error the agent can fix", async () => {
      const { data } = await batch([], { match: "Nam" });
      expect(data.detail).toContain("did you mean `Name`?");
      expect((await batch([], { match: 5 })).data.detail).toMatch(/^`match`: send a string, not a number/);
      expect((await batch([], { confirm: 5 })).data.detail).toBe("`confirm`: send a string, not a number");
    });

    test("1000 operations are stored at once, and an empty list stores nothing", async () => {
      const operations = Array.from({ length: 1000 }, (_, index) => post(`brand ${index}`));
      const { Run, Results } = await store(operations);
      expect([Run, Results.length, (await names()).length]).toEqual([expect.any(String), 1000, 1002]);
      expect(await store([])).toEqual({ Run: null, Results: [] });
    });

    test("every 100 operations count as one more request, even in a dry run", async () => {
      const key = await server.issueKey({ rate: 10 });
      const operations = Array.from({ length: 250 }, (_, index) => post(`brand ${index}`));
      const params = { name: "batch", arguments: { operations } };
      const { headers } = await sendMessage(server, { jsonrpc: "2.0", id: 1, method: "tools/call", params }, { key });
      expect(headers.get("RateLimit")).toMatch(/^"key";r=7;/);
    });

    test("the call gets a 429 if other batches take all of its key's places", async () => {
      const client = await openClient(server.port);
      const other = await openClient(server.port);
      for (const { send, until } of [client, other]) {
        const lines = [`X-API-AUTH: ${server.key}`, "Content-Length: 20", "Expect: 100-continue"];
        send(toRequest("POST /restapi/batch.json HTTP/1.1", lines));
        await until((received) => received.includes("100 Continue"));
      }
      const params = { name: "batch", arguments: { operations: [put(1, { Name: "x" })] } };
      const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
      const { status, headers, json } = await sendMessage(server, message);
      expect([status, headers.get("Retry-After"), json.type]).toEqual([429, "1", "/docs/problems/too-many-requests"]);
      client.socket.destroy();
      await waitUntil(async () => (await sendMessage(server, message)).status === 200, "a place");
      other.socket.destroy();
    });

    test("changes have the key's prefix as their author, and appear in the feed with their run", async () => {
      const { Run } = await store([put(1, { Name: "mine" })]);
      const { json } = await server.call("GET", "/restapi/changes.json");
      expect(json.Changes.at(-1)).toMatchObject({ Operation: "update", ID: 1, Run });
    });
  });

  describe("undo", () => {
    test("stores nothing without confirm, and can itself be undone", async () => {
      const { Run } = await store([post("Cord"), put(1, { Name: "mine" }), remove(2)]);
      const { data: dry, isError } = await undo(Run);
      expect([isError, dry]).toEqual([
        false,
        {
          Confirm: expect.any(String),
          Advice: expect.any(String),
          Run: null,
          Deleted: 1,
          Restored: 2,
          Unchanged: 0,
          Skipped: [],
        },
      ]);
      expect(await names()).toEqual(["mine", "Cord"]);
      const { data: done } = await undo(Run, { confirm: dry.Confirm });
      expect(done).toEqual({ Run: expect.any(String), Deleted: 1, Restored: 2, Unchanged: 0, Skipped: [] });
      expect(await names()).toEqual(["Acme", "Bolt"]);
      const { data: back } = await undo(done.Run);
      await undo(done.Run, { confirm: back.Confirm });
      expect(await names()).toEqual(["mine", "Cord"]);
    });

    test("after someone else's change, stores nothing and lists the record", async () => {
      const { Run } = await store([put(1, { Name: "mine" }), put(2, { Name: "mine too" })]);
      const { data: dry } = await undo(Run);
      await server.call("PUT", "/restapi/brands/2.json", { body: { AccountNumber: "later" } });
      const { data, isError } = await undo(Run, { confirm: dry.Confirm });
      expect([isError, data.Run, data.Restored, data.Skipped]).toEqual([
        true,
        null,
        1,
        [{ Resource: "brands", ID: 2, Revision: 5 }],
      ]);
      expect(await names()).toEqual(["mine", "mine too"]);
      await undo(Run, { confirm: data.Confirm });
      expect(await names()).toEqual(["Acme", "mine too"]);
    });

    test("a confirmation can't undo the same run twice", async () => {
      const { Run } = await store([put(1, { Name: "mine" })]);
      const { data: dry } = await undo(Run);
      await undo(Run, { confirm: dry.Confirm });
      const { data, isError } = await undo(Run, { confirm: dry.Confirm });
      expect([isError, data.Restored]).toEqual([true, 0]);
    });

    test("another key's or site's run, or an unknown one, is an error the agent can fix", async () => {
      const { Run } = await store([put(1, { Name: "mine" })]);
      const status = async (run: string, key: string) => {
        const { data, isError } = await undo(run, {}, key);
        return [isError, data.status];
      };
      expect(await status(Run, await server.issueKey())).toEqual([true, 403]);
      expect(await status("k3J9aZ0q-1-1", server.key)).toEqual([true, 404]);
      expect(await status("x", server.key)).toEqual([true, 404]);
      expect((await status(Run, await sandboxKey()))[0]).toBe(true);
    });

    test.each<[string, Record<string, unknown>, string]>([
      ["no run", {}, "`run`: a value is required"],
      ["a run that is a number", { run: 5 }, "`run`: send a string, not a number"],
      ["an unknown argument", { run: "x", dryRun: true }, "`dryRun`: unknown field"],
    ])("an error the agent can fix: %s", async (_, sent, detail) => {
      const { data, isError } = await callTool(server, "undo", sent);
      expect([isError, data.detail]).toEqual([true, expect.stringContaining(detail)]);
    });
  });
});
