// The documentation pages that a server has: links, content, and descriptions of the interface.

import { afterAll, describe, expect, test } from "bun:test";
import { text } from "../../src/model/field.ts";
import { defineResource } from "../../src/model/resource.ts";
import { setSite } from "../../src/operator/sites/sites.ts";
import { toOpenapi } from "../../src/reference/openapi/document.ts";
import { referencePage } from "../../src/reference/pages/reference.ts";
import { brand } from "../../src/resources/brand.ts";
import { pagePaths } from "../support/http/page-paths.ts";
import { startTestServer } from "../support/http/server.ts";
import { openClient, toRequest } from "../support/wire/client.ts";

const server = await startTestServer();
afterAll(() => server.stop());

describe("a documentation page", () => {
  for (const path of pagePaths) {
    test(`${path} is served, allows no other host, and has no dead link`, async () => {
      const response = await server.call("GET", path);
      expect(response.status).toBe(200);
      expect(response.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
      const policy = response.headers.get("Content-Security-Policy") as string;
      expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self'; img-src data:;");
      expect(policy).not.toContain("unsafe");
      const links = [...response.text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link as string);
      const foreign = [...response.text.matchAll(/<(?:link|script|img)[^>]*(?:href|src)="([^"]*)"/g)]
        .map(([, link]) => link as string)
        .filter((link) => /^(?:https?:)?\/\//.test(link));
      expect(foreign).toEqual([]);
      const ids = [...response.text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id as string);
      expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
      const anchors = links.filter((link) => link.startsWith("#")).map((link) => link.slice(1));
      expect(anchors.filter((anchor) => !ids.includes(anchor))).toEqual([]);
      const own = new Set(links.filter((link) => link.startsWith("/")).map((link) => link.split("#")[0] as string));
      for (const link of own)
        expect([link, (await fetch(server.url + link, { method: "HEAD" })).status]).toEqual([link, 200]);
    });
  }

  test("is read-only", async () => {
    const response = await server.call("POST", "/docs/guide");
    expect([response.status, response.headers.get("Allow")]).toEqual([405, "GET, HEAD"]);
  });
});

describe("a description of the interface", () => {
  const script = async () =>
    /\/docs\/assets\/page-[0-9a-f]+\.js/.exec((await server.call("GET", "/docs")).text)?.[0] as string;
  const get = (path: string, headers: Record<string, string>) =>
    fetch(server.url + path, { headers, decompress: false });
  const bytes = async (response: Response) => new Uint8Array(await response.arrayBuffer());

  test.each([
    ["/docs/guide", "text/html; charset=utf-8"],
    ["/docs/problems/not-found", "text/html; charset=utf-8"],
    ["/openapi.json", "application/json; charset=utf-8"],
    ["/openapi.yaml", "application/yaml; charset=utf-8"],
    ["/schemas/brand.json", "application/schema+json; charset=utf-8"],
    ["/schemas/storefront.xsd", "application/xml; charset=utf-8"],
    ["script", "text/javascript; charset=utf-8"],
    ["/docs/alerts.yml", "application/yaml; charset=utf-8"],
    ["/", "text/html; charset=utf-8"],
    ["/docs/postman.json", "application/json; charset=utf-8"],
    ["/docs/storefront.http", "text/plain; charset=utf-8"],
  ])("%s is compressed for clients that accept it, and a 304 for clients that have it", async (name, type) => {
    const path = name === "script" ? await script() : name;
    const plain = await get(path, { "Accept-Encoding": "identity" });
    expect([plain.status, plain.headers.get("Content-Type"), plain.headers.get("Content-Encoding")]).toEqual([
      200,
      type,
      null,
    ]);
    const content = await bytes(plain);
    const tags = new Set([plain.headers.get("ETag")]);
    for (const [accepted, coding, decode] of [
      ["gzip", "gzip", Bun.gunzipSync],
      ["br, gzip;q=0.5, zstd", "zstd", Bun.zstdDecompressSync],
      ["x-gzip", "gzip", Bun.gunzipSync],
      ["*", "gzip", Bun.gunzipSync],
      ["gzip;q=0, *", "zstd", Bun.zstdDecompressSync],
    ] as const) {
      const coded = await get(path, { "Accept-Encoding": accepted });
      expect(coded.headers.get("Content-Encoding")).toBe(coding);
      expect(coded.headers.get("Vary")).toMatch(/^(?:X-Forwarded-Host, X-Forwarded-Proto, )?Accept-Encoding$/);
      expect(new Uint8Array(decode(await bytes(coded)))).toEqual(content);
      const etag = coded.headers.get("ETag") as string;
      tags.add(etag);
      const again = await get(path, { "Accept-Encoding": accepted, "If-None-Match": etag });
      expect([again.status, again.headers.get("ETag"), (await bytes(again)).length]).toEqual([304, etag, 0]);
    }
    expect(tags.size).toBe(3);
  });

  test("can be cached, forever if the path names the version and otherwise with revalidation", async () => {
    const cacheControl = async (path: string) => (await get(path, {})).headers.get("Cache-Control");
    expect(await cacheControl(await script())).toBe("public, max-age=31536000, immutable");
    for (const path of [
      "/",
      "/docs",
      "/docs/guide",
      "/docs/postman.json",
      "/docs/client.tgz",
      "/openapi.json",
      "/schemas/brand.json",
    ])
      expect(await cacheControl(path)).toBe("public, no-cache");
    for (const path of ["/healthz", "/readyz", "/docs/nothing"])
      expect(await cacheControl(path)).toBe("no-cache, no-store, must-revalidate");
  });

  test("is in memory once, however many clients don't read it", async () => {
    const path = "/openapi.json";
    const size = (await bytes(await get(path, { "Accept-Encoding": "identity" }))).length;
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    const clients = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const client = await openClient(server.port);
        client.socket.pause();
        client.send(toRequest(`GET ${path} HTTP/1.1`, ["Accept-Encoding: identity"]));
        return client;
      }),
    );
    await server.call("GET", "/docs");
    Bun.gc(true);
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * size);
    for (const { socket } of clients) socket.destroy();
  });
});

