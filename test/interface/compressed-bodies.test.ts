// Request bodies with a Content-Encoding: every write reads gzip, and other codings are rejected.

import { afterAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { startTestServer } from "../support/http/server.ts";

const server = await startTestServer();
afterAll(() => server.stop());

const gzip = { "Content-Encoding": "gzip" };
const send = (method: string, path: string, body: string, headers: Record<string, string> = {}) =>
  server.call(method, path, { body: gzipSync(body), headers: { ...gzip, ...headers } });
const names = async () =>
  (await server.call("GET", "/restapi/brands.json?sort=ID")).json.map(({ Name }: { Name: string }) => Name);

test("every write reads gzip, in both formats", async () => {
  const created = await send("POST", "/restapi/brands.json", '{"Name":"é"}');
  const other = await send("POST", "/restapi/brands.xml", "<Brand><Name>ü</Name></Brand>");
  expect([created.status, created.json.Name, other.status]).toEqual([201, "é", 201]);
  const id = created.json.ID;
  expect((await send("PUT", `/restapi/brands/${id}.json`, '{"Name":"a"}')).json.Name).toBe("a");
  expect((await send("PATCH", "/restapi/brands.xml", `<Brand ID="${id}"><Name>b</Name></Brand>`)).status).toBe(200);
  expect(await names()).toEqual(["b", "ü"]);
  expect((await send("DELETE", `/restapi/brands/${id}.json`, "[]")).status).toBe(200);
  expect((await server.call("DELETE", "/restapi/brands/2.json", { headers: gzip })).status).toBe(200);
  expect(await names()).toEqual([]);
});

test("batch requests, undo and /mcp read gzip", async () => {
  const operation = '{"Method":"POST","Resource":"brands","Record":{"Name":"x"}}';
  const batch = await send("POST", "/restapi/batch.json", `{"Operations":[${operation}]}`);
  expect((await send("POST", "/restapi/undo.json", JSON.stringify({ Run: batch.json.Run }))).json.Deleted).toBe(1);
  const xml = '<Batch><Operation Method="POST" Resource="brands"><Brand><Name>x</Name></Brand></Operation></Batch>';
  const run = /Run="([^"]*)"/.exec((await send("POST", "/restapi/batch.xml", xml)).text)?.[1];
  expect((await send("POST", "/restapi/undo.xml", `<Undo Run="${run}"/>`)).text).toContain('Deleted="1"');
  const message = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  expect((await send("POST", "/mcp", message, { "Content-Type": "application/json" })).json.result).toEqual({});
});

test("Idempotency-Key: the retry may be compressed differently", async () => {
  const headers = { "Idempotency-Key": "k" };
  const body = '{"Name":"once"}';
  const plain = await server.call("POST", "/restapi/brands.json", { body, headers });
  for (const level of [1, 9]) {
    const again = await server.call("POST", "/restapi/brands.json", {
      body: gzipSync(body, { level }),
      headers: { ...headers, ...gzip },
    });
    expect([again.text, again.headers.get("Idempotency-Replayed")]).toEqual([plain.text, "true"]);
  }
  expect((await send("POST", "/restapi/brands.json", '{"Name":"other"}', headers)).status).toBe(422);
});

describe("size limits apply to the decompressed body", () => {
  const large = (bytes: number) => `{"Name":"${"x".repeat(bytes - 11)}"}`;
  const batch = (bytes: number) => `{"Operations":[]${" ".repeat(bytes - 17)}}`;
  const MiB = 1024 * 1024;

  test.each<[string, string, string, number, number]>([
    ["a record", "/restapi/brands.json", large(MiB), 400, MiB],
    ["a record", "/restapi/brands.json", large(MiB + 1), 413, MiB],
    ["a record in XML", "/restapi/brands.xml", " ".repeat(MiB + 1), 413, MiB],
    ["a batch request", "/restapi/batch.json", batch(8 * MiB), 200, 8 * MiB],
    ["a batch request", "/restapi/batch.json", batch(8 * MiB + 1), 413, 8 * MiB],
    ["an undo", "/restapi/undo.json", " ".repeat(MiB + 1), 413, MiB],
  ])("%s at %s", async (_, path, body, status, limit) => {
    const response = await send("POST", path, body);
    expect(response.status).toBe(status);
    if (status === 413) expect(response.text).toContain(`the body has more than ${limit} bytes when decompressed`);
  });

  test("a message to /mcp", async () => {
    const response = await send("POST", "/mcp", " ".repeat(MiB + 1), { "Content-Type": "application/json" });
    expect([response.status, response.json.type]).toEqual([413, "/docs/problems/too-large"]);
  });
});

test.each<[string, Uint8Array | string, string]>([
  ["not compressed", '{"Name":"x"}', "the body isn't gzip, although Content-Encoding says so"],
  ["cut short", gzipSync('{"Name":"x"}').subarray(0, -1), "the body's gzip data is cut off"],
  [
    "followed by more",
    Buffer.concat([gzipSync('{"Name":"x"}'), Buffer.from("{}")]),
    "other bytes follow the body's gzip data",
  ],
])("gzip that is %s is rejected", async (_, body, detail) => {
  for (const path of ["/restapi/brands.json", "/restapi/batch.json", "/restapi/undo.json", "/mcp"]) {
    const headers = { ...gzip, "Content-Type": "application/json" };
    const response = await server.call("POST", path, { body, headers });
    expect([response.status, response.json.type]).toEqual([400, "/docs/problems/bad-request"]);
    expect(response.json.detail).toContain(detail);
  }
});

test.each([
  "identity",
  "IDENTITY",
  "utf-8",
  "UTF8",
  "",
  "identity, utf-8",
])("Content-Encoding %j means no compression", async (name) => {
  const headers = { "Content-Encoding": name };
  const response = await server.call("POST", "/restapi/brands.json", { body: '{"Name":"x"}', headers });
  expect(response.status).toBe(201);
});

test.each([
  "br",
  "deflate",
  "zstd",
  "compress",
  "gzip, gzip",
  "gzip, br",
  "none",
  "application/json",
])("Content-Encoding %j is rejected, with the header's name and what's supported", async (name) => {
  const headers = { "Content-Encoding": name };
  const response = await server.call("POST", "/restapi/brands.json", { body: '{"Name":"x"}', headers });
  const detail = `\`Content-Encoding: ${name}\` isn't supported; send the body uncompressed, or compress it with gzip`;
  expect([response.status, response.headers.get("Accept-Encoding"), response.json.detail]).toEqual([
    415,
    "gzip",
    detail,
  ]);
});
