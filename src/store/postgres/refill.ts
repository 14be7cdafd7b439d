// Replacing everything that is stored, while others write; see store/refill.ts.

import type { DumpedRow, Head, Keep } from "../../model/engine.ts";
import {
  type Aside,
  type AsideKind,
  asideName,
  asidesIn,
  inPortions,
  newRun,
  overtaken,
  type Portion,
  upgradedMeanwhile,
} from "../refill.ts";
import { type TableName, tableNames } from "../tables.ts";
import { connected, dumpRows, step } from "./bulk.ts";
import { readDependents, requireOwnViews, restoreDependents } from "./dependents.ts";
import { codeOf, isCollision, unavailable } from "./errors.ts";
import type { PostgresConnection, ResultRow } from "./postgres-connection.ts";
import type { Primary } from "./primary.ts";
import { sql } from "./statements.ts";

/** How long whoever reads and writes waits at most while the tables cannot be renamed yet, in milliseconds, and how long not. */
const attempt = 500;
const pause = 1500;

/** How often it is tried: for about an hour, so that a backup under way can end first. */
const mostAttempts = 1800;

/** Replaces the content of every table by `rows`, as the engine's port says. */
export async function refillTables(
  primary: Primary,
  rows: AsyncIterable<DumpedRow>,
  keep?: Keep,
): Promise<ReadonlyMap<number, Head>> {
  const connection = await connected(primary);
  const dumpAside = (aside: Aside) => dumpRows(primary, (table) => asideName(aside, table));
  try {
    await requireOwnViews(connection);
    for (const killed of await asides(connection, "unused")) await dropTables(connection, killed);
    for (const left of keep ? await asides(connection, "replaced") : []) {
      await keep?.(dumpAside(left));
      await dropTables(connection, left);
    }
    const replaced = await replace(connection, rows);
    const heads = await headsIn(connection, replaced);
    await keep?.(dumpAside(replaced));
    // What cannot be dropped takes room and no more: it is done, `check` reports it, and the next one drops it.
    await dropTables(connection, replaced).catch(() => {});
    return heads;
  } finally {
    await connection.close();
  }
}

/** Puts tables with `rows` in the place of those in use. Returns the latter. */
async function replace(connection: PostgresConnection, rows: AsyncIterable<DumpedRow>): Promise<Aside> {
  const filling: Aside = { kind: "unused", run: newRun() };
  const replaced: Aside = { ...filling, kind: "replaced" };
  const names = tableNames.map((table) => asideName(filling, table));
  try {
    const version = await versionOf(connection);
    const creates = tableNames.map((table, i) => `create table ${names[i]} (like ${table} including all)`);
    await run(connection, ["begin", ...creates, "commit"].join("; "));
    for await (const portion of inPortions(rows)) await step(connection, insert(connection, filling, portion));
    await run(connection, `analyze ${names.join(", ")}`);
    await swapPatiently(connection, filling, replaced, version);
    return replaced;
  } catch (error) {
    // Where the connection is lost, the next restore removes them.
    if (!connection.isOpen) throw error;
    await run(connection, "rollback");
    const isThere = (await asides(connection, "unused")).some((aside) => aside.run === filling.run);
    if (!isThere) throw overtaken(error);
    await dropTables(connection, filling);
    throw error;
  }
}

function insert(connection: PostgresConnection, aside: Aside, { table, rows }: Portion): Promise<unknown> {
  return connection.query(sql.insert(table, asideName(aside, table)), rows);
}

/** Whoever reads for long, such as a backup, must end first. Nobody else waits meanwhile for longer than an attempt. */
async function swapPatiently(connection: PostgresConnection, from: Aside, to: Aside, version: number): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      return await swap(connection, from, to, version);
    } catch (error) {
      const cause = (error as Error).cause ?? {};
      const isInTheWay = codeOf(cause) === "55P03" || isCollision(cause);
      if (!isInTheWay) throw error;
      if (tried === mostAttempts)
        throw unavailable("others read the database without a pause; nothing was changed", cause);
      await run(connection, "rollback");
      await Bun.sleep(pause);
    }
  }
}

/**
 * To rename a table waits for whoever has begun to read or write it, and makes all others wait. Everyone begins with `sites`,
 * so nobody sees some tables of the one set and some of the other.
 */
async function swap(connection: PostgresConnection, from: Aside, to: Aside, version: number): Promise<void> {
  await run(connection, `begin; set local lock_timeout = ${attempt}`);
  if ((await versionOf(connection, "for share")) !== version) throw upgradedMeanwhile();
  const dependents = await readDependents(connection);
  const renames = tableNames.flatMap((table) => [
    `alter table ${table} rename to ${asideName(to, table)}`,
    `alter table ${asideName(from, table)} rename to ${table}`,
  ]);
  await run(connection, renames.join("; "));
  await restoreDependents(connection, dependents);
  await run(connection, sql.commit);
}

async function dropTables(connection: PostgresConnection, aside: Aside): Promise<void> {
  const names = tableNames.map((table: TableName) => asideName(aside, table));
  await run(connection, `drop table if exists ${names.join(", ")}`);
}

async function headsIn(connection: PostgresConnection, aside: Aside): Promise<ReadonlyMap<number, Head>> {
  const rows = await run(connection, `select id, revision, epoch from ${asideName(aside, "sites")}`);
  return new Map(rows.map(({ id, revision, epoch }) => [id, { revision, epoch }]));
}

async function asides(connection: PostgresConnection, kind: AsideKind): Promise<Aside[]> {
  return asidesIn(await readTableNames(connection), kind);
}

/** The names of all tables. */
export async function readTableNames(connection: PostgresConnection): Promise<string[]> {
  const rows = await run(connection, "select relname from pg_class where relkind = 'r' and pg_table_is_visible(oid)");
  return rows.map(({ relname }) => relname);
}

async function versionOf(connection: PostgresConnection, lock = ""): Promise<number> {
  const [row] = await run(connection, `select version from storefront_schema where id = 1 ${lock}`);
  return row?.version;
}

/** Runs statements and returns the rows of the first one that has any. */
async function run(connection: PostgresConnection, text: string): Promise<ResultRow[]> {
  const [rows = []] = await step(connection, connection.script(text));
  return rows;
}
