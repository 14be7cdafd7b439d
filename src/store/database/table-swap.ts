// How every engine replaces all data (restore, copy). The new rows are stored in a second set of tables, in chunks, so that others can write in
// between. Then one short transaction renames both sets, and amends the restored system site. The replaced rows are then saved in a file, and
// their tables are dropped.
//
// If the process is killed, the next restore handles the tables that remain:
// - Before the rename, the data in use is unchanged. The second set is `unused` and incomplete: the next restore drops it.
// - After the rename, the new data is in use. The replaced set is `replaced`: the next restore saves its rows in a file, and then drops it.

import { randomBytes } from "node:crypto";
import type { DumpedRow, SaveReplacedRows } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { type RowChunk, toChunksWithNewEpochs } from "./row-chunks.ts";
import { type TableName, tableNames } from "./tables.ts";

/** `unused`: a restore is filling these tables, or they can be dropped. `replaced`: they must be saved in a file before they are dropped. */
type TableSetKind = "unused" | "replaced";

/** A table set beside the tables in use. */
export interface TableSet {
  readonly kind: TableSetKind;
  /** Differs for each restore: several may run at the same time, and an earlier one may have been killed. */
  readonly id: string;
}

export function newTableSetId(): string {
  return randomBytes(6).toString("hex");
}

/** Returns the name of a table in a set, the same in every engine. */
export function tableNameIn({ kind, id }: TableSet, table: TableName): string {
  return `storefront_${kind}_${id}_${table}`;
}

/** Returns the sets of `kind` that exist. @param names of all tables of the database */
function tableSetsIn(names: readonly string[], kind: TableSetKind): TableSet[] {
  const ids = names.flatMap((name) => new RegExp(`^storefront_${kind}_([0-9a-f]+)_`).exec(name)?.[1] ?? []);
  return [...new Set(ids)].map((id) => ({ kind, id }));
}

/** Returns the tables that a set has. A set of an earlier program version lacks the tables of later additions. @param names of all tables */
function tablesInSet(set: TableSet, names: readonly string[]): TableName[] {
  return tableNames.filter((table) => names.includes(tableNameIn(set, table)));
}

/** Returns sentences about the sets that exist, for `check`. @param names of all tables of the database */
export function describeLeftoverTables(names: readonly string[]): string[] {
  const isUnused = tableSetsIn(names, "unused").length > 0;
  const isReplaced = tableSetsIn(names, "replaced").length > 0;
  const cause = "a `restore` is in progress or was interrupted:";
  return [
    ...(isUnused ? [`${cause} it takes space until the next \`restore\``] : []),
    ...(isReplaced
      ? [`${cause} what it replaced is still in the database; the next \`restore\` keeps it in a file`]
      : []),
  ];
}

/** The steps of an engine in a restore. Others can read and write between two steps. */
export interface TableSetSteps {
  /** Reads the names of all tables of the database. */
  readNames(): Promise<readonly string[]>;
  /** Creates the empty tables of a set, like those in use. Returns the schema version. */
  create(set: TableSet): Promise<number>;
  insert(set: TableSet, chunk: RowChunk): Promise<void>;
  /**
   * Swaps, in one transaction: the tables in use become the set `replaced`, the set `filled` is put in use,
   * and the system site is amended.
   * @throws `upgradedDuringRestoreError` if the database has another schema version than `version`
   */
  swap(filled: TableSet, replaced: TableSet, version: number): Promise<void>;
  /** Drops the tables of a set that exist. */
  drop(set: TableSet): Promise<void>;
  readHeads(set: TableSet): Promise<ReadonlyMap<number, Head>>;
  /** Reads all rows of some tables of a set. */
  dump(set: TableSet, tables: readonly TableName[]): AsyncIterable<DumpedRow> | Iterable<DumpedRow>;
  /** Makes further calls possible after a call has failed. Returns false if that is impossible, because the connection is lost. */
  recover(): Promise<boolean>;
}

/** Implements `Engine.replaceAllData`. */
export async function replaceAllData(
  steps: TableSetSteps,
  rows: AsyncIterable<DumpedRow>,
  save?: SaveReplacedRows,
): Promise<ReadonlyMap<number, Head>> {
  for (const unused of tableSetsIn(await steps.readNames(), "unused")) await steps.drop(unused);
  for (const leftover of save ? tableSetsIn(await steps.readNames(), "replaced") : []) {
    await save?.(steps.dump(leftover, tablesInSet(leftover, await steps.readNames())));
    // Another restore may have saved and dropped the same tables in the meantime. Then this drops nothing.
    await steps.drop(leftover);
  }
  const replaced = await fillAndSwap(steps, rows);
  const heads = await steps.readHeads(replaced);
  await save?.(steps.dump(replaced, tableNames));
  // The data is replaced. If the old tables cannot be dropped, for example on a full disk, they only take space. `check` then reports them, and the next
  // restore saves their rows again and drops them.
  await steps.drop(replaced).catch(() => {});
  return heads;
}

/** Fills new tables with `rows`, and swaps them with the tables in use. Returns the replaced tables. */
async function fillAndSwap(steps: TableSetSteps, rows: AsyncIterable<DumpedRow>): Promise<TableSet> {
  const incoming: TableSet = { kind: "unused", id: newTableSetId() };
  const replaced: TableSet = { ...incoming, kind: "replaced" };
  const version = await steps.create(incoming);
  try {
    for await (const chunk of toChunksWithNewEpochs(rows)) await steps.insert(incoming, chunk);
    await steps.swap(incoming, replaced, version);
    return replaced;
  } catch (error) {
    if (!(await steps.recover())) throw error;
    if (!(await isThere(steps, incoming))) throw supersededError(error);
    // Report the first error, even if the new tables cannot be dropped: the next restore drops them.
    await steps.drop(incoming).catch(() => {});
    throw error;
  }
}

async function isThere(steps: TableSetSteps, { kind, id }: TableSet): Promise<boolean> {
  return tableSetsIn(await steps.readNames(), kind).some((set) => set.id === id);
}

/** Returns the error of a restore for which another restore has dropped the tables. */
function supersededError(cause: unknown): ProblemError {
  return new ProblemError("conflict", "another restore was started in the meantime; this one has changed nothing", {
    cause,
  });
}

/** Returns the error of a restore during which another program version has changed the tables. */
export function upgradedDuringRestoreError(): ProblemError {
  return new ProblemError("conflict", "the database was upgraded in the meantime; nothing was changed, try again");
}
