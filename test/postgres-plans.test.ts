// How PostgreSQL carries out what is sent to it when its statistics are older than the rows.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { allResources } from "../src/resources/all.ts";
import { openEngine } from "../src/store/open.ts";
import { sql } from "../src/store/postgres/statements.ts";
import { createIntent } from "./support/intents.ts";
import { type OpenedDatabases, openDatabases } from "./support/postgres-databases.ts";

setDefaultTimeout(60_000);

let databases: OpenedDatabases;
let name: string;
beforeAll(async () => {
  databases = await openDatabases();
  const url = await databases.createDatabase();
  name = /[^/]+$/.exec(url)?.[0] as string;
  const engine = await openEngine(url, allResources);
  const writes = (site: number) =>
    Array.from({ length: 3000 }, (_, at) =>
      createIntent({ site, at, idempotency: { keyId: 1, name: `${at}`, digest: "" } }),
    );
  await engine.commit(writes(1));
  await databases.run("analyze", name);
  await engine.commit(writes(2));
  await engine.close();
});
afterAll(() => databases.remove());

test.each([
  ["records of a removed site", sql.dropRows("records", 2)],
  ["journal of a removed site", sql.dropRows("journal", 2)],
  ["responses of a removed site", sql.dropRows("idempotency", 2)],
  ["expired responses", sql.deleteExpiredResponses(2, 3000, 500)],
])("%s are found by their keys", async (_, statement) => {
  const lines = await databases.run(`explain analyze ${statement}`, name);
  const plan = lines.map((line) => line["QUERY PLAN"]).join("\n");
  expect(plan).toMatch(/^Delete .*actual .* rows=[1-9]/);
  expect(plan).not.toContain("Removed by Join Filter");
});
