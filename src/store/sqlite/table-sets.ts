// Replaces all stored data while other processes read and write, as explained in store/database/table-swap.ts.

import type { Database } from "bun:sqlite";
import type { Amend } from "../../model/amend.ts";
import type { DumpedRow, SaveReplacedRows } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { maxDeletedRows } from "../database/site-operations.ts";
import {
  newTableSetId,
  replaceAllData,
  type TableSet,
  type TableSetSteps,
  tableNameIn,
  upgradedDuringRestoreError,
} from "../database/table-swap.ts";
import { tableNames } from "../database/tables.ts";
import { withAllColumns } from "../database/transaction.ts";
import { amendSystem } from "../writes/amend.ts";
import { tableNamesIn } from "./database.ts";
import { dumpRows } from "./dump.ts";
import { fromSqlite } from "./errors.ts";
import { version } from "./migrate.ts";
import { insertStatement, runForEachRow, runInTransaction, runStatements } from "./transaction.ts";

/** Implements `Engine.replaceAllData`. @param open opens connections */
export async function fillAndSwapTables(
  open: () => Database,
  rows: AsyncIterable<DumpedRow>,
  save?: SaveReplacedRows,
  amend?: Amend,
): Promise<ReadonlyMap<number, Head>> {
  const database = open();
  try {
    // With this setting, renaming tables doesn't change the views, which always read the tables in use.
    database.run("pragma legacy_alter_table = on");
    return await replaceAllData(createTableSetSteps(database, open, amend), rows, save);
  } catch (error) {
    throw fromSqlite(error, "the database", database.filename);
  } finally {
    database.close();
  }
}

function createTableSetSteps(database: Database, open: () => Database, amend?: Amend): TableSetSteps {
  return {
    readNames: async () => tableNamesIn(database),
    create: async (set) => {
      const found = version(database);
      createTables(database, set);
      return found;
    },
    insert: async (set, chunk) => {
      const text = insertStatement(chunk.table, tableNameIn(set, chunk.table));
      runInTransaction(database, () => runForEachRow(database, text, withAllColumns(chunk)));
      await pauseForOtherWriters();
    },
    swap: async (filled, replaced, expected) => {
      runInTransaction(database, () => {
        if (version(database) !== expected) throw upgradedDuringRestoreError();
        rename(database, filled, replaced);
        runStatements(database, amendSystem(replaced, amend));
      });
    },
    drop: (set) => dropTables(database, set),
    readHeads: async (set) => headsIn(database, set),
    dump: (set, existing) => dumpRows(open, { existing, nameOf: (table) => tableNameIn(set, table) }),
    recover: async () => true,
  };
}

function rename(database: Database, filled: TableSet, replaced: TableSet): void {
  for (const table of tableNames) {
    database.run(`alter table ${table} rename to ${tableNameIn(replaced, table)}`);
    database.run(`alter table ${tableNameIn(filled, table)} rename to ${table}`);
  }
}

/** SQLite can't rename an index, so a restored table's indexes keep the names they get here. */
function createTables(database: Database, set: TableSet): void {
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

/**
 * Drops the tables of a set in chunks, but renames them first. Otherwise a process that's still filling them could swap them in with rows missing.
 * And if this process is killed, what's left could be mistaken for complete tables.
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

/** The pause between two transactions lets other processes get the write lock. They retry about as often. */
const pauseForOthersMs = 10;

/** Lets other processes write before the next chunk. */
export function pauseForOtherWriters(): Promise<void> {
  return Bun.sleep(pauseForOthersMs);
}

/** Deletes the rows in chunks before dropping the table, because dropping a large table takes as long as reading it. */
async function dropInChunks(database: Database, table: string): Promise<void> {
  const deleteSome = () => (tableNamesIn(database).includes(table) ? deleteChunk(database, table) : 0);
  while (runInTransaction(database, deleteSome) > 0) await pauseForOtherWriters();
  database.run(`drop table if exists ${table}`);
}

/** Returns the number of deleted rows. */
function deleteChunk(database: Database, table: string): number {
  const key = keyOf(database, table).join(", ");
  const text = `delete from ${table} where (${key}) in (select ${key} from ${table} limit ${maxDeletedRows})`;
  return database.query(text).run().changes;
}

function keyOf(database: Database, table: string): string[] {
  const columns = database.query(`select name from pragma_table_info('${table}') where pk > 0 order by pk`).values();
  return columns.map(([name]) => name as string);
}
