// The files a server offers integrators for download.

import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { highlight } from "../../src/reference/pages/markdown.ts";
import { startDemo } from "../support/programs/demo-server.ts";

const root = join(import.meta.dir, "../..");
const server = await startDemo();
afterAll(() => server.stop());

test("every program in examples/ is served unchanged", async () => {
  for (const name of readdirSync(join(root, "examples"))) {
    if (name.endsWith(".md")) continue;
    const response = await fetch(`${server.url}/docs/examples/${name}`);
    expect([name, response.status]).toEqual([name, 200]);
    expect(response.headers.get("Content-Type")).toMatch(/^text\/[a-z-]+; charset=utf-8$/);
    expect(await response.text()).toBe(readFileSync(join(root, "examples", name), "utf8"));
  }
});

test.each([
  ["/docs/postman.json", "application/json; charset=utf-8"],
  ["/docs/storefront.http", "text/plain; charset=utf-8"],
  ["/openapi.json", "application/json; charset=utf-8"],
  ["/openapi.yaml?openapi=3.0", "application/yaml; charset=utf-8"],
])("%s contains the server's URL", async (path, type) => {
  const response = await fetch(server.url + path, { headers: { "X-Forwarded-Proto": "https" } });
  const text = await response.text();
  expect(response.headers.get("Content-Type")).toBe(type);
  expect(text).toContain(server.url.replace("http:", "https:"));
  expect(text).not.toContain("127.0.0.1:8080");
  const again = await fetch(server.url + path, {
    headers: { "X-Forwarded-Proto": "https", "If-None-Match": response.headers.get("ETag") as string },
  });
  expect(again.status).toBe(304);
});

test("each of a hundred hosts gets its own address, also compressed, and again later", async () => {
  const serverOf = async (Host: string) => {
    const response = await fetch(`${server.url}/openapi.json?format=json`, { headers: { Host } });
    return ((await response.json()) as { servers: [{ url: string }] }).servers[0].url;
  };
  const hosts = Array.from({ length: 100 }, (_, n) => `shop-${n}.example`);
  for (const host of [...hosts, ...hosts.slice(0, 3)]) expect(await serverOf(host)).toBe(`http://${host}`);
});

