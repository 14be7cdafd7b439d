// The last requests of a site, and what its keys did, in the API of the console.

import { beforeEach, describe, expect, test } from "bun:test";
import { createKey } from "../../../src/operator/sites/keys.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import type { ConsoleClient, TestConsole } from "../../support/console/server.ts";
import { useConsole } from "../../support/console/use-console.ts";
import { exchangeOnce, toRequest } from "../../support/wire/client.ts";

let server: TestConsole;
let anna: ConsoleClient;
useConsole((started, operator) => {
  [server, anna] = [started, operator];
});

let now: number;
beforeEach(() => {
  now = Date.now();
});

/** Returns the requests of the site since the test began, the latest first. */
async function requestsOf(site: string, query: Record<string, string> = {}) {
  const search = new URLSearchParams({ after: new Date(now).toISOString(), ...query });
  const { status, json } = await anna.call("GET", `/sites/${site}/requests?${search}`);
  expect([status, json.isComplete]).toEqual([200, true]);
  return json.requests;
}

describe("the requests of a site", () => {
  test("have their problem, key, time and request ID, from the first problem on", async () => {
    const key = await server.issueKey({ label: "ERP" });
    await server.call("GET", "/restapi/brands.json", { key });
    await server.call("POST", "/restapi/brands.json", { key, body: { Town: "x" }, headers: { "X-Request-Id": "r-1" } });
    const [rejected, ...others] = await requestsOf("shop");
    // The first look makes the server log successful requests, so the first request is not there.
    expect(others).toEqual([]);
    expect(rejected).toMatchObject({
      ...{ method: "POST", path: "/restapi/brands.json", status: 400, request: "r-1", leftOut: 0 },
      ...{ at: expect.stringMatching(/Z$/), milliseconds: expect.any(Number), bytes: expect.any(Number) },
      key: { prefix: key.slice(0, 12), label: "ERP" },
      problem: { code: "invalid-record", title: "The record is invalid", detail: expect.any(String) },
    });
    expect(rejected.problem.errors.length).toBeGreaterThan(0);
    await server.call("GET", "/restapi/brands.json?limit=2", { key });
    expect(await requestsOf("shop")).toMatchObject([
      { path: "/restapi/brands.json?limit=2", status: 200, problem: null },
      { request: "r-1" },
    ]);
  });

  test("are filtered by status, key and problem, and are those of the site alone", async () => {
    const toys = await createSite(server.engine, "toys", { hostnames: ["toys.example"] }, now);
    const key = (await createKey(server.engine, toys, {}, now)).key;
    const headers = { Host: "toys.example" };
    await requestsOf("toys");
    await server.call("GET", "/restapi/brands.json", { headers, key });
    await server.call("GET", "/restapi/brands/77.json", { headers, key });
    await server.call("GET", "/restapi/brands.json", { headers, key: null });
    const statuses = async (query: Record<string, string>) =>
      (await requestsOf("toys", query)).map(({ status }: { status: number }) => status);
    expect(await statuses({})).toEqual([401, 404, 200]);
    expect(await statuses({ status: "2" })).toEqual([200]);
    expect(await statuses({ status: "4", problem: "unauthorized" })).toEqual([401]);
    expect(await statuses({ key: key.slice(0, 12) })).toEqual([404, 200]);
    expect(await statuses({ key: "sfk_unknown1" })).toEqual([]);
    expect(await requestsOf("shop")).toEqual([]);
    for (const bad of ["status=6", "status=x", "after=yesterday", "key=a&key=b"])
      expect([bad, (await anna.call("GET", `/sites/toys/requests?${bad}`)).status]).toEqual([bad, 400]);
  });

  test("with a method that does not exist are there with their key, too", async () => {
    const key = await server.issueKey();
    const request = toRequest("FROB /restapi/brands.json HTTP/1.1", [`X-API-AUTH: ${key}`]);
    expect((await exchangeOnce(Number(new URL(server.url).port), request))[0]?.status).toBe(501);
    expect(await requestsOf("shop")).toMatchObject([
      { method: "FROB", status: 501, key: { prefix: key.slice(0, 12) }, problem: { code: "not-implemented" } },
    ]);
  });

  test("of a sandbox key are at the sandbox", async () => {
    const { json } = await anna.call("POST", "/sites/shop/sandbox", {});
    const issued = await anna.call("POST", `/sites/${json.site.name}/keys`, { label: "test" });
    await requestsOf(json.site.name);
    await server.call("GET", "/restapi/brands.json", { key: issued.json.key });
    await server.call("GET", "/restapi/nothing.json", { key: issued.json.key });
    expect((await requestsOf(json.site.name)).map(({ status }: { status: number }) => status)).toEqual([404, 200]);
    expect(await requestsOf("shop")).toEqual([]);
  });

  test("have no secret: no key, no body, no other parameter, and no long text", async () => {
    const key = await server.issueKey();
    await requestsOf("shop");
    const secret = "hunter2";
    const query = `filter[Name]=Acme&password=${secret}&X-API-AUTH=${key}&filter%5BToken%5D=${secret}&${secret.repeat(200)}`;
    await server.call("GET", `/restapi/brands.json?${query}`, { key });
    await server.call("GET", `/restapi/brands/${key}.json?token=${secret}`, { key });
    await server.call("PUT", "/restapi/brands/1.json", {
      key,
      body: `{"Name": "${secret}"`,
      headers: { Cookie: secret },
    });
    await server.call("GET", "/restapi/brands.json", { key: `${secret}${secret}`, headers: { Authorization: secret } });
    await server.call("GET", `/${"long".repeat(1000)}`, { key });
    const requests = await requestsOf("shop");
    expect(requests).toHaveLength(5);
    const text = JSON.stringify(requests);
    expect(text).not.toContain(key);
    expect(text).not.toContain(`=${secret}`);
    expect(text).not.toContain(`"${secret}`);
    expect(text).toContain("password=...");
    expect(text.length).toBeLessThan(5 * 2000);
    expect(requests[1].key).toBeNull();
  });

  test("are the last 200, and a flood of problems does not hide the others", async () => {
    const key = await server.issueKey();
    await requestsOf("shop");
    await server.call("GET", "/restapi/brands.json", { key });
    for (let round = 0; round < 26; round++)
      await Promise.all(Array.from({ length: 10 }, () => server.call("GET", "/restapi/brands/9.json", { key })));
    const requests = await requestsOf("shop");
    expect(requests.length).toBeLessThanOrEqual(200);
    const leftOut = requests.reduce((sum: number, request: { leftOut: number }) => sum + request.leftOut, 0);
    expect(requests.length + leftOut).toBeLessThanOrEqual(261);
    expect(await requestsOf("shop", { status: "2" })).toHaveLength(1);
  });
});

