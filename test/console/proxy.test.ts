// The console behind a proxy, with and without TLS, and the headers that the proxy must pass on.

import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { openBrowser } from "../support/console/browser.ts";
import { startTestConsole } from "../support/console/server.ts";
import { makeCertificate } from "../support/http/certificate.ts";

const name = "console.example";
const certificate = makeCertificate();
const server = await startTestConsole({ settings: { ADMIN_HOST: name } });
await server.addOperator("anna");
afterAll(() => server.stop());

interface Proxy {
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts a proxy. @param passesHost false for a proxy that sends the address of the server as `Host`, which is nginx's default */
function startProxy(isSecure: boolean, passesHost = true): Proxy {
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    ...(isSecure && { tls: certificate }),
    async fetch({ url, method, headers: sent, body }) {
      const { pathname, search } = new URL(url);
      const headers = new Headers(sent);
      if (!passesHost) headers.delete("Host");
      return fetch(`${server.adminUrl}${pathname}${search}`, { method, headers, body, decompress: false });
    },
  });
  return { port: proxy.port as number, stop: () => proxy.stop(true) };
}

let proxy: Proxy;
afterEach(() => proxy.stop());

/** Signs in like a browser that reaches the proxy by the hostname `host`. */
async function signIn(scheme: "http" | "https", host = name): Promise<Response> {
  const authority = `${host}:${proxy.port}`;
  return fetch(`${scheme}://127.0.0.1:${proxy.port}/operator/session`, {
    method: "POST",
    headers: { Host: authority, Origin: `${scheme}://${authority}`, "Content-Type": "application/json" },
    body: JSON.stringify({ link: (await server.link("anna")).split("=")[1] }),
    tls: { rejectUnauthorized: false },
  });
}

describe("a proxy that passes on Host", () => {
  test.each([
    ["https", true],
    ["http", false],
  ] as const)("with %s lets operators sign in by a hostname of --admin-host, and the cookie is Secure: %p", async (scheme, isSecure) => {
    proxy = startProxy(isSecure);
    const { status, headers } = await signIn(scheme);
    const cookie = headers.get("Set-Cookie") ?? "";
    expect([status, /; HttpOnly; SameSite=Strict/.test(cookie), /; Secure/.test(cookie)]).toEqual([
      200,
      true,
      isSecure,
    ]);
  });

  test("and a hostname that --admin-host does not name causes 421", async () => {
    proxy = startProxy(true);
    expect((await signIn("https", "other.example")).status).toBe(421);
  });
});

test("behind a proxy that does not pass on Host, signing in is 403, and the message says what the proxy must do", async () => {
  proxy = startProxy(true, false);
  const response = await signIn("https");
  expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
    403,
    expect.stringContaining("Behind a proxy, make it pass on `Host`"),
  ]);
});

describe("a browser behind a proxy with TLS", () => {
  let browser: Browser;
  beforeEach(async () => {
    browser = await openBrowser();
    proxy = startProxy(true);
  });
  afterEach(() => browser.close());

  test("signs in, stays signed in and shows records", async () => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const page = await context.newPage();
    const secret = (await server.link("anna")).split("#")[1];
    await page.goto(`https://localhost:${proxy.port}/#${secret}`);
    await page.getByText("Latest changes").first().waitFor();
    await page.reload();
    await page.getByText("Latest changes").first().waitFor();
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ secure: true, httpOnly: true, sameSite: "Strict" });
  });
});
