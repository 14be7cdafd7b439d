// The guide as HTML, from the Markdown files of docs/.

import type { Steps } from "../../lib/slices.ts";
import type { Code } from "../../model/errors.ts";
import { escapeHtml } from "./html.ts";
import { type Link, type LinkGroup, toPage } from "./layout.ts";
import { renderMarkdown } from "./markdown.ts";
import { guide, manual, others, problems } from "./sources.ts";

interface GuidePage {
  readonly path: string;
  readonly text: string;
  /** The folder of the text within docs/, which its links are relative to. */
  readonly folder: string;
  readonly section: string;
}

/** The pages of the guide in reading order. */
const chapters: readonly GuidePage[] = [...Object.entries(guide).map(toChapter), otherPage("examples")];

const operatorPages: readonly GuidePage[] = [...Object.entries(manual).map(toChapter), otherPage("changelog")];

const problemPages: readonly GuidePage[] = (Object.keys(problems) as Code[]).map((code) => ({
  path: `/docs/problems/${code}`,
  text: problems[code],
  folder: "problems/",
  section: "/docs/problems",
}));

const guideLists: readonly LinkGroup[] = [
  { title: "Guide", links: chapters.map(toLink) },
  { title: "For operators", links: operatorPages.map(toLink) },
];

const problemLists: readonly LinkGroup[] = [{ title: "Errors", links: problemPages.map(toLink) }];

/**
 * The pages of the guide, by path, each with the function that renders it.
 * @param files the paths of this server that pages may link to besides; links to other files of the repository are left out
 */
export function renderPages(files: readonly string[]): Map<string, () => Steps<string>> {
  const listed = { path: "/docs/problems", text: guide.errors, folder: "", section: "/docs/problems" };
  const pages = [...chapters, ...operatorPages, ...problemPages, listed];
  const served = new Set([...files, ...pages.map(({ path }) => path)]);
  return new Map(pages.map((page) => [page.path, () => render(page, served)]));
}

function* render({ path, text, folder, section }: GuidePage, served: ReadonlySet<string>): Steps<string> {
  const { html, headings } = yield* renderMarkdown(text, folder, (linked) => served.has(linked));
  const place = chapters.findIndex((page) => page.path === path);
  return toPage({
    title: titleOf(text),
    content: html + (place === -1 ? "" : turns(chapters[place - 1], chapters[place + 1])),
    path,
    section,
    side: section === "/docs/problems" ? problemLists : guideLists,
    contents: headings.map(({ id, title }) => ({ path: `#${id}`, title })),
  });
}

/** Links to the pages before and after. */
function turns(previous: GuidePage | undefined, next: GuidePage | undefined): string {
  const links = [
    previous && `<a href="${previous.path}" rel="prev"><small>Previous</small>${toLink(previous).title}</a>`,
    next && `<a href="${next.path}" rel="next"><small>Next</small>${toLink(next).title}</a>`,
  ];
  return `<nav class="turn" aria-label="Neighbouring pages">${links.filter(Boolean).join("")}</nav>\n`;
}

function toChapter([name, text]: [string, string]): GuidePage {
  return { path: `/docs/${name}`, text, folder: "", section: "/docs/guide" };
}

function otherPage(name: keyof typeof others): GuidePage {
  const [text, folder] = others[name];
  return { path: `/docs/${name}`, text, folder, section: "/docs/guide" };
}

function toLink({ path, text }: GuidePage): Link {
  return { path, title: escapeHtml(titleOf(text)) };
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? "";
}
