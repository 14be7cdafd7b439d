// The history's entries, from the pages that the server sends.

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

test("history: entries from all pages, one after another", () => {
  const [latest, single, oldest] = [entry(30, 39, "c"), entry(29, 29, null), entry(10, 28, "a")];
  expect(joinPages(pagesOf([latest, single], [oldest]))).toEqual([latest, single, oldest]);
  expect(joinPages([])).toEqual([]);
});

test("run on several pages: one entry, with the latest part's time and change", () => {
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

test("run's changes at the same time as others: separate entries", () => {
  const entries = [entry(10, 20, "a"), entry(10, 15, "a")];
  expect(joinPages(pagesOf(entries))).toEqual(entries);
});
