// Contract section 14: agents, over the Model Context Protocol, which is JSON only.

import { casesOf } from "../case.ts";
import type { Answer } from "../requests.ts";
import type { CallOptions, Shop } from "../shop.ts";

const { once } = casesOf(14);

const modern = "2026-07-28";

export const agentCases = [
  once("`POST /mcp` speaks", "a client of either revision can list the tools and call one", async (shop) => {
    const { id, record } = await shop.create();
    for (const version of ["2025-11-25", "2025-06-18"]) {
      const parameters = {
        protocolVersion: version,
        capabilities: {},
        clientInfo: { name: "conformance", version: "1" },
      };
      const opened = await rpc(shop, "initialize", parameters);
      shop.same(opened.answer, "the revision", opened.result.protocolVersion, version);
    }
    const { answer, result } = await rpc(shop, "tools/call", { name: "get", arguments: getting(id) });
    shop.same(answer, "the record", result.structuredContent?.Record, record);
    const again = await rpc(shop, "tools/call", inModern({ name: "get", arguments: getting(id) }), {
      headers: { "MCP-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "get" },
    });
    shop.same(again.answer, "the record", again.result.structuredContent?.Record, record);
    const { result: listed } = await rpc(shop, "tools/list", {});
    shop.same(answer, "the tools", (listed.tools ?? []).map(({ name }) => name).sort(), allTools);
  }),
  once("Each message is checked", "a message without a valid key gets a problem document", async (shop) => {
    shop.problem(await call(shop, message("ping"), { key: null }), 401, /unauthorized/);
    shop.problem(await call(shop, message("ping"), { key: shop.need("otherKey") }), 403, /forbidden/);
  }),
  once("The key is in `X-API-AUTH`", "only /mcp accepts a bearer token", async (shop) => {
    const bearer = { headers: { Authorization: `Bearer ${shop.target.key}` }, key: null };
    shop.status(await call(shop, message("ping"), bearer), 200);
    shop.status(await shop.call("GET", "orderstatuses?limit=1", bearer), 401);
    shop.status(await call(shop, message("ping"), { headers: { Authorization: `Bearer ${"x".repeat(46)}` } }), 401);
  }),
  once("There are no sessions or streams", "there's no session ID, and GET and DELETE get a 405", async (shop) => {
    const { answer } = await rpc(shop, "initialize", { protocolVersion: "2025-11-25", capabilities: {} });
    shop.header(answer, "Mcp-Session-Id", null);
    shop.header(answer, "Content-Type", /^application\/json/);
    for (const method of ["GET", "DELETE"]) shop.status(await shop.call(method, "/mcp"), 405);
  }),
  once(
    "A message of revision 2026-07-28",
    "a header that's missing or contradicts the message gets a 400",
    async (shop) => {
      const sent = message("tools/call", inModern({ name: "list", arguments: { resource: "orderstatuses" } }));
      const right = { "MCP-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "list" };
      shop.status(await call(shop, sent, { headers: right }), 200);
      const { "Mcp-Name": _, ...nameless } = right;
      for (const wrong of [{ "MCP-Protocol-Version": "2025-11-25" }, { "Mcp-Method": "ping" }, { "Mcp-Name": "get" }])
        shop.status(await call(shop, sent, { headers: { ...right, ...wrong } }), 400);
      shop.status(await call(shop, sent, { headers: nameless }), 400);
    },
  ),
  once(
    "A notification gets a 202",
    "anything that isn't a message gets a 400, and another media type a 415",
    async (shop) => {
      const notified = await call(shop, JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
      shop.status(notified, 202);
      shop.same(notified, "the length of the body", notified.length, 0);
      for (const body of ["{", `[${message("ping")}]`, "{}"]) shop.status(await call(shop, body), 400);
      shop.status(await call(shop, message("ping"), { headers: { "Content-Type": "text/plain" } }), 415);
    },
  ),
  once("A request with an `Origin`", "another website's origin gets a 403", async (shop) => {
    shop.status(await call(shop, message("ping"), { headers: { Origin: "https://elsewhere.example" } }), 403);
    shop.status(await call(shop, message("ping"), { headers: { Origin: new URL(shop.target.url).origin } }), 200);
  }),
  once("`list`, `get`, `changes`", "list and changes return what the endpoints return", async (shop) => {
    const { record } = await shop.create();
    const filter = { Name: shop.mark };
    const list = await tool(shop, "list", { resource: "orderstatuses", filter });
    shop.same(list.answer, "the records", list.content, { Records: [record], Total: 1 });
    const page = await tool(shop, "changes", { since: "now" });
    shop.same(page.answer, "the changes", page.content.Changes, []);
  }),
  once("`batch`", "a read-only key only sees the tools that read", async (shop) => {
    const { result } = await rpc(shop, "tools/list", {}, { key: shop.need("readKey") });
    const names = (result.tools ?? []).map(({ name }) => name).sort();
    shop.same(await shop.call("GET", "orderstatuses?limit=1"), "the tools", names, ["changes", "get", "list"]);
  }),
  once("`undo`", "undo reverses a run once it's confirmed", async (shop) => {
    const { content: stored } = await confirmed(shop, "batch", { operations: creating(shop) });
    const { answer, content } = await confirmed(shop, "undo", { run: stored.Run });
    shop.same(answer, "the number of deleted records", content.Deleted, 1);
    shop.same(answer, "the order statuses", await shop.own(), []);
  }),
  once("A `null` argument", "null counts as omitted, except in a record", async (shop) => {
    const { record } = await shop.create();
    const filter = { Name: shop.mark };
    const given = { resource: "orderstatuses", filter, limit: null, offset: null, sort: null, fields: null };
    const list = await tool(shop, "list", given);
    shop.same(list.answer, "the records", list.content.Records, [record]);
    const [operation] = creating(shop);
    await tool(shop, "batch", { operations: [{ ...operation, ID: null, IfMatch: null }], match: null, confirm: null });
    const nameless = { ...operation, Record: { Name: null } };
    const wrong = await rpc(shop, "tools/call", { name: "batch", arguments: { operations: [nameless] } });
    shop.same(wrong.answer, "isError", wrong.result.isError, true);
  }),
  once("A result contains the same JSON twice", "a problem is a result with isError", async (shop) => {
    const { answer, result } = await rpc(shop, "tools/call", { name: "get", arguments: getting(0x7fffffff) });
    shop.same(answer, "isError", result.isError, true);
    shop.same(answer, "the status", result.structuredContent?.status, 404);
    shop.same(answer, "the text as JSON", JSON.parse(result.content?.[0]?.text ?? ""), result.structuredContent);
    const wrong = await rpc(shop, "tools/call", { name: "get", arguments: { resource: "orderstatuses", id: "1" } });
    shop.same(wrong.answer, "the status of a wrong argument", wrong.result.structuredContent?.status, 400);
    const unknown = await call(shop, message("tools/call", { name: "drop", arguments: {} }));
    shop.same(unknown, "the error code", JSON.parse(unknown.text).error?.code, -32602);
  }),
  once("Without `confirm`, `batch` and `undo`", "without confirm, a batch stores nothing", async (shop) => {
    const { answer, content } = await tool(shop, "batch", { operations: creating(shop) });
    shop.holds(answer, "a Confirm", typeof content.Confirm === "string");
    shop.same(answer, "the order statuses", await shop.own(), []);
  }),
  once(
    "With that value as `confirm`",
    "confirm stores what the dry run showed, or nothing if that has changed",
    async (shop) => {
      const { id } = await shop.create();
      const operations = [{ Method: "PUT", Resource: "orderstatuses", ID: id, Record: { Name: `${shop.mark}b` } }];
      const { content } = await tool(shop, "batch", { operations });
      shop.status(await shop.call("PUT", `orderstatuses/${id}`, { body: { Name: `${shop.mark}c` } }), 200);
      const late = await rpc(shop, "tools/call", {
        name: "batch",
        arguments: { operations, confirm: content.Confirm },
      });
      shop.same(late.answer, "isError", late.result.isError, true);
      shop.same(late.answer, "the name", (await shop.own())[0]?.Name, `${shop.mark}c`);
      await confirmed(shop, "batch", { operations });
      shop.same(late.answer, "the name", (await shop.own())[0]?.Name, `${shop.mark}b`);
    },
  ),
];

const allTools = ["batch", "changes", "get", "list", "undo"];

interface ToolResult {
  readonly protocolVersion?: string;
  readonly tools?: readonly { readonly name: string }[];
  readonly content?: readonly { readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

const getting = (id: number) => ({ resource: "orderstatuses", id });
const creating = (shop: Shop) => [{ Method: "POST", Resource: "orderstatuses", Record: { Name: shop.mark } }];

/** Adds what every message of revision 2026-07-28 needs. */
function inModern(parameters: object): object {
  const meta = { protocolVersion: modern, clientInfo: { name: "conformance", version: "1" }, clientCapabilities: {} };
  const entries = Object.entries(meta).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]);
  return { ...parameters, _meta: Object.fromEntries(entries) };
}

function message(method: string, params?: object): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
}

function call(shop: Shop, body: string, { headers, ...options }: CallOptions = {}): Promise<Answer> {
  const types = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  return shop.call("POST", "/mcp", { body, headers: { ...types, ...headers }, ...options });
}

async function rpc(shop: Shop, method: string, params: object, options: CallOptions = {}) {
  const answer = await call(shop, message(method, params), options);
  shop.status(answer, 200);
  const { result } = JSON.parse(answer.text) as { result?: ToolResult };
  return { answer, result: result ?? shop.fail(answer, `a result, not ${answer.text.slice(0, 300)}`) };
}

/** Calls a tool, and fails if it reports an error. */
async function tool(shop: Shop, name: string, given: object) {
  const { answer, result } = await rpc(shop, "tools/call", { name, arguments: given });
  if (result.isError) shop.fail(answer, `a result without an error, not ${answer.text.slice(0, 300)}`);
  return { answer, content: result.structuredContent ?? {} };
}

/** Calls a tool as a dry run, then again with the `Confirm` it returned. */
async function confirmed(shop: Shop, name: string, given: object) {
  const { content } = await tool(shop, name, given);
  return tool(shop, name, { ...given, confirm: content.Confirm });
}
