// What an import keeps until its end, such as its rows' match values, mustn't keep the whole rows in memory.

import { expect, test } from "bun:test";
import type { Engine } from "../../../src/model/engine.ts";
import { readRows } from "../../../src/operator/import/file-rows.ts";
import { type ImportOptions, importRecords } from "../../../src/operator/import/import-records.ts";
import { brand } from "../../../src/resources/brand.ts";
import { engines, maxCreatedSite, useEngine } from "../../support/engine/engines.ts";
import { retainedBytesOutsideCells } from "../../support/memory.ts";

const [kind] = engines;
let engine: Engine;
let sites = maxCreatedSite;
useEngine(kind as (typeof engines)[number], (opened) => {
  engine = opened;
});

const rows = 200;
/** Bytes per read. A row larger than that is joined from several reads, so it counts as heap memory. */
const readBytes = 50_000;
const filler = "x".repeat(100_000);
const name = (row: number) => `A brand with a long name and the number ${row}`;
const csv = (header: string, row: (n: number) => string) => [`${header}\n`, (n: number) => `${row(n)}\n`] as const;
const many = Array.from({ length: rows }, (_, n) => n);

const comments = many.slice(0, 100);
const named = csv(
  `Name,${comments.map((comment) => `# ${comment}`)}`,
  (n) => `${name(n)},${comments.map(() => "x".repeat(4000))}`,
);
const ends = { csv: "", json: '{"Name":"Last"}]' };
const cases: [string, keyof typeof ends, readonly [string, (n: number) => string], Partial<ImportOptions>][] = [
  ["the match values of rows that wait until all rows are valid", "csv", named, { match: "Name", atomic: true }],
  [
    "the match values of a JSON file",
    "json",
    ["[", (n) => `{"Name":"${name(n)}","# fault":"${filler}"},`],
    { match: "Name" },
  ],
  ["the field errors of values", "csv", csv("ID,Name", (n) => `n${n}${filler},A`), {}],
  ["the field errors of names", "json", ["[", (n) => `{"Name":"A","n${n}${filler}":""},`], {}],
];
test.each(cases)("%s don't keep the text of their rows in memory", async (_, format, [start, row], options) => {
  const bytes = async function* () {
    yield Buffer.from(start);
    for (const n of many) {
      const text = Buffer.from(row(n));
      for (let at = 0; at < text.length; at += readBytes) yield text.subarray(at, at + readBytes);
    }
    yield Buffer.from(ends[format]);
  };
  const before = await retainedBytesOutsideCells();
  let after = 0;
  const source = async function* () {
    yield* readRows(brand, bytes(), format);
    after = await retainedBytesOutsideCells();
  };
  const summary = await importRecords(engine, ++sites, brand, source(), { now: () => 1, ...options });
  expect(summary.created + summary.rejected).toBeGreaterThanOrEqual(rows);
  // The rows of the next batch are in memory.
  expect(after - before).toBeLessThan(8_000_000);
});
