// The tests that SECURITY.md names exist, so that none of its statements loses its test unnoticed.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isTest, testsIn } from "../support/named-tests.ts";

const root = join(import.meta.dir, "../..");
const page = readFileSync(join(root, "SECURITY.md"), "utf8");

/** The rows of the threat model: the statement and the cell with its tests. */
const rows = page
  .split("\n")
  .filter((line) => /^\| (?!what |---)/.test(line))
  .map((line) => line.split(" | ") as [statement: string, tests: string]);

describe("the threat model", () => {
  test("has statements about everyone that it is about", () => {
    expect(rows.length).toBeGreaterThan(30);
    expect(page.split("\n### ").length - 1).toBe(13);
  });

  test.each(rows)("%s", (_, cell) => {
    const named = testsIn(cell);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((one) => !isTest(one))).toEqual([]);
  });

  test("links only to files that exist", () => {
    const links = [...page.matchAll(/\]\(([^)#]+)/g)].map(([, link]) => link as string);
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
  });
});
