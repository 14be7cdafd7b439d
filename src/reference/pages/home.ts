import { type Resource, servedOf } from "../../model/resource.ts";
import { links } from "./render.ts";
import { escapeHtml, toExample, toPage } from "./shell.ts";

/** The page at `/`: what this is and where to go on. @param address the server's, such as `https://shop.example` */
export function homePage(resources: readonly Resource[], address: string): string {
  const served = servedOf(resources);
  const items = served.map(
    ({ path, description }) =>
      `<dt><code>/restapi/${path}.json</code> <code>/restapi/${path}.xml</code></dt><dd>${escapeHtml(description)}</dd>`,
  );
  const content = `<h1>Storefront</h1>
<p>This is a Storefront server: brands, order statuses and store locations of online shops, in JSON and XML, behind a key per website.</p>
<dl>${items.join("")}</dl>
<p>Send your API key with every request:</p>
${toExample(`curl -H "X-API-AUTH: $KEY" ${address}/restapi/brands.json`, address)}
<p>Begin with <a href="/docs/getting-started">getting started</a>, or try every operation in the <a href="/docs">reference</a>.</p>
<p>For programs: <a href="/openapi.json">OpenAPI</a>, JSON Schemas of ${served
    .map(({ name, plural }) => `<a href="/schemas/${name}.json">${plural}</a>`)
    .join(", ")}, <a href="/schemas/storefront.xsd">XML Schema</a>,
<a href="/healthz">health</a>, <a href="/readyz">readiness</a>, <a href="/metrics">metrics</a>.</p>`;
  return toPage("Storefront", content, links, "/");
}
