// Every link on a page leads to a file in the repository, and to a heading in it.

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const root = join(import.meta.dir, "../..");
const patterns = ["*.md", "{docs,bench,scripts,deploy,examples,src,test}/**/*.md", ".github/**/*.md"];
const pages = patterns
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: root, dot: true })])
  .filter((page) => !page.includes("node_modules/"));

interface Link {
  readonly page: string;
  /** The file that the link leads to, from the root. */
  readonly file: string;
  /** The heading's anchor, or undefined if the link has none. */
  readonly anchor: string | undefined;
}

/** The page's links to files in the repository. Links in code don't count. */
function linksOf(page: string): Link[] {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/^(?: {4}|```[\s\S]*?^```).*$|`[^`\n]*`/gm, "");
  return [...text.matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^(?:[a-z]+:|\/)/.test(target))
    .map((target) => {
      const [path = "", anchor] = target.split("#");
      return { page, file: path === "" ? page : relative(root, join(root, dirname(page), path)), anchor };
    });
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
  const names = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
  return new Set(names);
}

const links = pages.flatMap(linksOf);

test("every linked file exists", () => {
  expect(links.length).toBeGreaterThan(300);
  expect(links.filter(({ file }) => !existsSync(join(root, file)))).toEqual([]);
});

test("every linked heading exists", () => {
  const named = links.filter(({ file, anchor }) => anchor !== undefined && file.endsWith(".md"));
  expect(named.length).toBeGreaterThan(80);
  expect(named.filter(({ file, anchor }) => !anchorsOf(file).has(anchor ?? ""))).toEqual([]);
});
