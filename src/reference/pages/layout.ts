// What all documentation pages share: head, header, list of pages, contents.

import { escapeHtml } from "../../lib/text.ts";
import keyText from "../assets/key.js" with { type: "text" };
import pageStyle from "../assets/page.css" with { type: "text" };
import pageScript from "../assets/page.js" with { type: "text" };
import tryScript from "../assets/try.js" with { type: "text" };

export const htmlType = "text/html; charset=utf-8";

/** Stands for the server's URL until a file is sent. */
export const addressPlaceholder = "\0";

const policies = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "img-src": "data:",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
};

/** For pages, which can only load their style and scripts. */
export const pagePolicy = toPolicy(policies);

/** For pages with forms, whose scripts can also send requests to this server. */
export const formsPolicy = toPolicy({ ...policies, "connect-src": "'self'" });

export interface Link {
  readonly path: string;
  /** As HTML. */
  readonly title: string;
}

export interface LinkGroup {
  readonly title: string;
  readonly links: readonly Link[];
}

interface PageContent {
  readonly title: string;
  /** Trusted HTML. */
  readonly content: string;
  /** Marked as the current page in lists. */
  readonly path?: string;
  /** The path of its section in the header. */
  readonly section?: string;
  /** The list of pages at the side. */
  readonly side?: readonly LinkGroup[];
  /** Links to the page's headings. */
  readonly contents?: readonly Link[];
  /** The path of the same page as Markdown. */
  readonly markdown?: string;
  /** In addition to the script every page has. */
  readonly extraScripts?: readonly string[];
}

const sections: readonly Link[] = [
  { path: "/docs/guide", title: "Guide" },
  { path: "/docs", title: "Reference" },
  { path: "/docs/problems", title: "Errors" },
];

/** Returns a whole page as HTML. */
export function toPage({ title, content, path, section, side, contents, markdown, extraScripts }: PageContent): string {
  const fullTitle = title === "Storefront" ? title : `${title} · Storefront`;
  const scripts = [script.path, ...(extraScripts ?? [])];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escapeHtml(fullTitle)}</title>
<link rel="stylesheet" href="${style.path}">
${markdown ? `<link rel="alternate" type="text/markdown" href="${markdown}">\n` : ""}${scripts.map((source) => `<script src="${source}"></script>`).join("\n")}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><a class="brand" href="/"><span>Storefront</span></a><nav aria-label="Sections">${sections.map((link) => linkTo(link, section)).join("")}</nav>${side ? '<button type="button" class="menu" popovertarget="side">Menu</button>' : ""}</header>
<div class="columns">
${side ? sideList(side, path) : ""}<main id="content">
${content}
</main>
${contents && contents.length > 1 ? contentsOf(contents) : ""}</div>
</body>
</html>
`;
}

function sideList(groups: readonly LinkGroup[], path: string | undefined): string {
  const lists = groups.map(({ title, links }) => `<p>${escapeHtml(title)}</p>\n${listOfLinks(links, path)}`);
  return `<nav class="side" id="side" popover aria-label="Pages">\n${lists.join("\n")}\n</nav>\n`;
}

function contentsOf(links: readonly Link[]): string {
  return `<nav class="toc" aria-label="On this page"><p>On this page</p>${listOfLinks(links)}</nav>\n`;
}

function listOfLinks(links: readonly Link[], current?: string): string {
  return `<ul>${links.map((link) => `<li>${linkTo(link, current)}</li>`).join("\n")}</ul>`;
}

function linkTo({ path, title }: Link, current: string | undefined): string {
  return `<a href="${path}"${path === current ? ' aria-current="page"' : ""}>${title}</a>`;
}

function toPolicy(directives: Readonly<Record<string, string>>): string {
  return Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join("; ");
}

// The pages' style and scripts. Their paths contain a digest of the content, so that caches don't have to revalidate them.

interface Asset {
  readonly path: string;
  /** `Content-Type`. */
  readonly type: string;
  readonly content: string;
}

const javascript = "text/javascript; charset=utf-8";

const style = toAsset("page", "css", "text/css; charset=utf-8", pageStyle);
const script = toAsset("page", "js", javascript, pageScript);
/** The field for the API key. */
export const keyScript = toAsset("key", "js", javascript, keyText);
/** The forms of the reference. */
export const forms = toAsset("try", "js", javascript, tryScript);

export const assets: readonly Asset[] = [style, script, keyScript, forms];

function toAsset(name: string, extension: string, type: string, content: string): Asset {
  const digest = Bun.SHA256.hash(content, "hex").slice(0, 12);
  return { path: `/docs/assets/${name}-${digest}.${extension}`, type, content };
}

/** Returns the ID of a heading with this text. */
export function toAnchor(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}
