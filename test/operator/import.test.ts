// Imports on each engine: atomic ones, IDs, and sites that are removed or restored meanwhile.

import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Intent } from "../../src/model/change.ts";
import type { Engine } from "../../src/model/engine.ts";
import { backUp, restore } from "../../src/operator/backup/backup.ts";
import { readRows } from "../../src/operator/import/file-rows.ts";
import { type ImportOptions, importRecords } from "../../src/operator/import/import-records.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite } from "../../src/operator/sites/sites.ts";
import { brand } from "../../src/resources/brand.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { DryRunEngine } from "../../src/store/writes/dry-run-engine.ts";
import { engines, maxCreatedSite, useEngine } from "../support/engine/engines.ts";
import { createBrand, deleteBrand } from "../support/engine/intents.ts";

/** Rows per batch, unless the import is `atomic`. */
const batch = 500;
const times = (count: number, row: (n: number) => string) => Array.from({ length: count }, (_, n) => row(n));

describe.each(engines)("import on $name", (kind) => {
  let engine: Engine;
  let sites = maxCreatedSite;
  useEngine(kind, (opened) => {
    engine = opened;
  });
  beforeAll(async () => void (await createSite(engine, "first", {}, 1)));

  async function load(site: number, lines: readonly string[], options: Partial<ImportOptions> = {}) {
    const bytes = (async function* () {
      yield Buffer.from(`${lines.join("\n")}\n`);
    })();
    return importRecords(engine, site, brand, readRows(brand, bytes, "csv"), { now: () => 1, ...options });
  }
  const stored = async (site: number) =>
    (await readAllRows(engine, site)).rows.map(({ id, body }) => `${id} ${JSON.parse(body ?? "{}").Name}`);

  const faults: [string, string][] = [
    ["an invalid row", "2000,"],
    ["a row whose record was deleted", "7,Deleted"],
  ];
  test.each(faults)("an atomic import stores nothing if %s comes after many valid rows", async (_, bad) => {
    const site = ++sites;
    await load(site, ["ID,Name", "7,Deleted"]);
    const intent = {
      site,
      resource: "brand",
      operation: "delete",
      id: 7,
      valuesJson: "{}",
      actor: "test",
      at: 1,
    } as const;
    await engine.commit([intent]);
    const lines = ["ID,Name", ...times(batch + 100, (n) => `${n + 100},Brand`), bad, "3000,Last"];
    const begun: number[] = [];
    const summary = await load(site, lines, { atomic: true, onBeforeCommit: (revision) => void begun.push(revision) });
    expect(summary).toMatchObject({ created: 0, updated: 0, unchanged: 0, rejected: 1 });
    expect(begun).toEqual([]);
    expect((await stored(site)).filter((line) => line.endsWith("Brand"))).toEqual([]);
    expect((await engine.readHeads([site]))[0]?.revision).toBe(2);
  });
  if (kind.name === "PostgreSQL") return;

  test.each([
    "json",
    "xml",
  ] as const)("reports all errors of many invalid records in %s, with hints for the first 1,000", async (format) => {
    const names = times(10, (n) => `Tow${String.fromCharCode(97 + n)}`);
    const record =
      format === "json"
        ? `{"Name":"x",${names.map((name) => `"${name}":""`)}}`
        : `<Brand><Name>x</Name>${names.map((name) => `<${name}/>`).join("")}</Brand>`;
    const all = times(110, () => record);
    const text = format === "json" ? `[${all}]` : `<Results>${all.join("")}</Results>`;
    const bytes = (async function* () {
      yield Buffer.from(text);
    })();
    const { rejected, faults } = await importRecords(engine, ++sites, brand, readRows(brand, bytes, format), {
      now: () => 1,
    });
    const hints = faults.filter(({ detail }) => detail.includes("did you mean `Address.Town`")).length;
    const inXml = faults.filter(({ detail }) => detail.includes("did you mean <Town> in <Address>")).length;
    expect([rejected, faults.length, hints + inXml]).toEqual([110, 1100, 1000]);
  });

  test("lists 10,000 errors, and counts the rest", async () => {
    const { rejected, faults, moreFaults } = await load(++sites, ["ID,Name", ...times(10_002, () => "x,A")]);
    expect([rejected, faults.length, moreFaults]).toEqual([10_002, 10_000, 2]);
  });

  test("refuses a CSV file with more columns than a spreadsheet can have", async () => {
    const columns = times(16_385, (n) => `# ${n}`);
    await expect(load(++sites, [["Name", ...columns.slice(2)].join(), "A"])).resolves.toMatchObject({ created: 1 });
    await expect(load(sites, [columns.join(), "A"])).rejects.toThrow(
      "the file has 16385 columns, and only 16384 can be imported; check its delimiter",
    );
  });

  test("stores nothing in a site that was removed, and says why", async () => {
    const { ID } = await createSite(engine, "gone", {}, 1);
    await load(ID, ["Name", "A"]);
    await removeSite(engine, "gone", 1);
    const { created, faults } = await load(ID, ["Name", "B"]);
    expect([created, faults]).toEqual([
      0,
      [{ row: 2, field: "", code: "conflict", detail: "the site was restored, renewed or removed during the import" }],
    ]);
  });

  const modes = [
    ["in batches", false],
    ["atomically", true],
  ] as const;

  test.each(modes)("%s, stores nothing in a new site if the database is restored meanwhile", async (_, atomic) => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-import-"));
    const file = join(folder, "a.backup");
    await backUp(engine, file, 1);
    const { ID } = await createSite(engine, `new-${atomic}`, {}, 1);
    const rows = (async function* () {
      yield Buffer.from("Name\nA\n");
      await restore(engine, file, join(folder, "before"), 1);
      yield Buffer.from("B\n");
    })();
    const { created, faults } = await importRecords(engine, ID, brand, readRows(brand, rows, "csv"), {
      now: () => 1,
      atomic,
    });
    expect([created, faults[0]?.detail]).toEqual([0, "the site was restored, renewed or removed during the import"]);
    expect(await engine.readHeads([ID])).toMatchObject([{ revision: 0, epoch: "" }]);
    rmSync(folder, { recursive: true, force: true });
  });

  const beginnings: [string, string[]][] = [
    ["with records", ["Name", "A", "B"]],
    ["without records", []],
  ];
  test.each(beginnings)("changes nothing after the database was restored, in a site %s", async (_, lines) => {
    const site = ++sites;
    if (lines.length > 0) await load(site, lines);
    const backup = await Array.fromAsync(engine.dump());
    const bytes = (async function* () {
      yield Buffer.from(`ID,Name\n${times(batch, (n) => `${n + 1},First\n`).join("")}`);
      await engine.replaceAllData(
        (async function* () {
          yield* backup;
        })(),
      );
      yield Buffer.from("1,Late\n900,Late\n");
    })();
    const summary = await importRecords(engine, site, brand, readRows(brand, bytes, "csv"), { now: () => 1 });
    expect(summary.created + summary.updated).toBe(batch);
    const detail = "the site was restored, renewed or removed during the import";
    expect(summary.faults).toEqual([502, 503].map((row) => ({ row, field: "", code: "conflict" as const, detail })));
    expect(await stored(site)).toEqual(lines.slice(1).map((name, n) => `${n + 1} ${name}`));
  });

  test("an atomic import stores all rows if they're valid", async () => {
    const site = ++sites;
    const summary = await load(site, ["Name", ...times(2 * batch + 1, (n) => `Brand ${n}`)], { atomic: true });
    expect(summary).toMatchObject({ created: 2 * batch + 1, rejected: 0 });
    expect(await stored(site)).toHaveLength(2 * batch + 1);
  });

  test.each(modes)("%s, stores fewer rows per batch if they're long", async (_, atomic) => {
    const site = ++sites;
    const sizes: number[] = [];
    const observed: Engine = {
      ...engine,
      commit: (intents) => {
        sizes.push(intents.length);
        return engine.commit(intents);
      },
      commitAtomically: (batches, onOutcomes) =>
        engine.commitAtomically(batches, (outcomes) => {
          sizes.push(outcomes.length);
          return onOutcomes(outcomes);
        }),
    };
    const bytes = (async function* () {
      yield Buffer.from("Name,# note\n");
      for (let n = 0; n < 20; n++) yield Buffer.from(`Brand ${n},${"x".repeat(1_000_000)}\n`);
      yield Buffer.from("Last,\n");
    })();
    const rows = readRows(brand, bytes, "csv");
    const summary = await importRecords(observed, site, brand, rows, { now: () => 1, atomic });
    expect(summary).toMatchObject({ created: 21, rejected: 0 });
    expect(Math.max(...sizes)).toBeLessThan(10);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(21);
  });

  const idModes: [string, Partial<ImportOptions>][] = [
    ["", {}],
    [" in a dry run", { dryRun: true }],
    [", atomically", { atomic: true }],
    [" in an atomic dry run", { atomic: true, dryRun: true }],
  ];
  test.each(idModes)("rejects a row whose ID went to an earlier row without one%s", async (_, options) => {
    // With both rows in one batch, and in two.
    for (const [without, withIds] of [
      [3, 2],
      [batch, batch + 100],
    ] as const) {
      const site = ++sites;
      const lines = ["ID,Name", ...times(without, (n) => `,New ${n}`), ...times(withIds, (n) => `${n + 1},Own ${n}`)];
      const { created, updated, rejected, faults } = await load(site, lines, options);
      const taken = Math.min(without, withIds);
      const counts = options.atomic ? [0, 0, 1] : [without + withIds - taken, 0, taken];
      expect([created, updated, rejected]).toEqual(counts);
      const detail =
        "the ID 1 went to another new record during the import; move rows with IDs to the top, and import again";
      expect(faults[0]).toEqual({ row: without + 2, field: "", code: "taken", detail });
      const isStored = !options.atomic && !options.dryRun;
      expect((await stored(site)).filter((line) => line.includes("New"))).toHaveLength(isStored ? without : 0);
    }
  });

  test("rejects an earlier row's ID in each range of IDs the database has assigned", async () => {
    const site = ++sites;
    // The database assigns the IDs 1 to 500 and, after the row with an ID, 1001 to 1499.
    const before = [...times(batch, () => ",New"), "1000,Own", ...times(batch - 1, () => ",New")];
    const ids = [1, 250, 500, 501, 999, 1000, 1001, 1250, 1499, 1500];
    const summary = await load(site, ["ID,Name", ...before, ...ids.map((id) => `${id},Again`)]);
    expect(summary).toMatchObject({ created: before.length + 3, updated: 1, rejected: 6 });
    const again = [501, 999, 1000, 1500].map((id) => `${id} Again`);
    expect((await stored(site)).filter((line) => line.endsWith("Again"))).toEqual(again);
  });

  test("a dry run decides a rejected optional intent at the end of a batch as the database does", async () => {
    const site = ++sites;
    const optional: Intent = { ...deleteBrand(site, 99), isOptional: true };
    const batches = [[createBrand(site, "First"), optional], [createBrand(site, "Second")]];
    const kindsOn = async (target: Pick<Engine, "commitAtomically">) => {
      const kinds: string[] = [];
      await target.commitAtomically(batches, (outcomes) => void kinds.push(...outcomes.map(({ kind: what }) => what)));
      return kinds;
    };
    const simulated = new DryRunEngine(engine, site);
    expect(await kindsOn(simulated)).toEqual(["done", "rejected", "done"]);
    simulated.close();
    expect(await kindsOn(engine)).toEqual(["done", "rejected", "done"]);
  });
});
