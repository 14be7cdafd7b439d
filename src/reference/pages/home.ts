import { escapeHtml } from "../../lib/text.ts";
import {
  basePath,
  formatResourceList,
  publicResources,
  type Resource,
  writtenResources,
} from "../../model/resource.ts";
import { toPage } from "./layout.ts";
import { codeBlock } from "./markdown.ts";

const cards = [
  ["/docs/getting-started", "Getting started", "Make your first request, then create, update and delete a record."],
  ["/docs", "Reference", "Every operation with its parameters and responses, and a form to try it."],
  ["/docs/clients", "Clients", "The JavaScript and TypeScript client, and what to use in other languages."],
  ["/docs/errors", "Errors", "What error responses look like, and what to do about each."],
] as const;

/**
 * The page at `/`.
 * @param address the server's URL, such as `https://shop.example`
 * @param clientPath the path of the client's package
 * @param contact the operator's `mailto:` or `https:` URL
 */
export function homePage(
  resources: readonly Resource[],
  address: string,
  clientPath: string,
  contact: string | undefined,
): string {
  const served = publicResources(resources);
  const [written, read] = [writtenResources(served), served.filter(({ access }) => access === "read")];
  const first = served[0]?.path;
  const items = served.map(
    ({ path, description }) =>
      `<li><b>${basePath}${path}.json</b> <span class="quiet">or .xml</span><p>${escapeHtml(description)}</p></li>`,
  );
  const content = `<h1>Storefront</h1>
<p class="lead">Manage a site’s ${formatResourceList(written)}${read.length > 0 ? `, and read its ${formatResourceList(read)},` : ""} over REST, in JSON or XML.</p>
<ul class="cards">${cards.map(([path, title, text]) => `<li><a href="${path}"><strong>${title}</strong>${text}</a></li>`).join("")}</ul>
<h2>Make a request</h2>
<p>Send your API key with every request:</p>
${codeBlock({ text: `curl -H "X-API-AUTH: $KEY" ${address}${basePath}${first}.json`, language: "sh", address })}
<ul class="fields">${items.join("")}<li><b>${basePath}changes.json</b> <span class="quiet">or .xml</span><p>Everything that has changed, page by page.</p></li><li><b>${basePath}batch.json</b> <span class="quiet">or .xml</span><p>Thousands of writes in one request. Reverse them with <code>undo.json</code>.</p></li></ul>
<h2>Machine-readable</h2>
<ul>
<li>OpenAPI <a href="/openapi.json">3.1</a>, <a href="/openapi.json?openapi=3.0">3.0</a>, or <a href="/openapi.json?format=json">3.1 without the XML operations</a></li>
<li>JSON Schemas for ${served.map(({ name, plural }) => `<a href="/schemas/${name}.json">${plural}</a>`).join(", ")}, <a href="/schemas/changes.json">changes</a> and <a href="/schemas/batch.json">batch requests</a>; an <a href="/schemas/storefront.xsd">XML Schema</a></li>
<li>Ready-made requests for <a href="/docs/postman.json">Postman</a>, <a href="/docs/storefront.http">VS Code and Visual Studio</a>, and <a href="/docs/storefront-jetbrains.http">JetBrains IDEs</a></li>
<li>For agents: <a href="/llms.txt">a list of all pages as Markdown</a>, or <a href="/llms-full.txt">all in one file</a></li>
<li><a href="${clientPath}">The JavaScript client</a> as an npm package</li>
<li><a href="/healthz">Health</a> and <a href="/readyz">readiness</a></li>
</ul>`;
  const help = contact
    ? `\n<h2>Help</h2>\n<p>To get a key, or if something doesn’t work, <a href="${escapeHtml(contact)}">contact the operator</a>.</p>`
    : "";
  return toPage({ title: "Storefront", content: content + help, path: "/" });
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

/** A problem as a page, for example when a browser requests one that doesn't exist. */
export function problemPage({ status, title, detail, instance, type }: ShownProblem): string {
  const sentence = escapeHtml(detail.charAt(0).toUpperCase() + detail.slice(1)).replaceAll(
    /`([^`]*)`/g,
    "<code>$1</code>",
  );
  const content = `<h1>${escapeHtml(title)}</h1>
<p>${sentence}${/[.?]$/.test(sentence) ? "" : "."}</p>
<p>Go to the <a href="/">start page</a>, the <a href="/docs/guide">guide</a> or the <a href="/docs">reference</a>.</p>
<p>Status <strong>${status}</strong> (<a href="${type}">what this means</a>). Request ID: <code>${escapeHtml(instance)}</code>.</p>`;
  return toPage({ title, content });
}
