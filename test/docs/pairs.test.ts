// The table of pairs of operations and features (docs/pairs.md) is complete, and the tests that it names exist.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isTest, testsIn } from "../support/named-tests.ts";

const page = readFileSync(join(import.meta.dir, "../../docs/pairs.md"), "utf8");

/** Returns the cells of each line of a table, without its header. */
const cellsOf = (text: string) =>
  [...text.matchAll(/^\| (.+) \|$/gm)].slice(1).map(([, line = ""]) => line.split(" | "));

/** Returns the features and operations of a page, and its pairs as text. */
function pairsIn(text: string) {
  const [about = "", table = ""] = text.split("## The table");
  const features = cellsOf(about).map(([feature]) => feature);
  const rows = cellsOf(table);
  const operations = [...new Set(rows.map(([operation]) => operation))];
  return { features, operations, rows, pairs: rows.map(([operation, feature]) => `${operation}, ${feature}`) };
}

/** Returns the faults of a page: pairs that it lacks, and cells without an existing test or a reason. */
function faultsIn(text: string): string[] {
  const { features, operations, rows, pairs } = pairsIn(text);
  const all = operations.flatMap((operation) => features.map((feature) => `${operation}, ${feature}`));
  const cells = rows.map(([, , tests = ""]) => tests);
  return [...all.filter((pair) => pairs.filter((one) => one === pair).length !== 1), ...cells.filter(isFaulty)];
}

function isFaulty(cell: string): boolean {
  if (/^none: \w+(?: [^ ]+){3,}$/.test(cell)) return false;
  const named = testsIn(cell);
  return named.length === 0 || named.length !== cell.split('"').length >> 1 || !named.every(isTest);
}

test("every operation is there once with every feature, with tests that exist or with a reason", () => {
  const { features, operations } = pairsIn(page);
  expect([features.length, operations.length]).toEqual([9, 15]);
  expect(faultsIn(page)).toEqual([]);
});

const planted: [string, string | RegExp, string][] = [
  ["a pair that was removed", /^\| undo \| ETags .+\n/m, ""],
  ["a pair that is there twice", "| undo | ETags |", "| undo | cursors |"],
  ["a test with another title", "every session and every link has ended", "every session has ended"],
  ["a row of a table of tests that was removed", '"an undo"', '"a redo"'],
  ["a file that was renamed", "`console/api/restored`", "`console/api/restore`"],
  ["a pair without a reason", /none: .+ \|$/m, "none |"],
];
test.each(planted)("the check of the table finds a planted fault: %s", (_, text, replacement) => {
  expect(faultsIn(page.replace(text, replacement)).length).toBeGreaterThan(0);
});
