// `POST /mcp` with the official MCP client, which shares no code with the server: negotiating a revision as it does by default, and with only the
// latest revision.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { makeSandbox } from "../../src/operator/sandbox/make-sandbox.ts";
import { createKey } from "../../src/operator/sites/keys.ts";
import { failureOf } from "../support/failure.ts";
import { startTestServer, type TestServer } from "../support/http/server.ts";

const modes: [name: string, revision: string, options: ClientOptions][] = [
  ["its default mode", "2025-11-25", {}],
  ["negotiation", "2026-07-28", { versionNegotiation: { mode: "auto" } }],
  ["the latest revision only", "2026-07-28", { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
];

describe("the official MCP client", () => {
  let server: TestServer;
  const clients: Client[] = [];
  beforeAll(async () => {
    server = await startTestServer();
    for (const Name of ["Acme", "Bolt"]) await server.call("POST", "/restapi/brands.json", { body: { Name } });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });
  afterAll(async () => {
    await server.stop();
  });

  const connect = async (options: ClientOptions, key = server.key) => {
    const client = new Client({ name: "test", version: "1.0.0" }, options);
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
      requestInit: { headers: { Authorization: `Bearer ${key}` } },
    });
    await client.connect(transport);
    clients.push(client);
    return { client, transport };
  };
  /** Calls a tool. The client checks the result against the schema. */
  const call = async (client: Client, name: string, args: Record<string, unknown>) => {
    const { structuredContent, isError } = await client.callTool({ name, arguments: args });
    // biome-ignore lint/suspicious/noExplicitAny: tests read any member
    return { data: structuredContent as any, isError };
  };

  describe.each(modes)("with %s", (_, revision, options) => {
    test("connects, gets an introduction, and finds the tools", async () => {
      const { client, transport } = await connect(options);
      expect(transport.protocolVersion).toBe(revision);
      expect(client.getServerVersion()).toMatchObject({ name: "storefront" });
      expect(client.getInstructions()).toContain("the live records of the site `shop`");
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(["list", "get", "changes", "batch", "undo"]);
    });

    test("list, get and changes return what the REST interface does", async () => {
      const { client } = await connect(options);
      expect((await call(client, "list", { resource: "brands", fields: ["Name"], limit: 1 })).data).toEqual({
        Records: [{ ID: 1, Name: "Acme" }],
        Total: 2,
      });
      const { json, headers } = await server.call("GET", "/restapi/brands/2.json");
      expect((await call(client, "get", { resource: "brands", id: 2 })).data).toEqual({
        Record: json,
        ETag: headers.get("ETag"),
      });
      const feed = await server.call("GET", "/restapi/changes.json?limit=1");
      expect((await call(client, "changes", { limit: 1 })).data).toEqual(feed.json);
    });

    test("a failed tool call returns a result, and an unknown tool throws an error", async () => {
      const { client } = await connect(options);
      const { data, isError } = await call(client, "get", { resource: "brands", id: 99 });
      expect([data.status, isError]).toEqual([404, true]);
      const { message } = await failureOf(client.callTool({ name: "delete", arguments: {} }));
      expect(message).toContain("this API key has no tool `delete`");
    });

    test("shows, confirms, stores and undoes a batch", async () => {
      const { client } = await connect(options);
      const operations = [
        { Method: "POST", Resource: "orderstatuses", Record: { Name: `new ${revision}` } },
        { Method: "PUT", Resource: "brands", ID: 2, Record: { AccountNumber: `of ${revision}` } },
      ];
      const before = await server.call("GET", "/restapi/brands/2.json");
      const { data: dry } = await call(client, "batch", { operations });
      expect([dry.Run, dry.Results.map(({ Status }: { Status: number }) => Status)]).toEqual([null, [201, 200]]);
      expect((await server.call("GET", "/restapi/brands/2.json")).json).toEqual(before.json);
      const { data: done, isError } = await call(client, "batch", { operations, confirm: dry.Confirm });
      expect([isError, done.Results]).toEqual([false, dry.Results]);
      const { data: undo } = await call(client, "undo", { run: done.Run });
      expect(undo).toMatchObject({ Run: null, Deleted: 1, Restored: 1, Unchanged: 0, Skipped: [] });
      const { data: undone } = await call(client, "undo", { run: done.Run, confirm: undo.Confirm });
      expect(undone).toEqual({ Run: expect.any(String), Deleted: 1, Restored: 1, Unchanged: 0, Skipped: [] });
      expect((await server.call("GET", "/restapi/brands/2.json")).json).toEqual(before.json);
    });

    test("confirming a batch after someone else's change stores nothing and shows the new state", async () => {
      const { client } = await connect(options);
      const operations = [{ Method: "DELETE", Resource: "brands", ID: 1 }];
      const { data: dry } = await call(client, "batch", { operations });
      await server.call("PUT", "/restapi/brands/1.json", { body: { AccountNumber: `changed ${Bun.randomUUIDv7()}` } });
      const { data: again, isError } = await call(client, "batch", { operations, confirm: dry.Confirm });
      expect([isError, again.Run, again.Confirm === dry.Confirm]).toEqual([true, null, false]);
      expect((await server.call("GET", "/restapi/brands/1.json")).status).toBe(200);
    });

    test("can't connect without a valid key", async () => {
      expect((await failureOf(connect(options, "sfk_x"))).message).toContain("401");
    });
  });

  test("with a sandbox key works in the sandbox", async () => {
    const { site } = await makeSandbox(server.engine, "shop", { now: Date.now });
    const { key } = await createKey(server.engine, site, {}, Date.now());
    const { client } = await connect({ versionNegotiation: { mode: "auto" } }, key);
    expect(client.getInstructions()).toContain("the sandbox `shop-sandbox`");
    const operations = [{ Method: "PUT", Resource: "brands", ID: 1, Record: { Name: "only here" } }];
    const { data: dry } = await call(client, "batch", { operations });
    await call(client, "batch", { operations, confirm: dry.Confirm });
    expect((await call(client, "get", { resource: "brands", id: 1 })).data.Record.Name).toBe("only here");
    expect((await server.call("GET", "/restapi/brands/1.json")).json.Name).toBe("Acme");
  });
});
