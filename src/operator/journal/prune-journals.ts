// Prunes journals for `journal prune`. store/changes/retention.ts prunes them in the background.

import type { Engine } from "../../model/engine.ts";
import { findWebhooksWithPrunedCursor, pruneChunk, readTimeAtAge } from "../../store/changes/journal-pruning.ts";
import { type JournalPoint, resolveRevision } from "./journal-entries.ts";

/** A `JournalPoint`, or an age in milliseconds before `now`, or before the newest entry if that's earlier. */
export type PrunePoint = JournalPoint | { readonly age: number; readonly now: number };

interface PrunedJournal {
  readonly site: number;
  /** Entries deleted. */
  readonly deleted: number;
  /** The first revision that's left. */
  readonly begins: number;
  /** The webhooks whose cursors were pruned, so that they'll send `storefront.gone` next. */
  readonly webhooks: readonly number[];
}

/** Works in small transactions with pauses in between, so it can be interrupted at any time: the journals are always consistent. */
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
