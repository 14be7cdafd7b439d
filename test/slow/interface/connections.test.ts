// The whole server, with requests no HTTP client would send and connections that stall or close early.

import { afterAll, describe, expect, test } from "bun:test";
import { startTestServer } from "../../support/http/server.ts";
import { waitUntil } from "../../support/time.ts";
import { openClient } from "../../support/wire/client.ts";
import { exchangeBytes } from "../../support/wire/requests.ts";

const server = await startTestServer({ settings: { IDLE_TIMEOUT: "1" } });
afterAll(() => server.stop());

const request = (lines: string[], body = "") => `${lines.join("\r\n")}\r\n\r\n${body}`;
const authorised = () => `X-API-AUTH: ${server.key}`;
const statusOf = (response: string) => Number(/^HTTP\/1\.[01] (\d+)/.exec(response)?.[1]);

describe("hosts", () => {
  test("two Host lines are rejected", async () => {
    for (const target of ["/restapi/brands.json", "/healthz", "http://a/restapi/brands.json"]) {
      const response = await exchangeBytes(
        server.port,
        request([`GET ${target} HTTP/1.1`, "Host: a", "Host: b", authorised()]),
      );
      expect(statusOf(response)).toBe(400);
      expect(response).toContain("more than one Host header");
    }
  });

  test.each([
    [["Host: a", "Host: a"]],
    [["Host: a", "Host: "]],
    [["Host: ", "Host: a"]],
    [["Host: a,b"]],
    [["Host: a,"]],
    [["Host: ,a"]],
  ])("%j are rejected as two hosts", async (hosts) => {
    const lines = ["GET /healthz HTTP/1.1", ...hosts];
    expect(await exchangeBytes(server.port, request(lines))).toContain("more than one Host header");
  });

  test("HTTP/1.1 without a Host is rejected", async () => {
    expect(
      statusOf(await exchangeBytes(server.port, request(["GET /restapi/brands.json HTTP/1.1", authorised()]))),
    ).toBe(400);
  });

  test.each([
    ["without a Host", []],
    ["with a Host", ["Host: x:80"]],
    ["with an empty Host", ["Host: "]],
  ])("HTTP/1.0 %s gets the default site", async (_, host) => {
    const response = await exchangeBytes(
      server.port,
      request(["GET /restapi/brands.json?limit=1 HTTP/1.0", ...host, authorised()]),
    );
    expect(statusOf(response)).toBe(200);
    expect(response).toEndWith("\r\n\r\n[]");
  });

  test("an invalid Host doesn't change the path", async () => {
    for (const host of ["x/../?", "a b", "[::1]:80", "http://x", "x#y"]) {
      const response = await exchangeBytes(
        server.port,
        request(["GET /restapi/brands.json HTTP/1.1", `Host: ${host}`, authorised()]),
        150,
      );
      expect([200, 400]).toContain(statusOf(response));
    }
  });

  test("a target without its leading slash gets a 404 that suggests the path with one", async () => {
    const response = await exchangeBytes(
      server.port,
      request(["GET restapi/brands.json HTTP/1.1", "Host: x", authorised()]),
    );
    expect(statusOf(response)).toBe(404);
    expect(response).toContain("did you mean `/restapi/brands.json`?");
  });

  test("an absolute URL as the target is read as its path", async () => {
    const response = await exchangeBytes(
      server.port,
      request(["GET http://other.example/restapi/brands.json HTTP/1.1", "Host: x", authorised()]),
    );
    expect(statusOf(response)).toBe(200);
  });
});

describe("limits", () => {
  test.each([
    ["announced", "Content-Length: 8388608", "a".repeat(8_388_608)],
    ["chunked", "Transfer-Encoding: chunked", `${`10000\r\n${"a".repeat(65_536)}\r\n`.repeat(128)}0\r\n\r\n`],
  ])("a large body that is %s and sent in full gets a 413, and the connection stays open", async (_, header, body) => {
    const headers = request(["POST /restapi/brands.json HTTP/1.1", "Host: x", authorised(), header]);
    const next = request(["GET /restapi/brands/999.json HTTP/1.1", "Host: x", authorised()]);
    const response = await exchangeBytes(server.port, [headers + body, next]);
    expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 413", "HTTP/1.1 404"]);
  });
});

describe("connections", () => {
  test.each([
    [
      "a request that does not complete its header section",
      ["X-Slow"],
      "",
      "the rest of the headers didn't arrive in time",
    ],
    [
      "a request whose body stalls",
      ["X-API-AUTH: {key}", "Content-Length: 20", "", ""],
      '{"Name":"stalled',
      "only 16 of the 20 bytes declared by Content-Length arrived in time",
    ],
  ])("%s gets a 408 and is closed, and nothing is stored", async (_, lines, body, detail) => {
    const headers = ["POST /restapi/brands.json HTTP/1.1", "Host: x", ...lines].join("\r\n");
    const response = await exchangeBytes(server.port, headers.replace("{key}", server.key) + body, 15_000);
    expect(response).toStartWith("HTTP/1.1 408 Request Timeout\r\n");
    expect(response).toContain("\r\nConnection: close\r\n");
    expect(response).toContain(`"${detail}"`);
    expect((await server.call("GET", "/restapi/brands.json")).text).not.toContain("stalled");
    expect(await server.metrics()).toMatch(/storefront_http_requests_total\{.*status="408"/);
  });

  test("a client that disconnects mid-body stores nothing and doesn't affect other clients", async () => {
    const names = async () =>
      (await server.call("GET", "/restapi/brands.json")).json.map(({ Name }: { Name: string }) => Name);
    const connections = async () => Number(/^storefront_http_connections (\d+)$/m.exec(await server.metrics())?.[1]);
    const before = await names();
    const connectionsBefore = await connections();
    const lines = ["POST /restapi/brands.json HTTP/1.1", "Host: x", authorised(), "Content-Length: 50"];
    const clients = await Promise.all(Array.from({ length: 20 }, () => openClient(server.port)));
    for (const client of clients) {
      client.send(request([...lines, "Expect: 100-continue"]));
      await client.until((received) => received.includes("100 Continue"));
      await client.sendPieces(['{"Name":"gone"']);
      client.socket.destroy();
    }
    await waitUntil(async () => (await connections()) <= connectionsBefore, "the end of the connections");
    // If the requests cut off had been stored, it would have been before this one.
    await server.call("POST", "/restapi/brands.json", { body: { Name: "later" } });
    expect(await names()).toEqual([...before, "later"]);
  });

  test("an unregistered method gets a 501, `OPTIONS *` a 204, and the connection stays open", async () => {
    const response = await exchangeBytes(
      server.port,
      request(["FOO /restapi/brands.json HTTP/1.1", "Host: x", authorised()]) +
        request(["OPTIONS * HTTP/1.1", "Host: x"]) +
        request(["GET /healthz HTTP/1.1", "Host: x"]),
    );
    expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 501", "HTTP/1.1 204", "HTTP/1.1 200"]);
  });
});
