// The requests for Postman and for editors, sent as these tools send them.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { allResources } from "../../src/resources/all.ts";
import { call } from "../support/http/server.ts";
import { type DemoServer, startDemo } from "../support/programs/demo-server.ts";

interface Sent {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

const docs = join(import.meta.dir, "../../docs");
let server: DemoServer;
beforeAll(async () => {
  server = await startDemo();
});
afterAll(() => server.stop());

/** Sends a request to a new record, and expects it to succeed. */
async function send({ name, method, url, headers, body }: Sent): Promise<void> {
  const id = await recordFor(url);
  const fill = (text: string) => text.replaceAll("{{url}}", server.url).replaceAll("{{id}}", id);
  const response = await call(fill(url), method, { key: server.key, headers, ...(body ? { body: fill(body) } : {}) });
  expect([name, response.status, response.text]).toEqual([name, /^Create/.test(name) ? 201 : 200, response.text]);
}

async function recordFor(url: string): Promise<string> {
  const resource = allResources.find(({ path }) => url.includes(`/${path}`));
  if (resource?.access !== "written") return "1";
  const created = await call(`${server.url}/restapi/${resource.path}.json`, "POST", {
    key: server.key,
    body: { Name: "One" },
  });
  return String(created.json.ID);
}

const collection = JSON.parse(readFileSync(join(docs, "postman.json"), "utf8"));

describe("the Postman collection", () => {
  for (const folder of collection.item) {
    test(`${folder.name}: each of its ${folder.item.length} requests works`, async () => {
      for (const { name, request } of folder.item) {
        const headers = Object.fromEntries(
          request.header.map((header: Record<string, string>) => [header.key, header.value]),
        );
        await send({ name, method: request.method, url: request.url.raw, headers, body: request.body?.raw });
      }
    });
  }
});

test("each request of the .http file works", async () => {
  const [, ...entries] = readFileSync(join(docs, "storefront.http"), "utf8").split(/^### /m);
  expect(entries.length).toBe(collection.item.flatMap(({ item }: { item: unknown[] }) => item).length);
  for (const entry of entries) {
    const [head = "", ...body] = entry.trim().split("\n\n");
    const [title = "", start = "", ...lines] = head.split("\n");
    const [method = "", url = ""] = start.split(" ");
    const headers = Object.fromEntries(lines.map((line) => line.split(": ") as [string, string]));
    expect(headers["X-API-AUTH"]).toBe("{{key}}");
    headers["X-API-AUTH"] = server.key;
    await send({ name: title.replace(/^[^:]*: /, ""), method, url, headers, body: body.join("\n\n") || undefined });
  }
});
