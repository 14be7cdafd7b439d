// How engines replace all data (restore, copy). The new rows go into a second set of tables, in chunks, so that others can write in between. Then a
// short transaction renames both sets and amends the restored system site. Finally, the replaced rows are saved to a file and their tables dropped.
//
// If the process is killed, the next restore deals with what's left:
// - Before the rename, the live data is unchanged. The second set is `unused` and incomplete, and gets dropped.
// - After the rename, the new data is live. The replaced set is `replaced`: its rows are saved to a file before it's dropped.

import { randomBytes } from "node:crypto";
import type { DumpedRow, SaveReplacedRows } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { type RowChunk, toChunksWithNewEpochs } from "./row-chunks.ts";
import { type TableName, tableNames } from "./tables.ts";

/** `unused`: a restore is filling these tables, or they can be dropped. `replaced`: they must be saved to a file before they're dropped. */
type TableSetKind = "unused" | "replaced";

/** A set of tables beside those in use. */
export interface TableSet {
  readonly kind: TableSetKind;
  /** Different for each restore, because several may run at once, and an earlier one may have been killed. */
  readonly id: string;
}

export function newTableSetId(): string {
  return randomBytes(6).toString("hex");
}

/** Returns the table's name within a set, which is the same in every engine. */
export function tableNameIn({ kind, id }: TableSet, table: TableName): string {
  return `storefront_${kind}_${id}_${table}`;
}

/** @param names of all tables in the database */
function tableSetsIn(names: readonly string[], kind: TableSetKind): TableSet[] {
  const ids = names.flatMap((name) => new RegExp(`^storefront_${kind}_([0-9a-f]+)_`).exec(name)?.[1] ?? []);
  return [...new Set(ids)].map((id) => ({ kind, id }));
}

/** A set made by an earlier version of the program lacks later tables. @param names of all tables in the database */
function tablesInSet(set: TableSet, names: readonly string[]): TableName[] {
  return tableNames.filter((table) => names.includes(tableNameIn(set, table)));
}

/** Returns sentences for `check` about sets left behind. @param names of all tables in the database */
export function describeLeftoverTables(names: readonly string[]): string[] {
  const isUnused = tableSetsIn(names, "unused").length > 0;
  const isReplaced = tableSetsIn(names, "replaced").length > 0;
  const cause = "a `restore` is in progress or was interrupted:";
  return [
    ...(isUnused ? [`${cause} its tables take up space until the next \`restore\``] : []),
    ...(isReplaced
      ? [`${cause} what it replaced is still in the database; the next \`restore\` will save it to a file`]
      : []),
  ];
}

/** An engine's steps in a restore. Others can read and write in between. */
export interface TableSetSteps {
  /** Reads the names of all tables in the database. */
  readNames(): Promise<readonly string[]>;
  /** Creates a set of empty tables with the same structure as the ones in use. Returns the schema version. */
  create(set: TableSet): Promise<number>;
  insert(set: TableSet, chunk: RowChunk): Promise<void>;
  /**
   * In one transaction, turns the tables in use into the set `replaced`, puts the set `filled` in use, and amends the system site.
   * @throws `upgradedDuringRestoreError` if the database's schema version isn't `version`
   */
  swap(filled: TableSet, replaced: TableSet, version: number): Promise<void>;
  /** Drops those tables of a set that exist. */
  drop(set: TableSet): Promise<void>;
  readHeads(set: TableSet): Promise<ReadonlyMap<number, Head>>;
  /** Reads all rows of some of a set's tables. */
  dump(set: TableSet, tables: readonly TableName[]): AsyncIterable<DumpedRow> | Iterable<DumpedRow>;
  /** Makes further calls possible after one has failed. Returns false if the connection is lost, which rules that out. */
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
    // If another restore has dealt with these tables by now, this drops nothing.
    await steps.drop(leftover);
  }
  const replaced = await fillAndSwap(steps, rows);
  const heads = await steps.readHeads(replaced);
  await save?.(steps.dump(replaced, tableNames));
  // The data is replaced. If dropping the old tables fails, for example on a full disk, they only take up space. `check` reports them, and the next
  // restore saves and drops them.
  await steps.drop(replaced).catch(() => {});
  return heads;
}

/** Fills new tables with `rows` and swaps them in. Returns the replaced tables. */
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
    if (!(await exists(steps, incoming))) throw supersededError(error);
    // Report the first error, even if dropping the new tables fails too. The next restore drops them.
    await steps.drop(incoming).catch(() => {});
    throw error;
  }
}

async function exists(steps: TableSetSteps, { kind, id }: TableSet): Promise<boolean> {
  return tableSetsIn(await steps.readNames(), kind).some((set) => set.id === id);
}

/** Another restore has dropped our tables. */
function supersededError(cause: unknown): ProblemError {
  return new ProblemError("conflict", "another restore was started in the meantime; this one changed nothing", {
    cause,
  });
}

/** Another version of the program has changed the tables during the restore. */
export function upgradedDuringRestoreError(): ProblemError {
  return new ProblemError("conflict", "the database was upgraded in the meantime; nothing was changed, try again");
}
