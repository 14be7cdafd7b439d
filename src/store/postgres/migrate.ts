// Creates the tables and reporting views, or adds what a database of an older version lacks (store/database/schema.ts). If several processes start at
// once, one of them does it and the others wait.

import { unavailableError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import {
  type DeclaredTables,
  missingTables,
  missingViews,
  schemaTooNewError,
  schemaVersion,
  toExistingColumns,
} from "../database/schema.ts";
import { tables } from "../database/tables.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import { codeOf } from "./errors.ts";
import { type CallProgress, Pool } from "./pool.ts";
import type { Primary } from "./primary.ts";
import { commitTransaction, commitWithoutWait } from "./transaction.ts";

/** What this version of the program needs. */
interface Latest {
  readonly tables: DeclaredTables;
  readonly resources: readonly Resource[];
}

/** What a database has and lacks. */
interface Schema {
  /** Whether it has no tables yet. */
  readonly isNew: boolean;
  /** The statements that add missing tables and columns. */
  readonly missing: readonly string[];
  /** The statements that created the reporting views, by name. */
  readonly views: ReadonlyMap<string, string>;
  readonly missingViews: ReturnType<typeof missingViews>;
}

/** How long to wait for another process's migration. */
const maxWaitMs = 60_000;

/** What a new database has besides the declared tables. */
const others = `create table this_database (id bigint primary key, name text not null, last_backup bigint);
insert into this_database (id, name) values (1, md5(random()::text || random()::text || clock_timestamp()::text));
create index idempotency_at on idempotency (site_id, at)`;

const viewDialect = {
  // Other programs' views of a view stay valid if it's replaced.
  create: "create or replace view",
  textAt: (path: string) => `body::json #>> '{${path.replaceAll(".", ",")}}'`,
  paths: /'\{([^}]+)\}'/g,
};

const selectSchema = (declared: DeclaredTables) => `select version, views from storefront_schema where id = 1;
select relname, attname from pg_class join pg_attribute on attrelid = pg_class.oid
where relname in (${Object.keys(declared)
  .map((table) => `'${table}'`)
  .join(", ")}) and attnum > 0 and pg_table_is_visible(pg_class.oid)`;

const createSchema = `create table if not exists storefront_schema (id bigint primary key, version bigint not null, views text not null);
insert into storefront_schema values (1, 0, '') on conflict (id) do nothing`;

const lockSchema = "select id from storefront_schema where id = 1 for update";

/**
 * Altering a table waits for transactions that are reading it, such as a backup, and blocks all later ones meanwhile. So an attempt waits at most
 * `lockTimeoutMs`, and the next one follows after `pauseMs`.
 */
const lockTimeoutMs = 500;
const pauseMs = 1500;

/**
 * Creates the tables and views, or adds what's missing. Returns whether this process created the tables.
 * @throws ProblemError `unavailable`, including if a newer version of the program created the tables
 */
export async function migrate(
  pool: Pool,
  primary: Primary,
  resources: readonly Resource[],
  declared: DeclaredTables = tables,
): Promise<boolean> {
  const latest: Latest = { tables: declared, resources };
  const schema = await pool.read((connection) => readSchema(connection, latest));
  if (schema && isCurrent(schema)) return false;
  const migrating = new Pool(primary, 1, maxWaitMs);
  try {
    return await migrating.use((connection, progress) => upgradeBetweenOthers(connection, progress, latest));
  } finally {
    await migrating.close();
  }
}

async function readSchema(connection: PostgresConnection, latest: Latest): Promise<Schema | undefined> {
  const [found] = await connection.script(
    "select to_regclass('storefront_schema') is not null as is_there, current_setting('server_encoding', true) as encoding",
  );
  requireEncoding(found?.[0]?.encoding);
  if (!found?.[0]?.is_there) return undefined;
  const [rows = [], columns = []] = await connection.script(selectSchema(latest.tables));
  return rows[0] && toSchema(rows[0], columns, latest);
}

/**
 * Requires the encoding UTF8, or SQL_ASCII, which stores bytes as they are. With any other, a single character that it lacks would make a whole batch
 * fail, along with other clients' writes.
 * @throws ProblemError `unavailable` for any other encoding
 */
function requireEncoding(encoding: string | null | undefined): void {
  if (encoding == null || ["UTF8", "SQL_ASCII"].includes(encoding)) return;
  throw unavailableError(
    `the database's encoding is ${encoding}, which lacks many characters; use one with UTF8 (createdb -T template0 -E UTF8), and move the data with pg_dump and pg_restore`,
  );
}

/** @throws ProblemError `unavailable` if a newer version of the program created the tables */
function toSchema({ version, views }: ResultRow, columns: readonly ResultRow[], latest: Latest): Schema {
  if (version > schemaVersion) throw schemaTooNewError(version);
  const existing = toExistingColumns(columns.map(({ relname, attname }) => [relname, attname]));
  const lines = [...(views as string).matchAll(/^create or replace view "([^"]+)" .*$/gm)];
  const known = new Map(lines.map(([line, name = ""]) => [name, line]));
  return {
    isNew: version === 0,
    missing: missingTables(existing, { integer: "bigint", options: () => "" }, latest.tables),
    views: known,
    missingViews: missingViews(known, viewDialect, latest.resources),
  };
}

function isCurrent({ isNew, missing, missingViews: views }: Schema): boolean {
  return !isNew && missing.length === 0 && views.length === 0;
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
 * Makes what's missing in a transaction that locks the row of `storefront_schema`, so that one process does it and the others then find nothing to
 * do. Returns whether this process created the tables.
 */
async function upgrade(connection: PostgresConnection, progress: CallProgress, latest: Latest): Promise<boolean> {
  await createLock(connection);
  // Read the row in a second statement. One that waits for a lock sees other tables as they were before the wait.
  const [, rows, columns = []] = await connection.script(`begin; ${lockSchema}; ${selectSchema(latest.tables)}`);
  const schema = toSchema(rows?.[0] as ResultRow, columns, latest);
  if (!isCurrent(schema)) {
    await connection.script(`set local lock_timeout = ${lockTimeoutMs}`);
    for (const text of schema.missing) await connection.script(text);
    if (schema.isNew) await connection.script(others);
    await connection.query(
      `update storefront_schema set version = ${schemaVersion}, views = $1 where id = 1`,
      await createViews(connection, schema),
    );
  }
  await commitTransaction(connection, progress);
  return schema.isNew;
}

/** Returns the statements that have now created all views, one per line. */
async function createViews(connection: PostgresConnection, schema: Schema): Promise<string> {
  const all = new Map(schema.views);
  for (const { name, sql } of schema.missingViews) {
    // Drop a view that this program didn't create. It may have different columns, so it couldn't be replaced.
    if (!all.has(name)) await connection.script(`drop view if exists "${name}"`);
    await connection.script(sql);
    all.set(name, sql);
  }
  return [...all.values()].join("\n");
}

/** The SQLSTATEs if another session creates the same table at the same moment. */
const madeByAnother = ["23505", "42710", "42P07", "XX000"];

/** Creates the table with the lock. Tries again if another process is creating it. */
async function createLock(connection: PostgresConnection): Promise<void> {
  for (;;) {
    try {
      // There's no need to wait: the upgrade is committed afterwards, which makes this durable too.
      await commitWithoutWait(connection, `begin; ${createSchema}`);
      return;
    } catch (error) {
      if (!madeByAnother.includes(codeOf(error))) throw error;
      await connection.script("rollback");
    }
  }
}
