// Renders the guide, the manual for operators and the pages about problems from the Markdown files of docs/.

import changelogFile from "../../../CHANGELOG.md" with { type: "text" };
import agents from "../../../docs/agents.md" with { type: "text" };
import authentication from "../../../docs/authentication.md" with { type: "text" };
import batches from "../../../docs/batches.md" with { type: "text" };
import clients from "../../../docs/clients.md" with { type: "text" };
import compatibility from "../../../docs/compatibility.md" with { type: "text" };
import consolePage from "../../../docs/console.md" with { type: "text" };
import deploying from "../../../docs/deploying.md" with { type: "text" };
import errors from "../../../docs/errors.md" with { type: "text" };
import followingChanges from "../../../docs/following-changes.md" with { type: "text" };
import formats from "../../../docs/formats.md" with { type: "text" };
import gettingStarted from "../../../docs/getting-started.md" with { type: "text" };
import overview from "../../../docs/guide.md" with { type: "text" };
import help from "../../../docs/help.md" with { type: "text" };
import importing from "../../../docs/importing.md" with { type: "text" };
import keepingInStep from "../../../docs/keeping-in-step.md" with { type: "text" };
import limits from "../../../docs/limits.md" with { type: "text" };
import operatingBackup from "../../../docs/operating/backup.md" with { type: "text" };
import operatingConsole from "../../../docs/operating/console.md" with { type: "text" };
import operatingHistory from "../../../docs/operating/history.md" with { type: "text" };
import operatingMonitoring from "../../../docs/operating/monitoring.md" with { type: "text" };
import operatingPostgresql from "../../../docs/operating/postgresql.md" with { type: "text" };
import operatingRecords from "../../../docs/operating/records.md" with { type: "text" };
import operatingSites from "../../../docs/operating/sites.md" with { type: "text" };
import operatingSitesAsCode from "../../../docs/operating/sites-as-code.md" with { type: "text" };
import operatingStart from "../../../docs/operating/start.md" with { type: "text" };
import operating from "../../../docs/operating.md" with { type: "text" };
import pagingAndFiltering from "../../../docs/paging-and-filtering.md" with { type: "text" };
import ambiguousIdProblem from "../../../docs/problems/ambiguous-id.md" with { type: "text" };
import badRequestProblem from "../../../docs/problems/bad-request.md" with { type: "text" };
import conflictProblem from "../../../docs/problems/conflict.md" with { type: "text" };
import forbiddenProblem from "../../../docs/problems/forbidden.md" with { type: "text" };
import goneProblem from "../../../docs/problems/gone.md" with { type: "text" };
import headTooLargeProblem from "../../../docs/problems/head-too-large.md" with { type: "text" };
import idempotencyKeyReusedProblem from "../../../docs/problems/idempotency-key-reused.md" with { type: "text" };
import internalProblem from "../../../docs/problems/internal.md" with { type: "text" };
import invalidRecordProblem from "../../../docs/problems/invalid-record.md" with { type: "text" };
import methodNotAllowedProblem from "../../../docs/problems/method-not-allowed.md" with { type: "text" };
import notFoundProblem from "../../../docs/problems/not-found.md" with { type: "text" };
import notImplementedProblem from "../../../docs/problems/not-implemented.md" with { type: "text" };
import preconditionFailedProblem from "../../../docs/problems/precondition-failed.md" with { type: "text" };
import requestTimeoutProblem from "../../../docs/problems/request-timeout.md" with { type: "text" };
import siteSuspendedProblem from "../../../docs/problems/site-suspended.md" with { type: "text" };
import tooLargeProblem from "../../../docs/problems/too-large.md" with { type: "text" };
import tooManyRequestsProblem from "../../../docs/problems/too-many-requests.md" with { type: "text" };
import unauthorizedProblem from "../../../docs/problems/unauthorized.md" with { type: "text" };
import unavailableProblem from "../../../docs/problems/unavailable.md" with { type: "text" };
import unsupportedMediaTypeProblem from "../../../docs/problems/unsupported-media-type.md" with { type: "text" };
import wrongSiteProblem from "../../../docs/problems/wrong-site.md" with { type: "text" };
import safeRetries from "../../../docs/safe-retries.md" with { type: "text" };
import scaling from "../../../docs/scaling.md" with { type: "text" };
import upgrading from "../../../docs/upgrading.md" with { type: "text" };
import webhooks from "../../../docs/webhooks.md" with { type: "text" };
import examples from "../../../examples/README.md" with { type: "text" };
import { escapeHtml } from "../../lib/text.ts";
import type { ErrorCode } from "../../model/errors.ts";
import { type ClientPackage, withClientVersion } from "../client-package.ts";
import { type Link, type LinkGroup, toPage } from "./layout.ts";
import { renderMarkdown } from "./markdown.ts";

