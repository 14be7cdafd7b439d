// What both engines do alike when they replace everything that is stored. The new rows go into tables beside those in use,
// a portion at a time, so that others write meanwhile; then one short transaction renames both. What was replaced is still
// there under another name, as of that moment, until it is kept elsewhere, and is then removed.

import { randomBytes } from "node:crypto";
import { randomText } from "../lib/base62.ts";
import type { DumpedRow } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { removedEpoch } from "./removed-sites.ts";
import type { TableName } from "./tables.ts";

/** Most rows, and about how many bytes of text, that one transaction stores: writers wait for no longer than that takes. */
const maxRows = 1000;
const maxTextLength = 1024 * 1024;

/**
 * Tables beside those in use: those that a refill fills, or has no more use for; or those that it has replaced, which are to
 * be kept elsewhere first.
 */
export type TableSetKind = "unused" | "replaced";

/** A set of tables beside those in use. */
export interface TableSet {
  readonly kind: TableSetKind;
  /** Tells the tables of one refill from those of another, which may run at the same time or was killed. */
  readonly id: string;
}

export function newTableSetId(): string {
  return randomBytes(6).toString("hex");
}

/** The name of a table of this set, the same in every engine. */
export function tableNameIn({ kind, id }: TableSet, table: TableName): string {
  return `storefront_${kind}_${id}_${table}`;
}

/** The sets of `kind` of which there are tables. @param names of all tables of the database */
export function tableSetsIn(names: readonly string[], kind: TableSetKind): TableSet[] {
  const ids = names.flatMap((name) => new RegExp(`^storefront_${kind}_([0-9a-f]+)_`).exec(name)?.[1] ?? []);
  return [...new Set(ids)].map((id) => ({ kind, id }));
}

/** What `check` reports of sets that are there. @param names of all tables of the database */
export function leftovers(names: readonly string[]): string[] {
  const isUnused = tableSetsIn(names, "unused").length > 0;
  const isReplaced = tableSetsIn(names, "replaced").length > 0;
  const cause = "a `restore` is under way or was interrupted:";
  return [
    ...(isUnused ? [`${cause} it takes room until the next \`restore\``] : []),
    ...(isReplaced
      ? [`${cause} what it replaced is still in the database; the next \`restore\` keeps it in a file`]
      : []),
  ];
}

/** Rows of one table, few enough for one short transaction. */
export interface Portion {
  readonly table: TableName;
  readonly rows: readonly DumpedRow["row"][];
}

/** Cuts `rows` into portions, and gives every site an epoch of its own: its history goes on as another one. */
export async function* inPortions(rows: AsyncIterable<DumpedRow>): AsyncGenerator<Portion> {
  let table: string | undefined;
  let portion: DumpedRow["row"][] = [];
  let text = 0;
  for await (const next of rows) {
    if (next.table !== table || portion.length === maxRows || text > maxTextLength) {
      if (table !== undefined) yield { table: table as TableName, rows: portion };
      [table, portion, text] = [next.table, [], 0];
    }
    const isSite = "epoch" in next.row && next.row.epoch !== removedEpoch;
    portion.push(isSite ? { ...next.row, epoch: randomText(8) } : next.row);
    for (const cell of Object.values(next.row)) if (typeof cell === "string") text += cell.length;
  }
  if (table !== undefined) yield { table: table as TableName, rows: portion };
}

/** Another refill has removed the tables of this one. */
export function replacedByAnother(cause: unknown): Refusal {
  return new Refusal("conflict", "another restore was started in the meantime; this one has changed nothing", {
    cause,
  });
}

/** Another version of the program has changed the tables since they were copied. */
export function upgradedMeanwhile(): Refusal {
  return new Refusal("conflict", "the database was upgraded in the meantime; nothing was changed, try again");
}
