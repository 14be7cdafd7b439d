// A read in several steps is consistent, which means that it includes no commit in between.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { DumpedRow, Engine } from "../../src/model/engine.ts";
import { allResources } from "../../src/resources/all.ts";
import { findRowInconsistencies } from "../../src/store/database/consistency-check.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { openEngine } from "../../src/store/open.ts";
import { engineKinds } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";

describe.each(engineKinds)("on $name", (kind) => {
  let reader: Engine;
  let writer: Engine;
  beforeAll(async () => {
    await kind.open();
    const url = await kind.newDatabase();
    reader = await openEngine(url, allResources);
    writer = await openEngine(url, allResources);
  });
  afterAll(async () => {
    await reader.close();
    await writer.close();
    await kind.close();
  });

  test("dump: no row committed after its first one", async () => {
    const make = (Name: string) => createIntent({ values: { Name } });
    await writer.commit([make("early"), make("early")]);
    await writer.commit([createIntent({ site: 2 })]);
    const seen: DumpedRow[] = [];
    for await (const row of reader.dump()) {
      seen.push(row);
      await writer.commit([make("late"), createIntent({ operation: "update", id: 1, values: { Name: "late" } })]);
    }
    expect(seen.filter(({ table }) => table === "records")).toHaveLength(3);
    expect(JSON.stringify(seen)).not.toContain("late");
    expect(findRowInconsistencies(seen)).toEqual([]);
  });

  test("load: has its head's records, and changes are consecutive", async () => {
    const [site, writes] = [5, kind.name === "SQLite" ? 300 : 100];
    await writer.commit([createIntent({ site })]);
    let isDone = false;
    const writing = (async () => {
      for (let i = 0; i < writes; i++) {
        await writer.commit([createIntent({ site, operation: "update", id: 1, values: { Name: `${i}` } })]);
      }
    })().finally(() => {
      isDone = true;
    });
    const torn: object[] = [];
    while (!isDone) {
      const { head, rows } = await readAllRows(reader, site);
      const changes = await reader.readChangesSince(site, head.revision);
      const follows = changes?.every(({ revision }, index) => revision === head.revision + 1 + index);
      if (rows[0]?.revision !== head.revision || !follows) torn.push({ head, rows, changes });
      // Let the writer continue.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(torn).toEqual([]);
    await writing;
    expect((await readAllRows(reader, site)).head.revision).toBe(1 + writes);
  });
});
