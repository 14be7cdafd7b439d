// Replaces all stored data while other processes read and write, as explained in store/database/table-swap.ts.

import type { Amend } from "../../model/amend.ts";
import type { DumpedRow, SaveReplacedRows } from "../../model/engine.ts";
import { ProblemError, unavailableError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import type { RowChunk } from "../database/row-chunks.ts";
import {
  replaceAllData,
  type TableSet,
  type TableSetSteps,
  tableNameIn,
  upgradedDuringRestoreError,
} from "../database/table-swap.ts";
import { tableNames } from "../database/tables.ts";
import { amendSystem } from "../writes/amend.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import { dumpRows } from "./dump.ts";
import { codeOf, isCollision } from "./errors.ts";
import { commitStep, openConnection, step } from "./long-connections.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";
import { awaitAll, commitWithoutWait, runStatements } from "./transaction.ts";

/** How long one attempt to rename the tables may block other reads and writes. */
const lockTimeoutMs = 500;
/** How long to pause after an attempt. */
const pauseMs = 1500;

/** Gives a running backup about an hour to finish. */
const maxAttempts = 1800;

/** Implements `Engine.replaceAllData`. */
export async function fillAndSwapTables(
  primary: Primary,
  rows: AsyncIterable<DumpedRow>,
  save?: SaveReplacedRows,
  amend?: Amend,
): Promise<ReadonlyMap<number, Head>> {
  const connection = await openConnection(primary);
  try {
    await requireOwnViews(connection);
    return await replaceAllData(createTableSetSteps(connection, primary, amend), rows, save);
  } finally {
    await connection.close();
  }
}

function createTableSetSteps(connection: PostgresConnection, primary: Primary, amend?: Amend): TableSetSteps {
  return {
    readNames: () => readTableNames(connection),
    create: (set) => create(connection, set),
    insert: async (set, chunk) => void (await step(connection, insert(connection, set, chunk))),
    swap: async (filled, replaced, version) => {
      // Gather statistics for the new tables, so that plans are right from the start.
      await run(connection, `analyze ${tableNames.map((table) => tableNameIn(filled, table)).join(", ")}`);
      await swapBetweenOthers(connection, () => swap(connection, filled, replaced, version, amend));
    },
    drop: (set) => dropTables(connection, set),
    readHeads: (set) => headsIn(connection, set),
    dump: (set, existing) => dumpRows(primary, { existing, nameOf: (table) => tableNameIn(set, table) }),
    recover: async () => {
      if (connection.isOpen) await run(connection, "rollback");
      return connection.isOpen;
    },
  };
}

async function create(connection: PostgresConnection, set: TableSet): Promise<number> {
  const version = await versionOf(connection);
  const creates = tableNames.map((table) => `create table ${tableNameIn(set, table)} (like ${table} including all)`);
  await step(connection, commitWithoutWait(connection, ["begin", ...creates].join("; ")));
  return version;
}

/** Doesn't wait for durability, because the commit of the swap does. A crash that loses the chunk also loses the swap. */
function insert(connection: PostgresConnection, set: TableSet, { table, rows }: RowChunk): Promise<unknown> {
  return awaitAll([
    connection.script("begin"),
    connection.query(sql.insert(table, tableNameIn(set, table)), rows),
    commitWithoutWait(connection),
  ]);
}

/** Tries to swap until no long read, such as a backup, is in the way. Each attempt blocks others for at most `lockTimeoutMs`. */
async function swapBetweenOthers(connection: PostgresConnection, swapOnce: () => Promise<void>): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      return await swapOnce();
    } catch (error) {
      const cause = (error as Error).cause ?? {};
      const isInTheWay = codeOf(cause) === "55P03" || isCollision(cause);
      if (!isInTheWay) throw error;
      if (tried === maxAttempts)
        throw unavailableError("others kept reading the database without a pause; nothing was changed", cause);
      await run(connection, "rollback");
      await Bun.sleep(pauseMs);
    }
  }
}

/**
 * Renames the tables of both sets in one transaction. It waits for transactions that have read or written these tables, and blocks all later ones.
 * Every transaction reads `sites` first, so it sees either all old tables or all new ones.
 */
