// Every option of the command line is in the pages for operators. A setting has the name of its option.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const pages = textOf("docs/operating/*.md");

function textOf(pattern: string): string {
  const files = [...new Bun.Glob(pattern).scanSync(root)];
  return files.map((file) => readFileSync(join(root, file), "utf8")).join("\n");
}

function isDescribed(name: string): boolean {
  return new RegExp(`${name}(?![A-Za-z_-])`).test(pages);
}

test("every option is described", () => {
  const options = [...textOf("src/commands/**/*.ts").matchAll(/"(?:-\w, )?(--[a-z-]+)/g)].map(([, name = ""]) => name);
  expect(options.length).toBeGreaterThan(40);
  expect(options.filter((name) => !isDescribed(name))).toEqual([]);
});
