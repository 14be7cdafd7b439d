// The entries of the history, from the pages in which the server sends them.

import { expect, test } from "bun:test";
import type { HistoryEntryInfo } from "../../../../src/admin/api/record-types.ts";
import { joinPages } from "../../../../src/console/history/history.ts";

/** Returns an entry of the revisions `first` to `last`. */
function entry(first: number, last: number, run: string | null, resource = "brands"): HistoryEntryInfo {
  const change = { operation: "create", resource, id: last, before: null, after: null } as const;
  const at = new Date(last * 1000).toISOString();
  return {
    run,
    actor: "console:anna",
    actorLabel: null,
    at,
    first,
    last,
    counts: { create: last - first + 1 },
    others: 0,
    resources: [resource],
    change,
  };
}

const pagesOf = (...pages: HistoryEntryInfo[][]) => pages.map((entries) => ({ entries }));

test("the entries of all pages follow each other", () => {
  const [latest, single, oldest] = [entry(30, 39, "c"), entry(29, 29, null), entry(10, 28, "a")];
  expect(joinPages(pagesOf([latest, single], [oldest]))).toEqual([latest, single, oldest]);
  expect(joinPages([])).toEqual([]);
});

test("the parts of a run in several pages are one entry, with the time and the change of the latest part", () => {
  const before = entry(5, 9, "a");
  const parts = [entry(30, 39, "b", "brands"), entry(20, 29, "b", "locations"), entry(10, 19, "b", "brands")] as const;
  const [latest, middle, oldest] = parts;
  const updated = { ...middle, counts: { create: 4, update: 6 } };
  expect(joinPages(pagesOf([latest], [updated], [oldest, before]))).toEqual([
    { ...latest, first: 10, counts: { create: 24, update: 6 }, resources: ["brands", "locations"] },
    before,
  ]);
});

test.each([
  ["different runs", "a", "b"],
  ["a run and a single change", "a", null],
  ["single changes", null, null],
])("%s are separate entries", (_, later, earlier) => {
  const entries = [entry(2, 2, later), entry(1, 1, earlier)];
  expect(joinPages(pagesOf(entries))).toEqual(entries);
});

test("changes of a run at the same time as others are separate entries", () => {
  const entries = [entry(10, 20, "a"), entry(10, 15, "a")];
  expect(joinPages(pagesOf(entries))).toEqual(entries);
});
