// A database gets a later version's tables and columns once, and keeps its rows.

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../src/model/engine.ts";
import { allResources } from "../../src/resources/all.ts";
import type { DeclaredTables } from "../../src/store/database/schema.ts";
import { tables } from "../../src/store/database/tables.ts";
import { openEngine } from "../../src/store/open.ts";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { migrate as migratePostgres } from "../../src/store/postgres/migrate.ts";
import { Pool } from "../../src/store/postgres/pool.ts";
import { createPrimary } from "../../src/store/postgres/primary.ts";
import { migrate as migrateSqlite } from "../../src/store/sqlite/migrate.ts";
import { createIntent } from "../support/engine/intents.ts";
import { openDatabases } from "../support/postgres/databases.ts";

/** What two later versions declare: two columns and a table. */
const later = (columns: DeclaredTables[string]["columns"]): DeclaredTables => ({
  ...tables,
  records: { ...tables.records, columns: { ...tables.records.columns, ...columns } },
  shelves: { isAdded: true, key: ["id"], columns: { id: "integer", name: "text", note: "text?" } },
});
const laterVersions = [later({ shade: "added text" }), later({ shade: "added text", size: "added integer" })];

const insertRecord = "insert into records (site_id, resource, id, revision) values (7, 'brand', 1, 1)";

const folder = mkdtempSync(join(tmpdir(), "storefront-migrations-"));
const server = await openDatabases();
afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

test("SQLite", () => {
  using database = new Database(join(folder, "sites.db"), { create: true });
  expect(migrateSqlite(database)).toBe(true);
  database.run(insertRecord);
  for (const declared of [...laterVersions, laterVersions[1]]) expect(migrateSqlite(database, declared)).toBe(false);
  expect(database.query("select id, shade, size from records").all()).toEqual([{ id: 1, shade: null, size: null }]);
  expect(database.query("select id, name, note from shelves").all()).toEqual([]);
  expect(migrateSqlite(database)).toBe(false);
});

test("PostgreSQL, also with two processes", async () => {
  const primary = createPrimary(parseAddress(await server.createDatabase()));
  const pool = new Pool(primary, 1);
  await migratePostgres(pool, primary, allResources);
  await pool.use((connection) => connection.script(insertRecord));
  for (const declared of [...laterVersions, laterVersions[1], tables])
    await Promise.all([1, 2].map(() => migratePostgres(pool, primary, allResources, declared)));
  const read = (text: string) => pool.read((connection) => connection.script(text));
  expect(await read("select id, shade, size from records")).toEqual([[{ id: 1, shade: null, size: null }]]);
  expect(await read("select id, name, note from shelves")).toEqual([[]]);
  await pool.close();
});

test.each([
  ["column", "alter table webhook_attempts drop column fault", "lacks the column fault in the table webhook_attempts"],
  ["table", "drop table records", "lacks the table records"],
])("database without a %s from the first release: rejected", async (what, damage, found) => {
  const file = join(folder, `damaged-${what}.db`);
  await (await openEngine(`sqlite:${file}`, allResources)).close();
  using database = new Database(file);
  database.run(damage);
  const message = expect.stringContaining(found);
  const opened = openEngine(`sqlite:${file}`, allResources).catch((error) => error);
  expect(await opened).toMatchObject({ code: "unavailable", message });
});

test.each([
  ["UTF8", "opened", "opened"],
  ["SQL_ASCII", "opened", "opened"],
  ["LATIN1", "rejected", "the database's encoding is LATIN1"],
])("PostgreSQL database with the encoding %s: %s", async (encoding, _, result) => {
  const database = `encoding_${encoding.toLowerCase()}`;
  await server.run(`create database ${database} template template0 encoding '${encoding}' lc_collate 'C' lc_ctype 'C'`);
  try {
    const url = (await server.createDatabase()).replace(/[^/]+$/, database);
    const found = await openEngine(url, allResources).then(writeEuro, ({ message }) => message.split(",")[0]);
    expect(found).toBe(result);
  } finally {
    await server.run(`drop database ${database} with (force)`);
  }
});

/** Stores a character that few encodings have. */
async function writeEuro(engine: Engine): Promise<string> {
  const [outcome] = await engine.commit([createIntent({ values: { Name: "€" } })]);
  expect(outcome).toMatchObject({ kind: "done", body: '{"ID":1,"Name":"€"}' });
  await engine.close();
  return "opened";
}
