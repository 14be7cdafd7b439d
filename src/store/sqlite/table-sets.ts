// Replaces all stored data while other processes read and write; store/database/table-swap.ts explains how. Also creates the reporting views.

import type { Database } from "bun:sqlite";
import type { Amend, StoredSystem } from "../../model/amend.ts";
import type { DumpedRow, Head, SaveReplacedRows } from "../../model/engine.ts";
import type { Resource } from "../../model/resource.ts";
import { requireAmended, selectKeyChanges, selectSystem, toKeyChanges, toStoredSystem } from "../database/amend.ts";
import {
  newTableSetId,
  type RowChunk,
  supersededError,
  type TableSet,
  type TableSetKind,
  tableNameIn,
  tableSetsIn,
  tablesInSet,
  toChunksWithNewEpochs,
  upgradedDuringRestoreError,
} from "../database/table-swap.ts";
import { columnsOf, type TableName, tableNames, type View, viewNameOf, viewOf } from "../database/tables.ts";
import { FoundRecords } from "../writes/found-records.ts";
import { dropInChunks, pauseForOtherWriters } from "./chunks.ts";
import { completeSitesIn, fromSqlite, runInTransaction, tableNamesIn, version } from "./database.ts";
import { dumpRows } from "./reads.ts";
import { insert } from "./statements.ts";
import { setWebhookSecrets } from "./webhook-writes.ts";
import { decideAndWrite, writerStatements } from "./writer.ts";

/** Implements `Engine.replaceAllData`, on connections that `open` opens. */
export async function fillAndSwapTables(
  open: () => Database,
  rows: AsyncIterable<DumpedRow>,
  save?: SaveReplacedRows,
  amend?: Amend,
): Promise<ReadonlyMap<number, Head>> {
  const database = open();
  try {
    // With this setting, a rename of tables does not change the views: they always read the tables in use.
    database.run("pragma legacy_alter_table = on");
    for (const killed of tableSets(database, "unused")) await dropTables(database, killed);
    for (const left of save ? tableSets(database, "replaced") : []) {
      await save?.(dumpTableSet(open, left, tablesInSet(left, tableNamesIn(database))));
      // Another restore may have saved and dropped the same tables in the meantime. Then this drops nothing.
      await dropTables(database, left);
    }
    const replaced = await replace(database, rows, amend);
    const heads = headsIn(database, replaced);
    await save?.(dumpTableSet(open, replaced, tableNames));
    // The data is replaced. If old tables cannot be dropped, for example on a full disk, they only take space: `check` reports them, and the next
    // restore drops them.
    await dropTables(database, replaced).catch(() => {});
    return heads;
  } catch (error) {
    throw fromSqlite(error, "the database", database.filename);
  } finally {
    database.close();
  }
}

/** Fills new tables with `rows`, and swaps them with the tables in use. Returns the replaced tables. */
async function replace(database: Database, rows: AsyncIterable<DumpedRow>, amend?: Amend): Promise<TableSet> {
  const filling: TableSet = { kind: "unused", id: newTableSetId() };
  const replaced: TableSet = { ...filling, kind: "replaced" };
  const schema = version(database);
  makeTables(database, filling);
  try {
    for await (const chunk of toChunksWithNewEpochs(rows)) {
      runInTransaction(database, () => insertRows(database, chunk, tableNameIn(filling, chunk.table)));
      await pauseForOtherWriters();
    }
    runInTransaction(database, () => completeSitesIn(database, { nameOf: (table) => tableNameIn(filling, table) }));
    runInTransaction(database, () => {
      if (version(database) !== schema) throw upgradedDuringRestoreError();
      for (const table of tableNames) {
        database.run(`alter table ${table} rename to ${tableNameIn(replaced, table)}`);
        database.run(`alter table ${tableNameIn(filling, table)} rename to ${table}`);
      }
      if (amend) amendSystem(database, replaced, amend);
    });
    return replaced;
  } catch (error) {
    if (!hasTables(database, filling)) throw supersededError(error);
    // Report the first error, even if the new tables cannot be dropped, for example on a full disk: the next restore drops them.
    await dropTables(database, filling).catch(() => {});
    throw error;
  }
}

