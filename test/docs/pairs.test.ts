// The table of pairs of operations and features (docs/pairs.md) is complete, and the tests that it names exist.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isTest, testsIn } from "../support/named-tests.ts";

const [about = "", table = ""] = readFileSync(join(import.meta.dir, "../../docs/pairs.md"), "utf8").split(
  "## The table",
);

/** The cells of the lines of a table, without its header. */
const cellsOf = (text: string) =>
  [...text.matchAll(/^\| (.+) \|$/gm)].slice(1).map(([, line = ""]) => line.split(" | "));

test("every operation is there once with every feature", () => {
  const features = cellsOf(about).map(([feature]) => feature);
  const pairs = cellsOf(table).map(([operation, feature]) => ({ operation, feature }));
  const operations = [...new Set(pairs.map(({ operation }) => operation))];
  expect([features.length, operations.length]).toEqual([8, 15]);
  expect(pairs).toEqual(operations.flatMap((operation) => features.map((feature) => ({ operation, feature }))));
});

test("every pair names tests that exist, or gives a reason", () => {
  const faults = cellsOf(table).filter(([, , tests = ""]) => {
    if (/^none: \w+(?: [^ ]+){3,}$/.test(tests)) return false;
    const named = testsIn(tests);
    return named.length === 0 || named.length !== tests.split('"').length >> 1 || !named.every(isTest);
  });
  expect(faults).toEqual([]);
});
