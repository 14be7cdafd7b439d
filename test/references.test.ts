// The files and sections that comments and pages name exist.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("pages", () => {
  test("every source file that a page names exists; benchmark reports name those of their commit", () => {
    const named = ["*.md", "{docs,scripts,src,test}/**/*.md"]
      .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)])
      .filter((page) => !page.includes("node_modules/"))
      .flatMap((page) =>
        [
          ...readFileSync(join(root, page), "utf8").matchAll(
            /(?<![\w/.@-])((?:[a-z0-9-]+\/)+[a-z0-9.-]+\.(?:ts|mjs|sql))\b/g,
          ),
        ].map(([, file = ""]) => ({ page, file })),
      );
    expect(named.length).toBeGreaterThan(20);
    const exists = (file: string, places: readonly string[]) =>
      places.some((each) => existsSync(join(root, each, file)));
    expect(named.filter(({ page, file }) => !exists(file, ["", "src", dirname(page)]))).toEqual([]);
  });
});

describe("comments", () => {
  test("every section that a comment cites is a heading of that page", () => {
    const cited = cites("{src,test,scripts,bench}/**/*.{ts,mjs,sql}");
    expect(cited.length).toBeGreaterThan(10);
    expect(cited.filter(({ page, section }) => !headings(page).has(section))).toEqual([]);
  });

  test("every file that a comment names exists", () => {
    const files = [...new Bun.Glob("{src,test,bench,scripts,deploy,bin}/**/*.{ts,tsx,mjs,js,sql}").scanSync(root)]
      .filter((file) => !file.includes("node_modules/"))
      .map((file) => `/${file}`);
    const named = files.flatMap((file) =>
      namedFiles(readFileSync(join(root, file), "utf8")).map((name) => ({
        file,
        name: name.replace(/^(?:\.\.?\/)+/, ""),
      })),
    );
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ name }) => !files.some((file) => file.endsWith(`/${name}`)))).toEqual([]);
  });
});

/** Each "contract section 3" and "interface 2.4 and 2.5" in the comments of the files that match `pattern`. */
function cites(pattern: string): { file: string; page: string; section: string }[] {
  return [...new Bun.Glob(pattern).scanSync(root)]
    .filter((file) => !file.includes("node_modules/"))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), "utf8").replaceAll(/\n\s*(?:\*|\/\/)\s*/g, " ");
      const found = text.matchAll(
        /\b(contract|interface)(?: sections?)? ([0-9](?:[0-9.]|, (?=[0-9])| and (?=[0-9]))*)/g,
      );
      return [...found].flatMap(([, page = "", sections = ""]) =>
        sections.split(/, | and /).map((section) => ({ file, page, section: section.replace(/\.$/, "") })),
      );
    });
}

/** The numbers of a page's headings. */
function headings(page: string): ReadonlySet<string> {
  const text = readFileSync(join(root, "docs", `${page}.md`), "utf8");
  return new Set([...text.matchAll(/^#+ ([0-9][0-9.]*?)\.? /gm)].map(([, number]) => number as string));
}

const comment = /\/\*\*?(?:(?!\*\/).)*\*\/|(?:^|\s)\/\/ [^\n]*/gs;

/** Returns the names of files in the comments of a file, such as `pool.ts` and `store/database/table-swap.ts`. */
function namedFiles(text: string): string[] {
  return (text.match(comment) ?? [])
    .map((one) => one.replaceAll(/https?:\S+/g, ""))
    .flatMap(
      (one) => one.match(/(?<![\w./@*-])(?:\.\.?\/)*(?:[a-z0-9-]+\/)*[a-z0-9][a-z0-9.-]*\.(?:tsx?|mjs|sql)\b/g) ?? [],
    );
}
