// The recipes in docs/architecture.md name files, folders and names that exist.

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const page = readFileSync(join(root, "docs/architecture.md"), "utf8");
const rows = [...(page.split("## What to touch")[1] ?? "").matchAll(/^\| (.+?) \| (.+) \|$/gm)]
  .map(([, subject = "", text = ""]) => ({
    subject,
    code: [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  }))
  .filter(({ subject }) => subject !== "to add");

const isPath = (text: string) => text.includes("/") || text.endsWith(".sql");
/** The file or folder that the page names: below the root, or below src. */
const find = (path: string) => [join(root, path), join(root, "src", path)].find((each) => existsSync(each));

test("there are recipes", () => {
  expect(rows.length).toBeGreaterThan(10);
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
  const named = [...page.matchAll(/`([a-z0-9-]+(?:\/[a-z0-9-]+)*\/[a-z0-9.-]+\.tsx?)`/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((path) => !find(path))).toEqual([]);
});
