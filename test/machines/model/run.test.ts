// Run IDs that say which revisions their changes may have.

import { expect, test } from "bun:test";
import { randomText } from "../../../src/lib/text.ts";
import { parseRun, toRunId } from "../../../src/model/run.ts";

test("run ID: which revisions its changes may have", () => {
  expect(toRunId("k3J9aZ0q", 18, 10_000)).toBe("k3J9aZ0q-18-10000");
  expect(parseRun("k3J9aZ0q-18-10000")).toEqual({ first: 18, last: 10_017 });
  expect(parseRun(toRunId(randomText(8), 1, 1))).toEqual({ first: 1, last: 1 });
});

test("run ID: a command's, or any other text, says nothing", () => {
  const others = ["k3J9aZ0q", "", "k3J9aZ0q-0-1", "k3J9aZ0q-1-0", "k3J9aZ0-1-1", "k3J9aZ0q-01-1", "k3J9aZ0q-1-1 "];
  const more = ["k3J9aZ0q-1-1-1", "k3J9aZ0!-1-1", `k3J9aZ0q-1-${"9".repeat(16)}`, "k3J9aZ0q-1e3-1", "k3J9aZ0q-1-1\n"];
  for (const text of [...others, ...more]) expect([text, parseRun(text)]).toEqual([text, undefined]);
});