describe("what keys did", () => {
  const trafficOf = async (site: string) => (await anna.call("GET", `/sites/${site}/key-traffic`)).json;

  test("is counted for each key of the site, with its errors", async () => {
    const site = await createSite(server.engine, "books", { hostnames: ["books.example"] }, now);
    const [busy, quiet, unused] = [
      await createKey(server.engine, site, { label: "busy" }, now),
      await createKey(server.engine, site, { label: "quiet" }, now),
      await createKey(server.engine, site, { label: "unused" }, now),
    ];
    const ask = (path: string, key: string) => server.call("GET", path, { key, headers: { Host: "books.example" } });
    for (const path of ["/restapi/brands.json", "/restapi/brands/5.json", "/restapi/nothing"])
      await ask(path, busy.key);
    await ask("/restapi/brands.json", quiet.key);
    // A key of another site is not one of the keys of this site.
    await ask("/restapi/brands.json", server.key);
    const { since, hours, keys } = await trafficOf("books");
    // The page of keys agrees with that of the requests, long before the uses are saved.
    const listed = (await anna.call("GET", "/sites/books/keys")).json.keys;
    const [latest] = await requestsOf("books", { key: busy.record.Prefix });
    const lastUsed = listed.map((key: { lastUsed: string | null }) => key.lastUsed);
    expect(lastUsed).toEqual([keys[0].lastUsed, keys[1].lastUsed, null]);
    expect(Math.abs(Date.parse(latest.at) - Date.parse(lastUsed[0]))).toBeLessThan(5000);
    expect(Date.parse(since)).toBeLessThanOrEqual(Date.now());
    expect(hours).toHaveLength(24);
    expect(Date.parse(hours[23])).toBeLessThanOrEqual(Date.now());
    expect(keys).toMatchObject([
      { id: busy.record.ID, label: "busy", prefix: busy.record.Prefix, requests: 3, errors: 2 },
      { id: quiet.record.ID, label: "quiet", requests: 1, errors: 0 },
    ]);
    const lastTwo = (counts: number[]) => counts.slice(-2).reduce((sum, count) => sum + count, 0);
    expect([lastTwo(keys[0].requestsByHour), lastTwo(keys[0].errorsByHour)]).toEqual([3, 2]);
    expect(JSON.stringify(keys)).not.toContain(String(unused.record.Prefix));
  });
});
