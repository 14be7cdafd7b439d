// The client on a web page from another origin, where CORS decides what it can send and read.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBrowser } from "../support/console/browser.ts";
import { startTestServer } from "../support/http/server.ts";

const built = mkdtempSync(join(tmpdir(), "storefront-client-"));
const server = await startTestServer();
const build = join(import.meta.dir, "../../scripts/build/client.ts");
expect(await Bun.spawn([process.execPath, build, built]).exited).toBe(0);
const app = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: serveApp });
const browser = await openBrowser();
afterAll(async () => {
  await browser.close();
  await app.stop(true);
  await server.stop();
  rmSync(built, { recursive: true, force: true });
});

function serveApp(request: Request): Response {
  const { pathname } = new URL(request.url);
  if (pathname.startsWith("/moved/")) return Response.redirect("/", 302);
  if (pathname !== "/")
    return new Response(Bun.file(join(built, pathname)), { headers: { "Content-Type": "text/javascript" } });
  return new Response("<!doctype html><title>app</title>", { headers: { "Content-Type": "text/html" } });
}

test("in a web page, the client creates, updates with an ETag, pages, deletes and follows records, and reports problems and failures", async () => {
  const page = await browser.newPage();
  await page.goto(app.url.href);
  const seen = await page.evaluate(
    async ([url, key, module]) => {
      const { createClient, etagOf } = (await import(module as string)) as typeof import("../../src/client/client.ts");
      const client = createClient({ url: url as string, key: key as string });
      const brand = await client.brands.create({ Name: "Acme" });
      const renamed = await client.brands.update(brand, { Name: "Acme Ltd" });
      const rejected = await client.brands.update(brand, { Name: "Late" }).catch((problem) => problem);
      const wrong = await client.brands.create({ Name: "" }).catch((problem) => problem);
      const names = [];
      for await (const { Name } of client.brands.all()) names.push(Name);
      const unchanged = await client.brands.get(brand.ID, { ifNoneMatch: etagOf(renamed) });
      await client.brands.delete({ ...renamed });
      const operations = [];
      for await (const { Operation } of client.changes({ wait: 1 })) if (operations.push(Operation) === 3) break;
      const copy = new Map();
      await client.mirror("brands", {
        ids: () => copy.keys(),
        store: (each) => copy.set(each.ID, each),
        remove: (id) => copy.delete(id),
        onCursor: (cursor) => operations.push(typeof cursor),
        wait: 0,
      });
      const failed = [];
      for (const address of ["http://127.0.0.1:1", (module as string).replace("/client.js", "/moved")]) {
        const unreachable = createClient({ url: address, key: "k", retries: 0 });
        failed.push(await unreachable.brands.list().catch((error) => error.reason));
      }
      return [
        operations,
        names,
        rejected.code,
        wrong.errors,
        String(unchanged),
        failed,
        (await client.brands.list()).length,
      ];
    },
    [server.url, server.key, `${app.url.origin}/client.js`],
  );
  expect(seen).toEqual([
    ["create", "update", "delete", "string"],
    ["Acme Ltd"],
    "precondition-failed",
    [{ field: "Name", code: "required", detail: "a value is required" }],
    "undefined",
    ["network", "redirect"],
    0,
  ]);
  await page.close();
}, 120_000);
