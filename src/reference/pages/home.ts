import { listOf, type Resource, servedOf } from "../../model/resource.ts";
import { links } from "./guide.ts";
import { codeBlock, escapeHtml, toPage } from "./layout.ts";

/** The page at `/`. @param address the URL of the server, such as `https://shop.example` */
export function homePage(resources: readonly Resource[], address: string): string {
  const served = servedOf(resources);
  const items = served.map(
    ({ path, description }) =>
      `<dt><code>/restapi/${path}.json</code> <code>/restapi/${path}.xml</code></dt><dd>${escapeHtml(description)}</dd>`,
  );
  const content = `<h1>Storefront</h1>
<p>This is a Storefront server: ${listOf(served)} of online shops, in JSON and XML, with an API key per website.</p>
<dl>${items.join("")}</dl>
<p>Send your API key with every request:</p>
${codeBlock(`curl -H "X-API-AUTH: $KEY" ${address}/restapi/brands.json`, address)}
<p>Start with <a href="/docs/getting-started">getting started</a>, or try every operation in the <a href="/docs">reference</a>.</p>
<p>For programs: <a href="/openapi.json">OpenAPI</a>, JSON Schemas of ${served
    .map(({ name, plural }) => `<a href="/schemas/${name}.json">${plural}</a>`)
    .join(", ")}, <a href="/schemas/storefront.xsd">XML Schema</a>,
<a href="/healthz">health</a>, <a href="/readyz">readiness</a>.</p>`;
  return toPage("Storefront", content, links, "/");
}
