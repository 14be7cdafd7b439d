// `check` finds every kind of damage in stored rows, and nothing in sound ones.

import { expect, test } from "bun:test";
import type { DumpedRow } from "../../src/model/engine.ts";
import { findRowInconsistencies } from "../../src/store/database/consistency-check.ts";

type Cells = Record<string, string | number | null>;

const body = (id: number, Name: string) => JSON.stringify({ ID: id, Name });

/** A site with a changed brand, a deleted brand, and an order status. */
function intactRows() {
  const entry = (revision: number, resource: string, id: number, operation: string, Name: string) => ({
    table: "journal",
    row: { site_id: 1, revision, at: 1, actor: "test", resource, id, operation, body: body(id, Name) } as Cells,
  });
  const record = (resource: string, id: number, revision: number, text: string | null) => ({
    table: "records",
    row: { site_id: 1, resource, id, revision, body: text } as Cells,
  });
  return [
    {
      table: "sites",
      row: {
        id: 1,
        epoch: "a",
        revision: 5,
        last_ids: '{"brand":2,"order-status":1}',
        counts: "{}",
        floor: 0,
      } as Cells,
    },
    { table: "sites", row: { id: 2, epoch: "b", revision: 0, last_ids: "{}", counts: "{}", floor: 0 } as Cells },
    record("brand", 1, 2, body(1, "Bolt")),
    record("brand", 2, 4, null),
    record("order-status", 1, 5, body(1, "New")),
    entry(1, "brand", 1, "create", "Acme"),
    entry(2, "brand", 1, "update", "Bolt"),
    entry(3, "brand", 2, "create", "Cord"),
    entry(4, "brand", 2, "delete", "Cord"),
    entry(5, "order-status", 1, "create", "New"),
  ];
}

const [site, , brand, deleted, , , update, , , last] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const;

/** Counts the records as they are, so that only the damage is found. */
function find(rows: { table: string; row: Cells }[]): string[] {
  const counts: Record<string, { count: number; revision: number }> = {};
  for (const { table, row } of rows) {
    if (table !== "records") continue;
    const { count, revision } = counts[String(row.resource)] ?? { count: 0, revision: 0 };
    const isThere = row.body !== null;
    counts[String(row.resource)] = {
      count: count + Number(isThere),
      revision: Math.max(revision, Number(row.revision)),
    };
  }
  for (const { table, row } of rows) if (table === "sites" && row.id === 1) row.counts = JSON.stringify(counts);
  return findRowInconsistencies(rows as DumpedRow[]);
}

test("sound rows: no inconsistency", () => {
  expect(find(intactRows())).toEqual([]);
});

test("removed site: only its own row may stay, others are counted", () => {
  const rows = intactRows();
  change(rows, site, { epoch: "", revision: 0, last_ids: "{}" });
  expect(find(rows.filter(({ table }) => table === "sites"))).toEqual([]);
  expect(find(rows)).toEqual(["site 1 was removed, but 8 of its rows are left"]);
  for (const left of ["records", "journal"]) {
    const some = rows.filter(({ table }) => table === "sites" || table === left).slice(0, 3);
    expect(find(some)).toEqual(["site 1 was removed, but 1 of its rows are left"]);
  }
});

test("badly damaged database: lists 1,000 inconsistencies and counts the rest", () => {
  const rows = intactRows();
  const more = Array.from({ length: 1500 }, (_, n) => ({
    table: "records",
    row: { ...cellsOf(rows, brand), id: n + 3, body: "{" },
  }));
  rows.splice(deleted + 1, 0, ...more);
  const faults = find(rows);
  expect(faults).toHaveLength(1001);
  expect(faults[999]).toContain("is damaged");
  // Each record is beyond the last ID, damaged, and not in the journal.
  expect(faults[1000]).toBe("and 3500 more");
});

