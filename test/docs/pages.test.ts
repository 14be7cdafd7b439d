import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { guide, problems } from "../../src/docs/sources.ts";
import { statusOf } from "../../src/http/status.ts";
import { type Code, refusals } from "../../src/model/errors.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const paths = [
  "/",
  "/docs",
  "/docs/problems",
  ...Object.keys(guide).map((name) => `/docs/${name}`),
  ...Object.keys(problems).map((code) => `/docs/problems/${code}`),
];

describe("a page", () => {
  for (const path of paths) {
    test(`${path} is served, allows no other host, and has no dead link`, async () => {
      const answer = await server.call("GET", path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
      expect(answer.headers.get("Content-Security-Policy")).toMatch(/^default-src '(?:none|self)'; script-src 'self';/);
      const links = [...answer.text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link as string);
      const foreign = links.filter(
        (link) => /^(?:https?:)?\/\//.test(link) && !link.startsWith("http://127.0.0.1:8080"),
      );
      expect(foreign).toEqual([]);
      const own = new Set(links.filter((link) => link.startsWith("/")).map((link) => link.split("#")[0] as string));
      for (const link of own)
        expect([link, (await fetch(server.url + link, { method: "HEAD" })).status]).toEqual([link, 200]);
    });
  }

  test("about a problem has its title and its status", () => {
    for (const code of Object.keys(refusals) as Code[]) {
      const start = `# ${refusals[code]}\n\nStatus **${statusOf(code)}**, type \`/docs/problems/${code}\`.\n`;
      expect(problems[code].slice(0, start.length)).toBe(start);
    }
  });

  test("about errors lists every problem with its status", () => {
    for (const code of Object.keys(refusals) as Code[]) {
      expect(guide.errors).toContain(`| ${statusOf(code)} | [${code}](problems/${code}.md) |`);
    }
  });

  test("cannot be written", async () => {
    const answer = await server.call("POST", "/docs/guide");
    expect([answer.status, answer.headers.get("Allow")]).toEqual([405, "GET, HEAD"]);
  });
});

test("Scalar's program may be kept, since its path names its version, and comes compressed to those who accept it", async () => {
  const start = (await server.call("GET", "/docs")).text;
  const path = /\/docs\/assets\/scalar-[0-9.]+\.js/.exec(start)?.[0] as string;
  const zipped = await fetch(server.url + path, { headers: { "Accept-Encoding": "gzip" }, decompress: false });
  expect(zipped.headers.get("Cache-Control")).toBe("public, max-age=31536000, immutable");
  expect(zipped.headers.get("Content-Encoding")).toBe("gzip");
  const plain = await fetch(server.url + path, { headers: { "Accept-Encoding": "identity" } });
  expect(plain.headers.get("Content-Encoding")).toBeNull();
  expect(Bun.gunzipSync(await zipped.arrayBuffer())).toEqual(new Uint8Array(await plain.arrayBuffer()));
});
