// What an import keeps until its end, such as the keys of its rows, does not keep the text in memory of which it was a part.

import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { readRows } from "../../src/operator/import/file-rows.ts";
import { type ImportOptions, importRecords } from "../../src/operator/import/import-records.ts";
import { brand } from "../../src/resources/brand.ts";
import { engines, useEngine } from "../support/engines.ts";

const [kind] = engines;
let engine: Engine;
let sites = 100;
useEngine(kind as (typeof engines)[number], (opened) => {
  engine = opened;
});

const rows = 200;
/** Bytes that are read at once. A row of more is joined of several, which counts as memory of the heap. */
const pieceSize = 50_000;
const filler = "x".repeat(100_000);
const name = (row: number) => `A brand with a long name and the number ${row}`;
const csv = (header: string, row: (n: number) => string) => [`${header}\n`, (n: number) => `${row(n)}\n`] as const;
const many = Array.from({ length: rows }, (_, n) => n);

/** What the heap holds outside its cells, such as texts, in bytes. */
async function heldBytes(): Promise<number> {
  await Bun.sleep(1);
  Bun.gc(true);
  return heapStats().extraMemorySize;
}

const notes = many.slice(0, 100);
const named = csv(`Name,${notes.map((note) => `# ${note}`)}`, (n) => `${name(n)},${notes.map(() => "x".repeat(4000))}`);
const ends = { csv: "", json: '{"Name":"Last"}]' };
const cases: [string, keyof typeof ends, readonly [string, (n: number) => string], Partial<ImportOptions>][] = [
  ["the keys of rows that wait until all are valid", "csv", named, { match: "Name", atomic: true }],
  ["the keys of a JSON file", "json", ["[", (n) => `{"Name":"${name(n)}","# fault":"${filler}"},`], { match: "Name" }],
  ["the faults of values", "csv", csv("ID,Name", (n) => `n${n}${filler},A`), {}],
  ["the faults of names", "json", ["[", (n) => `{"Name":"A","n${n}${filler}":""},`], {}],
];
test.each(cases)("%s", async (_, format, [start, row], options) => {
  const bytes = async function* () {
    yield Buffer.from(start);
    for (const n of many) {
      const text = Buffer.from(row(n));
      for (let at = 0; at < text.length; at += pieceSize) yield text.subarray(at, at + pieceSize);
    }
    yield Buffer.from(ends[format]);
  };
  const before = await heldBytes();
  let after = 0;
  const source = async function* () {
    yield* readRows(brand, bytes(), format);
    after = await heldBytes();
  };
  const summary = await importRecords(engine, ++sites, brand, source(), { now: () => 1, ...options });
  expect(summary.created + summary.rejected).toBeGreaterThanOrEqual(rows);
  // The rows that are stored together next are in memory.
  expect(after - before).toBeLessThan(8_000_000);
});
