// The guide as HTML, from the Markdown files of docs/.

import { Marked } from "marked";
import { codeBlock, type Link, toPage } from "./layout.ts";
import { guide, problems } from "./sources.ts";

const marked = new Marked({
  walkTokens(token) {
    if (token.type === "link") token.href = toPath(token.href);
  },
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${toAnchor(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    code({ text, lang }) {
      return codeBlock(text, undefined, lang?.split(" ", 1)[0]);
    },
    // An empty header cell is a data cell, so that a screen reader does not announce an empty header.
    tablecell({ tokens, header }) {
      const tag = header && tokens.length > 0 ? "th" : "td";
      return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>\n`;
    },
  },
  hooks: {
    postprocess: (html) =>
      html
        .replaceAll("<table>", '<div class="table" tabindex="0" role="group" aria-label="Table"><table>')
        .replaceAll("</table>", "</table></div>"),
  },
});

/** The navigation of every page. */
export const links: readonly Link[] = [
  ...Object.entries(guide).map(([name, text]) => ({ path: `/docs/${name}`, title: titleOf(text) })),
  { path: "/docs", title: "Reference" },
];

/** The pages of the guide, by path, each with the function that renders it. */
export function renderPages(): Map<string, () => string> {
  const pages = new Map<string, () => string>();
  for (const [name, text] of Object.entries(guide)) pages.set(`/docs/${name}`, () => render(text, `/docs/${name}`));
  for (const [code, text] of Object.entries(problems)) pages.set(`/docs/problems/${code}`, () => render(text, ""));
  pages.set("/docs/problems", () => render(guide.errors, "/docs/errors"));
  return pages;
}

function render(text: string, path: string): string {
  return toPage(`${titleOf(text)} · Storefront`, marked.parse(text, { async: false }), links, path);
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? "";
}

/** The path on the server for a link in the repository: `/docs/formats#xml` for `../formats.md#xml`. */
function toPath(href: string): string {
  if (/^(?:[a-z]+:|\/|#)/.test(href)) return href;
  return `/docs/${href.replace(/^(?:\.\.?\/)+/, "").replace(/\.md(?=#|$)/, "")}`;
}

function toAnchor(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}