test.each<[string, (rows: { table: string; row: Cells }[]) => unknown, string[]]>([
  [
    "last IDs that are not valid JSON",
    (rows) => change(rows, site, { last_ids: "{" }),
    ["site 1 is damaged: its last IDs aren't valid JSON", ...new Array(3).fill("has an ID above the last assigned ID")],
  ],
  [
    "a counter behind its records",
    (rows) => change(rows, site, { last_ids: '{"brand":1,"order-status":1}' }),
    ["site 1: brand 2 has an ID above the last assigned ID"],
  ],
  [
    "a resource without a counter",
    (rows) => change(rows, site, { last_ids: '{"brand":2}' }),
    ["site 1: order-status 1 has an ID above the last assigned ID"],
  ],
  [
    "a site whose revision is ahead of its journal",
    (rows) => change(rows, site, { revision: 6 }),
    ["site 1: the journal lacks entry 6"],
  ],
  [
    "a site whose revision is far ahead",
    (rows) => change(rows, site, { revision: 8 }),
    ["site 1: the journal lacks entries 6 to 8"],
  ],
  [
    "a site whose revision is behind its journal",
    (rows) => change(rows, site, { revision: 4 }),
    ["site 1 is at revision 4, but its journal ends at 5"],
  ],
  [
    "a record whose text is another one's",
    (rows) => change(rows, brand, { body: body(7, "Bolt") }),
    ["site 1: brand 1 is damaged: its JSON", "site 1: brand 1 differs from its journal entry 2"],
  ],
  [
    "a record whose text is not valid JSON",
    (rows) => change(rows, brand, { body: "{" }),
    ["is damaged", "differs from"],
  ],
  [
    "a record whose text is not the journal's",
    (rows) => change(rows, brand, { body: body(1, "Other") }),
    ["site 1: brand 1 differs from its journal entry 2"],
  ],
  [
    "a deleted record that is there",
    (rows) => change(rows, deleted, { body: body(2, "Cord") }),
    ["site 1: brand 2 differs from its journal entry 4"],
  ],
  [
    "a record that is gone although it was not deleted",
    (rows) => change(rows, brand, { body: null }),
    ["site 1: brand 1 differs from its journal entry 2"],
  ],
  [
    "a record that is behind its journal",
    (rows) => change(rows, brand, { revision: 1, body: body(1, "Acme") }),
    ["site 1: brand 1 is at revision 1, but its last journal entry is 2"],
  ],
  [
    "a record that is ahead of its journal",
    (rows) => change(rows, brand, { revision: 3 }),
    ["site 1: brand 1 is at revision 3, but its last journal entry is 2"],
  ],
  [
    "a record that the journal does not know",
    (rows) => {
      change(rows, site, { last_ids: '{"brand":3,"order-status":1}' });
      rows.splice(deleted, 0, { table: "records", row: { ...cellsOf(rows, brand), id: 3, body: body(3, "Dash") } });
    },
    ["site 1: brand 3 is at revision 2, but has no journal entry"],
  ],
  [
    "an entry in the middle that is missing",
    (rows) => rows.splice(update, 1),
    ["site 1: the journal lacks entry 2", "site 1: brand 1 is at revision 2, but its last journal entry is 1"],
  ],
  [
    "the last entry missing",
    (rows) => rows.splice(last, 1),
    ["site 1: the journal lacks entry 5", "site 1: order-status 1 is at revision 5, but has no journal entry"],
  ],
  [
    "a record that is missing",
    (rows) => rows.splice(deleted, 1),
    ["brand 2 is only in the journal", "brand 2 is only in"],
  ],
  [
    "a site that is missing",
    (rows) => rows.splice(site, 1),
    [
      ...["brand 1", "brand 2", "order-status 1"].map((name) => `site 1: ${name} belongs to no site`),
      ...new Array(5).fill("site 1: its journal belongs to no site"),
    ],
  ],
])("%s", (_, damage, expected) => {
  const rows = intactRows();
  damage(rows);
  const found = find(rows);
  expect(found.map((fault, index) => (fault.includes(expected[index] ?? "?") ? expected[index] : fault))).toEqual(
    expected,
  );
});

function change(rows: { row: Cells }[], index: number, cells: Cells): void {
  Object.assign(cellsOf(rows, index), cells);
}

function cellsOf(rows: { row: Cells }[], index: number): Cells {
  return rows[index]?.row as Cells;
}
