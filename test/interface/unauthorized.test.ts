// A 401 says what the mistake was if the request shows it (contract section 1), and never repeats a secret.

import { afterAll, beforeEach, expect, test } from "bun:test";
import { createApiKey } from "../../src/model/api-key.ts";
import { startTestServer, type TestResponse } from "../support/http/server.ts";
import { openClient, toRequest } from "../support/wire/client.ts";

const path = "/restapi/brands.json";

let clock = Date.parse("2026-01-01T00:00:00Z");
const server = await startTestServer({ now: () => clock });
// Resets the limit on failed authentications.
beforeEach(() => {
  clock += 3_600_000;
});
afterAll(() => server.stop());

const { key, prefix } = createApiKey();
const sandbox = createApiKey(true);
const mistyped = key.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
const basic = Buffer.from(`${key}:`).toString("base64");
const secrets = [key.slice(12, 20), sandbox.key.slice(17, 25), basic, "hunter2"];

test.each<[string, sent: { readonly headers?: Record<string, string>; readonly query?: string }, detail: string]>([
  ["nowhere", {}, "the request has no X-API-AUTH header; send your API key (`sfk_...`) in it"],
  ["Bearer", { headers: { Authorization: `Bearer ${key}` } }, "in Authorization; send it alone, without `Bearer`"],
  ["Token", { headers: { Authorization: `token ${key}` } }, "in Authorization; send it alone, without `token`"],
  ["Basic", { headers: { Authorization: `Basic ${basic}` } }, "not as a user name or password"],
  ["Authorization as it is", { headers: { Authorization: key } }, "X-API-AUTH, not in Authorization"],
  ["X-API-KEY, behind a proxy", { headers: { Authorization: "Basic eDp5", "X-API-KEY": key } }, "not in x-api-key"],
  ["?key=", { query: `?key=${key}` }, "X-API-AUTH, not in the query (`key`): URLs end up in logs"],
  ["?api_key=", { query: `?limit=1&api_key=${key}` }, "not in the query (`api_key`)"],
  ["?X-API-AUTH=", { query: `?X-API-AUTH=${key}` }, "not in the query (`X-API-AUTH`)"],
  ["?access_token= without a key", { query: "?access_token=abc" }, "not in the query (`access_token`)"],
  ["any parameter", { query: `?shop=${key}` }, "not in the query (`shop`)"],
  ["any parameter, encoded", { query: `?x.y=${key.replace("_", "%5F")}` }, "X-API-AUTH, not in the query:"],
  ["the query alone", { query: `?${key}` }, "not in the query"],
  ["X-API-KEY", { headers: { "X-API-KEY": key } }, "X-API-AUTH, not in x-api-key"],
  ["Api-Key", { headers: { "Api-Key": "abc" } }, "X-API-AUTH, not in api-key"],
  ["X-Auth-Token", { headers: { "X-Auth-Token": key } }, "X-API-AUTH, not in x-auth-token"],
  ["X_API_AUTH", { headers: { X_API_AUTH: key } }, "X-API-AUTH, not in x_api_auth"],
  ["any other header", { headers: { "Shop-Secret": `key=${key}` } }, "X-API-AUTH, not in shop-secret"],
  ["a cookie", { headers: { Cookie: `a=b; k=${key}` } }, "X-API-AUTH, not in cookie"],
  ["the page before", { headers: { Referer: `http://x/?key=${key}` } }, "the request has no X-API-AUTH header"],
])("key in the wrong place: the 401 says where it was and where it belongs: %s", async (_, sent, detail) => {
  const { headers = {}, query = "" } = sent;
  const response = await server.call("GET", path + query, { key: null, headers });
  expect([response.status, response.json.detail]).toEqual([401, expect.stringContaining(detail)]);
  expectNoSecret(response);
});

