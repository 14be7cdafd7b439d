// The requests for Postman and for editors, sent in their order as these tools send them. They change only records that they create.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { publicResources } from "../../../src/model/resource.ts";
import { allResources } from "../../../src/resources/all.ts";
import { call } from "../../support/http/server.ts";
import { type LocalDemoServer, startDemo } from "../../support/programs/demo-server.ts";

type Response = Awaited<ReturnType<typeof call>>;

interface ToolRequest {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Called with the response. */
  readonly onResponse?: (response: Response) => void;
}

const docs = join(import.meta.dir, "../../../docs");
const read = (name: string) => readFileSync(join(docs, name), "utf8");
const documented = Object.values(JSON.parse(read("openapi.json")).paths as Record<string, object>).flatMap((path) =>
  Object.keys(path).filter((method) => method !== "head" && method !== "options"),
);

let variables: Map<string, string>;
let server: LocalDemoServer;
// Each test has its own server, because a site's webhooks can't be changed as often as all of them together do.
beforeEach(async () => {
  server = await startDemo();
  variables = new Map([
    ["url", server.url],
    ["key", await server.issueWebhookKey()],
  ]);
});
afterEach(() => server.stop());

/** Sends requests one after another, and expects each to succeed. @param resolve returns the value of a variable, as the tool would */
async function expectSuccess(
  requests: readonly ToolRequest[],
  resolve: (name: string) => string | undefined,
): Promise<void> {
  const fill = (text: string) => text.replaceAll(/\{\{(.+?)\}\}/g, (whole, name: string) => resolve(name) ?? whole);
  for (const { name, method, url, headers, body, onResponse } of requests) {
    const filled = Object.entries(headers).map(([header, value]): [string, string] => [header, fill(value)]);
    const response = await call(fill(url), method, {
      headers: Object.fromEntries(filled),
      ...(body ? { body: fill(body) } : {}),
    });
    expect([name, response.status, response.text]).toEqual([name, /^Create/.test(name) ? 201 : 200, response.text]);
    onResponse?.(response);
  }
}

/** Runs `send`, and expects the records to be as before. */
async function expectNoChange(send: () => Promise<void>): Promise<void> {
  const lists = () =>
    Promise.all(
      publicResources(allResources).map(
        async ({ path }) => (await call(`${server.url}/restapi/${path}.json`, "GET", { key: server.key })).text,
      ),
    );
  const before = await lists();
  await send();
  expect(await lists()).toEqual(before);
}

const idVariables = ["brandId", "orderStatusId", "webhookId"];

/** Expects no request to use the ID of an earlier record after its deletion, or after a create that failed. */
async function expectNoStaleId(requests: readonly ToolRequest[]): Promise<void> {
  const values = () => idVariables.map((name) => variables.get(name));
  expect(values()).toEqual(["", "", ""]);
  const failed = await call(`${server.url}/restapi/brands.json`, "POST", { key: "wrong", body: "{}" });
  const creates = requests.filter(
    ({ method, onResponse, name }) => method === "POST" && onResponse && /^Create/.test(name),
  );
  expect(creates.length).toBeGreaterThan(4);
  for (const { onResponse } of creates) {
    for (const name of idVariables) variables.set(name, "1");
    onResponse?.(failed);
    expect(values().sort()).toEqual(["", "1", "1"]);
  }
}

test("the Postman collection runs from its first request to its last", async () => {
  const { item: folders, variable } = JSON.parse(read("postman.json"));
  for (const { key, value } of variable) if (!variables.has(key)) variables.set(key, value);
  const requests: ToolRequest[] = folders.flatMap(({ item }: { item: PostmanItem[] }) => item).map(fromPostman);
  expect(requests.length).toBeGreaterThanOrEqual(documented.length);
  await expectNoChange(() => expectSuccess(requests, (name) => variables.get(name)));
  await expectNoStaleId(requests);
});

