// Header lines in parts are written like their joined text.

import { expect, test } from "bun:test";
import { type HeaderParts, joinParts, maxByteLength, toHeaderLines, writeEndingAt } from "../../src/wire/response.ts";

const cases: HeaderParts = [
  "",
  "a",
  "é\xff\x80",
  "x".repeat(24),
  "x".repeat(25),
  "long ".repeat(100),
  0,
  7,
  10,
  99,
  100,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 + 5,
  Number.MAX_SAFE_INTEGER,
  [],
  ["a", 1, "b"],
  [["deep", [12, ["er"]], 0], "end"],
  toHeaderLines({ ETag: ['"', ["x", ".", 5], '.a-json"'], "X-Total-Count": "12" }),
];

test.each(cases.map((part) => ({ part })))("the part $part is written like its joined text", ({ part }) => {
  const text = joinParts([part]);
  const target = Buffer.alloc(1000, "-");
  const start = writeEndingAt(target, 900, part);
  expect(target.toString("latin1", start, 900)).toBe(text);
  expect(target.toString("latin1", 0, start) + target.toString("latin1", 900)).toMatch(/^-*$/);
  expect(maxByteLength([part])).toBeGreaterThanOrEqual(text.length);
});

test("header lines: one per field", () => {
  expect(joinParts(toHeaderLines({ A: "b", C: ["d", 1] }))).toBe("A: b\r\nC: d1\r\n");
});