/** Creates tables like those in use. SQLite cannot rename an index, so an index of a restored table keeps the name that it gets here. */
function makeTables(database: Database, set: TableSet): void {
  const made = database.query(
    "select type, sql from sqlite_master where tbl_name = ? and sql is not null order by type desc",
  );
  runInTransaction(database, () => {
    for (const table of tableNames) {
      const name = tableNameIn(set, table);
      (made.values(table) as [string, string][]).forEach(([type, sql], n) => {
        if (type === "table") database.run(sql.replace(/^(create table)\s+[^\s(]+/i, `$1 ${name}`));
        else database.run(sql.replace(/(\sindex)\s+\S+\s+on\s+[^\s(]+/i, `$1 ${name}_index${n} on ${name}`));
      });
    }
  });
}

/** Inserts rows into their table, or into the table `into`, which has the same columns. Columns that a row lacks become null. */
export function insertRows(database: Database, { table, rows }: RowChunk, into?: string): void {
  const query = database.query<never, [DumpedRow["row"]]>(insert(table, columnsOf(table), into));
  const empty = Object.fromEntries(columnsOf(table).map((column) => [column, null]));
  for (const row of rows) query.run({ ...empty, ...row });
}

function dumpTableSet(open: () => Database, set: TableSet, present: readonly TableName[]): Iterable<DumpedRow> {
  return dumpRows(open, { present, nameOf: (table) => tableNameIn(set, table) });
}

/**
 * Drops the tables of a set in chunks, but renames them first. Otherwise a process that still fills them could swap them in after some rows were
 * deleted. And if this process is killed, the remaining tables could be mistaken for complete ones.
 */
async function dropTables(database: Database, set: TableSet): Promise<void> {
  const dropped: TableSet = { kind: "unused", id: newTableSetId() };
  runInTransaction(database, () => {
    const names = tableNamesIn(database);
    for (const table of tableNames) {
      const name = tableNameIn(set, table);
      if (names.includes(name)) database.run(`alter table ${name} rename to ${tableNameIn(dropped, table)}`);
    }
  });
  for (const table of tableNames) await dropInChunks(database, tableNameIn(dropped, table));
}

function headsIn(database: Database, set: TableSet): ReadonlyMap<number, Head> {
  const rows = database.query(`select id, revision, epoch from ${tableNameIn(set, "sites")}`).values();
  return new Map((rows as [number, number, string][]).map(([id, revision, epoch]) => [id, { revision, epoch }]));
}

function tableSets(database: Database, kind: TableSetKind): TableSet[] {
  return tableSetsIn(tableNamesIn(database), kind);
}

function hasTables(database: Database, { kind, id }: TableSet): boolean {
  return tableSets(database, kind).some((set) => set.id === id);
}

/** Creates the reporting view of each resource, and adds missing columns. */
export function makeViews(database: Database, resources: readonly Resource[]): void {
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
    const name = viewNameOf(resource);
    return { name, sql: viewSql(resource, viewOf(resource, pathsIn(present.get(name) ?? ""))) };
  });
  return wanted.filter(({ name, sql }) => present.get(name) !== sql);
}

function pathsIn(definition: string): string[] {
  return [...definition.matchAll(/'\$\.([^']+)'/g)].map(([, path]) => path as string);
}

function viewSql(resource: Resource, view: View): string {
  const columns = view.columns.map(
    ({ name, keys }) => `coalesce(json_extract(body, '$.${keys.join(".")}'), '') as "${name}"`,
  );
  const all = ["site_id", "id", "revision", ...columns].join(", ");
  return `CREATE VIEW "${view.name}" as select ${all} from records where resource = '${resource.name}' and body is not null`;
}

/** Amends the restored system site, in the transaction that has swapped the tables. @param set the replaced tables */
function amendSystem(database: Database, set: TableSet, amend: Amend): void {
  const nameOf = (table: TableName) => tableNameIn(set, table);
  const replaced = readStored(database, nameOf);
  const restored = readStored(database, (table) => table);
  const changes = readRows(database, selectKeyChanges(nameOf, amend.keyChangesAfter(replaced.head)));
  const { intents, webhooks } = amend.decide({ replaced, restored, keyChanges: toKeyChanges(changes) });
  if (intents.length > 0) requireAmended(decideAndWrite(writerStatements(database), intents, new FoundRecords(), true));
  for (const { key, secrets } of webhooks) setWebhookSecrets(database, key, secrets);
}

function readStored(database: Database, nameOf: (table: TableName) => string): StoredSystem {
  return toStoredSystem(selectSystem(nameOf).map((text) => readRows(database, text)));
}

function readRows(database: Database, text: string): DumpedRow["row"][] {
  return database.query<DumpedRow["row"], []>(text).all();
}