describe("start page", () => {
  const example = async (headers: Record<string, string>, to = server) =>
    textOf(/<code[^>]*>(.*?)<\/code>/.exec((await to.call("GET", "/", { headers })).text)?.[1] ?? "");

  test("shows the address that the client used, even without a script", async () => {
    expect(await example({})).toBe(`curl -H &quot;X-API-AUTH: $KEY&quot; ${server.url}/restapi/brands.json`);
    expect(await example({ Host: "shop.example" })).toContain(" http://shop.example/restapi/");
    expect(await example({ Host: "shop.example", "X-Forwarded-Proto": "https" })).toContain(" https://shop.example/");
    expect(await example({ Host: "[::1]:8080" })).toContain(" http://[::1]:8080/");
    expect(await example({ Host: "shop.example", "X-Forwarded-Host": "other.example" })).toContain("shop.example");
  });

  test("contains no host that a browser or shell could interpret", async () => {
    const behindProxy = await startTestServer({ settings: { TRUST_FORWARDED_HOST: "yes" } });
    expect(await example({ "X-Forwarded-Host": "shop.example:81" }, behindProxy)).toContain(" http://shop.example:81/");
    for (const host of ["<script>", "$(id)", "a;id", "`id`", "a b", '"', "a/b?c"])
      expect(await example({ "X-Forwarded-Host": host }, behindProxy)).toContain(" http://server.example/restapi/");
    expect(await example({ Host: "$(id)" })).toContain(" http://server.example/restapi/");
    await behindProxy.stop();
  });

  test("is a 304 for clients that have it, and differs between hosts", async () => {
    const etag = (await server.call("GET", "/")).headers.get("ETag") as string;
    expect((await server.call("GET", "/", { headers: { "If-None-Match": etag } })).status).toBe(304);
    const other = { "If-None-Match": etag, Host: "shop.example" };
    expect((await server.call("GET", "/", { headers: other })).status).toBe(200);
  });
});

