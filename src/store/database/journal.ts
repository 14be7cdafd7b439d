import type { Change } from "../../model/change.ts";
import type { SinceOptions } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { columnsOf } from "./tables.ts";

export const recordChangeColumns = columnsOf("journal", ["site_id", "at", "actor", "run", "before"]).join(", ");

/** The columns that `Engine.readChangesSince` needs. */
export const changeColumns = columnsOf("journal", ["site_id", "run", "before"]).join(", ");

/** The columns that `Engine.readJournalPage` needs. */
export const entryColumns = columnsOf("journal", ["site_id"]).join(", ");

/**
 * Returns `changes` if the epoch and timeline are as requested and no entry is missing between `revision` and the first change; otherwise undefined.
 * `changes` must have been read together with `head`.
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
 * Returns how far pruning up to `through` may go. The last entry of a journal always stays: it's the cursor of readers that are up to date, and they
 * must be able to continue.
 * @param revision of the last entry
 */
export function lastPrunable(through: number, revision: number): number {
  return Math.min(through, revision - 1);
}
