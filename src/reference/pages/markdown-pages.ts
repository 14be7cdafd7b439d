// The guide as Markdown, at its pages' paths with `.md`, and `/llms.txt`, which lists them (llmstxt.org). They're for programs that read text, such as agents,
// so all links are absolute.

import { statusOf } from "../../formats/format.ts";
import { once } from "../../lib/concurrency.ts";
import type { ErrorCode } from "../../model/errors.ts";
import { formatResourceList, type Resource } from "../../model/resource.ts";
import { type ClientPackage, withClientVersion } from "../client-package.ts";
import { chapters, type GuidePage, guide, guidePages, manual, operatorPages, problemPages, titleOf } from "./guide.ts";
import { addressPlaceholder as address } from "./layout.ts";
import { asServed, exampleAddress, toPath } from "./markdown.ts";

const markdownPaths: ReadonlySet<string> = new Set(guidePages.map(({ path }) => path));

/**
 * Returns the pages as Markdown, by path.
 * @param isServed whether this server has a path under /docs. Links to other files of the repository become plain text
 * @param client its version is in the pages; undefined if it was not built
 */
export function markdownPages(
  isServed: (path: string) => boolean,
  client: ClientPackage | undefined,
): Map<string, string> {
  return new Map(guidePages.map((page) => [`${page.path}.md`, withClientVersion(toMarkdown(page, isServed), client)]));
}

/** Code (a fenced block, an indented line, a span), or a link with its text and target. */
const codeOrLink = /^```[\s\S]*?^```|^ {4}.*$|`[^`\n]*`|\[((?:[^[\]`]|`[^`\n]*`)*)\]\(([^()\s]+)\)/gm;

function toMarkdown({ text, folder }: GuidePage, isServed: (path: string) => boolean): string {
  return asServed(text).replaceAll(codeOrLink, (whole, label?: string, target?: string) => {
    if (label === undefined || target === undefined) return whole.replaceAll(exampleAddress, address);
    const path = toPath(target, folder);
    if (!path.startsWith("/")) return whole;
    if (path.startsWith("/docs/") && !isServed(path.replace(/#.*/, ""))) return label;
    return `[${label}](${address}${toMarkdownPath(path)})`;
  });
}

/** Leaves other paths unchanged. */
function toMarkdownPath(path: string): string {
  const [page = "", anchor] = path.split("#");
  if (!markdownPaths.has(page)) return path;
  return `${page}.md${anchor === undefined ? "" : `#${anchor}`}`;
}

/** Returns `/llms.txt`. @param resources the resources with public endpoints @param contact the operator's URL */
export function llmsText(resources: readonly Resource[], contact: string | undefined): string {
  const schemas = resources.map(({ name, plural }) => entry(`JSON Schema of ${plural}`, `/schemas/${name}.json`, ""));
  const sections: readonly (readonly [title: string, entries: readonly string[]])[] = [
    ["Guide", chapters.map(pageEntry)],
    ["Machine-readable", [...documents, ...schemas]],
    ["Errors", problemPages.map(problemEntry)],
    ["Optional", operatorPages.map(pageEntry)],
  ];
  const lists = sections.map(([title, entries]) => `## ${title}\n\n${entries.join("\n")}\n`);
  return `${introduction(resources, contact)}\n${lists.join("\n")}`;
}

/** Returns `/llms-full.txt`: the guide and the pages about problems. @param pages the pages as Markdown, by path */
export function llmsFullText(
  resources: readonly Resource[],
  contact: string | undefined,
  pages: ReadonlyMap<string, string>,
): string {
  const all = [...chapters, ...problemPages].map(({ path }) => pages.get(`${path}.md`));
  return [introduction(resources, contact), ...all].join("\n");
}

function introduction(resources: readonly Resource[], contact: string | undefined): string {
  return `# Storefront

> A REST interface to ${formatResourceList(resources)} of online shops, in JSON and XML, with an API key per site. This server is at ${address}.

- Send the API key in the header \`X-API-AUTH\` with every request. Keys come from the site's operator${contact ? `: ${contact}` : ""}.
- Try writes with a sandbox key, which starts with \`sfk_test_\`. It only changes a copy of the records, and every response has the header \`X-Sandbox\`.
- Add \`dryRun=1\` to a write to get its response, with the header \`X-Dry-Run\`, without storing anything.
- Agents can use five Model Context Protocol tools at ${address}/mcp, with the same keys, unless the operator has turned that off.
- The path's suffix (\`.json\` or \`.xml\`) selects the format.
- Pages at \`/docs\` are Markdown with \`.md\`, and HTML without. ${address}/llms.txt lists them, and ${address}/llms-full.txt has those for integrators in one file. The optional ones are for people who run a server.
`;
}

const documents: readonly string[] = [
  entry("OpenAPI 3.1", "/openapi.json", "Every operation with its parameters, bodies and errors"),
  entry("OpenAPI 3.0", "/openapi.json?openapi=3.0", "The same, for tools that don't support 3.1"),
  entry("OpenAPI 3.1, JSON only", "/openapi.json?format=json", "The same, without the XML operations"),
  entry("XML Schema", "/schemas/storefront.xsd", "Records, lists, changes and batch requests in XML"),
  entry("JSON Schema of your key", "/schemas/key.json", "What your API key is for, and what it may do"),
  entry("JSON Schema of changes", "/schemas/changes.json", "A page of the feed of changes"),
  entry("JSON Schema of batch requests", "/schemas/batch.json", "Batch requests, undo, and their responses"),
];

function entry(title: string, path: string, description: string): string {
  return `- [${title}](${address}${path})${description && `: ${description}`}`;
}

function pageEntry({ path, text }: GuidePage): string {
  return entry(titleOf(text), `${path}.md`, descriptions().get(path) ?? firstSentence(text));
}

function problemEntry({ path, text }: GuidePage): string {
  const code = path.replace(/.*\//, "") as ErrorCode;
  return entry(code, `${path}.md`, `${statusOf(code)}, ${titleOf(text)}`);
}

/** The descriptions of pages, which are the other cell of their row in the tables of the guide and the manual. */
const descriptions = once(() => {
  const rows = `${guide.guide}\n${manual.operating}`.matchAll(/^\| (.+) \| (.+) \|$/gm);
  return new Map(
    [...rows].flatMap(([, first = "", second = ""]): [string, string][] => {
      const [cell, other] = /^\[/.test(first) ? [first, second] : [second, first];
      const target = /^\[[^\]]*\]\(([^()\s]+)\)$/.exec(cell)?.[1];
      return target === undefined ? [] : [[toPath(target, ""), other.charAt(0).toUpperCase() + other.slice(1)]];
    }),
  );
});

/** Returns a page's first sentence, without links and full stop. */
function firstSentence(text: string): string {
  const [, paragraph = ""] = /^(?![#|>\s-]|```)(.+(?:\n.+)*)/m.exec(text) ?? [];
  const [sentence = ""] = paragraph.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").split(/[.:](?:\s|$)/);
  return sentence.replaceAll("\n", " ");
}