test.each<[string, sent: string, detail: string]>([
  ["empty", "", "X-API-AUTH is empty; send your API key (`sfk_...`) in it"],
  ["cut off", key.slice(0, -1), "is cut off: only 41 of the 42 characters after `sfk_` are there; copy the whole key"],
  ["the part that may be shown", prefix, "is cut off: only 8 of the 42 characters after `sfk_`"],
  ["the part that may be shown, as in lists", `${prefix}...`, "is cut off: only 8 of the 42"],
  ["a cut off sandbox key", sandbox.key.slice(0, 30), "is cut off: only 21 of the 42 characters after `sfk_test_`"],
  ["cut off at the start", key.slice(2), "is missing its start: keys start with `sfk_`"],
  ["a sandbox key without its prefix", sandbox.key.slice(9), "is missing its start"],
  ["mistyped", mistyped, "has a typo: its checksum is wrong; copy it again"],
  ["in other case", `sfk_${key.slice(4).toLowerCase()}`, "has a typo"],
  ["with its prefix in upper case", key.toUpperCase(), "starts with `SFK_`, but keys are case-sensitive"],
  ["too long", `${mistyped}abc`, "is too long: it has 45 characters after `sfk_`, not 42"],
  ["with more letters", `${key}abc`, `send ${prefix}... alone, without the 3 characters after it`],
  ["with Bearer", `Bearer ${key}`, `send ${prefix}... alone, without \`Bearer \` before it`],
  ["with Bearer in quotes", `'Bearer ${key}'`, "alone, without `'Bearer ` before it and `'` after it"],
  ["as an assignment", `key=${key}`, "alone, without `key=` before it"],
  ["twice in one value", key + key, "alone, without the 46 characters after it"],
  ["with its header", `X-API-AUTH: ${key}`, "alone, without `X-API-AUTH: ` before it"],
  ["in quotes", `"${key}"`, `send ${prefix}... alone, without quotes`],
  ["in curly quotes", Buffer.from(`“${key}”`).toString("latin1"), "alone, without quotes"],
  ["in brackets", `<${sandbox.key}>`, `send ${sandbox.prefix}... alone, without \`<\` before it and \`>\` after it`],
  ["with another secret", `hunter2secret:${key}`, "alone, without the 14 characters before it"],
  ["with a no-break space", Buffer.from(`${key}\u00a0`).toString("latin1"), "alone, without the character after it"],
  ["with spaces in it", `${key.slice(0, 20)} ${key.slice(20)}`, `contains other characters; send ${prefix}...`],
  ["with Bearer and cut off", `Bearer ${key.slice(0, -5)}`, "is cut off: only 37 of the 42"],
  ["not a key", "hunter2", "X-API-AUTH isn't an API key: keys start with `sfk_`"],
  ["not a key, and long", "x".repeat(10_000), "X-API-AUTH isn't an API key: keys start with `sfk_`"],
  ["a variable that was not filled in", "$KEY", "X-API-AUTH isn't an API key: keys start with `sfk_`"],
  ["other letters", "é", "X-API-AUTH isn't an API key"],
])("malformed key: the 401 says what's wrong: %s", async (_, sent, detail) => {
  const response = await server.call("GET", path, { key: null, headers: { "X-API-AUTH": sent } });
  expect([response.status, response.json.detail]).toEqual([401, expect.stringContaining(detail)]);
  expectNoSecret(response);
  // At /mcp, the same goes for a bearer token.
  if (/^\S+$/.test(sent)) {
    const headers = { Authorization: `Bearer ${sent}`, "Content-Type": "application/json" };
    const { json } = await server.call("POST", "/mcp", { key: null, headers, body: {} });
    expect(json.detail).toContain(detail.replace("X-API-AUTH", "the bearer token"));
  }
});

function expectNoSecret({ headers, text }: TestResponse): void {
  expect(headers.get("WWW-Authenticate")).toBe('ApiKey realm="shop", header="X-API-AUTH"');
  for (const secret of [key.slice(12, 20), sandbox.key.slice(17, 25), basic, "hunter2"])
    expect(text).not.toContain(secret);
}

test("a key in two X-API-AUTH lines gets a 401, even if they're the same", async () => {
  const client = await openClient(server.port);
  const line = `X-API-AUTH: ${server.key}`;
  client.send(toRequest(`GET ${path} HTTP/1.1`, [line, line]));
  const [response] = await client.responses(1);
  expect([response?.status, response?.body]).toEqual([
    401,
    expect.stringContaining("X-API-AUTH was sent more than once"),
  ]);
  client.socket.destroy();
});

test.each<[string, Record<string, string>, string]>([
  ["no key", {}, "the request has no API key; send it as `Authorization: Bearer sfk_...`, or alone in X-API-AUTH"],
  ["no scheme", { Authorization: key }, "Authorization must be `Bearer` and one API key"],
  ["two tokens", { Authorization: `Bearer ${key}, Bearer ${key}` }, "Authorization must be `Bearer` and one API key"],
  ["another scheme", { Authorization: `Basic ${basic}` }, "Authorization must be `Bearer` and one API key"],
  [
    "two keys",
    { Authorization: `Bearer ${key}`, "X-API-AUTH": sandbox.key },
    "X-API-AUTH and Authorization have different keys",
  ],
  [
    "one key and nothing",
    { Authorization: `Bearer ${key}`, "X-API-AUTH": "" },
    "X-API-AUTH and Authorization have different keys",
  ],
  ["another header", { "X-API-KEY": key }, "X-API-AUTH, not in x-api-key"],
  ["an unknown key", { Authorization: `Bearer ${key}` }, "isn't valid: it's unknown, revoked or expired"],
])("at /mcp, the 401 says what's wrong with %s", async (_, headers, detail) => {
  const response = await server.call("POST", "/mcp", { key: null, headers, body: {} });
  expect([response.status, response.json.detail]).toEqual([401, expect.stringContaining(detail)]);
  for (const secret of secrets) expect(response.text).not.toContain(secret);
});

test("a page that sends Authorization can read the 401, because the preflight allows it", async () => {
  for (const at of [path, "/restapi/batch.xml", "/restapi/changes.json", "/mcp"]) {
    const { headers } = await server.call("OPTIONS", at, { key: null, headers: { Origin: "https://a.example" } });
    expect(headers.get("Access-Control-Allow-Headers")?.split(", ")).toContain("Authorization");
    expect(headers.get("Access-Control-Allow-Origin")).toBe("*");
  }
});
