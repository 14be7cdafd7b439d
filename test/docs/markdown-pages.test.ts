// The pages as Markdown, and `/llms.txt`, which lists them.

import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as limits from "../../src/model/limits.ts";
import { guide, problems } from "../../src/reference/pages/guide.ts";
import { pagePaths } from "../support/http/page-paths.ts";
import { startTestServer } from "../support/http/server.ts";

const markdownPaths = pagePaths.filter((path) => path !== "/" && path !== "/docs").map((path) => `${path}.md`);

const server = await startTestServer();
afterAll(() => server.stop());

const fenced = /^```[^\n]*\n[\s\S]*?^```$/gm;

/** The targets of all links in a Markdown text, except in code. */
function linksOf(text: string): string[] {
  const prose = text.replaceAll(fenced, "").replaceAll(/`[^`\n]*`/g, "code");
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = ""]) => target);
}

const checked = new Map<string, number>();

/** A URL's status, which is requested only once. */
async function statusOf(url: string): Promise<number> {
  const known = checked.get(url) ?? (await fetch(url, { method: "HEAD" })).status;
  checked.set(url, known);
  return known;
}

test.each(markdownPaths)("%s is Markdown, can be revalidated, and its links all work", async (path) => {
  const response = await server.call("GET", path);
  expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "text/markdown; charset=utf-8"]);
  expect(response.headers.get("Cache-Control")).toBe("public, no-cache");
  expect(response.text).toMatch(/^# .+\n/);
  const etag = response.headers.get("ETag") as string;
  expect((await server.call("GET", path, { headers: { "If-None-Match": etag } })).status).toBe(304);
  const head = await server.call("HEAD", path);
  expect([head.status, head.headers.get("ETag"), head.text]).toEqual([200, etag, ""]);

  const own = linksOf(response.text).filter((link) => !link.startsWith("#"));
  expect(own.filter((link) => !/^https?:/.test(link))).toEqual([]);
  for (const link of own.filter((each) => each.startsWith(server.url))) {
    expect([link, await statusOf(link.replace(/#.*/, ""))]).toEqual([link, 200]);
    if (pagePaths.includes(new URL(link).pathname)) expect(["/", "/docs"]).toContain(new URL(link).pathname);
  }
  const html = (await server.call("GET", path.replace(/\.md$/, ""))).text;
  expect(html).toContain(`<link rel="alternate" type="text/markdown" href="${path}">`);
});

test("code on a page is the file's, with the server's URL", async () => {
  for (const [name, text] of Object.entries(guide)) {
    const source = text.replaceAll("http://127.0.0.1:8080", server.url).match(fenced);
    const served = (await server.call("GET", `/docs/${name}.md`)).text;
    expect(served.replaceAll(/client-\d[\w.-]*\.tgz/g, "client-<version>.tgz").match(fenced)).toEqual(source);
  }
  const text = (await server.call("GET", "/docs/getting-started.md")).text;
  expect(text).toContain("The server listens on http://127.0.0.1:8080 and prints a key.");
});

test("a link to a file that servers don't have becomes text", async () => {
  expect(readFileSync(join(import.meta.dir, "../../docs/deploying.md"), "utf8")).toContain("](../deploy/nginx.conf)");
  expect((await server.call("GET", "/docs/deploying.md")).text).toContain("| nginx.conf, Caddyfile |");
});

test("/llms.txt has a title, a summary, and lists of links, each with a line about it", async () => {
  const response = await server.call("GET", "/llms.txt");
  expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "text/plain; charset=utf-8"]);
  expect((await server.call("HEAD", "/llms.txt")).status).toBe(200);
  const [start = "", ...sections] = response.text.split(/^## /m);
  expect(start).toMatch(/^# Storefront\n\n> .+\n\n(?:- .+\n)+\n$/);
  expect(sections.map((section) => section.split("\n")[0])).toEqual([
    "Guide",
    "Machine-readable",
    "Errors",
    "Optional",
  ]);
  const entries = sections.flatMap((section) => section.trim().split("\n").slice(2));
  const links = entries.map((entry) => /^- \[[^\]]+\]\(([^()\s]+)\)(?:: \S.*)?$/.exec(entry)?.[1] ?? entry);
  for (const link of links) expect([link, await statusOf(link)]).toEqual([link, 200]);
  const listed = markdownPaths.filter((path) => path !== "/docs/problems.md").map((path) => server.url + path);
  expect(links.filter((link) => link.endsWith(".md")).sort()).toEqual(listed.sort());
  expect(entries.filter((entry) => entry.includes(".md)") && !entry.includes(".md): "))).toEqual([]);
});

test("/llms-full.txt has every page for integrators, and none for operators", async () => {
  const { text } = await server.call("GET", "/llms-full.txt");
  const titles = new Set(text.replaceAll(fenced, "").match(/^# .+/gm));
  for (const page of [...Object.values(guide), ...Object.values(problems)])
    expect(titles).toContain(/^# .+/.exec(page)?.[0] as string);
  expect(titles).not.toContain("# Scaling");
  expect(text).toContain(`${server.url}/docs/guide.md`);
});

test("/docs/changelog has just the lines about the interface, and operators have all", async () => {
  const { text } = await server.call("GET", "/docs/changelog.md");
  const all = (await server.call("GET", "/docs/operating/changelog.md")).text;
  const linesOf = (page: string) => page.match(/^- \*\*.+/gm) ?? [];
  expect(linesOf(all)).toEqual(expect.arrayContaining(linesOf(text)));
  expect(linesOf(text).some((line) => line.startsWith("- **Batch requests"))).toBe(true);
  expect(linesOf(text).some((line) => line.startsWith("- **The console"))).toBe(false);
});

test("the page about limits has the server's numbers", () => {
  const { idempotencyLifetimeMs, maxBatchBytes, maxTimeMs: _, ...counts } = limits;
  const numbers = [...Object.values(counts), maxBatchBytes >> 20, idempotencyLifetimeMs / 3_600_000];
  for (const number of numbers) {
    const written = [String(number), number.toLocaleString("en-GB")].join("|");
    expect([number, new RegExp(`\\b(?:${written})\\b`).test(guide.limits)]).toEqual([number, true]);
  }
});

test("behind a proxy, links have the proxy's address", async () => {
  const headers = { Host: "shop.example", "X-Forwarded-Proto": "https" };
  for (const path of ["/llms.txt", "/docs/guide.md"]) {
    const { text } = await server.call("GET", path, { headers });
    expect(text).toContain("](https://shop.example/docs/authentication.md)");
    expect(text).not.toContain(server.url);
  }
});
