// A dry run decides what the real commit would, and stores nothing.

import { describe, expect, test } from "bun:test";
import type { Intent, Outcome } from "../../../../src/model/change.ts";
import type { Engine } from "../../../../src/model/engine.ts";
import { OutdatedError } from "../../../../src/model/errors.ts";
import { DryRunEngine, type DryRunReads } from "../../../../src/store/writes/dry-run-engine.ts";
import { engines, maxCreatedSite, useEngine } from "../../../support/engine/engines.ts";
import { createBrand, createIntent, deleteBrand, updateBrand } from "../../../support/engine/intents.ts";

describe.each(engines)("a dry run on $name", (kind) => {
  let engine: Engine;
  let site = maxCreatedSite;
  useEngine(kind, (opened) => {
    engine = opened;
  });

  async function dryRun<T>(use: (dry: DryRunEngine) => Promise<T>): Promise<T> {
    const dry = new DryRunEngine(engine, site);
    try {
      return await use(dry);
    } finally {
      dry.close();
    }
  }
  const head = async () => (await engine.readHeads([site]))[0];
  const toResults = (outcomes: readonly Outcome[]) =>
    outcomes.map((outcome) =>
      outcome.kind === "rejected"
        ? outcome.rejectionReason
        : [outcome.kind, outcome.operation, outcome.id, outcome.revision, outcome.body],
    );

  /** Batches that create, change and delete the same records again and again. */
  function batches(): Intent[][] {
    const status = { site, resource: "order-status", values: { Name: "Open" } };
    return [
      [createBrand(site, "A"), createBrand(site, "B"), createIntent(status), updateBrand(site, 1, { Name: "A2" })],
      [
        deleteBrand(site, 2),
        updateBrand(site, 1, { Name: "A2" }),
        createIntent({ site, id: 50 }),
        createBrand(site, "C"),
      ],
      [updateBrand(site, 2, { Name: "gone" }), createIntent({ site, id: 51 }), createIntent({ site, id: 2 })],
      [createIntent({ site, operation: "restore", id: 2, values: { ID: 2, Name: "B3" } }), deleteBrand(site, 77)],
      [updateBrand(site, 51, { Name: "51b" }), createIntent(status), deleteBrand(site, 50), createBrand(site, "D")],
    ];
  }

  test.each([
    ["a new site", 0],
    ["a site with records", 3],
  ])("same decision as the database, on %s", async (_, records) => {
    site++;
    if (records > 0) await engine.commit(Array.from({ length: records }, (_, n) => createBrand(site, `Old ${n}`)));
    const before = await head();
    const expected = await dryRun(async (dry) => {
      const outcomes: Outcome[][] = [];
      for (const batch of batches()) outcomes.push([...(await dry.commit(batch))]);
      return outcomes;
    });
    expect(await head()).toEqual(before);
    for (const [index, batch] of batches().entries())
      expect(toResults(expected[index] as Outcome[])).toEqual(toResults(await engine.commit(batch)));
  });

  test("knows earlier revisions", async () => {
    site++;
    await engine.commit([createBrand(site, "A"), createBrand(site, "B")]);
    await dryRun(async (dry) => {
      await dry.commit([updateBrand(site, 2, { Name: "B2" }), createBrand(site, "C")]);
      await dry.commit([
        deleteBrand(site, 2),
        updateBrand(site, 3, { Name: "C2" }),
        updateBrand(site, 1, { Name: "A" }),
      ]);
      expect([1, 2, 3].map((id) => dry.revisionBefore("brand", id))).toEqual([undefined, 2, 0]);
    });
  });

  test("others commit: continues with current records and IDs", async () => {
    site++;
    await engine.commit([createBrand(site, "A"), createBrand(site, "B")]);
    await dryRun(async (dry) => {
      await dry.commit([createBrand(site, "Own"), updateBrand(site, 1, { Name: "A2" })]);
      await engine.commit([...Array.from({ length: 5 }, () => createBrand(site, "Other")), deleteBrand(site, 2)]);
      const outcomes = await dry.commit([
        createBrand(site, "Next"),
        updateBrand(site, 2, { Name: "gone" }),
        updateBrand(site, 7, { Name: "Other 2" }),
        updateBrand(site, 1, { Name: "A2" }),
      ]);
      expect(outcomes).toMatchObject([
        { kind: "done", id: 8, revision: 11 },
        { kind: "rejected", rejectionReason: "not-found" },
        { kind: "done", id: 7, revision: 12 },
        { kind: "unchanged", id: 1, revision: 4 },
      ]);
    });
  });

  test("reads only its intents' records, each once", async () => {
    site++;
    await engine.commit(Array.from({ length: 1200 }, (_, n) => createBrand(site, `Brand ${n}`)));
    const read: number[] = [];
    const observed: DryRunReads = {
      readJournalPage: engine.readJournalPage,
      readRows: (of, keys) => {
        read.push(keys.length);
        return engine.readRows(of, keys);
      },
    };
    const dry = new DryRunEngine(observed, site);
    const update = (n: number) => updateBrand(site, n + 1, { Name: `New ${n}` });
    await dry.commit([...Array.from({ length: 1100 }, (_, n) => update(n)), update(5)]);
    const outcomes = await dry.commit([update(3), update(1150), createBrand(site, "X")]);
    dry.close();
    expect(read).toEqual([500, 500, 100, 1]);
    expect(outcomes.map(({ kind: what }) => what)).toEqual(["unchanged", "done", "done"]);
  });

  test("all or nothing: stops at the first rejection", async () => {
    site++;
    const seen: string[][] = [];
    await dryRun((dry) =>
      dry.commitAtomically(
        [[createBrand(site, "A")], [deleteBrand(site, 9), createBrand(site, "B")], [createBrand(site, "C")]],
        (outcomes) => void seen.push(outcomes.map(({ kind: what }) => what)),
      ),
    );
    expect(seen).toEqual([["done"], ["rejected"]]);
  });

  test("stops if the site gets another epoch", async () => {
    site++;
    await engine.commit([createBrand(site, "A")]);
    await dryRun(async (dry) => {
      await dry.commit([createBrand(site, "B")]);
      await engine.replaceEpochs();
      await expect(dry.commit([createBrand(site, "C")])).rejects.toBeInstanceOf(OutdatedError);
    });
  });
});
