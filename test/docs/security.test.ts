// The tests that SECURITY.md names exist, so that none of its statements loses its test unnoticed.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const page = readFileSync(join(root, "SECURITY.md"), "utf8");

/** The rows of the threat model: the statement and the cell with its tests. */
const rows = page
  .split("\n")
  .filter((line) => /^\| (?!what |---)/.test(line))
  .map((line) => line.split(" | ") as [statement: string, tests: string]);

/** The tests in a cell: after each file, names in quotes. */
function testsIn(cell: string): { file: string; name: string }[] {
  return [...cell.matchAll(/`(test\/[\w./-]+\.test\.ts)`:((?:,? "[^"]+")+)/g)].flatMap(([, file = "", names = ""]) =>
    [...names.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => ({ file, name })),
  );
}

/** Whether a test, or a case of a table of tests, has this name. */
function isIn(text: string, name: string): boolean {
  const literal = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`[([]\\s*"${literal}",`).test(text);
}

describe("the threat model", () => {
  test("has statements about everyone that it is about", () => {
    expect(rows.length).toBeGreaterThan(30);
    expect(page.split("\n### ").length - 1).toBe(13);
  });

  test.each(rows)("%s", (_, cell) => {
    const named = testsIn(cell);
    expect(named.length).toBeGreaterThan(0);
    const missing = named.filter(
      ({ file, name }) => !existsSync(join(root, file)) || !isIn(readFileSync(join(root, file), "utf8"), name),
    );
    expect(missing).toEqual([]);
  });

  test("links only to files that exist", () => {
    const links = [...page.matchAll(/\]\(([^)#]+)/g)].map(([, link]) => link as string);
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
  });
});
