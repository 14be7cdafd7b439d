// The background comparison of sites in memory with the database (src/store/reads/snapshot-verification.ts) finds every planted fault, and changes made during
// it don't count as differences.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import pino from "pino";
import type { Engine } from "../../../../src/model/engine.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { brand } from "../../../../src/resources/brand.ts";
import { openEngine } from "../../../../src/store/open.ts";
import { SiteViews } from "../../../../src/store/reads/site-views.ts";
import {
  DifferenceReports,
  startVerification,
  type Verification,
} from "../../../../src/store/reads/snapshot-verification.ts";
import { engines } from "../../../support/engine/engines.ts";
import { createBrand, createIntent, deleteBrand, updateBrand } from "../../../support/engine/intents.ts";
import { loadUpToDate } from "../../../support/engine/snapshots.ts";
import { ticks, waitUntil } from "../../../support/time.ts";

const noPauses = { firstMs: 0, minMs: 0, perWork: 0, passMs: 0 };

/** A process: its view of the sites, and its verification. */
interface Process {
  readonly siteViews: SiteViews;
  readonly verification: Verification;
  /** The log, as one object for each line. */
  readonly lines: Record<string, unknown>[];
}

const running: Verification[] = [];

function startProcess(engine: Engine, budget = 1e9): Process {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const reports = new DifferenceReports(log);
  const siteViews = new SiteViews(engine, allResources, budget, { onDifferences: reports.add });
  const options = { engine, siteViews, resources: allResources, reports, log, pauses: noPauses };
  const verification = startVerification(true, options);
  running.push(verification);
  return { siteViews, verification, lines };
}

function metric({ verification }: Process, name: string): number {
  return verification.families().find((family) => family.name === name)?.values[0]?.value as number;
}

const differences = (process: Process) => metric(process, "storefront_verify_differences_total");

/** Waits until all sites in memory were compared after this call. @param records in memory */
async function comparedAgain(process: Process, records: number): Promise<void> {
  const before = metric(process, "storefront_verified_records_total");
  await waitUntil(() => metric(process, "storefront_verified_records_total") >= before + 2 * records, "a pass");
}