interface PostmanItem {
  readonly name: string;
  readonly event?: readonly [{ readonly listen: "test"; readonly script: { readonly exec: readonly string[] } }];
  readonly request: {
    readonly method: string;
    readonly url: { readonly raw: string };
    readonly header: readonly { readonly key: string; readonly value: string }[];
    readonly body?: { readonly raw: string };
  };
}

function fromPostman({ name, event, request: { method, url, header, body } }: PostmanItem): ToolRequest {
  const headers = Object.fromEntries(header.map(({ key, value }) => [key, value]));
  const code = event?.[0].script.exec.join("\n");
  return {
    name,
    method,
    url: url.raw,
    headers: { "X-API-AUTH": "{{key}}", ...headers },
    body: body?.raw,
    onResponse: (received) => {
      const collectionVariables = { set: (key: string, value: unknown) => variables.set(key, String(value)) };
      const response = { code: received.status, text: () => received.text, json: () => received.json };
      if (code) new Function("pm", code)({ collectionVariables, response });
    },
  };
}

interface HttpEntry {
  readonly request: ToolRequest;
  /** The name by which other requests refer to the response. */
  readonly id: string | undefined;
  /** The script that handles the response. */
  readonly script: string | undefined;
}

/** Reads the entries of a `.http` file. */
function entriesOf(file: string): HttpEntry[] {
  const [, ...entries] = read(file).split(/^### /m);
  expect(entries.length).toBeGreaterThanOrEqual(documented.length);
  return entries.map((entry) => {
    const [, before = "", script] = /^([\s\S]*?)(?:^> \{%(.*)%\}\s*)?$(?![\s\S])/m.exec(entry.trim()) ?? [];
    const [head = "", ...body] = before.trim().split("\n\n");
    const [title = "", ...rest] = head.split("\n");
    const id = /^# @name (\w+)$/.exec(rest[0] ?? "")?.[1];
    const [start = "", ...lines] = id === undefined ? rest : rest.slice(1);
    const [method = "", url = ""] = start.split(" ");
    const headers = Object.fromEntries(lines.map((line) => line.split(": ") as [string, string]));
    const name = title.replace(/^[^:]*: /, "");
    return { request: { name, method, url, headers, body: body.join("\n\n") || undefined }, id, script };
  });
}

test("storefront.http runs in REST Client: named requests, JSONPath and XPath", async () => {
  const responses = new Map<string, Response>();
  const requests = entriesOf("storefront.http").map(({ request, id }) => ({
    ...request,
    onResponse: (response: Response) => id && responses.set(id, response),
  }));
  await expectNoChange(() =>
    expectSuccess(requests, (name) => {
      const [, id = "", path = ""] = /^(\w+)\.response\.body\.(.+)$/.exec(name) ?? [];
      const response = responses.get(id);
      if (!response) return variables.get(name);
      const [, element, attribute] = /^\/\/(\w+)\/@(ID|Run)$/.exec(path) ?? [];
      if (element) return new RegExp(`<${element} ${attribute}="([^"]+)"`).exec(response.text)?.[1];
      if (path === "$.ID" || path === "$.Run") return String(response.json[path.slice(2)]);
      return path === "$[0].ID" ? String(response.json[0].ID) : undefined;
    }),
  );
});

function isXml(received: Response): boolean {
  return received.text.startsWith("<?xml");
}

test("storefront-jetbrains.http runs in the HTTP client of JetBrains: scripts after requests", async () => {
  const requests = entriesOf("storefront-jetbrains.http").map(({ request, script }) => ({
    ...request,
    onResponse: (received: Response) => {
      const client = { global: { set: (name: string, value: unknown) => variables.set(name, String(value)) } };
      const headers = { valueOf: (name: string) => received.headers.get(name) };
      const response = {
        status: received.status,
        headers,
        body: () => (isXml(received) ? received.text : received.json),
      };
      if (script)
        new Function("client", "response", script.replaceAll("response.body", "response.body()"))(client, response);
    },
  }));
  expect(entriesOf("storefront-jetbrains.http").filter(({ script }) => script).length).toBeGreaterThan(4);
  await expectNoChange(() => expectSuccess(requests, (name) => variables.get(name)));
  await expectNoStaleId(requests);
});
