// The script of the console: its build, size and encodings.

import { afterAll, describe, expect, test } from "bun:test";
import { brotliDecompressSync } from "node:zlib";
import { loadScript } from "../../src/admin/console.ts";
import { buildConsole } from "../../src/admin/console-build.ts";
import { once } from "../../src/lib/concurrency.ts";
import { documentOf, scriptOf } from "../support/console/script.ts";
import { startTestConsole } from "../support/console/server.ts";

const server = await startTestConsole({ loadScript: once(loadScript) });
afterAll(() => server.stop());

/** Maximum bytes as sent. A checkout compresses less than the package does. */
const maxBytes = {
  br: { firstView: 245_000, first: 225_000, later: 35_000 },
  gzip: { firstView: 260_000, first: 245_000, later: 35_000 },
} as const;

/** The reads of the first view of a site. */
const firstReads = [
  "/session",
  "/resources",
  "/sites",
  "/sites/shop/overview",
  "/sites/shop/history?limit=50",
  "/traffic",
];

/** Names of the scripts that a page loads at once. */
const namesIn = (page: string) => [...page.matchAll(/"\/console\/([^"]+)"/g)].map(([, name = ""]) => name);

test("the first page of a checkout says that the script is being built, and loads itself again when it is", async () => {
  const { promise: canBuild, resolve: build } = Promise.withResolvers<void>();
  const { adminUrl, stop } = await startTestConsole({ loadScript: once(() => canBuild.then(loadScript)) });
  try {
    const page = await documentOf(adminUrl);
    expect(page).toContain("Building the console");
    const [name = "", ...others] = namesIn(page);
    expect(others).toEqual([]);
    const script = fetch(new URL(`/console/${name}`, adminUrl));
    build();
    expect((await script).headers.get("Cache-Control")).toBe("no-store");
    expect(await (await script).text()).toBe("location.reload();\n");
    expect(await documentOf(adminUrl)).toMatch(/"\/console\/main-[0-9a-z]{8}\.js"/);
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

describe("the scripts", () => {
  test.each([
    "br",
    "gzip",
  ] as const)("are small as sent with %s, together and each one that's loaded later", async (encoding) => {
    const { scripts } = await buildConsole();
    const loaded = await Promise.all([...scripts.keys()].map((name) => scriptOf(server.adminUrl, encoding, name)));
    // Only once the scripts have been built.
    const page = await documentOf(server.adminUrl);
    expect([...new Set(loaded.map(({ headers }) => headers.get("Content-Encoding")))]).toEqual([encoding]);
    const isFirst = ({ url }: { readonly url: string }) => namesIn(page).some((name) => url.endsWith(`/${name}`));
    const first = loaded.filter(isFirst).reduce((sum, { bytes }) => sum + bytes.length, 0);
    const anna = await server.signIn("anna");
    const reads = await Promise.all(firstReads.map((path) => anna.call("GET", path)));
    expect(reads.map(({ status }) => status)).toEqual(firstReads.map(() => 200));
    const data = reads.reduce((sum, { json }) => sum + JSON.stringify(json).length, 0);
    const later = loaded.filter((script) => !isFirst(script)).map(({ bytes }) => bytes.length);
    expect(later.length).toBeGreaterThan(2);
    const max = maxBytes[encoding];
    expect(first).toBeLessThan(max.first);
    expect(Math.max(...later)).toBeLessThan(max.later);
    expect(page.length + first + data).toBeLessThan(max.firstView);
    expect(first).toBeGreaterThan(100_000);
  });

  test("are the same in every encoding, and browsers may cache them forever, because each version has other names", async () => {
    const [br, gzip, plain] = await Promise.all(
      ["br", "gzip", "identity"].map((encoding) => scriptOf(server.adminUrl, encoding)),
    );
    expect(plain?.headers.get("Content-Encoding")).toBe(null);
    const unpacked = [brotliDecompressSync(br?.bytes ?? ""), Bun.gunzipSync(gzip?.bytes ?? new Uint8Array())];
    for (const each of unpacked) expect(Buffer.compare(each, plain?.bytes ?? new Uint8Array())).toBe(0);
    expect(plain?.headers.get("Cache-Control")).toContain("immutable");
  });

  test("have no other names: the page of another version loads itself again, and its other scripts aren't found", async () => {
    const ask = async (name: string) => {
      const response = await fetch(new URL(`/console/${name}`, server.adminUrl));
      return [response.status, response.headers.get("Cache-Control")];
    };
    expect(await ask("main-01234567.js")).toEqual([200, "no-store"]);
    for (const name of ["01234567.js", "start-01234567.js", "constructor", "main", "..%2Fmain.js"])
      expect(await ask(name)).toEqual([404, "no-store"]);
  });

  test("are not served on the public port", async () => {
    for (const path of ["/console/main-new.js", "/operator/sites"])
      expect((await fetch(new URL(path, server.url))).status).toBe(404);
  });
});
