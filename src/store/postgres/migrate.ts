// Creates the tables and the reporting views, or adds what an older version of this program has not made (store/database/schema.ts). If several processes
// start at the same time, one of them does it, and the others wait.

import { unavailableError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import {
  type DeclaredTables,
  missingTables,
  missingViews,
  schemaTooNewError,
  schemaVersion,
  toPresentColumns,
} from "../database/schema.ts";
import { tables } from "../database/tables.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import { codeOf } from "./errors.ts";
import { type CallProgress, Pool } from "./pool.ts";
import type { Primary } from "./primary.ts";
import { commitTransaction, commitWithoutWait } from "./transaction.ts";

/** What this program needs. */
interface Latest {
  readonly tables: DeclaredTables;
  readonly resources: readonly Resource[];
}

/** What a database lacks of it. */
interface Schema {
  /** Whether it has no tables yet. */
  readonly isNew: boolean;
  /** The statements that add the missing tables and columns. */
  readonly missing: readonly string[];
  /** The statements that have made the reporting views, by name. */
  readonly views: ReadonlyMap<string, string>;
  readonly missingViews: ReturnType<typeof missingViews>;
}

/** Maximum milliseconds that a process waits for another process that is migrating. */
const maxWaitMs = 60_000;

/** What a new database has besides the declared tables. */
const others = `create table this_database (id bigint primary key, name text not null, last_backup bigint);
insert into this_database (id, name) values (1, md5(random()::text || random()::text || clock_timestamp()::text));
create index idempotency_at on idempotency (site_id, at)`;

const viewDialect = {
  // Views of other programs that read a view stay valid if it is replaced.
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
 * A change of a table waits for transactions that read it, such as a backup, and blocks all later transactions meanwhile. So an attempt waits at most
 * `lockTimeoutMs` milliseconds, and the next attempt follows `pauseMs` milliseconds later.
 */
const lockTimeoutMs = 500;
const pauseMs = 1500;

/**
 * Creates the tables and views, or adds what they lack. Returns whether this process has created the tables.
 * @throws ProblemError `unavailable`, also if a newer program made the tables
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

/** @throws ProblemError `unavailable` if a newer program made the tables */
function toSchema({ version, views }: ResultRow, columns: readonly ResultRow[], latest: Latest): Schema {
  if (version > schemaVersion) throw schemaTooNewError(version);
  const present = toPresentColumns(columns.map(({ relname, attname }) => [relname, attname]));
  const lines = [...(views as string).matchAll(/^create or replace view "([^"]+)" .*$/gm)];
  const known = new Map(lines.map(([line, name = ""]) => [name, line]));
  return {
    isNew: version === 0,
    missing: missingTables(present, { integer: "bigint", options: () => "" }, latest.tables),
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
 * Makes what is missing in one transaction, which locks the row of `storefront_schema`. So one process does it, and the other processes then find nothing
 * to do. Returns whether this process has created the tables.
 */
async function upgrade(connection: PostgresConnection, progress: CallProgress, latest: Latest): Promise<boolean> {
  await createLock(connection);
  // The row is read by a second statement, because a statement that waits for a lock sees the other tables as they were before the wait.
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

/** Returns the statements that have made all views after this, one per line. */
async function createViews(connection: PostgresConnection, schema: Schema): Promise<string> {
  const all = new Map(schema.views);
  for (const { name, sql } of schema.missingViews) {
    // A view that this program has not made is dropped, because it may have other columns, and then it could not be replaced.
    if (!all.has(name)) await connection.script(`drop view if exists "${name}"`);
    await connection.script(sql);
    all.set(name, sql);
  }
  return [...all.values()].join("\n");
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