// Markdown files are imported, so that a single executable contains them.

/** In reading order, by the last segment of their paths. */
export const guide = {
  guide: overview,
  "getting-started": gettingStarted,
  authentication,
  formats,
  errors,
  "paging-and-filtering": pagingAndFiltering,
  "safe-retries": safeRetries,
  batches,
  "following-changes": followingChanges,
  "keeping-in-step": keepingInStep,
  webhooks,
  clients,
  agents,
  limits,
  compatibility,
  help,
};

/** For operators, by path below docs/. */
export const manual = {
  operating,
  "operating/start": operatingStart,
  "operating/sites": operatingSites,
  "operating/sites-as-code": operatingSitesAsCode,
  "operating/records": operatingRecords,
  "operating/history": operatingHistory,
  "operating/backup": operatingBackup,
  "operating/monitoring": operatingMonitoring,
  "operating/console": operatingConsole,
  "operating/postgresql": operatingPostgresql,
  console: consolePage,
  deploying,
  importing,
  upgrading,
  scaling,
};

/** The file has brackets around versions, for links to a repository. */
const changelog = changelogFile.replace(/^## \[(.+?)\]/gm, "## $1");

/** Pages from outside docs/, by the last segment of their paths: the text, and the folder its links are relative to. */
export const others = {
  examples: [examples, "../examples/"],
  changelog: [interfaceChangelog(changelog), "../"],
  "operating/changelog": [changelog, "../"],
} as const;

/** The page of each problem type. */
export const problems: Readonly<Record<ErrorCode, string>> = {
  "bad-request": badRequestProblem,
  "invalid-record": invalidRecordProblem,
  "ambiguous-id": ambiguousIdProblem,
  unauthorized: unauthorizedProblem,
  forbidden: forbiddenProblem,
  "site-suspended": siteSuspendedProblem,
  "not-found": notFoundProblem,
  "method-not-allowed": methodNotAllowedProblem,
  "request-timeout": requestTimeoutProblem,
  conflict: conflictProblem,
  gone: goneProblem,
  "precondition-failed": preconditionFailedProblem,
  "too-large": tooLargeProblem,
  "head-too-large": headTooLargeProblem,
  "unsupported-media-type": unsupportedMediaTypeProblem,
  "wrong-site": wrongSiteProblem,
  "idempotency-key-reused": idempotencyKeyReusedProblem,
  "too-many-requests": tooManyRequestsProblem,
  "not-implemented": notImplementedProblem,
  internal: internalProblem,
  unavailable: unavailableProblem,
};

export interface GuidePage {
  readonly path: string;
  readonly text: string;
  /** The text's folder within docs/, which its links are relative to. */
  readonly folder: string;
  readonly section: string;
}

/** The pages of the guide in reading order. */
export const chapters: readonly GuidePage[] = [
  ...Object.entries(guide).map(toChapter),
  otherPage("examples"),
  otherPage("changelog"),
];

export const operatorPages: readonly GuidePage[] = [
  ...Object.entries(manual).map(toChapter),
  otherPage("operating/changelog"),
];

export const problemPages: readonly GuidePage[] = (Object.keys(problems) as ErrorCode[]).map((code) => ({
  path: `/docs/problems/${code}`,
  text: problems[code],
  folder: "problems/",
  section: "/docs/problems",
}));

/** The chapter about errors again, next to the list of problems. */
const problemList: GuidePage = { path: "/docs/problems", text: guide.errors, folder: "", section: "/docs/problems" };

/** All pages made from Markdown. */
export const guidePages: readonly GuidePage[] = [...chapters, ...operatorPages, ...problemPages, problemList];

const guideLists: readonly LinkGroup[] = [
  { title: "Guide", links: chapters.map(toLink) },
  { title: "For operators", links: operatorPages.map(toLink) },
];

const problemLists: readonly LinkGroup[] = [{ title: "Errors", links: problemPages.map(toLink) }];

/**
 * Renders all pages made from Markdown as HTML, by path.
 * @param isServed whether this server has a path under /docs. Links to other files in the repository become plain text
 * @param client for its version; undefined if it wasn't built
 */
export function renderPages(
  isServed: (path: string) => boolean,
  client: ClientPackage | undefined,
): Map<string, string> {
  return new Map(
    guidePages.map((page) => [page.path, render({ ...page, text: withClientVersion(page.text, client) }, isServed)]),
  );
}

function render(page: GuidePage, isServed: (path: string) => boolean): string {
  const { path, text, folder, section } = page;
  const { html, headings } = renderMarkdown(text, folder, isServed);
  const place = chapters.findIndex((chapter) => chapter.path === path);
  return toPage({
    title: titleOf(text),
    content: html + (place === -1 ? "" : pageLinks(chapters[place - 1], chapters[place + 1])),
    path,
    section,
    side: section === "/docs/problems" ? problemLists : guideLists,
    contents: headings.map(({ id, title }) => ({ path: `#${id}`, title })),
    markdown: `${path}.md`,
  });
}

/** What the changelog says about the interface: the lines with a link to a page of the guide, and the versions and categories that have some. */
function interfaceChangelog(text: string): string {
  const link = new RegExp(`\\]\\(docs/(?:${Object.keys(guide).join("|")})\\.md[)#]`);
  const own = text
    .split(/^(?=## )/m)
    .slice(1)
    .map((version) => {
      const categories = version.split(/^(?=### )/m).map((category) => {
        const [heading = "", ...lines] = category.split(/^(?=- )/m);
        const kept = lines
          .filter((line) => link.test(line))
          .join("")
          .trim();
        return kept && `${heading.startsWith("### ") ? heading : ""}${kept}\n\n`;
      });
      return categories.some(Boolean) ? `${version.split("\n")[0]}\n\n${categories.join("")}` : "";
    });
  return `# Changelog\n\nWhat's new in the interface. [Compatibility](docs/compatibility.md) says what can change.\n\n${own.join("")}`;
}

function pageLinks(previous: GuidePage | undefined, next: GuidePage | undefined): string {
  const links = [
    previous && `<a href="${previous.path}" rel="prev"><small>Previous</small>${toLink(previous).title}</a>`,
    next && `<a href="${next.path}" rel="next"><small>Next</small>${toLink(next).title}</a>`,
  ];
  return `<nav class="turn" aria-label="Neighbouring pages">${links.filter(Boolean).join("")}</nav>\n`;
}

function toChapter([name, text]: [string, string]): GuidePage {
  const folder = name.replace(/[^/]*$/, "");
  return { path: `/docs/${name}`, text, folder, section: "/docs/guide" };
}

function otherPage(name: keyof typeof others): GuidePage {
  const [text, folder] = others[name];
  return { path: `/docs/${name}`, text, folder, section: "/docs/guide" };
}

function toLink({ path, text }: GuidePage): Link {
  return { path, title: escapeHtml(titleOf(text)) };
}

/** Returns the heading of level 1. */
export function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? "";
}
