// Creates the tables and reporting views, or adds what a database of an older version lacks (store/database/schema.ts).

import type { Database } from "bun:sqlite";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import {
  type DeclaredTables,
  missingTables,
  missingViews,
  schemaTooNewError,
  schemaVersion,
  toExistingColumns,
} from "../database/schema.ts";
import { withSqliteErrors } from "./errors.ts";
import { runInTransaction } from "./transaction.ts";

/** What a new database has besides the declared tables. */
const others = `create table this_database (id integer primary key, name text not null, last_backup integer) strict;
insert into this_database (id, name) values (1, lower(hex(randomblob(16))));
create index idempotency_at on idempotency (at)`;

/**
 * Creates the tables, or adds missing tables and columns. Holds the write lock, so that several processes can start at once. Returns whether there
 * were no tables before.
 */
export function migrate(database: Database, declared?: DeclaredTables): boolean {
  return withSqliteErrors(() => {
    if (isCurrent(database, declared)) return false;
    return runInTransaction(database, () => {
      const isNew = requireKnownSchema(database) === 0;
      for (const sql of missingIn(database, declared)) database.run(sql);
      if (isNew) database.run(`${others}; pragma user_version = ${schemaVersion}`);
      return isNew;
    });
  });
}

/** @throws ProblemError `unavailable` if `migrate` would change anything */
export function requireCurrent(database: Database): void {
  requireKnownSchema(database);
  if (isCurrent(database)) return;
  throw new ProblemError(
    "unavailable",
    "the database was made by an older version of this program, and can't be upgraded because it's read-only",
  );
}

function isCurrent(database: Database, declared?: DeclaredTables): boolean {
  return version(database) === schemaVersion && missingIn(database, declared).length === 0;
}

function missingIn(database: Database, declared?: DeclaredTables): string[] {
  const columns = database.query(
    "select t.name, c.name from sqlite_master as t, pragma_table_info(t.name) as c where t.type = 'table'",
  );
  const dialect = {
    integer: "integer",
    // If the key is a single whole number, it's the row ID.
    options: ({ key, columns: types }: DeclaredTables[string]) =>
      key.length === 1 && types[key[0] as string] === "integer" ? " strict" : " strict, without rowid",
  };
  return missingTables(toExistingColumns(columns.values() as [string, string][]), dialect, declared);
}

/** Returns the version of a schema that this program knows; 0 for an empty file. @throws ProblemError `unavailable` like `openDatabase` */
export function requireKnownSchema(database: Database): number {
  if (database.inTransaction) return checkSchema(database);
  // All queries must see the same state, because another process may be creating the tables.
  return database.transaction(() => checkSchema(database))();
}

function checkSchema(database: Database): number {
  const found = version(database);
  const isOurs = found > 0 && database.query("select 1 from pragma_table_info('journal') where name = 'site_id'").get();
  // An empty file has nothing in it, not even views.
  if (!isOurs && database.query("select 1 from sqlite_master").get() !== null)
    throw new ProblemError("unavailable", `the database ${database.filename} belongs to another program`);
  if (found > schemaVersion) throw schemaTooNewError(found);
  return found;
}

/** Returns the schema version; 0 before the tables are created. */
export function version(database: Database): number {
  return (database.query("pragma user_version").get() as { user_version: number }).user_version;
}

const viewDialect = {
  create: "CREATE VIEW",
  textAt: (path: string) => `json_extract(body, '$.${path}')`,
  paths: /'\$\.([^']+)'/g,
};

/** Creates each resource's reporting view, or adds missing columns. */
export function createViews(database: Database, resources: readonly Resource[]): void {
  const outdated = () => {
    const rows = database.query("select name, sql from sqlite_master where type = 'view'").values();
    return missingViews(new Map(rows as [string, string][]), viewDialect, resources);
  };
  if (outdated().length === 0) return;
  runInTransaction(database, () => {
    for (const { name, sql } of outdated()) {
      database.run(`drop view if exists "${name}"`);
      database.run(sql);
    }
  });
}
