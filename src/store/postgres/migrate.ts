// Creates the tables and the reporting views, or upgrades them to the version of this program. If several processes start at the same time, one
// process migrates the database, and the other processes wait.

import { unavailableError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
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
import type { PostgresConnection, ResultRow } from "./connection.ts";
import { codeOf } from "./errors.ts";
import { type CallProgress, Pool } from "./pool.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";
import base from "./tables.sql" with { type: "text" };
import { commitTransaction, commitWithoutWait } from "./transaction.ts";

/** Migrations that raise the schema version. A program that does not know the version rejects the database. */
const migrations: readonly string[] = [base];

/** Migrations that only add tables or columns. They do not raise the schema version, so older programs can use the database too. */
const knownAdditions = additionsOf({
  "001-webhook-columns.sql": webhookColumns,
  "002-last-backup.sql": lastBackup,
  "003-delivery-exchanges.sql": deliveryExchanges,
  "004-restrictions.sql": restrictions,
});

/** The state of the tables and views. */
interface Schema {
  /** The number of migrations that were applied. */
  readonly version: number;
  /** The definitions of the reporting views, one per line. */
  readonly views: string;
  /** The additions that the database lacks. */
  readonly missing: readonly Addition[];
  /** Whether rows of `sites` are to be completed. */
  readonly hasIncompleteSites: boolean;
}

/** The additions and the views that this program needs. */
interface Latest {
  readonly additions: readonly Addition[];
  readonly resources: readonly Resource[];
}

/** Maximum milliseconds that a process waits for another process that is migrating. */
const maxWaitMs = 60_000;

type Column = Pick<Addition, "table" | "column">;

const selectSchema = (additions: readonly Addition[]) =>
  `select version, views, current_database() as name${[...lastOfBase, ...additions].map(hasColumn).join("")} from storefront_schema where id = 1`;

const hasColumn = ({ table, column }: Column) => `, exists (
  select 1 from pg_attribute where attrelid = to_regclass('${table}') and attname = '${column}'
) as "${table}.${column}"`;

const lacksColumn = (row: ResultRow) => (one: Column) => !row[`${one.table}.${one.column}`];

const createSchema = `create table if not exists storefront_schema (id bigint primary key, version bigint not null, views text not null);
insert into storefront_schema values (1, 0, '') on conflict (id) do nothing`;

const lockSchema = "select id from storefront_schema where id = 1 for update";

/**
 * A change of a table waits for transactions that read it, such as a backup, and blocks all later transactions meanwhile. So an attempt waits at most
 * `lockTimeoutMs` milliseconds, and the next attempt follows `pauseMs` milliseconds later.
 */
const lockTimeoutMs = 500;
const pauseMs = 1500;

/**
 * Creates or upgrades the tables and views, and completes rows of `sites`. Returns whether this process has created the tables.
 * @throws ProblemError `unavailable`, also if a newer program made the tables, or they are older than the base
 */
export async function migrate(
  pool: Pool,
  primary: Primary,
  resources: readonly Resource[],
  additions = knownAdditions,
): Promise<boolean> {
  const latest: Latest = { additions, resources };
  if (isCurrent(await pool.read((connection) => readSchema(connection, latest)), latest)) return false;
  const migrating = new Pool(primary, 1, maxWaitMs);
  try {
    return await migrating.use((connection, progress) => upgradeBetweenOthers(connection, progress, latest));
  } finally {
    await migrating.close();
  }
}

async function readSchema(connection: PostgresConnection, { additions }: Latest): Promise<Schema | undefined> {
  const [found] = await connection.script(
    "select to_regclass('storefront_schema') is not null as is_there, current_setting('server_encoding', true) as encoding",
  );
  requireEncoding(found?.[0]?.encoding);
  if (!found?.[0]?.is_there) return undefined;
  const [rows] = await connection.script(selectSchema(additions));
  return rows?.[0] && toSchema(connection, rows[0], additions);
}

/**
 * Requires the encoding UTF8, or SQL_ASCII, which stores the bytes unchanged. In any other encoding, one character that the encoding lacks would make
 * a whole batch fail, with the writes of other clients.
 * @throws ProblemError `unavailable` for another encoding
 */
function requireEncoding(encoding: string | null | undefined): void {
  if (encoding == null || ["UTF8", "SQL_ASCII"].includes(encoding)) return;
  throw unavailableError(
    `the database has the encoding ${encoding}, which lacks many characters; use one with the encoding UTF8 (createdb -T template0 -E UTF8; pg_dump and pg_restore move the data)`,
  );
}

/** @param row of `selectSchema` @throws ProblemError `unavailable` if a newer program made the tables, or they are older than the base */
async function toSchema(
  connection: PostgresConnection,
  row: ResultRow,
  additions: readonly Addition[],
): Promise<Schema> {
  const { version, views } = row;
  if (version > migrations.length) throw schemaTooNewError(version, migrations.length);
  const lacking = version > 0 ? lastOfBase.find(lacksColumn(row)) : undefined;
  if (lacking) throw schemaTooOldError(`${connection.host}/${row.name}`, lacking);
  const [incomplete] = version > 0 ? await connection.script(sql.incompleteSites) : [];
  const hasIncompleteSites = incomplete?.[0] !== undefined;
  return { version, views, missing: additions.filter(lacksColumn(row)), hasIncompleteSites };
}

function isCurrent(schema: Schema | undefined, { resources }: Latest): boolean {
  if (schema?.version !== migrations.length || schema.missing.length > 0 || schema.hasIncompleteSites) return false;
  return areViewsCurrent(schema.views, resources);
}

async function upgradeBetweenOthers(
  connection: PostgresConnection,
  progress: CallProgress,
  latest: Latest,
): Promise<boolean> {
  for (const end = performance.now() + maxWaitMs - lockTimeoutMs - pauseMs; ; ) {
    try {
      return await upgrade(connection, progress, latest);
    } catch (error) {
      if (codeOf(error) !== "55P03" || performance.now() > end) throw error;
      await connection.script("rollback");
      await Bun.sleep(pauseMs);
    }
  }
}

/**
 * Upgrades the tables and views in one transaction, which locks the row of `storefront_schema`. So one process migrates, and the other processes then
 * find nothing to do. Returns whether this process has created the tables.
 */
async function upgrade(connection: PostgresConnection, progress: CallProgress, latest: Latest): Promise<boolean> {
  await createLock(connection);
  // The row is read by a second statement, because a statement that waits for a lock sees the other tables as they were before the wait.
  const [, rows] = await connection.script(`begin; ${lockSchema}; ${selectSchema(latest.additions)}`);
  const schema = await toSchema(connection, rows?.[0] as ResultRow, latest.additions);
  if (!isCurrent(schema, latest)) {
    for (const text of migrations.slice(schema.version)) await connection.script(text);
    await connection.script(`set local lock_timeout = ${lockTimeoutMs}`);
    for (const { sql: text } of schema.missing) await connection.script(text);
    if (schema.hasIncompleteSites) await completeSitesIn(connection);
    await connection.query(
      `update storefront_schema set version = ${migrations.length}, views = $1 where id = 1`,
      await createViews(connection, schema.views, latest.resources),
    );
  }
  await commitTransaction(connection, progress);
  return schema.version === 0;
}

/** Completes rows of `sites`. Locks them first, because the counts must be those of the last commits. */
async function completeSitesIn(connection: PostgresConnection): Promise<void> {
  await connection.script(sql.lockAllSites);
  await connection.script(sql.completeSites());
}

/** The SQLSTATEs that PostgreSQL returns if another session creates the same table at the same moment. */
const madeByAnother = ["23505", "42710", "42P07", "XX000"];

/** Creates the table with the lock. Tries again if another process creates it at the same moment. */
async function createLock(connection: PostgresConnection): Promise<void> {
  for (;;) {
    try {
      // This commit need not wait: the upgrade is committed after it, and that commit makes the table durable too.
      await commitWithoutWait(connection, `begin; ${createSchema}`);
      return;
    } catch (error) {
      if (!madeByAnother.includes(codeOf(error))) throw error;
      await connection.script("rollback");
    }
  }
}

/** The definitions of views by name. */
type Definitions = ReadonlyMap<string, string>;

/** Whether the existing views have every column that this program declares. @param views the definitions of the existing views, one per line */
function areViewsCurrent(views: string, resources: readonly Resource[]): boolean {
  return outdatedViews(parseDefinitions(views), resources).length === 0;
}

/**
 * Creates the reporting view of each resource, or adds columns at its end, so that views of other programs that read it stay valid.
 * @param views the definitions of the existing views, one per line
 * @returns the definitions of all views after this, one per line
 */
async function createViews(
  connection: PostgresConnection,
  views: string,
  resources: readonly Resource[],
): Promise<string> {
  const definitions = new Map(parseDefinitions(views));
  for (const { name, text } of outdatedViews(definitions, resources)) {
    // A view with an unknown definition is dropped, because it may have other columns, and then it could not be replaced.
    if (!definitions.has(name)) await connection.script(`drop view if exists "${name}"`);
    await connection.script(text);
    definitions.set(name, text);
  }
  return [...definitions.values()].join("\n");
}

function parseDefinitions(views: string): Definitions {
  const lines = [...views.matchAll(/^create or replace view "([^"]+)" .*$/gm)];
  return new Map(lines.map(([line, name = ""]) => [name, line]));
}

function outdatedViews(definitions: Definitions, resources: readonly Resource[]) {
  const wanted = resources.map((resource) => {
    const name = reportingViewName(resource);
    return {
      name,
      text: createViewStatement(resource, toReportingView(resource, pathsIn(definitions.get(name) ?? ""))),
    };
  });
  return wanted.filter(({ name, text }) => definitions.get(name) !== text);
}

function pathsIn(definition: string): string[] {
  return [...definition.matchAll(/'\{([^}]+)\}'/g)].map(([, keys = ""]) => keys.replaceAll(",", "."));
}

function createViewStatement(resource: Resource, view: ReportingView): string {
  const columns = view.columns.map(
    ({ name, keys }) => `coalesce(body::json #>> '{${keys.join(",")}}', '') as "${name}"`,
  );
  const all = ["site_id", "id", "revision", ...columns].join(", ");
  return `create or replace view "${view.name}" as select ${all} from records where resource = '${resource.name}' and body is not null`;
}
