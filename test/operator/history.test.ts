// The journal as operators read it, in parts.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Engine } from "../../src/model/engine.ts";
import { readEntries } from "../../src/operator/journal/journal-entries.ts";
import { restoreRecord } from "../../src/operator/journal/restore-record.ts";
import { allResources } from "../../src/resources/all.ts";
import { brand } from "../../src/resources/brand.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { openEngine } from "../../src/store/open.ts";
import { engines } from "../support/engine/engines.ts";
import { createIntent } from "../support/engine/intents.ts";

describe.each(engines)("journal on $name", (kind) => {
  beforeAll(() => kind.open());
  afterAll(() => kind.close());

  // The journal is read in chunks of 500 entries.
  test.each([0, 1, 999, 1000, 1001, 2000, 2500])("%i entries are read completely and in order", async (count) => {
    const engine = await openEngine(await kind.newDatabase(), allResources);
    if (count > 0) await engine.commit(Array.from({ length: count }, () => createIntent()));
    const since = async (revision: number) => {
      const revisions: number[] = [];
      for await (const change of readEntries(engine, 1, { since: revision })) revisions.push(change.revision);
      return revisions;
    };
    const all = Array.from({ length: count }, (_, n) => n + 1);
    expect(await since(0)).toEqual(all);
    expect(await since(3)).toEqual(all.slice(3));
    await engine.close();
  });

  test("isn't used to restore a record if the database is restored during the read", async () => {
    const engine = await openEngine(await kind.newDatabase(), allResources);
    await engine.commit([createIntent({ values: { Name: "from the backup" } })]);
    const backup = await Array.fromAsync(engine.dump());
    const rename = (Name: string) => createIntent({ operation: "update", id: 1, values: { Name } });
    await engine.commit([rename("second"), rename("third")]);
    const slow: Engine["readJournalPage"] = async (...range) => {
      const page = await engine.readJournalPage(...range);
      await engine.replaceAllData(
        (async function* () {
          yield* backup;
        })(),
      );
      return page;
    };
    const thrown = await restoreRecord({ ...engine, readJournalPage: slow }, 1, brand, 1, undefined, 1).catch(
      (error) => error,
    );
    expect(thrown).toMatchObject({ code: "conflict" });
    const { rows } = await readAllRows(engine, 1);
    expect(JSON.parse(rows[0]?.body as string).Name).toBe("from the backup");
    await engine.close();
  });
});
