// The errors of the admin listener are pages for browsers and problem documents for programs.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startTestConsole, type TestConsole } from "../support/console/server.ts";

let server: TestConsole;
beforeAll(async () => {
  server = await startTestConsole();
});
afterAll(() => server.stop());

/** The `Accept` header of a browser that requests a page. */
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

const get = (path: string, headers: Record<string, string>) => fetch(`${server.adminUrl}${path}`, { headers });

test.each([
  ["an unknown address", "/brands", {}, 404, "There is nothing at this address"],
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
