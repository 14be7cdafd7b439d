// Header sections designed to be slow to parse. These tests only time out if parsing takes quadratic time.

import { afterAll, expect, test } from "bun:test";
import { startTestServer } from "../support/http/server.ts";
import { openClient, toRequest } from "../support/wire/client.ts";

const server = await startTestServer({ settings: { TRUST_FORWARDED_HOST: "yes" } });
for (let id = 1; id <= 30; id++) await server.call("POST", "/restapi/brands.json", { body: { Name: `brand ${id}` } });
afterAll(() => server.stop());

const blanks = (count: number) => " ".repeat(count);
const length = 16_000;

test.each<[string, string[]]>([
  ["one field on thousands of lines", new Array<string>(length / 4).fill("a:")],
  ["thousands of fields", Array.from({ length: length / 8 }, (_, index) => `a${index}:`)],
  ["many blanks in a value", [`X: a${blanks(length)}b`]],
  ["many blanks around a value", [`X: ${blanks(length / 2)}a${blanks(length / 2)}`]],
  ["many blanks in Connection", [`Connection: a${blanks(length)}b`]],
  ["many options in Connection", [`Connection: a${",".repeat(length)}`]],
  ["many blanks in Accept-Encoding", [`Accept-Encoding: gzip${blanks(length)}x`]],
  ["many blanks in Content-Type", [`Content-Type: a;${blanks(length)}charset${blanks(10)}x`]],
  ["many parameters in Content-Type", [`Content-Type: ${"a;charset ".repeat(length / 10)}`]],
  ["many blanks in Host", [`Host: a${blanks(length)}b`]],
  ["many colons in Host", [`Host: ${"a:".repeat(length / 2)}`]],
  ["many quotes in If-None-Match", [`If-None-Match: ${'"W/'.repeat(length / 3)}`]],
  ["many tags in If-Match", [`If-Match: ${'"a",'.repeat(length / 4)}`]],
  ["many hosts in X-Forwarded-Host", [`X-Forwarded-Host: ${",".repeat(length)}`]],
])("a header section with %s is parsed quickly", async (_, lines) => {
  const client = await openClient(server.port);
  const authorised = [`X-API-AUTH: ${server.key}`, ...lines];
  const count = 80;
  for (let index = 0; index < count; index++) {
    client.send(toRequest("GET /restapi/brands.json HTTP/1.1", [...authorised, `N: ${index}`]));
    client.send(toRequest("PUT /restapi/brands/1.json HTTP/1.1", [...authorised, "Content-Length: 2"], "{}"));
  }
  const isRejected = lines[0]?.startsWith("Host");
  const responses = await client.responses(isRejected ? 1 : 2 * count);
  if (isRejected) expect(responses[0]?.status).toBe(400);
  client.socket.destroy();
});
