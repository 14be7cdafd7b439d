// Creates the tables and the reporting views, or upgrades them to the version of this program.

import type { Database } from "bun:sqlite";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { incompleteSites } from "../database/incomplete-sites.ts";
import { type ReportingView, reportingViewName, toReportingView } from "../database/reporting-views.ts";
import {
  type Addition,
  additionsOf,
  lastOfBase,
  schemaTooNewError,
  schemaTooOldError,
} from "../database/schema-versions.ts";
import webhookColumns from "./001-webhook-columns.sql" with { type: "text" };
import lastBackup from "./002-last-backup.sql" with { type: "text" };
import deliveryExchanges from "./003-delivery-exchanges.sql" with { type: "text" };
import restrictions from "./004-restrictions.sql" with { type: "text" };
import { withSqliteErrors } from "./errors.ts";
import base from "./tables.sql" with { type: "text" };
import { completeSitesIn, runInTransaction } from "./transaction.ts";

/** Migrations that raise the schema version. A program that does not know the version rejects the database. */
const migrations: readonly string[] = [base];

/** Migrations that only add tables or columns. They do not raise the schema version, so older programs can use the database too. */
const knownAdditions = additionsOf({
  "001-webhook-columns.sql": webhookColumns,
  "002-last-backup.sql": lastBackup,
  "003-delivery-exchanges.sql": deliveryExchanges,
  "004-restrictions.sql": restrictions,
});

/**
 * Creates the tables, or upgrades them to the schema version of this program, and completes rows of `sites`. It holds the write lock, so that several
 * processes can start at the same time. Returns whether the database had no tables before.
 */
export function migrate(database: Database, additions = knownAdditions): boolean {
  return withSqliteErrors(() => {
    if (isCurrent(database, additions)) return false;
    return runInTransaction(database, () => {
      const from = requireKnownSchema(database);
      for (const sql of migrations.slice(from)) database.run(sql);
      for (const { sql } of missing(database, additions)) database.run(sql);
      completeSitesIn(database);
      if (from !== migrations.length) database.run(`pragma user_version = ${migrations.length}`);
      return from === 0;
    });
  });
}

/** @throws ProblemError `unavailable` if the tables do not have the schema version and the additions of this program, and complete rows */
export function requireCurrent(database: Database): void {
  requireKnownSchema(database);
  if (isCurrent(database, knownAdditions)) return;
  throw new ProblemError(
    "unavailable",
    "the database was made by an older program and cannot be upgraded: it is read-only",
  );
}

/** Whether `migrate` would change nothing. */
function isCurrent(database: Database, additions: readonly Addition[]): boolean {
  if (version(database) !== migrations.length || missing(database, additions).length > 0) return false;
  return database.query(`select 1 from sites where ${incompleteSites} limit 1`).get() === null;
}

/** Returns the additions that the database lacks. */
function missing(database: Database, additions: readonly Addition[]): readonly Addition[] {
  return additions.filter(({ table, column }) => !hasColumn(database, table, column));
}

function hasColumn(database: Database, table: string, column: string): boolean {
  return database.query("select 1 from pragma_table_info(?) where name = ?").get(table, column) !== null;
}

/** Requires a schema that this program knows, or an empty file. Returns the schema version. @throws ProblemError `unavailable` as `openDatabase` */
export function requireKnownSchema(database: Database): number {
  if (database.inTransaction) return checkSchema(database);
  // All queries must see the same state, because another process may create the tables at the same time.
  return database.transaction(() => checkSchema(database))();
}

function checkSchema(database: Database): number {
  const found = version(database);
  const isOurs = found > 0 && hasColumn(database, "journal", "site_id");
  if (!isOurs && !isEmptySchema(database)) {
    throw new ProblemError("unavailable", `the database ${database.filename} belongs to another program`);
  }
  if (found > migrations.length) throw schemaTooNewError(found, migrations.length);
  const lacking = found > 0 ? lastOfBase.find(({ table, column }) => !hasColumn(database, table, column)) : undefined;
  if (lacking) throw schemaTooOldError(database.filename, lacking);
  return found;
}

/** Returns the schema version; 0 before the tables are created. */
export function version(database: Database): number {
  return (database.query("pragma user_version").get() as { user_version: number }).user_version;
}

/** Whether the file has neither tables nor views nor anything else. */
function isEmptySchema(database: Database): boolean {
  return database.query("select 1 from sqlite_master").get() === null;
}

/** Creates the reporting view of each resource, and adds missing columns. */
export function createViews(database: Database, resources: readonly Resource[]): void {
  if (outdatedViews(database, resources).length === 0) return;
  runInTransaction(database, () => {
    for (const { name, sql } of outdatedViews(database, resources)) {
      database.run(`drop view if exists "${name}"`);
      database.run(sql);
    }
  });
}

function outdatedViews(database: Database, resources: readonly Resource[]) {
  const rows = database.query("select name, sql from sqlite_master where type = 'view'").values();
  const present = new Map(rows as [string, string][]);
  const wanted = resources.map((resource) => {
    const name = reportingViewName(resource);
    return { name, sql: createViewStatement(resource, toReportingView(resource, pathsIn(present.get(name) ?? ""))) };
  });
  return wanted.filter(({ name, sql }) => present.get(name) !== sql);
}

function pathsIn(definition: string): string[] {
  return [...definition.matchAll(/'\$\.([^']+)'/g)].map(([, path]) => path as string);
}

function createViewStatement(resource: Resource, view: ReportingView): string {
  const columns = view.columns.map(
    ({ name, keys }) => `coalesce(json_extract(body, '$.${keys.join(".")}'), '') as "${name}"`,
  );
  const all = ["site_id", "id", "revision", ...columns].join(", ");
  return `CREATE VIEW "${view.name}" as select ${all} from records where resource = '${resource.name}' and body is not null`;
}
