// --remove-missing: an import that removes records missing from its file, and what keeps it from removing too much.

import { beforeEach, describe, expect, test } from "bun:test";
import { parseMapping } from "../../src/formats/csv-mapping.ts";
import type { Intent } from "../../src/model/change.ts";
import type { Engine } from "../../src/model/engine.ts";
import { type NumberedRow, readRows } from "../../src/operator/import/file-rows.ts";
import { type ImportOptions, importRecords } from "../../src/operator/import/import-records.ts";
import type { RemovalOptions } from "../../src/operator/import/missing-from-file.ts";
import { undo } from "../../src/operator/journal/undo.ts";
import { brand } from "../../src/resources/brand.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { withActor } from "../../src/system/with-actor.ts";
import { engines, maxCreatedSite, useTwoEngines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";

interface Load extends RemovalOptions {
  readonly match?: string | undefined;
  readonly atomic?: boolean;
  readonly dryRun?: boolean;
  /** Excluded rows. */
  readonly without?: readonly number[];
  readonly signal?: AbortSignal;
  /** The fields of a mapping. */
  readonly mapping?: object;
  /** Called once all rows were read. */
  readonly between?: () => Promise<unknown>;
}

describe.each(engines)("records missing from the file on $name", (kind) => {
  let engine: Engine;
  let other: Engine;
  let site = maxCreatedSite;
  useTwoEngines(kind, (first, second) => {
    [engine, other] = [first, second];
  });

  const write = (intent: Partial<Intent> & { readonly values?: object }) =>
    other.commit([createIntent({ site, ...intent })]);
  const stored = async () =>
    Object.fromEntries(
      (await readAllRows(engine, site)).rows.flatMap(({ id, body }) => (body ? [[id, JSON.parse(body).Name]] : [])),
    );

  /** Imports `lines` and removes the records missing from them. Reports what it removed. */
  async function load(header: string, lines: readonly string[], how: Load = {}) {
    const { between, without = [], match = "Name", atomic, dryRun, signal, maxRemovals, asOf } = how;
    const bytes = (async function* () {
      yield Buffer.from(`${header}\n`);
      for (const line of lines) yield Buffer.from(`${line}\n`);
      await between?.();
    })();
    const rows = (async function* (): AsyncGenerator<NumberedRow> {
      const mapping = how.mapping && parseMapping(brand, JSON.stringify({ fields: how.mapping }));
      for await (const row of readRows(brand, bytes, "csv", { mapping }))
        yield without.includes(row.number) ? { ...row, isExcluded: true } : row;
    })();
    const reported: number[] = [];
    const removeMissing = { maxRemovals, asOf, onMissing: (id: number) => void reported.push(id) };
    const options: ImportOptions = { now: () => 1, match, atomic, dryRun, signal, removeMissing };
    const summary = await importRecords(withActor(engine, "operator:test", "run"), site, brand, rows, options);
    return { ...summary, reported };
  }

  beforeEach(async () => {
    site++;
    for (const Name of ["Acme", "Best", "Cube", "Dune", "Echo"]) await write({ values: { Name } });
  });

  const matches: [string, string | undefined, string, string[]][] = [
    ["a field", "Name", "Name,Address.Town", ["Acme,Oslo", "Cube,", "Echo,", "New,"]],
    ["the ID", "ID", "ID,Name", ["1,Acme Ltd", "3,Cube", "5,Echo", ",New"]],
  ];
  describe.each([
    ["in batches", false],
    ["atomically", true],
  ] as const)("%s", (_mode, atomic) => {
    test.each(
      matches,
    )("are removed in the same run and come back with its undo, matched by %s", async (_, match, header, lines) => {
      const before = await stored();
      const dry = await load(header, lines, { match, atomic, dryRun: true });
      expect(dry.missing).toMatchObject({ count: 2, total: 5, removed: 0, changed: 0, obstacle: undefined });
      expect([dry.reported, await stored()]).toEqual([[2, 4], before]);
      const summary = await load(header, lines, { match, atomic });
      expect(summary).toMatchObject({ created: 1, rejected: 0, missing: { count: 2, removed: 2 }, reported: [2, 4] });
      expect(Object.keys(await stored())).toEqual(["1", "3", "5", "6"]);
      await undo(engine, site, { since: (summary.revisions?.first ?? 0) - 1, run: "run" }, { at: 1 });
      expect(await stored()).toEqual(before);
      expect(await engine.findInconsistencies()).toEqual([]);
    });

    test("are kept if others create, change or delete them meanwhile", async () => {
      const between = async () => {
        await write({ operation: "update", id: 2, values: { AccountNumber: "A" } });
        await write({ operation: "delete", id: 4, values: {} });
        await write({ values: { Name: "Fresh" } });
      };
      const { missing, reported } = await load("Name", ["Acme", "Cube"], { atomic, between });
      expect(missing).toMatchObject({ count: 1, removed: 1, changed: 2 });
      expect(reported).toEqual([5]);
      expect(Object.values(await stored())).toEqual(["Acme", "Best", "Cube", "Fresh"]);
    });

    test("are kept if they change between being found and being removed", async () => {
      const late: Engine = {
        ...engine,
        readSite: async (...parameters) => {
          const read = await engine.readSite(...(parameters as Parameters<Engine["readSite"]>));
          await write({ operation: "update", id: 2, values: { AccountNumber: `${Math.random()}` } });
          return read as never;
        },
      };
      const [before] = await engine.readHeads([site]);
      const rows = readRows(brand, [Buffer.from("Name\nAcme\nCube\nEcho\n")] as never, "csv");
      const options = { now: () => 1, match: "Name", atomic, removeMissing: { asOf: before, maxRemovals: 9 } };
      const { missing, rejected } = await importRecords(late, site, brand, rows, options);
      expect([rejected, missing]).toMatchObject([0, { removed: 1, changed: 1 }]);
      expect(Object.values(await stored())).toEqual(["Acme", "Best", "Cube", "Echo"]);
    });
  });
  if (kind.name === "PostgreSQL") return;

  // A nightly synchronization updates most records, so if we counted afterwards, few would be left unchanged.
  const modes = [false, true].flatMap((atomic) => ["ID", "Name"].map((match) => ({ atomic, match })));
  test.each(modes)("are counted against the records before the import: %j", async (mode) => {
    const lines = ["1,Acme,A1", "2,Best,A2", "3,Cube,A3", ",Fresh,A4", ",Fresher,A5"];
    const header = "ID,Name,AccountNumber";
    const numbers = { count: 2, total: 5, removed: 0, changed: 0, obstacle: undefined };
    const dry = await load(header, lines, { ...mode, dryRun: true });
    expect([dry.updated, dry.created, dry.missing]).toMatchObject([3, 2, numbers]);
    const { missing } = await load(header, lines, { ...mode, asOf: dry.missing?.asOf });
    expect(missing).toMatchObject({ ...numbers, removed: 2 });
  });

  test.each([{}, { dryRun: true }])("are counted the same way if too many are missing: %j", async (how) => {
    const { missing } = await load("Name,AccountNumber", ["Acme,A1", "Best,A2"], how);
    expect(missing).toMatchObject({
      count: 3,
      total: 5,
      obstacle: expect.stringContaining("3 of 5 brands aren't in the file"),
    });
  });

  test("are kept if they have changed since the check that the operator saw", async () => {
    const check = await load("Name", ["Acme", "Cube", "Echo"], { dryRun: true });
    await write({ operation: "update", id: 2, values: { Name: "Better" } });
    await write({ values: { Name: "Fresh" } });
    const { missing } = await load("Name", ["Acme", "Cube", "Echo"], { asOf: check.missing?.asOf, maxRemovals: 2 });
    expect(missing).toMatchObject({ count: 1, removed: 1, changed: 2 });
    expect(Object.values(await stored())).toEqual(["Acme", "Better", "Cube", "Echo", "Fresh"]);
  });

  test("don't include the records of rejected and excluded rows", async () => {
    const lines = ["Acme,", "Best,Germany", "Cube,", "Dune,"];
    const summary = await load("Name,Address.Country", lines, { without: [4] });
    expect(summary).toMatchObject({ rows: 3, rejected: 1, reported: [5] });
    expect(Object.values(await stored())).toEqual(["Acme", "Best", "Cube", "Dune"]);
  });

  const obstacles: [string, string, string[], Load, string][] = [
    ["the file has no rows", "Name", [], {}, "the file has no rows"],
    [
      "a row names no record",
      "Name,Address.Town",
      ["Acme,", "Best,", "Cube,", "Dune,", ",Oslo"],
      {},
      "row 6 doesn't say",
    ],
    ["a row has too many cells", "Name", ["Acme", "Best", "Cube", "Dune,x"], {}, "row 5 doesn't say"],
    [
      "a match value is invalid, so it may mean any record",
      "Name",
      ["Acme", "Best", "Cube", `Dune${"x".repeat(300)}`],
      {},
      "row 5 doesn't say",
    ],
    [
      "the mapping doesn't know a match value",
      "Name",
      ["Acme", "Best", "Cube", "D"],
      { mapping: { Name: { column: "Name", lookup: { Acme: "Acme", Best: "Best", Cube: "Cube" } } } },
      "row 5 doesn't say",
    ],
    ["an ID isn't a number", "ID,Name", ["1,A", "2,B", "3,C", "x,D"], { match: "ID" }, "row 5 doesn't say"],
    ["no row has an ID", "Name", ["A", "B", "C", "D", "E"], { match: "ID", maxRemovals: 5 }, "no row has an ID"],
    [
      "more than half are missing",
      "Name",
      ["Acme", "Best"],
      {},
      "3 of 5 brands aren't in the file; if you want to remove that many, add --allow-removals 3",
    ],
    [
      "more than allowed are missing",
      "Name",
      ["Acme", "Best", "Cube", "Dune"],
      { maxRemovals: 0 },
      "1 of 5 brands isn't in the file",
    ],
  ];
  test.each(obstacles)("are kept if %s", async (_, header, lines, how, obstacle) => {
    const before = Object.keys(await stored());
    const { missing, reported } = await load(header, lines, how);
    expect([missing?.removed, missing?.obstacle]).toEqual([0, expect.stringContaining(obstacle)]);
    expect([reported, Object.keys(await stored()).slice(0, 5)]).toEqual([[], before]);
  });

  test("are kept, and no row is stored, if more than half are missing and the import is atomic", async () => {
    await expect(load("Name", ["Acme", "New"], { atomic: true })).rejects.toThrow("nothing was stored: 4 of ");
    expect(Object.keys(await stored())).toHaveLength(5);
  });

  test("are removed if that many removals are allowed", async () => {
    expect((await load("Name", ["Acme"], { maxRemovals: 4 })).missing).toMatchObject({
      removed: 4,
      obstacle: undefined,
    });
    expect(await stored()).toEqual({ 1: "Acme" });
  });

  test("are kept if the import is stopped or the file breaks off", async () => {
    const stop = new AbortController();
    const between = async () => {
      stop.abort(new Error("stopped"));
      throw stop.signal.reason;
    };
    expect(await load("Name", ["Acme", "Best", "Cube"], { signal: stop.signal, between })).toMatchObject({
      interrupted: true,
      reported: [],
    });
    const broken = () => Promise.reject(new Error("the disk broke"));
    await expect(load("Name", ["Acme", "Best", "Cube"], { between: broken })).rejects.toThrow("the disk broke");
    expect(Object.keys(await stored())).toHaveLength(5);
  });

  test("don't include other resources", async () => {
    await write({ resource: "order-status", values: { Name: "Paid" } });
    await load("Name", ["Acme", "Best", "Cube", "Dune"]);
    expect(
      (await readAllRows(engine, site)).rows.filter(({ resource, body }) => resource === "order-status" && body),
    ).toHaveLength(1);
  });

  test("don't exist in a site without records", async () => {
    site++;
    expect(await load("Name", ["Acme"])).toMatchObject({
      created: 1,
      missing: { count: 0, total: 0, removed: 0, changed: 0 },
    });
  });
});
