// Methods, targets, hosts, proxies and headers that no ordinary client sends.

import { afterAll, describe, expect, test } from "bun:test";
import { createSite, setSite } from "../../src/operator/sites/sites.ts";
import { startTestServer, type TestServer } from "../support/http/server.ts";
import { openWorkspace } from "../support/programs/command.ts";
import { exchangeOnce, toRequest } from "../support/wire/client.ts";

const server = await startTestServer();
await server.call("POST", "/restapi/brands.json", { body: { Name: "Acme" } });
afterAll(() => server.stop());

const send = async (line: string, lines: readonly string[] = [], { port } = server) =>
  (await exchangeOnce(port, toRequest(line, lines)))[0];

describe("method", () => {
  test.each([
    ["FOO", "/restapi/brands.json"],
    ["get", "/restapi/brands.json"],
    ["FOO", "/restapi/nothing.json"],
    ["FOO", "/docs"],
    ["FOO", "/healthz"],
    ["CONNECT", "/restapi/brands.json"],
    ["CONNECT", "y:443"],
    ["CONNECT", "/docs"],
  ])("%s isn't registered: 501 at %s", async (method, path) => {
    const response = await send(`${method} ${path} HTTP/1.1`);
    expect(response?.status).toBe(501);
    expect(JSON.parse(response?.body as string)).toMatchObject({ type: "/docs/problems/not-implemented", status: 501 });
  });

  test.each([
    ["PROPFIND", "/restapi/brands.json", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"],
    ["POST", "/restapi/brands/1.json", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"],
    ["TRACE", "/restapi/locations.json", "GET, HEAD, OPTIONS"],
    ["MKCOL", "/docs", "GET, HEAD"],
  ])("%s is registered but not allowed at this path: 405 at %s", async (method, path, allow) => {
    const response = await send(`${method} ${path} HTTP/1.1`);
    expect([response?.status, response?.headers.allow]).toEqual([405, allow]);
  });

  test("checked before the host", async () => {
    const other = await startTestServer();
    await setSite(other.engine, "shop", { isDefault: false }, 0);
    const statuses = ["FOO", "GET"].map((method) =>
      send(`${method} /restapi/brands.json HTTP/1.1`, ["Host: unknown.example"], other),
    );
    expect((await Promise.all(statuses)).map((response) => response?.status)).toEqual([501, 421]);
    await other.stop();
  });

  test("unregistered methods are counted as `other`, so that clients can't grow the metrics", async () => {
    for (let index = 0; index < 50; index++) await send(`X${"Y".repeat(2000)}${index} /restapi/brands.json HTTP/1.1`);
    await send("PROPFIND /restapi/brands.json HTTP/1.1");
    const text = await server.metrics();
    expect(text).not.toContain("YYYY");
    expect(text).toMatch(/method="other",status="501"\} 5[0-9]/);
    expect(text).toContain('method="PROPFIND",status="405"} ');
  });
});

test("CONNECT gets a 501, and its connection ends, whatever follows on it", async () => {
  const [response, ...others] = await exchangeOnce(
    server.port,
    toRequest("CONNECT 127.0.0.1:80 HTTP/1.1") + toRequest("GET /healthz HTTP/1.1"),
  );
  expect([response?.status, response?.headers.connection, others]).toEqual([501, "close", []]);
});

test("OPTIONS * returns the server's methods, for any host and without a key", async () => {
  const other = await startTestServer();
  await setSite(other.engine, "shop", { isDefault: false }, 0);
  for (const host of ["x", "unknown.example"]) {
    const response = await send("OPTIONS * HTTP/1.1", [`Host: ${host}`], other);
    expect([response?.status, response?.body]).toEqual([204, ""]);
    expect(response?.headers.allow?.split(", ").toSorted()).toEqual([
      "DELETE",
      "GET",
      "HEAD",
      "OPTIONS",
      "PATCH",
      "POST",
      "PUT",
    ]);
  }
  await other.stop();
});

describe("request line", () => {
  test.each([
    ["the target * of a GET", "GET * HTTP/1.1", "only OPTIONS"],
    ["the target * of a HEAD", "HEAD * HTTP/1.1", ""],
    ["a fragment", "GET /restapi/brands.json#top HTTP/1.1", "`%23`"],
    ["a fragment in the query", "GET /restapi/brands.json?filter[Name]=C# HTTP/1.1", "`%23`"],
    ["a fragment in an absolute target", "GET http://x/restapi/brands.json#top HTTP/1.1", "`%23`"],
    ["raw Latin-1 in the path", "GET /restapi/brands/\xe9.json HTTP/1.1", "0xE9"],
    ["raw UTF-8 in the path", "GET /restapi/brands/\xc3\xa9.json HTTP/1.1", "`%C3%A9`"],
    ["raw UTF-8 in the path of a document", "GET /docs/caf\xc3\xa9 HTTP/1.1", "`%C3%A9`"],
    ["HTTP/2.0", "GET /restapi/brands.json HTTP/2.0", "HTTP/1.1"],
    ["HTTP/0.9", "GET /restapi/brands.json HTTP/0.9", "HTTP/1.1"],
  ])("%s gets a 400", async (_, line, says) => {
    const response = await send(line, [`X-API-AUTH: ${server.key}`]);
    expect([response?.status, response?.body]).toEqual([400, expect.stringContaining(says)]);
  });

  test.each([
    ["HTTP/1.2", "GET /restapi/brands.json HTTP/1.2"],
    ["HTTP/1.9", "GET /restapi/brands.json HTTP/1.9"],
  ])("%s gets a 200", async (_, line) => {
    // Once the site is in memory, the response is sent before the client's end arrives, which would close the connection.
    await server.call("GET", "/restapi/brands.json");
    const response = await send(line, [`X-API-AUTH: ${server.key}`]);
    expect([response?.status, response?.headers.connection]).toEqual([200, undefined]);
  });

  test("raw UTF-8 in the query gets a 200", async () => {
    const line = "GET /restapi/brands.json?filter[Name]=caf\xc3\xa9 HTTP/1.1";
    expect((await send(line, [`X-API-AUTH: ${server.key}`]))?.status).toBe(200);
  });
});

test("an empty Host gets a 400, except in HTTP/1.0", async () => {
  for (const host of ["", "  ", "\t", ":80"])
    expect(
      (await send("GET /restapi/brands.json HTTP/1.1", [`Host:${host}`, `X-API-AUTH: ${server.key}`]))?.status,
    ).toBe(400);
  expect((await send("GET /restapi/brands.json HTTP/1.0", ["Host:", `X-API-AUTH: ${server.key}`]))?.status).toBe(200);
});

describe("header field sent twice", () => {
  const write = async (lines: string[]) =>
    send("POST /restapi/orderstatuses.json HTTP/1.1", [
      `X-API-AUTH: ${server.key}`,
      "Content-Length: 12",
      ...lines,
      "",
      '{"Name":"x"}',
    ]);

  test.each([
    ["Idempotency-Key", ["Idempotency-Key: a", "Idempotency-Key: b"], 400],
    ["Idempotency-Key with the same value", ["Idempotency-Key: a", "idempotency-key: a"], 400],
    ["Idempotency-Key with one empty value", ["Idempotency-Key: a", "Idempotency-Key:"], 400],
    ["X-HTTP-Method-Override", ["X-HTTP-Method-Override: PUT", "X-HTTP-Method-Override: PUT"], 400],
    ["Content-Type", ["Content-Type: a/b; charset=utf-8", "Content-Type: a/b; charset=utf-8"], 201],
    ["X-Request-Id", ["X-Request-Id: a", "X-Request-Id: b"], 201],
    ["Accept-Encoding", ["Accept-Encoding: gzip", "Accept-Encoding: br"], 201],
  ])("%s", async (_, lines, status) => {
    expect((await write(lines))?.status).toBe(status);
  });

  test("a batch and an undo reject a repeated Idempotency-Key too", async () => {
    for (const path of ["batch.json", "undo.xml"]) {
      const lines = [
        `X-API-AUTH: ${server.key}`,
        "Content-Length: 2",
        "Idempotency-Key: a",
        "Idempotency-Key: b",
        "",
        "{}",
      ];
      const response = await send(`POST /restapi/${path} HTTP/1.1`, lines);
      expect([path, response?.status, response?.body]).toEqual([
        path,
        400,
        expect.stringContaining("more than one Idempotency-Key"),
      ]);
    }
  });
});

describe("dot segments aren't resolved", () => {
  test.each([
    "/healthz/../restapi/brands.json",
    "/./restapi/brands.json",
    "/restapi/./brands.json",
    "/restapi/brands/../brands.json",
    "/restapi/brands/..",
    "/restapi/brands/%2e%2E/brands.json",
    "/restapi/%2e/brands.json",
    "/x/.%2e/restapi/brands.json",
    "/x/%2e./restapi/brands.json?limit=1",
    "/docs/../healthz",
    "/x/../healthz",
    "http://127.0.0.1/x/../restapi/brands.json",
    "http://127.0.0.1/x/%2e%2e/healthz",
  ])("%s", async (target) => {
    const response = await send(`GET ${target} HTTP/1.1`, [`X-API-AUTH: ${server.key}`]);
    expect(response?.status).toBe(404);
  });
});

test.each([
  "/restapi/brands.json",
  "/restapi/nothing.xml",
  "/",
  "/docs",
  "/docs/guide",
  "/openapi.json",
  "/healthz",
  "/x",
])("%s is sent with nosniff", async (path) => {
  const { headers } = await server.call("GET", path);
  expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
});

describe("Link", () => {
  const links = async (length: number) =>
    (await server.call("GET", `/restapi/brands.json?limit=1&_=${"x".repeat(length)}`)).headers.get("Link") ?? "";

  test("is omitted if it would exceed 4 KiB, because proxies reject longer ones", async () => {
    // What isn't padding: `first` and `last`, each with the query.
    const fixed = (await links(0)).length;
    const most = Math.floor((4096 - fixed) / 2);
    expect((await links(most)).length).toBeGreaterThan(4090);
    expect(await links(most + 4)).toBe("");
  });
});

describe("host", () => {
  test.each([
    ["[::1]"],
    ["[::1]:8080"],
    ["[0:0::1]"],
    ["127.0.0.1"],
    ["127.0.0.1:81"],
    ["a.example."],
    ["A.Example.:81"],
  ])("%s selects its site", async (host) => {
    const other = await startTestServer();
    await createSite(other.engine, "other", { hostnames: ["::1", "127.0.0.1", "a.example"] }, 0);
    // The key belongs to the default site.
    const lines = [`Host: ${host}`, `X-API-AUTH: ${other.key}`];
    expect((await send("GET /restapi/brands.json HTTP/1.1", lines, other))?.status).toBe(403);
    await other.stop();
  });

  test("an absolute target's host selects the site, whatever Host says (RFC 9112 section 3.2.2)", async () => {
    const other = await startTestServer();
    await createSite(other.engine, "other", { hostnames: ["a.example"] }, 0);
    const statusOf = async (target: string, host: string) =>
      (await send(`GET ${target} HTTP/1.1`, [`Host: ${host}`, `X-API-AUTH: ${other.key}`], other))?.status;
    // The key belongs to the default site.
    expect(await statusOf("http://a.example:81/restapi/brands.json", "b.example")).toBe(403);
    expect(await statusOf("http://b.example/restapi/brands.json", "a.example")).toBe(200);
    await other.stop();
  });

  test("letters outside ASCII are shown correctly", async () => {
    const other = await startTestServer();
    await setSite(other.engine, "shop", { isDefault: false }, 0);
    const host = Buffer.from("BÜCHER.example:81").toString("latin1");
    const response = await send("GET /restapi/brands.json HTTP/1.1", [`Host: ${host}`], other);
    expect(response?.status).toBe(421);
    expect(Buffer.from(response?.body as string, "latin1").toString()).toContain("`bücher.example`");
    await other.stop();
  });
});

describe("behind a proxy", () => {
  const clock = Date.now();
  const start = async (settings: Record<string, string>) => {
    const proxied = await startTestServer({ settings, now: () => clock });
    await createSite(proxied.engine, "garden", { hostnames: ["garden.example"] }, 0);
    return proxied;
  };
  /** The statuses of requests with bad keys, each sent with a different address in these header fields. */
  const failures = async (proxied: TestServer, lines: (index: number) => string[]) => {
    const all = Array.from({ length: 110 }, (_, index) =>
      send("GET /restapi/brands.json HTTP/1.1", lines(index), proxied),
    );
    return [...new Set((await Promise.all(all)).map((response) => response?.status))].sort();
  };
  const host = ["X-Forwarded-Host: garden.example"];
  const last = (index: number) => [`X-Forwarded-For: 192.0.2.1, 198.51.100.${index}`];

  test.each<[string, Record<string, string>, number, number[]]>([
    ["neither header counts by default", {}, 200, [401, 429]],
    ["--trust-proxy believes X-Forwarded-For alone", { TRUST_PROXY: "yes" }, 200, [401]],
    ["--trust-forwarded-host believes X-Forwarded-Host alone", { TRUST_FORWARDED_HOST: "yes" }, 403, [401, 429]],
  ])("%s", async (_, settings, status, failed) => {
    const proxied = await start(settings);
    const lines = [...host, `X-API-AUTH: ${proxied.key}`];
    expect((await send("GET /restapi/brands.json HTTP/1.1", lines, proxied))?.status).toBe(status);
    expect(await failures(proxied, last)).toEqual(failed);
    await proxied.stop();
  });

  test.each<[string, string[], number]>([
    ["the last of several entries counts", ["X-Forwarded-Host: unknown.example, garden.example"], 403],
    ["the others don't", ["X-Forwarded-Host: garden.example, unknown.example"], 200],
    [
      "the last of several lines counts",
      ["X-Forwarded-Host: unknown.example", "X-Forwarded-Host: garden.example"],
      403,
    ],
    ["blanks are ignored", ["X-Forwarded-Host: unknown.example,\t garden.example:8080 "], 403],
    ["takes the place of Host", ["Host: garden.example", "X-Forwarded-Host: unknown.example"], 200],
    ["absent, Host counts", ["Host: garden.example"], 403],
    ["empty, Host counts", ["Host: garden.example", "X-Forwarded-Host: "], 403],
  ])("X-Forwarded-Host: %s", async (_, lines, status) => {
    const proxied = await start({ TRUST_FORWARDED_HOST: "yes" });
    const all = [...lines, `X-API-AUTH: ${proxied.key}`];
    expect((await send("GET /restapi/brands.json HTTP/1.1", all, proxied))?.status).toBe(status);
    await proxied.stop();
  });

  test.each<[string, (index: number) => string[], number[]]>([
    [
      "the first of several entries doesn't count",
      (index) => [`X-Forwarded-For: 198.51.100.${index}, 192.0.2.1`],
      [401, 429],
    ],
    [
      "an earlier line doesn't count",
      (index) => [`X-Forwarded-For: 198.51.100.${index}`, "X-Forwarded-For: 192.0.2.1"],
      [401, 429],
    ],
    [
      "the last entry of the last line counts",
      (index) => ["X-Forwarded-For: 192.0.2.1", `X-Forwarded-For: 192.0.2.1, 198.51.100.${index}`],
      [401],
    ],
    ["an IPv6 network (/64) counts as one", (index) => [`X-Forwarded-For: 2001:db8::${index}`], [401, 429]],
    ["IPv6 networks count separately", (index) => [`X-Forwarded-For: 2001:db8:0:${index}::1`], [401]],
    [
      "an IPv4-mapped address counts as the IPv4 address",
      (index) => [`X-Forwarded-For: ${index % 2 ? "::ffff:" : ""}192.0.2.1`],
      [401, 429],
    ],
    ["ports don't count", (index) => [`X-Forwarded-For: 192.0.2.1:${index}`], [401, 429]],
    ["invalid addresses don't count", (index) => [`X-Forwarded-For: nobody${index}`], [401, 429]],
  ])("failed authentications by client address: %s", async (_, lines, statuses) => {
    const proxied = await start({ TRUST_PROXY: "yes" });
    expect(await failures(proxied, lines)).toEqual(statuses);
    await proxied.stop();
  });
});

test("bytes that aren't a request are counted, and logged once a second", async () => {
  const workspace = openWorkspace();
  const program = await workspace.serve(["--log", "info", "--admin", "127.0.0.1:0"]);
  const port = Number(new URL(program.url).port);
  const begun = performance.now();
  for (let index = 0; index < 30; index++) await exchangeOnce(port, "GARBAGE\r\n\r\n");
  const seconds = (performance.now() - begun) / 1000;
  expect(await (await fetch(`${program.adminUrl}/metrics`)).text()).toMatch(/method="other",status="400"\} 30\n/);
  await workspace.close();
  const lines = program
    .stderr()
    .split("\n")
    .filter((line) => line.includes("couldn't read a request"));
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThan(2 + seconds);
  expect(JSON.parse(lines[0] as string).reason).toContain("the first line isn't an HTTP/1.1 request line");
});
