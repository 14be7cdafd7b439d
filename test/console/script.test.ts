// The script of the console: its build, size and encodings.

import { afterAll, describe, expect, test } from "bun:test";
import { brotliDecompressSync } from "node:zlib";
import { loadScript } from "../../src/admin/console.ts";
import { once } from "../../src/lib/concurrency.ts";
import { documentOf, scriptOf } from "../support/console/script.ts";
import { startTestConsole } from "../support/console/server.ts";

const server = await startTestConsole({ loadScript: once(loadScript) });
afterAll(() => server.stop());

/** Maximum bytes that the first view loads, as sent. A checkout compresses less than the package does. */
const firstViewBytes = { br: 300_000, gzip: 330_000 };

/** The reads of the first view of a site. */
const firstReads = [
  "/session",
  "/resources",
  "/sites",
  "/sites/shop/overview",
  "/sites/shop/history?limit=50",
  "/traffic",
];

test("the first page of a checkout says that the script is being built, and later pages load it", async () => {
  const { promise: canBuild, resolve: build } = Promise.withResolvers<void>();
  const { adminUrl, stop } = await startTestConsole({ loadScript: once(() => canBuild.then(loadScript)) });
  try {
    expect(await documentOf(adminUrl)).toContain("Building the console");
    build();
    const response = await fetch(new URL("/console.js", adminUrl));
    expect([response.status, response.headers.get("Cache-Control")]).toEqual([200, "no-store"]);
    expect(await documentOf(adminUrl)).toMatch(/console\.js\?[0-9a-f]{16}"/);
  } finally {
    await stop();
  }
});

test("the page has the shapes of the bar only for a browser with a session, and takes nothing else from its cookies", async () => {
  const cookieOf = (choices: string) => ({
    Cookie: `storefront_${new URL(server.adminUrl).port}=${"a".repeat(32)}; storefront-frame=${choices}`,
  });
  const pageFor = async (headers: Record<string, string>) => (await fetch(server.adminUrl, { headers })).text();
  expect(await pageFor({})).not.toContain("<header>");
  const signedIn = await pageFor(cookieOf("dark.narrow"));
  expect(signedIn).toContain('<html lang="en" data-colours="dark" data-menu="narrow">');
  expect(signedIn).toContain("<header>");
  expect(await pageFor(cookieOf('dark.narrow"><script>'))).toContain('<html lang="en">');
});

describe("the first view", () => {
  test.each([
    "br",
    "gzip",
  ] as const)("loads less than 300 kB with br and 330 kB with gzip: with %s", async (encoding) => {
    const page = await documentOf(server.adminUrl);
    const script = await scriptOf(server.adminUrl, encoding);
    const anna = await server.signIn("anna");
    const reads = await Promise.all(firstReads.map((path) => anna.call("GET", path)));
    expect(reads.map(({ status }) => status)).toEqual(firstReads.map(() => 200));
    const data = reads.reduce((sum, { json }) => sum + JSON.stringify(json).length, 0);
    expect(script.headers.get("Content-Encoding")).toBe(encoding);
    expect(page.length + script.bytes.length + data).toBeLessThan(firstViewBytes[encoding]);
    expect(script.bytes.length).toBeGreaterThan(100_000);
  });

  test("has the same script in every encoding, which browsers may cache forever, because each version has another address", async () => {
    const [br, gzip, plain] = await Promise.all(
      ["br", "gzip", "identity"].map((encoding) => scriptOf(server.adminUrl, encoding)),
    );
    expect(plain?.headers.get("Content-Encoding")).toBe(null);
    const unpacked = [brotliDecompressSync(br?.bytes ?? ""), Bun.gunzipSync(gzip?.bytes ?? new Uint8Array())];
    for (const each of unpacked) expect(Buffer.compare(each, plain?.bytes ?? new Uint8Array())).toBe(0);
    expect(plain?.headers.get("Cache-Control")).toContain("immutable");
    expect(plain?.url).toMatch(/console\.js\?[0-9a-f]{16}$/);
  });

  test("has a script that no browser caches under the digest of another version, whose page asked for it during an upgrade", async () => {
    const cacheControl = async (query: string) =>
      (await fetch(`${server.adminUrl}/console.js${query}`)).headers.get("Cache-Control");
    expect(await Promise.all(["", "?0123456789abcdef", "?x=1"].map(cacheControl))).toEqual(Array(3).fill("no-store"));
  });

  test("is not served on the public port", async () => {
    for (const path of ["/console.js", "/operator/sites"])
      expect((await fetch(new URL(path, server.url))).status).toBe(404);
  });
});
