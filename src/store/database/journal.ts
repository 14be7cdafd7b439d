// The rules for reading and pruning a journal, shared by the engines.

import type { Change } from "../../model/change.ts";
import type { SinceOptions } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { columnsOf } from "./tables.ts";

/** The columns of a `RecordChange`. */
export const recordChangeColumns = columnsOf("journal", ["site_id", "at", "actor", "run", "before"]).join(", ");

/** The columns of a change that `Engine.readChangesSince` returns. */
export const changeColumns = columnsOf("journal", ["site_id", "run", "before"]).join(", ");

/** The columns of an entry that `Engine.readJournalPage` returns. */
export const entryColumns = columnsOf("journal", ["site_id"]).join(", ");

/**
 * Returns the result of `Engine.readChangesSince`: `changes`, if no entry is missing between `revision` and the first change, and the epoch and
 * timeline are the requested ones; otherwise undefined. The changes must have been read together with `head`.
 */
export function contiguousChanges(
  changes: readonly Change[],
  head: Head,
  revision: number,
  { epoch, timeline }: SinceOptions,
): readonly Change[] | undefined {
  if (epoch !== undefined && head.epoch !== epoch) return undefined;
  if (timeline !== undefined && head.timeline !== timeline) return undefined;
  const next = head.revision > revision ? revision + 1 : undefined;
  return changes[0]?.revision === next ? changes : undefined;
}

/**
 * Returns the last revision that pruning through `through` may delete. The last entry of a journal stays, because the cursor of a reader that has
 * read everything names it. So such a reader can always continue.
 * @param revision the revision of the last entry
 */
export function lastPrunable(through: number, revision: number): number {
  return Math.min(through, revision - 1);
}
