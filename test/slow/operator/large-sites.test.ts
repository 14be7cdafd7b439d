// A command's memory doesn't grow with the site's records.

import { beforeAll, describe, expect, test } from "bun:test";
import type { DumpedRow, Engine } from "../../../src/model/engine.ts";
import { readRows } from "../../../src/operator/import/file-rows.ts";
import { importRecords } from "../../../src/operator/import/import-records.ts";
import { undo } from "../../../src/operator/journal/undo.ts";
import { exportRecords } from "../../../src/operator/records/export-records.ts";
import { brand } from "../../../src/resources/brand.ts";
import { findRowInconsistencies } from "../../../src/store/database/consistency-check.ts";
import { engines, useEngine } from "../../support/engine/engines.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { heapBytes, retainedBytes } from "../../support/memory.ts";

const site = 1;
/** Records in the site, each about 0.9 kB. */
const count = 20_000;
const line = "x".repeat(250);
const values = (n: number) => ({
  Name: `Brand ${n}`,
  AccountNumber: `A-${n}`,
  Address: { AddressLine1: line, AddressLine2: line, Town: line.slice(0, 128), County: line.slice(0, 128) },
});

/** Maximum growth in bytes when working on all the site's records. It's less than half of their text. */
const maxSiteGrowthBytes = count * 400;

/** Maximum growth in bytes when working on 18,000 rows or more. */
const maxGrowthBytes = 5_000_000;

describe.each(engines)("on $name, few records are in memory during", (kind) => {
  let engine: Engine;
  useEngine(kind, (opened) => {
    engine = opened;
  });
  beforeAll(async () => {
    const batches = function* () {
      for (let from = 0; from < count; from += 500)
        yield Array.from({ length: 500 }, (_, n) => createIntent({ site, values: values(from + n), run: "all" }));
    };
    await engine.commitAtomically(batches(), () => {});
  });

  test.each(["csv", "json"] as const)("an export of a large site as %s", async (format) => {
    const before = await retainedBytes();
    let most = 0;
    let length = 0;
    let chunks = 0;
    for await (const text of exportRecords(engine, site, brand, format)) {
      length += text.length;
      if (++chunks % 15 === 2) most = Math.max(most, await retainedBytes());
    }
    expect(length).toBeGreaterThan(count * 700);
    expect(most - before).toBeLessThan(maxSiteGrowthBytes);
  });

  test.each([
    ["ID", undefined],
    ["name", "Name"],
  ])("a dry run of an import into a large site, matched by %s", async (_, match) => {
    const before = await retainedBytes();
    let after = 0;
    const rows = async function* () {
      const text = `ID,Name\n${Array.from({ length: 1200 }, (_, n) => `${n + 1},Brand ${n}`).join("\n")}`;
      yield* readRows(brand, new Blob([text]).stream(), "csv");
      after = await retainedBytes();
    };
    const summary = await importRecords(engine, site, brand, rows(), { now: () => 1, match, dryRun: true });
    expect(summary).toMatchObject({ unchanged: 1200, rejected: 0 });
    expect(after - before).toBeLessThan(maxSiteGrowthBytes);
  });

  test("an atomic import of many rows, matched by a field", async () => {
    const before = await retainedBytes();
    let after = 0;
    const text = async function* () {
      yield Buffer.from("Name,Address.AddressLine1\n");
      for (let n = 0; n < 18_000; n += 500)
        yield Buffer.from(Array.from({ length: 500 }, (_, row) => `Brand,${n + row} ${line.slice(10)}\n`).join(""));
      after = await retainedBytes();
    };
    const options = { now: () => 1, match: "Address.AddressLine1", atomic: true, dryRun: true };
    const summary = await importRecords(engine, 2, brand, readRows(brand, text(), "csv"), options);
    expect(summary).toMatchObject({ created: 18_000, rejected: 0 });
    expect(after - before).toBeLessThan(maxGrowthBytes);
  });

  test("a dry run of an undo of many changes", async () => {
    const before = await retainedBytes();
    let most = 0;
    const watched: Engine = {
      ...engine,
      readJournalPage: async (...args) => {
        if (args[1] % 5000 === 0) most = Math.max(most, await retainedBytes());
        return engine.readJournalPage(...args);
      },
    };
    const summary = await undo(watched, site, { since: 0, run: "all" }, { at: 1, dryRun: true });
    expect(summary).toMatchObject({ deleted: count });
    expect(most).toBeGreaterThan(0);
    expect(most - before).toBeLessThan(maxSiteGrowthBytes);
  });
});

test("a check of many rows takes little memory", async () => {
  const before = await retainedBytes();
  let after = 0;
  const rows = function* (): Generator<DumpedRow> {
    yield {
      table: "sites",
      row: {
        id: 1,
        epoch: "e",
        revision: 36_000,
        last_ids: '{"brand":60000}',
        counts: '{"brand":{"count":36000,"revision":36000}}',
        floor: 0,
        last_at: 0,
      },
    };
    const body = (id: number) => `{"ID":${id},"Name":"Brand"}`;
    const common = { site_id: 1, resource: "brand" };
    for (let id = 1; id <= 36_000; id++)
      yield { table: "records", row: { ...common, id, revision: id, body: body(id) } };
    for (let id = 1; id <= 36_000; id++) {
      const change = { revision: id, at: 1, actor: "test", operation: "create", body: body(id) };
      yield { table: "journal", row: { ...common, id, ...change, run: null, before: null } };
    }
    Bun.gc(true);
    after = heapBytes();
  };
  expect(findRowInconsistencies(rows())).toEqual([]);
  expect(after - before).toBeLessThan(maxGrowthBytes);
});
