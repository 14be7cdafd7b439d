// The recipes in docs/recipes.md name files, folders and names that exist, and where the source can tell, all of them. The files that
// docs/architecture.md names exist, too.

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tables } from "../../src/store/database/tables.ts";

const root = join(import.meta.dir, "../..");
const architecture = readFileSync(join(root, "docs/architecture.md"), "utf8");
const page = readFileSync(join(root, "docs/recipes.md"), "utf8");
const cells = [...page.matchAll(/^\| (.+?) \| (.+) \|$/gm)].map(([, subject = "", text = ""]) => ({ subject, text }));
const lists = page
  .split(/^## /m)
  .slice(1)
  .map((section) => ({ subject: section.slice(0, section.indexOf("\n")), text: section }));
const rows = [...cells, ...lists]
  .filter(({ subject }) => subject !== "to add" && !subject.startsWith("-"))
  .map(({ subject, text }) => ({ subject, text, code: [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name) }));

const isPath = (text: string) => text.includes("/") || text.endsWith(".sql");
/** The file or folder that the page names: below the root, or below src. */
const find = (path: string) => [join(root, path), join(root, "src", path)].find((each) => existsSync(each));

test("there are recipes", () => {
  expect(lists.length).toBeGreaterThan(5);
  expect(rows.length).toBeGreaterThan(10);
});

test("the page about the architecture can be read in ten minutes, and a recipe with many steps is a list", () => {
  expect(architecture.split(/\s+/).length).toBeLessThanOrEqual(1600);
  expect(cells.filter(({ text }) => text.length > 300)).toEqual([]);
});

test.each(rows)("the files and folders for $subject exist", ({ code }) => {
  expect(code.filter((text) => isPath(text) && text !== ".sql" && !find(text))).toEqual([]);
});

test.each(rows)("each name for $subject is in a file that the recipe names", ({ code }) => {
  const files = code.filter((text) => /\.tsx?$/.test(text)).map((path) => readFileSync(find(path) ?? "", "utf8"));
  const names = code.filter((text) => /^[A-Za-z_]+(?:=1)?$/.test(text)).map((name) => name.replace("=1", ""));
  expect(names.filter((name) => !files.some((text) => new RegExp(`\\b${name}\\b`).test(text)))).toEqual([]);
});

test("every file that the paths and mechanisms name exists", () => {
  const named = [...architecture.matchAll(/`([a-z0-9-]+(?:\/[a-z0-9-]+)*\/[a-z0-9.-]+\.tsx?)`/g)].map(
    ([, path = ""]) => path,
  );
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((path) => !find(path))).toEqual([]);
});

/** Returns the files of src that contain `pattern`. */
function filesWith(pattern: RegExp, folders = /^/): string[] {
  const src = join(root, "src");
  const files = [...new Bun.Glob("**/*.ts").scanSync(src)].filter((file) => folders.test(file));
  return files.filter((file) => pattern.test(readFileSync(join(src, file), "utf8"))).sort();
}

function recipeOf(subject: string): { readonly code: readonly string[] } {
  const found = rows.find((row) => row.subject === subject);
  if (!found) throw new Error(`there is no recipe for ${subject}`);
  return found;
}

test("the recipe for a column says for each table which code reads and writes its rows", () => {
  const { code } = recipeOf("A column of a table");
  expect(Object.keys(tables).filter((table) => !code.includes(table))).toEqual([]);
});

test("the recipe for a problem type names every file that has a value for each type", () => {
  const { code } = recipeOf("A problem type");
  const files = filesWith(/Record<ErrorCode, |\bproblemTitles = /);
  expect(files.length).toBeGreaterThan(2);
  expect(files.filter((file) => !code.includes(file))).toEqual([]);
});

test("the recipe for a format names every file of the server that knows one of them", () => {
  const { code } = recipeOf("A format of bodies");
  const files = filesWith(/(?:format\.name === |return |, )"xml"/, /^(?:http|reference)\//);
  expect(files.length).toBeGreaterThan(2);
  expect(files.filter((file) => !code.includes(file))).toEqual([]);
});
