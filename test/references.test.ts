// The rules for comments and pages: the files, names, parameters and sections that they name exist.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { problemTitles } from "../src/model/errors.ts";
import { isParameter, namedFiles, namedParameters, namesInBackticks, wordsOfCode } from "./support/comments.ts";
import { sources } from "./support/sources.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Names that comments have in backticks although no code near them has these names. */
const foreignNames: Record<string, string> = {
  anna: "an example of an operator",
  average: "a word of prom-client",
  brands: "an example of a path",
  listBrands: "an example of a made name",
  listBrandsXml: "an example of a made name",
  localhost: "a hostname",
  nohup: "a program",
  returning: "a clause of SQL",
  slice: "a method of the runtime",
  tlsCert: "an example of a made name",
  town: "an example of a mistake",
  userInfo: "a function of the runtime",
};

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

  test("every name that a recipe has in backticks is in the code", () => {
    const recipes = readFileSync(join(root, "docs/recipes.md"), "utf8");
    const names = new Set([...recipes.matchAll(/`(\w*[A-Za-z]\w*)`/g)].map(([, name = ""]) => name));
    const files = [...new Bun.Glob("{src,test,scripts}/**/*.{ts,tsx}").scanSync(root)];
    const words = files
      .filter((file) => !file.includes("node_modules/"))
      .map((file) => wordsOfCode(readFileSync(join(root, file), "utf8")));
    expect(names.size).toBeGreaterThan(20);
    expect([...names].filter((name) => !words.some((some) => some.has(name)))).toEqual([]);
  });
});

describe("comments", () => {
  test("every section that a comment cites is a heading of that page", () => {
    const cited = cites("{src,test,scripts,bench}/**/*.{ts,mjs,sql}");
    expect(cited.length).toBeGreaterThan(10);
    expect(cited.filter(({ page, section }) => !headings(page).has(section))).toEqual([]);
  });

  test("every `@param` of a comment names a parameter of the function below it, and a member that the parameter has", () => {
    const texts = sources.map(({ text }) => text);
    const named = sources.flatMap(({ file, text }) => namedParameters(text).map((one) => ({ file, ...one })));
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter((one) => !isParameter(one, texts)).map(({ file, path }) => `${file} @param ${path}`)).toEqual(
      [],
    );
  });

  test("every name that a comment has in backticks is in the code of its file or of a neighbour in the graph of imports; a long name, anywhere", () => {
    const words = new Map(sources.map(({ file, text }) => [file, wordsOfCode(text)]));
    const all = new Set([...words.values()].flatMap((some) => [...some]));
    const importers = (file: string) => sources.filter(({ imports }) => imports.includes(file)).map((one) => one.file);
    const named = sources.flatMap(({ file, text, imports }) => {
      const near = [file, ...imports, ...importers(file)].flatMap((one) => words.get(one) ?? []);
      return namesInBackticks(text).map((name) => ({ file, name, isNear: near.some((some) => some.has(name)) }));
    });
    const isLong = (name: string) => /[A-Z]/.test(name);
    const unknown = named.filter(
      ({ name, isNear }) => !isNear && !(isLong(name) && all.has(name)) && !(name in problemTitles),
    );
    expect(named.length).toBeGreaterThan(1000);
    expect(unknown.filter(({ name }) => !(name in foreignNames))).toEqual([]);
    expect([...new Set(unknown.map(({ name }) => name))].sort()).toEqual(Object.keys(foreignNames).sort());
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
