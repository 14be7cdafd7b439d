// How PostgreSQL executes our statements when its statistics are older than the rows.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Intent } from "../../../src/model/change.ts";
import { allResources } from "../../../src/resources/all.ts";
import { deleteSome, selectSitesToDrop } from "../../../src/store/database/site-operations.ts";
import type { TableName } from "../../../src/store/database/tables.ts";
import { openEngine } from "../../../src/store/open.ts";
import { sql } from "../../../src/store/postgres/statements.ts";
import { createIntent } from "../../support/engine/intents.ts";
import { openDatabases } from "../../support/postgres/databases.ts";

const databases = await openDatabases();
afterAll(() => databases.remove());

/** The address with more time for a statement than a busy machine takes for thousands of rows. */
const patient = (url: string) => `${url}?statement_timeout=50000`;

/** A statement that deletes rows of a removed site. */
const deletion = (table: TableName) => deleteSome(table, "2", "limit 2000");

/** Writes to this number of sites, or to one site. Each stores a record, a change and a response. */
function writes(siteOf: (at: number) => number): Intent[] {
  return Array.from({ length: 3000 }, (_, at) =>
    createIntent({ site: siteOf(at), at, idempotency: { keyId: 1, name: `${at}`, digest: "" } }),
  );
}

test("no statistics yet: a journal page is read without the entries that follow", async () => {
  const url = await databases.createDatabase();
  const engine = await openEngine(patient(url), allResources);
  await engine.commit(writes(() => 1));
  await engine.close();
  const [declared] = `explain ${sql.entries(1, 10, 1000)}`.split(";");
  const plan = JSON.stringify(await databases.run(`begin; ${declared}; commit`, /[^/]+$/.exec(url)?.[0]));
  expect(plan).toContain("Index Scan using journal_pkey");
  expect(plan).not.toContain("Sort");
});

describe.each([
  ["one site", () => 1],
  ["many sites with a row each", (at: number) => 3 + at],
])("with statistics of %s,", (_, siteOf) => {
  let name: string;
  beforeAll(async () => {
    const url = await databases.createDatabase();
    name = /[^/]+$/.exec(url)?.[0] as string;
    const engine = await openEngine(patient(url), allResources);
    await engine.commit(writes(siteOf));
    await databases.run("analyze", name);
    await engine.commit(writes(() => 2));
    await engine.close();
  });

  async function planOf(statement: string): Promise<string> {
    const lines = await databases.run(`explain analyze ${statement}`, name);
    return lines.map((line) => line["QUERY PLAN"]).join("\n");
  }

  test.each([
    ["records of a removed site", deletion("records")],
    ["journal of a removed site", deletion("journal")],
    ["responses of a removed site", deletion("idempotency")],
    ["expired responses", sql.deleteExpiredResponses(2, 3000, 500)],
  ])("%s are found by their keys", async (_, statement) => {
    const plan = await planOf(statement);
    expect(plan).toMatch(/^Delete .*actual .* rows=[1-9]/);
    expect(plan).not.toContain("Removed by");
  });

  test("removed sites' rows are found by site", async () => {
    const plan = JSON.stringify(await databases.run(`${sql.beginLookUp}; explain ${selectSitesToDrop}; commit`, name));
    expect(plan).toContain("on records gone");
    expect(plan).not.toMatch(/Seq Scan on (records|journal|idempotency)/);
  });

  test("journal entries' records are stored from those entries alone", async () => {
    const plan = await planOf(sql.recordsOfEntries({ site: 2, first: 2001, last: 2100 }, "old"));
    expect(plan).toMatch(/Index Scan using journal_pkey .*\n *Index Cond: .*revision >= 2001/);
    // These are the creates among them.
    expect(plan).toContain("Rows Removed by Filter: 100\n");
  });
});
