// How every engine replaces everything that is stored. The new rows go into a second set of tables, a portion at a time, so
// that others can still write; then one short transaction renames both sets. The replaced tables stay under another name
// until they are saved elsewhere, and are then removed.

import { randomBytes } from "node:crypto";
import { randomText } from "../../lib/text.ts";
import type { DumpedRow } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";
import { hasHistory } from "./site-state.ts";
import { type TableName, tableNames } from "./tables.ts";

/** Bounds of what one transaction stores, in rows and, about, in characters: writers wait no longer than that takes. */
const maxRows = 1000;
const maxTextLength = 1024 * 1024;

/** `unused`: a refill fills these tables, or they can be dropped. `replaced`: they must be saved elsewhere before they are dropped. */
export type TableSetKind = "unused" | "replaced";

/** A set of tables beside those in use. */
export interface TableSet {
  readonly kind: TableSetKind;
  /** Distinguishes refills: several may run at the same time, and one may have been killed. */
  readonly id: string;
}

export function newTableSetId(): string {
  return randomBytes(6).toString("hex");
}

/** The name of a table in a set, the same in every engine. */
export function tableNameIn({ kind, id }: TableSet, table: TableName): string {
  return `storefront_${kind}_${id}_${table}`;
}

/** The sets of `kind` that exist. @param names of all tables of the database */
export function tableSetsIn(names: readonly string[], kind: TableSetKind): TableSet[] {
  const ids = names.flatMap((name) => new RegExp(`^storefront_${kind}_([0-9a-f]+)_`).exec(name)?.[1] ?? []);
  return [...new Set(ids)].map((id) => ({ kind, id }));
}

/** The tables that a set has. That of an older program lacks later ones. @param names of all tables of the database */
export function tablesInSet(set: TableSet, names: readonly string[]): TableName[] {
  return tableNames.filter((table) => names.includes(tableNameIn(set, table)));
}

/** What `check` reports of sets that exist. @param names of all tables of the database */
export function leftovers(names: readonly string[]): string[] {
  const isUnused = tableSetsIn(names, "unused").length > 0;
  const isReplaced = tableSetsIn(names, "replaced").length > 0;
  const cause = "a `restore` is under way or was interrupted:";
  return [
    ...(isUnused ? [`${cause} it takes space until the next \`restore\``] : []),
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

/** Cuts `rows` into portions, and gives every site a new epoch: what follows is another history, for every webhook too. */
export async function* inPortions(rows: AsyncIterable<DumpedRow>): AsyncGenerator<Portion> {
  let table: string | undefined;
  let portion: DumpedRow["row"][] = [];
  let text = 0;
  for await (const next of rows) {
    if (next.table !== table || portion.length === maxRows || text > maxTextLength) {
      if (table !== undefined) yield { table: table as TableName, rows: portion };
      [table, portion, text] = [next.table, [], 0];
    }
    portion.push(hasEpochToChange(next) ? { ...next.row, epoch: randomText(8) } : next.row);
    for (const cell of Object.values(next.row)) if (typeof cell === "string") text += cell.length;
  }
  if (table !== undefined) yield { table: table as TableName, rows: portion };
}

/** Webhooks of a site that had no epoch yet, as an older program stored them, would take any history for their own. */
function hasEpochToChange({ table, row: { epoch } }: DumpedRow): boolean {
  return (table === "sites" && hasHistory(String(epoch))) || (table === "webhook_state" && epoch === "");
}

/** The refusal when another refill has removed the tables of this one. */
export function replacedByAnother(cause: unknown): Refusal {
  return new Refusal("conflict", "another restore was started in the meantime; this one has changed nothing", {
    cause,
  });
}

/** The refusal when another version of the program has changed the tables since they were copied. */
export function upgradedMeanwhile(): Refusal {
  return new Refusal("conflict", "the database was upgraded in the meantime; nothing was changed, try again");
}