describe("a page that doesn't exist", () => {
  const browser = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

  test.each([
    "/nothing",
    "/docs/nothing",
    "/brands.json",
    "/restapidocs",
  ])("is HTML for a browser, such as %s", async (path) => {
    const response = await server.call("GET", path, { headers: browser });
    expect([response.status, response.headers.get("Content-Type"), response.headers.get("Vary")]).toEqual([
      404,
      "text/html; charset=utf-8",
      "Accept",
    ]);
    expect(response.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
    expect(response.headers.get("Cache-Control")).toBe("no-cache, no-store, must-revalidate");
    expect(response.text).toContain("<h1>Not found</h1>");
    expect(response.text).toContain(response.headers.get("X-Request-Id") as string);
    if (path === "/brands.json") expect(response.text).toContain("did you mean <code>/restapi/brands.json</code>?");
  });

  test.each<[string, string, Record<string, string>]>([
    ["GET", "/nothing", { Accept: "*/*" }],
    ["GET", "/nothing", { Accept: "application/json, text/html;q=0" }],
    ["GET", "/restapi/nothing.json", browser],
    ["GET", "/restapi", browser],
    ["POST", "/nothing", browser],
  ])("is a problem document for other clients: %s %s %o", async (method, path, headers) => {
    const response = await server.call(method, path, { headers });
    expect([response.status, response.headers.get("Content-Type")]).toEqual([404, "application/problem+json"]);
  });

  test("is HTML for a browser even if no site has the host", async () => {
    const other = await startTestServer();
    await setSite(other.engine, "shop", { isDefault: false }, 0);
    const response = await other.call("GET", "/nothing", { headers: { ...browser, Host: "<b>" } });
    expect([response.status, response.headers.get("Content-Type")]).toEqual([400, "application/problem+json"]);
    const named = await other.call("GET", "/nothing", { headers: { ...browser, Host: "a&b.example" } });
    expect([named.status, named.headers.get("Content-Type")]).toEqual([421, "text/html; charset=utf-8"]);
    expect(named.text).toContain("<code>a&amp;b.example</code>");
    await other.stop();
  });
});

describe("API reference", () => {
  const reference = async () => (await server.call("GET", "/docs")).text;

  test("has every operation of the OpenAPI document once, except HEAD and OPTIONS", async () => {
    const text = await reference();
    const { paths } = (await server.call("GET", "/openapi.json?format=json")).json;
    const operations = Object.values(paths as Record<string, Record<string, { operationId: string }>>).flatMap((item) =>
      Object.entries(item).flatMap(([method, { operationId }]) =>
        method === "head" || method === "options" ? [] : [operationId],
      ),
    );
    expect(operations.length).toBeGreaterThan(20);
    const shown = [...text.matchAll(/<section class="operation" id="(\w+)"/g)].map(([, id]) => id as string);
    expect(shown.sort()).toEqual(operations.sort());
  });

  test("fills in no ID in forms that write", async () => {
    const forms = (await reference()).match(/<form data-method="(?!GET)[\s\S]*?<\/form>/g) ?? [];
    expect(forms.length).toBeGreaterThan(10);
    const named = forms.filter((form) => /name="id"[^>]* value=|&quot;ID&quot;: \d|ID=&quot;\d/.test(form));
    expect(named).toEqual([]);
    expect(forms.filter((form) => !form.includes('<p class="writes">'))).toEqual([]);
  });

  test("folds operations that name their record in the body, or use POST, and puts them last", async () => {
    const [main = "", folded = ""] = (await reference()).split('<h2 id="other-forms">');
    for (const id of ["updateBrandByBody", "deleteBrandByBody", "overrideBrand"]) {
      expect(main).not.toContain(`id="${id}"`);
      expect(folded).toContain(`id="${id}"`);
    }
  });

  test("lists the fields of records, and of alternatives in lists", async () => {
    const text = await reference();
    for (const field of ["Address.Town", "Changes[].Cursor", "Changes[].Resource"])
      expect(text).toContain(`<b>${field}</b>`);
    expect(text.match(/<details open><summary>Fields/g)?.length).toBeGreaterThan(4);
  });

  test("lists a parameter's values, unless there are more than seven", () => {
    const shown = (count: number) => {
      const names = Array.from({ length: count - 1 }, (_, number) => `Field${number}`);
      const field = text({ max: 9, description: "A field.", example: "x" });
      const fields = { Name: field, ...Object.fromEntries(names.map((name) => [name, field])) };
      const page = referencePage(toOpenapi([defineResource({ ...brand, fields })]));
      return /<b>fields<\/b> <span class="quiet">query · list of ([^<]*)</.exec(page)?.[1];
    };
    // The ID is a field too.
    expect(shown(6)).toBe("ID, Name, Field0, Field1, Field2, Field3, Field4");
    expect(shown(7)).toBe("fields");
  });
});

/** The text of highlighted code. */
function textOf(html: string): string {
  return html.replaceAll(/<[^>]*>/g, "");
}
