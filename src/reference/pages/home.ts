import { escapeHtml } from "../../lib/text.ts";
import { basePath, formatResourceList, publicResources, type Resource } from "../../model/resource.ts";
import { toPage } from "./layout.ts";
import { codeBlock } from "./markdown.ts";

const cards = [
  ["/docs/getting-started", "Getting started", "Make your first call, then create, update and delete a record."],
  ["/docs", "Reference", "Every operation, its parameters and responses, and a form to try it."],
  ["/docs/clients", "Clients", "The client for JavaScript and TypeScript, and what works with other languages."],
  ["/docs/errors", "Errors", "What an error response contains, and what to do about each."],
] as const;

/**
 * Returns the page at `/`.
 * @param address the URL of the server, such as `https://shop.example`
 * @param clientPath the path of the package of the client
 */
export function homePage(resources: readonly Resource[], address: string, clientPath: string): string {
  const served = publicResources(resources);
  const first = served[0]?.path;
  const items = served.map(
    ({ path, description }) =>
      `<li><b>${basePath}${path}.json</b> <span class="quiet">or .xml</span><p>${escapeHtml(description)}</p></li>`,
  );
  const content = `<h1>Storefront</h1>
<p class="lead">This is a Storefront server: ${formatResourceList(served)} of online shops, in JSON and XML, with an API key per site.</p>
<ul class="cards">${cards.map(([path, title, text]) => `<li><a href="${path}"><strong>${title}</strong>${text}</a></li>`).join("")}</ul>
<h2>Make a call</h2>
<p>Send your API key with every request:</p>
${codeBlock({ text: `curl -H "X-API-AUTH: $KEY" ${address}${basePath}${first}.json`, language: "sh", address })}
<ul class="fields">${items.join("")}<li><b>${basePath}changes.json</b> <span class="quiet">or .xml</span><p>What changed, page by page.</p></li><li><b>${basePath}batch.json</b> <span class="quiet">or .xml</span><p>Thousands of writes in one request, and with <code>undo.json</code> taken back.</p></li></ul>
<h2>For programs</h2>
<ul>
<li><a href="/openapi.json">OpenAPI</a>, also <a href="/openapi.json?format=json">without the XML operations</a> or <a href="/openapi.json?openapi=3.0">in OpenAPI 3.0</a></li>
<li>JSON Schemas of ${served.map(({ name, plural }) => `<a href="/schemas/${name}.json">${plural}</a>`).join(", ")}, <a href="/schemas/changes.json">changes</a> and <a href="/schemas/batch.json">batch requests</a>, and an <a href="/schemas/storefront.xsd">XML Schema</a></li>
<li>Requests for <a href="/docs/postman.json">Postman</a>, for <a href="/docs/storefront.http">VS Code and Visual Studio</a> and for <a href="/docs/storefront-jetbrains.http">JetBrains</a></li>
<li><a href="/llms.txt">A list of all pages as Markdown</a>, for agents</li>
<li><a href="${clientPath}">The JavaScript client</a> as an npm package</li>
<li><a href="/healthz">Health</a> and <a href="/readyz">readiness</a></li>
</ul>`;
  return toPage({ title: "Storefront", content, path: "/" });
}

/** A problem document (RFC 9457) without its field errors. */
interface ShownProblem {
  readonly status: number;
  readonly title: string;
  /** Text, with paths and names between backticks. */
  readonly detail: string;
  /** The ID of the request. */
  readonly instance: string;
  /** The page about this kind of problem. */
  readonly type: string;
}

/** Returns a problem as a page for a person, for example when a browser requests a page that does not exist. */
export function problemPage({ status, title, detail, instance, type }: ShownProblem): string {
  const sentence = escapeHtml(detail.charAt(0).toUpperCase() + detail.slice(1)).replaceAll(
    /`([^`]*)`/g,
    "<code>$1</code>",
  );
  const content = `<h1>${escapeHtml(title)}</h1>
<p>${sentence}</p>
<p>Go to the <a href="/">start page</a>, the <a href="/docs/guide">guide</a> or the <a href="/docs">reference</a>.</p>
<p>Status <strong>${status}</strong>, <a href="${type}">about this kind of problem</a>. The ID of the request is <code>${escapeHtml(instance)}</code>.</p>`;
  return toPage({ title, content });
}
