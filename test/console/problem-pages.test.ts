// The errors of the admin listener are pages for browsers and problem documents for programs. Unusual requests get the same errors as from the public
// listener.

import { afterAll, describe, expect, test } from "bun:test";
import { startTestConsole } from "../support/console/server.ts";
import { exchangeOnce, toRequest } from "../support/wire/client.ts";

const server = await startTestConsole();
afterAll(() => server.stop());

/** The `Accept` header of a browser that requests a page. */
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

const get = (path: string, headers: Record<string, string>) => fetch(`${server.adminUrl}${path}`, { headers });

test.each([
  ["an unknown address", "/brands", {}, 404, "Page not found"],
  ["a hostname that is not allowed", "/", { Host: "shop.example" }, 421, "--admin-host"],
  ["an address of the API that needs a session", "/operator/sites", {}, 401, "Go to the console"],
])("a browser gets a page for %s", async (_, path, headers, status, text) => {
  const response = await get(path, { Accept: browser, ...headers });
  expect([response.status, response.headers.get("Content-Type")]).toEqual([status, "text/html; charset=utf-8"]);
  expect(response.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
  const page = await response.text();
  expect(page).toContain(text);
  expect(page).toContain(response.headers.get("X-Request-Id") as string);
});

test("a program gets a problem document", async () => {
  for (const accept of ["*/*", "application/json", "text/plain", "text/html;q=0, */*"]) {
    const response = await get("/brands", { Accept: accept });
    expect([response.status, response.headers.get("Content-Type")]).toEqual([404, "application/problem+json"]);
  }
});

test("the page does not run a script from the address", async () => {
  const response = await get("/operator/sites/%3Cscript%3Ealert(1)%3C%2Fscript%3E/keys", { Accept: browser });
  expect(await response.text()).not.toContain("<script");
});

describe("an unusual request", () => {
  const send = async (line: string, lines: readonly string[] = ["Host: localhost"]) => {
    const [response] = await exchangeOnce(Number(new URL(server.adminUrl).port), toRequest(line, lines));
    return response;
  };

  test.each([
    ["FOO", "/", 501],
    ["get", "/nothing", 501],
    ["constructor", "/metrics", 501],
    ["CONNECT", "localhost:80", 501],
    ["PROPFIND", "/metrics", 405],
    ["OPTIONS", "/metrics", 405],
    ["GET", "/restapi/brands.json", 404],
    ["GET", "*", 400],
    ["GET", "/#sign-in=x", 400],
    ["GET", "/\xe9", 400],
    ["GET", "/operator/../metrics", 404],
  ])("%s %s is %d", async (method, target, status) => {
    const response = await send(`${method} ${target} HTTP/1.1`);
    expect(response?.status).toBe(status);
    expect(JSON.parse(response?.body as string)).toMatchObject({ status });
    expect(response?.headers.allow).toBe(status === 405 ? "GET, HEAD" : undefined);
  });

  test("a method is checked before the host", async () => {
    expect((await send("FOO / HTTP/1.1", ["Host: shop.example"]))?.status).toBe(501);
  });

  test("OPTIONS * has the methods of the listener", async () => {
    const response = await send("OPTIONS * HTTP/1.1");
    expect(response?.status).toBe(204);
    expect(response?.headers.allow?.split(", ").toSorted()).toEqual([
      ...["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"],
    ]);
  });

  test.each([
    ["the host of the listener", "http://localhost/metrics", "localhost", 200],
    ["a port", "http://127.0.0.1:1/metrics?x", "localhost", 200],
    ["the page", "http://localhost", "localhost", 200],
    ["an allowed host, whatever Host says", "http://localhost/metrics", "shop.example", 200],
    ["a host that is not allowed, whatever Host says", "http://shop.example/metrics", "localhost", 421],
    ["a user", "http://localhost@shop.example/metrics", "localhost", 404],
  ])("an absolute target with %s", async (_, target, host, status) => {
    expect((await send(`GET ${target} HTTP/1.1`, [`Host: ${host}`]))?.status).toBe(status);
  });

  test("the origin of a change is compared with the host of an absolute target", async () => {
    const statusOf = async (origin: string) => {
      const lines = ["Host: shop.example", `Origin: ${origin}`, "X-Operator: 1"];
      return (await send("DELETE http://localhost:81/operator/sessions HTTP/1.1", lines))?.status;
    };
    // 401: the check of the origin is before that of the session.
    expect([await statusOf("http://localhost:81"), await statusOf("http://shop.example")]).toEqual([401, 403]);
  });
});
