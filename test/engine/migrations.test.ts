// A migration that only adds columns runs on a database that has the columns of the migrations before it.

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../src/model/engine.ts";
import { allResources } from "../../src/resources/all.ts";
import type { Addition } from "../../src/store/database/schema-versions.ts";
import { openEngine } from "../../src/store/open.ts";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { migrate as migratePostgres } from "../../src/store/postgres/migrate.ts";
import { Pool } from "../../src/store/postgres/pool.ts";
import { createPrimary } from "../../src/store/postgres/primary.ts";
import { migrate as migrateSqlite } from "../../src/store/sqlite/migrate.ts";
import { createIntent } from "../support/engine/intents.ts";
import { openDatabases } from "../support/postgres/databases.ts";

const latest: Addition[] = [
  { table: "webhook_state", column: "gone_at", sql: "this must not run again" },
  { table: "records", column: "shade", sql: "alter table records add column shade text" },
  { table: "records", column: "shape", sql: "alter table records add column shape text" },
];

const folder = mkdtempSync(join(tmpdir(), "storefront-migrations-"));
const server = await openDatabases();
afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

test("SQLite: each migration that is missing runs, once", () => {
  using database = new Database(join(folder, "sites.db"), { create: true });
  migrateSqlite(database);
  for (const known of [latest.slice(0, 2), latest, latest]) migrateSqlite(database, known);
  expect(database.query("select shade, shape from records").all()).toEqual([]);
});

test("PostgreSQL: each migration that is missing runs, once, also with two processes", async () => {
  const primary = createPrimary(parseAddress(await server.createDatabase()));
  const pool = new Pool(primary, 1);
  await migratePostgres(pool, primary, allResources);
  for (const known of [latest.slice(0, 2), latest, latest]) {
    await Promise.all([1, 2].map(() => migratePostgres(pool, primary, allResources, known)));
  }
  expect(await pool.read((connection) => connection.script("select shade, shape from records"))).toEqual([[]]);
  await pool.close();
});

test.each([
  ["UTF8", "opened", "opened"],
  ["SQL_ASCII", "opened", "opened"],
  ["LATIN1", "rejected", "the database has the encoding LATIN1"],
])("a PostgreSQL database with the encoding %s is %s", async (encoding, _, result) => {
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
