// Every option of the command line, and every setting, is in the pages for operators.

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

test("every setting is described, but that of the processes of a server", () => {
  const settings = [...textOf("src/config.ts").matchAll(/^ {2}"([A-Z_]+)",$/gm)].map(([, name = ""]) => name);
  expect(settings.length).toBeGreaterThan(20);
  expect(settings.filter((name) => name !== "ROLE" && !isDescribed(`STOREFRONT_${name}`))).toEqual([]);
});