describe("client download", () => {
  const read = async (path: string) => {
    const response = await fetch(server.url + path);
    const { status, headers } = response;
    return { status, cacheControl: headers.get("Cache-Control"), bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const versionedPaths = async (page: string) =>
    new Set((await read(page)).bytes.toString().match(/\/docs\/client-[^\s"<]+?\.tgz/g));

  test("has its version in its path, and can be cached forever", async () => {
    const [path = ""] = await versionedPaths("/");
    const { status, cacheControl, bytes } = await read(path);
    expect([status, cacheControl]).toEqual([200, "public, max-age=31536000, immutable"]);
    const manifest = /\{\s*"name": "storefront-client"[^\0]*?\n\}/.exec(
      Buffer.from(Bun.gunzipSync(bytes)).toString(),
    )?.[0];
    const { version } = JSON.parse(manifest ?? "");
    expect(version).toMatch(/^[0-9]+\.[0-9]+\.[0-9]+(-dev-[0-9a-f]{12})?$/);
    expect(path).toBe(`/docs/client-${version}.tgz`);
    const unversioned = await read("/docs/client.tgz");
    expect(unversioned).toEqual({ status, cacheControl: "public, no-cache", bytes });
  });

  test("is named with its version on the pages", async () => {
    const [path = ""] = await versionedPaths("/");
    for (const page of ["/docs/clients", "/docs/getting-started"])
      expect([...(await versionedPaths(page))]).toEqual([path]);
    expect((await read("/docs/clients")).bytes.toString()).not.toContain("client-&lt;version");
  });

  test("gets a 404 for a version the server doesn't have, naming the one it has", async () => {
    const [path = ""] = await versionedPaths("/");
    for (const version of ["0.0.1", "0.1.0-dev-000000000000", "<version>"]) {
      const { status, cacheControl, bytes } = await read(`/docs/client-${encodeURIComponent(version)}.tgz`);
      expect([status, cacheControl]).toEqual([404, "no-cache, no-store, must-revalidate"]);
      expect(JSON.parse(bytes.toString()).detail).toEndWith(`at \`${path}\``);
    }
  });
});

describe("/openapi.json?format=", () => {
  const read = async (query: string) =>
    (await (await fetch(`${server.url}/openapi.json${query}`)).json()) as {
      readonly paths: object;
      readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };

  test.each(["json", "xml"])("%s has that format's operations, and only what they use", async (format) => {
    const document = await read(`?format=${format}`);
    const whole = await read("");
    const paths = Object.keys(whole.paths).filter((path) => path.endsWith(`.${format}`));
    expect(Object.keys(document.paths)).toEqual(paths);
    const text = JSON.stringify(document);
    expect(text.includes(format === "json" ? "+xml" : "+json")).toBe(false);
    for (const [, kind = "", name = ""] of text.matchAll(/#\/components\/(\w+)\/([\w-]+)/g))
      expect([name, document.components[kind]?.[name]]).toEqual([name, expect.any(Object)]);
    for (const [kind, all] of Object.entries(document.components))
      if (kind !== "securitySchemes")
        for (const name of Object.keys(all)) expect(text).toContain(`#/components/${kind}/${name}"`);
  });

  test.each([
    ["format=yaml", "`format` must be `json` or `xml`, not `yaml`"],
    ["format=", "`format` must be `json` or `xml`, not ``"],
    ["openapi=2.0", "`openapi` must be `3.0` or `3.1`, not `2.0`"],
    ["openapi=3.0.3&format=json", "`openapi` must be `3.0` or `3.1`, not `3.0.3`"],
    ["openapi=3.0&openapi=3.1", "`openapi` appears more than once; write one"],
  ])("%s is rejected", async (query, detail) => {
    for (const path of ["/openapi.json", "/openapi.yaml"]) {
      const rejected = await fetch(`${server.url}${path}?${query}`);
      expect([rejected.status, ((await rejected.json()) as { detail: string }).detail]).toEqual([400, detail]);
    }
  });

  test("other parameters are ignored, as are all parameters at other paths", async () => {
    expect((await fetch(`${server.url}/openapi.json?v=3`)).status).toBe(200);
    expect((await fetch(`${server.url}/docs/guide?format=nothing`)).status).toBe(200);
    expect((await fetch(`${server.url}/openapi.toml?format=nothing`)).status).toBe(404);
  });
});

describe("/openapi.json?openapi=3.0", () => {
  const get = (path: string, init: RequestInit = {}) =>
    fetch(server.url + path, { ...init, headers: { "Accept-Encoding": "identity", ...init.headers } });

  test("returns the document in OpenAPI 3.0, even in one format or in YAML; 3.1 is the default", async () => {
    const read = async (path: string) => Bun.YAML.parse(await (await get(path)).text()) as Record<string, object>;
    const [newer, older] = [await read("/openapi.json"), await read("/openapi.json?openapi=3.0")];
    expect([newer.openapi, older.openapi]).toEqual(["3.1.0", "3.0.3"] as never);
    expect(Object.keys(older.paths as object)).toEqual(Object.keys(newer.paths as object));
    expect(Object.keys(older["x-webhooks"] as object)).toEqual(Object.keys(newer.webhooks as object));
    expect(await read("/openapi.yaml?openapi=3.0")).toEqual(older);
    expect(await read("/openapi.json?openapi=3.1")).toEqual(newer);
    const part = await read("/openapi.yaml?format=xml&openapi=3.0");
    expect(part).toEqual(await read("/openapi.json?openapi=3.0&format=xml"));
    expect(Object.keys(part.paths as object)).toEqual(
      Object.keys(newer.paths as object).filter((path) => path.endsWith(".xml")),
    );
    expect(part).not.toHaveProperty("x-webhooks");
  });

  test("has its own ETag, a 304 for clients that have it, and HEAD", async () => {
    const paths = ["", "?openapi=3.0", "?format=json", "?format=json&openapi=3.0"].map(
      (query) => `/openapi.json${query}`,
    );
    const responses = await Promise.all(paths.map((path) => get(path)));
    const tags = responses.map(({ headers }) => headers.get("ETag") as string);
    expect(new Set(tags).size).toBe(paths.length);
    for (const [n, path] of paths.entries()) {
      const tag = tags[n] as string;
      expect((await get(path, { headers: { "If-None-Match": tag } })).status).toBe(304);
      const [head, { headers }] = [await get(path, { method: "HEAD" }), responses[n] as Response];
      for (const name of ["ETag", "Content-Type", "Content-Length", "Cache-Control", "Vary"])
        expect([name, head.headers.get(name)]).toEqual([name, headers.get(name)]);
    }
    expect((await get(paths[0] as string, { headers: { "If-None-Match": tags[1] as string } })).status).toBe(200);
  });
});

describe("highlighted code", () => {
  test.each([
    "sh",
    "json",
    "xml",
    "http",
    "js",
    "python",
    "text",
    "",
    "constructor",
  ])("in %p keeps its text, and contains no HTML of its own", (language) => {
    const hostile = [
      `curl -H "X: $KEY" '<script>' # <b>\n<a b="<i>">&amp;</a><!-- x -->\nHTTP/1.1 200 <OK>\nName: "x" // \`y\``,
      `"unclosed '<img src=x>`,
      `{"a": [1, -2.5e3, true, "<\\"b>"]}`,
      "\u2028\0<>&\"'",
    ];
    for (const text of hostile) {
      const html = highlight(text, language);
      expect(html.replaceAll(/<\/?span(?: class="[csnkuv]")?>/g, "")).toBe(
        Bun.escapeHTML(text).replaceAll("&#x27;", "'"),
      );
    }
  });
});
