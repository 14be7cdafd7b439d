// Prunes journals on the command of an operator (`journal prune`).

import type { Engine } from "../../model/engine.ts";
import { findWebhooksWithPrunedCursor, pruneChunk, readTimeAtAge } from "../../store/changes/journal-pruning.ts";
import { type JournalPoint, resolveRevision } from "./journal-entries.ts";

/** A `JournalPoint`, or an age in milliseconds: older entries are deleted. The age counts from `now`, or from the newest entry if that is earlier. */
export type PrunePoint = JournalPoint | { readonly age: number; readonly now: number };

interface PrunedJournal {
  readonly site: number;
  /** The number of deleted entries. */
  readonly deleted: number;
  /** The first revision in the journal now. */
  readonly begins: number;
  /** The IDs of the webhooks whose cursors were pruned. They deliver `storefront.gone` next. */
  readonly webhooks: readonly number[];
}

/**
 * Deletes all entries before a point from the journals of `sites`, in small transactions with pauses. If it is interrupted, the entries deleted so
 * far stay deleted, and the journals are consistent.
 */
export async function pruneJournals(
  engine: Engine,
  sites: readonly number[],
  before: PrunePoint,
): Promise<readonly PrunedJournal[]> {
  const point = "age" in before ? { at: await readTimeAtAge(engine, before.age, before.now) } : before;
  const pruned: PrunedJournal[] = [];
  for (const site of sites) {
    const { floor: first } = await engine.readJournalPage(site, 0, 1);
    const through = await resolveRevision(engine, site, point);
    for (let hasMore = through > first; hasMore; ) {
      const done = await pruneChunk(engine, { site, through });
      hasMore = done.hasMore;
      if (hasMore) await Bun.sleep(done.pauseMs);
    }
    const { floor } = await engine.readJournalPage(site, 0, 1);
    const webhooks = floor > first ? await findWebhooksWithPrunedCursor(engine, site, floor) : [];
    pruned.push({ site, deleted: floor - first, begins: floor + 1, webhooks });
  }
  return pruned;
}