async function swap(
  connection: PostgresConnection,
  filled: TableSet,
  replaced: TableSet,
  version: number,
  amend?: Amend,
): Promise<void> {
  await run(connection, `begin; set local lock_timeout = ${lockTimeoutMs}`);
  if ((await versionOf(connection, "for share")) !== version) throw upgradedDuringRestoreError();
  const dependents = await readDependents(connection);
  const renames = tableNames.flatMap((table) => [
    `alter table ${table} rename to ${tableNameIn(replaced, table)}`,
    `alter table ${tableNameIn(filled, table)} rename to ${table}`,
  ]);
  await run(connection, renames.join("; "));
  await restoreDependents(connection, dependents);
  await step(connection, runStatements(connection, amendSystem(replaced, amend)));
  await commitStep(connection);
}

async function dropTables(connection: PostgresConnection, set: TableSet): Promise<void> {
  const names = tableNames.map((table) => tableNameIn(set, table));
  await run(connection, `drop table if exists ${names.join(", ")}`);
}

async function headsIn(connection: PostgresConnection, set: TableSet): Promise<ReadonlyMap<number, Head>> {
  const rows = await run(connection, `select id, revision, epoch from ${tableNameIn(set, "sites")}`);
  return new Map(rows.map(({ id, revision, epoch }) => [id, { revision, epoch }]));
}

export async function readTableNames(connection: PostgresConnection): Promise<string[]> {
  const rows = await run(connection, "select relname from pg_class where relkind = 'r' and pg_table_is_visible(oid)");
  return rows.map(({ relname }) => relname);
}

async function versionOf(connection: PostgresConnection, lock = ""): Promise<number> {
  const [row] = await run(connection, `select version from storefront_schema where id = 1 ${lock}`);
  return row?.version;
}

/** Returns the rows of the first statement that returns rows. */
async function run(connection: PostgresConnection, text: string): Promise<ResultRow[]> {
  const [rows = []] = await step(connection, connection.script(text));
  return rows;
}

// Views and permissions belong to a table, not to its name, so they're created again for the new tables after the rename.

/** Statements that create the views and permissions again, for whatever tables have these names by then. */
type Dependents = readonly string[];

const ours = tableNames.map((table) => `'${table}'::regclass`).join(", ");

const selectViews = (columns: string) => `select distinct v.oid, v.oid::regclass::text as name, ${columns}
from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class
where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid in (${ours})
order by v.oid`;

// Doesn't read the definitions, because `pg_get_viewdef` fails if another restore is dropping its old tables.
const owners = selectViews("v.relkind, pg_has_role(v.relowner, 'USAGE') as is_own");

const definitions = selectViews("pg_get_viewdef(v.oid) as definition, array_to_string(v.reloptions, ', ') as options");

const grants = `select c.relname as name, a.privilege_type as privilege, a.is_grantable,
  case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as role
from pg_class c, aclexplode(c.relacl) a where c.oid in (${ours}) and a.grantee <> c.relowner`;

/** @throws ProblemError `conflict` if a view depends on the tables but this user can't replace it */
async function requireOwnViews(connection: PostgresConnection): Promise<void> {
  const other = (await run(connection, owners)).find(({ relkind, is_own }) => relkind !== "v" || !is_own);
  if (!other) return;
  throw new ProblemError(
    "conflict",
    `the view ${other.name} belongs to another user and reads the tables directly; drop it first, then recreate it on top of the views \`brand\`, \`location\` and so on`,
  );
}

async function readDependents(connection: PostgresConnection): Promise<Dependents> {
  return [
    ...(await run(connection, definitions)).map(
      ({ name, definition, options }) =>
        `create or replace view ${name}${options ? ` with (${options})` : ""} as ${definition}`,
    ),
    ...(await run(connection, grants)).map(
      ({ name, privilege, role, is_grantable }) =>
        `grant ${privilege} on ${name} to ${role}${is_grantable ? " with grant option" : ""}`,
    ),
  ];
}

async function restoreDependents(connection: PostgresConnection, dependents: Dependents): Promise<void> {
  for (const text of dependents) await step(connection, connection.script(text));
}
