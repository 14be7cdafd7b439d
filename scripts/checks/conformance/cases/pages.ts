// Contract section 11: paths without a key; and section 13: nothing of the admin listener.

import { casesOf } from "../case.ts";
import type { Answer } from "../requests.ts";
import type { Shop } from "../shop.ts";
import { readXml } from "../xml.ts";

const { once } = casesOf(11);

export const pageCases = [
  once("`GET /healthz`", "/healthz gets a 200", async (shop) => void (await page(shop, "/healthz"))),
  once("`/readyz`", "/readyz gets a 200", async (shop) => void (await page(shop, "/readyz"))),
  once("`/` |", "/ links to the reference", async (shop) => {
    const answer = await page(shop, "/", /^text\/html/);
    shop.holds(answer, "a link to /docs", /href="[^"]*\/docs["#/]/.test(answer.text));
  }),
  once("`/docs/guide`, `/docs`", "the guide, the reference and the pages about problems exist", async (shop) => {
    for (const path of ["/docs/guide", "/docs", "/docs/problems/not-found", "/docs/problems/gone"])
      await page(shop, path, /^text\/html/);
    shop.status(await shop.call("GET", "/docs/problems/nothing", { key: null }), 404);
  }),
  once("`/docs/<page>.md`, `/llms.txt`", "pages come as Markdown too, with the server's address", async (shop) => {
    const list = await page(shop, "/llms.txt", /^text\//);
    const paths = [...list.text.matchAll(/(?:https?:\/\/[^/\s)]+)?(\/docs\/[\w/-]+\.md)/g)].map(
      ([, path = ""]) => path,
    );
    shop.holds(list, "pages in Markdown", paths.length > 3);
    shop.holds(list, "the address of the server", list.text.includes(new URL(shop.target.url).host));
    for (const path of new Set(paths)) await page(shop, path, /^text\/markdown/);
  }),
  once("`/openapi.json`, `/openapi.yaml`", "OpenAPI comes as 3.1 or 3.0, and for one format", async (shop) => {
    const read = async (query: string) => JSON.parse((await page(shop, `/openapi.json${query}`)).text);
    const whole = await read("");
    const answer = await page(shop, "/openapi.yaml");
    shop.holds(answer, "OpenAPI 3.1 in YAML", /^openapi: ["']?3\.1/m.test(answer.text));
    shop.holds(answer, "3.1 in JSON, with webhooks", /^3\.1/.test(whole.openapi) && "webhooks" in whole);
    shop.holds(answer, "3.0 with ?openapi=3.0", /^3\.0/.test((await read("?openapi=3.0")).openapi));
    for (const format of ["json", "xml"]) {
      const paths = Object.keys((await read(`?format=${format}`)).paths).filter((path) => path.startsWith("/restapi"));
      shop.holds(
        answer,
        `only paths of ${format}`,
        paths.length > 0 && paths.every((path) => path.endsWith(`.${format}`)),
      );
    }
    for (const query of ["openapi=2", "format=csv"])
      shop.problem(await shop.call("GET", `/openapi.json?${query}`, { key: null }), 400);
  }),
  once("`/schemas/...`", "there are schemas for JSON and XML", async (shop) => {
    const { text, ...answer } = await page(shop, "/docs/formats.md");
    const paths = new Set(text.match(/\/schemas\/[\w-]+\.(json|xsd)/g));
    shop.holds({ ...answer, text }, "the paths of schemas in both languages", paths.size > 3);
    for (const path of paths) {
      const schema = await page(shop, path);
      if (path.endsWith(".json")) JSON.parse(schema.text);
      else shop.holds(schema, "an XML schema", /<(\w+:)?schema\b/.test(schema.text));
    }
  }),
  once("`/docs/client-<version>.tgz`", "another client version gets a 404 that names the right one", async (shop) => {
    const { detail } = shop.problem(
      await shop.call("GET", "/docs/client-0.0.0-none.tgz", { key: null }),
      404,
      /client-/,
    );
    const path = /\/docs\/client-[\w.+-]+?\.tgz/.exec(detail)?.[0] ?? "";
    const [one, other] = [await page(shop, path), await page(shop, path)];
    shop.same(other, "the number of bytes", other.length, one.length);
  }),
  once(
    "`/docs/client.tgz`",
    "client.tgz is the same client",
    async (shop) => void (await page(shop, "/docs/client.tgz")),
  ),
  once("`/docs/postman.json`", "the requests for tools have the server's address", async (shop) => {
    for (const path of ["/docs/postman.json", "/docs/storefront.http", "/docs/storefront-jetbrains.http"]) {
      const answer = await page(shop, path);
      shop.holds(answer, "the address of the server", answer.text.includes(new URL(shop.target.url).host));
    }
  }),
  once("`/docs/examples/...`", "the reference links to examples", async (shop) => {
    const reference = await page(shop, "/openapi.json");
    const [path] = /\/docs\/examples\/[\w./-]+/.exec(reference.text) ?? [];
    if (path) await page(shop, path);
  }),
  once("These are the same on every server", "no page loads anything from another host", async (shop) => {
    for (const path of ["/", "/docs", "/docs/guide"]) {
      const { text, ...answer } = await page(shop, path, /^text\/html/);
      const loaded = text.match(
        /<(?:script|img|iframe|link rel="(?:stylesheet|icon)")[^>]*(?:src|href)="(?:https?:)?\/\/[^"]*"/g,
      );
      shop.same({ ...answer, text }, "what is loaded from another host", loaded, null);
    }
  }),
  casesOf(13).once("A second address", "the public port serves none of it", async (shop) => {
    for (const path of [
      "/metrics",
      "/console/main-new.js",
      "/operator",
      "/operator/session",
      "/console.js.LICENSE.txt",
    ])
      shop.status(await shop.call("GET", path), 404);
    shop.status(await shop.call("POST", "/operator/session", { body: "{}" }), 404, 405);
  }),
];

async function page(shop: Shop, path: string, type: RegExp = /./): Promise<Answer> {
  const answer = await shop.call("GET", path, { key: null });
  shop.status(answer, 200);
  shop.header(answer, "Content-Type", type);
  if (path.endsWith(".xml")) readXml(answer.text);
  return answer;
}