describe.each(engines)("on $name", (kind) => {
  let url: string;
  let engine: Engine;
  let other: Engine;
  beforeAll(async () => {
    await kind.open();
    url = await kind.newDatabase();
    engine = await openEngine(url, allResources);
    other = await openEngine(url, allResources);
  });
  afterEach(async () => {
    for (const verification of running.splice(0)) await verification.stop();
  });
  afterAll(async () => {
    await Promise.all([engine.close(), other.close()]);
    await kind.close();
  });
  let site = 0;

  /** Makes a site with ten brands in the database, of which brand 10 is deleted. */
  async function makeSite(): Promise<number> {
    site++;
    await engine.commit([
      ...Array.from({ length: 10 }, (_, index) => createBrand(site, `Brand ${index + 1}`)),
      createIntent({ site, resource: "order-status", values: { Name: "New" } }),
      deleteBrand(site, 10),
    ]);
    return site;
  }

  /** Waits for the first lines of the log. */
  async function found({ lines }: Process): Promise<Record<string, unknown>[]> {
    await waitUntil(() => lines.length > 0, "a difference");
    return lines;
  }

  const namesIn = async ({ siteViews }: Process, at: number) =>
    [...(await loadUpToDate(siteViews, at)).collection(brand)].map(({ json }) => JSON.parse(json).Name);

  test("equal sites: no differences, even in the system site and deleted records", async () => {
    const at = await makeSite();
    const process = startProcess(engine);
    await loadUpToDate(process.siteViews, at);
    await engine.commit([createIntent({ site: 0, resource: "site", values: { Name: `site-${at}` } })]);
    await loadUpToDate(process.siteViews, 0);
    await comparedAgain(process, 12);
    expect(differences(process)).toBe(0);
    expect(metric(process, "storefront_verified_parts_total")).toBeGreaterThan(2 * allResources.length);
  });

  test("record altered in memory: found, and the next request loads the site", async () => {
    const at = await makeSite();
    const process = startProcess(engine);
    const snapshot = await loadUpToDate(process.siteViews, at);
    snapshot.collection(brand).set({ id: 3, revision: 3, body: '{"ID":3,"Name":"A secret"}' });
    const [line] = await found(process);
    expect(line).toMatchObject({ level: 50, site: at, revision: 12, resource: "brand", id: 3 });
    expect(line).toMatchObject({ kind: "fields", fields: ["Name"], memory: 3, database: 3 });
    expect(JSON.stringify(line)).not.toContain("secret");
    expect(await namesIn(process, at)).toContain("Brand 3");
    await comparedAgain(process, 10);
    expect(differences(process)).toBe(1);
  });

  test.each([
    ["missing in memory", { id: 2, revision: 2, body: null }, { id: 2, kind: "not-in-memory", database: 2 }],
    [
      "deleted, and is in memory",
      { id: 10, revision: 10, body: '{"ID":10,"Name":"x"}' },
      { id: 10, kind: "not-in-database" },
    ],
    ["only in memory", { id: 99, revision: 9, body: '{"ID":99,"Name":"x"}' }, { id: 99, kind: "not-in-database" }],
    ["at an earlier revision", { id: 4, revision: 3, body: '{"ID":4,"Name":"Brand 4"}' }, { id: 4, kind: "revision" }],
  ])("record %s: found", async (_, row, difference) => {
    const at = await makeSite();
    const process = startProcess(engine);
    (await loadUpToDate(process.siteViews, at)).collection(brand).set(row);
    expect(await found(process)).toContainEqual(
      expect.objectContaining({ site: at, resource: "brand", ...difference }),
    );
    expect((await namesIn(process, at)).sort()).toEqual(Array.from({ length: 9 }, (_, index) => `Brand ${index + 1}`));
  });

  test("row altered by hand: found, and then served", async () => {
    const at = await makeSite();
    const process = startProcess(engine);
    await loadUpToDate(process.siteViews, at);
    const where = `where site_id = ${at} and resource = 'brand' and id = 5`;
    await kind.run(url, `update records set body = '{"ID":5,"Name":"By hand"}' ${where}`);
    expect(await found(process)).toMatchObject([{ site: at, id: 5, kind: "fields", fields: ["Name"] }]);
    expect(await namesIn(process, at)).toContain("By hand");
  });

  test("damaged JSON, and a row beyond its site's head: found", async () => {
    const [damaged, early] = [await makeSite(), await makeSite()];
    const process = startProcess(engine);
    for (const at of [damaged, early]) await loadUpToDate(process.siteViews, at);
    const where = "resource = 'brand' and id = 5 and site_id";
    await kind.run(url, `update records set body = '{"ID":5,' where ${where} = ${damaged}`);
    await kind.run(url, `update records set revision = 1000 where ${where} = ${early}`);
    await waitUntil(() => process.lines.length >= 2, "both differences");
    expect(process.lines).toContainEqual(expect.objectContaining({ site: damaged, id: 5, kind: "unreadable" }));
    expect(process.lines).toContainEqual(expect.objectContaining({ site: early, id: 5, kind: "after-head" }));
  });

  test("skipped change: found", async () => {
    const at = await makeSite();
    // The mutation: a change is applied to the wrong record, so that brand 6 misses it.
    const readChangesSince: Engine["readChangesSince"] = async (...args) =>
      (await engine.readChangesSince(...args))?.map((change) =>
        change.revision === 13 ? { ...change, id: 7 } : change,
      );
    const process = startProcess({ ...engine, readChangesSince });
    await loadUpToDate(process.siteViews, at);
    await engine.commit([updateBrand(at, 6, { Name: "Changed" })]);
    await loadUpToDate(process.siteViews, at);
    expect(await found(process)).toMatchObject([
      { site: at, id: 6, kind: "revision", memory: 6, database: 13 },
      { site: at, id: 7, kind: "revision", memory: 13, database: 7 },
    ]);
    expect(await namesIn(process, at)).toContain("Changed");
  });

  test("count off by one in the database: reported every time, site loaded once", async () => {
    const at = await makeSite();
    const process = startProcess(engine);
    await loadUpToDate(process.siteViews, at);
    const stored = '{"brand":{"count":9,"revision":12},"order-status":{"count":1,"revision":11}}';
    await kind.run(url, `update sites set counts = '${stored.replace("9", "8")}' where id = ${at}`);
    expect(await found(process)).toMatchObject([
      { site: at, resource: "brand", kind: "count", memory: 9, database: 8 },
    ]);
    await loadUpToDate(process.siteViews, at);
    const { loads } = process.siteViews.usage;
    await waitUntil(() => differences(process) >= 3, "further passes");
    expect(process.lines).toHaveLength(1);
    expect(process.siteViews.findCached(at)).toBeDefined();
    await kind.run(url, `update sites set counts = '${stored.replace("12", "1")}' where id = ${at}`);
    await waitUntil(() => process.lines.length > 1, "the other difference");
    expect(process.lines[1]).toMatchObject({ kind: "last-change", memory: 12, database: 1 });
    expect(process.siteViews.usage.loads).toBe(loads);
  });

  test.each([
    ["creates a record that is in memory", "create"],
    ["updates a record that is not in memory", "update"],
    ["deletes a record that is not in memory", "delete"],
  ] as const)("a change that %s drops the snapshot before it is served", async (_, operation) => {
    const at = await makeSite();
    const process = startProcess(engine);
    await process.verification.stop();
    const snapshot = await loadUpToDate(process.siteViews, at);
    const id = operation === "create" ? 11 : 1;
    const body = operation === "create" ? '{"ID":11,"Name":"x"}' : null;
    snapshot.collection(brand).set({ id, revision: 3, body });
    await engine.commit([
      createIntent({ site: at, operation, id: operation === "create" ? undefined : id, values: { Name: "New" } }),
    ]);
    const names = await namesIn(process, at);
    expect(names.includes("New")).toBe(operation !== "delete");
    expect(names).not.toContain("x");
    expect(process.lines).toMatchObject([{ site: at, resource: "brand", id, kind: "unfit-change", operation }]);
  });

  test("changes between a comparison's two reads: no differences", async () => {
    const at = await makeSite();
    let views: SiteViews | undefined;
    const apply = (outcomes: Awaited<ReturnType<Engine["commit"]>>) => {
      for (const outcome of outcomes)
        if (outcome.kind === "done") views?.applyOwnCommit(at, outcome.change, outcome.epoch, outcome.timeline);
    };
    let reads = 0;
    const readRowsAfter: Engine["readRowsAfter"] = async (...args) => {
      reads++;
      const [first, second] = [2 * reads - 1, 2 * reads].map((n) => (n % 9) + 1) as [number, number];
      const changes = (id: number) => [
        updateBrand(at, id, { Name: `Brand ${reads}` }),
        createBrand(at, "Short-lived"),
        createIntent({ site: at, operation: "restore", id: 10, values: { ID: 10, Name: `Again ${reads}` } }),
      ];
      // Before the rows are read: changes that this process has applied, and changes that it does not know.
      apply(await engine.commit(changes(first)));
      await other.commit([...changes(second), deleteBrand(at, 10)]);
      const read = await engine.readRowsAfter(...args);
      // After that: the process catches up.
      await other.commit([updateBrand(at, second, { Name: "Late" })]);
      await loadUpToDate(process.siteViews, at);
      return read;
    };
    const process = startProcess({ ...engine, readRowsAfter });
    views = process.siteViews;
    await loadUpToDate(views, at);
    await waitUntil(() => reads >= 30, "reads");
    await process.verification.stop();
    expect(process.lines).toEqual([]);
    expect(metric(process, "storefront_verified_records_total")).toBeGreaterThan(0);
  });

  test("writers, new epochs, evictions and pruning elsewhere: no differences", async () => {
    const sites = [await makeSite(), await makeSite(), await makeSite()];
    const one = startProcess(engine);
    // Two sites fit into memory.
    const two = startProcess(other, 60_000);
    let stopped = false;
    const write = async (from: Engine, seed: number) => {
      for (let n = seed; !stopped; n++) {
        const at = sites[n % 3] as number;
        const id = (n % 9) + 1;
        await from.commit([
          updateBrand(at, id, { Name: `${n}` }),
          createBrand(at, `${n}`),
          deleteBrand(at, 11 + (n % 40)),
        ]);
        if (n % 7 === 0) await from.pruneJournal(at, n, 5);
        if (n % 29 === 0) await from.replaceEpochs();
      }
    };
    const read = async ({ siteViews }: Process) => {
      for (let n = 0; !stopped; n++) {
        await loadUpToDate(siteViews, sites[n % 3] as number, 20);
        await ticks();
      }
    };
    const work = [write(engine, 0), write(other, 1), read(one), read(two)];
    const isCompared = (process: Process) => metric(process, "storefront_verified_records_total") >= 500;
    await waitUntil(() => isCompared(one) && isCompared(two), "comparisons");
    stopped = true;
    await Promise.all(work);
    expect([one.lines, two.lines]).toEqual([[], []]);
  });
});
