import type { Engine } from "../model/engine.ts";
import { prunePortion, revisionBefore, webhooksBehind } from "../store/retention.ts";

/** The first entry that is kept: a revision, or the first one at or after a time in milliseconds since 1970. */
export type JournalPoint = { readonly revision: number } | { readonly at: number };

/** The revision of the last entry before `point`. */
export async function revisionOf(engine: Engine, site: number, point: JournalPoint): Promise<number> {
  return "at" in point ? revisionBefore(engine, site, point.at) : Math.max(0, point.revision - 1);
}

interface PrunedJournal {
  readonly site: number;
  /** Number of entries that were deleted. */
  readonly deleted: number;
  /** The revision with which the journal begins now. */
  readonly begins: number;
  /** The IDs of the webhooks that had not delivered what was deleted. They deliver `storefront.gone` next. */
  readonly webhooks: readonly number[];
}

/**
 * Deletes all entries before `point` from the journals of `sites`, in small transactions with pauses. If it is interrupted, what was
 * deleted stays deleted, and the journals are in order.
 */
export async function pruneJournals(
  engine: Engine,
  sites: readonly number[],
  point: JournalPoint,
): Promise<readonly PrunedJournal[]> {
  const pruned: PrunedJournal[] = [];
  for (const site of sites) {
    const { floor: before } = await engine.journal(site, 0, 1);
    const through = await revisionOf(engine, site, point);
    for (let isMore = through > before; isMore; ) {
      const done = await prunePortion(engine, { site, through });
      isMore = done.isMore;
      if (isMore) await Bun.sleep(done.pause);
    }
    const { floor } = await engine.journal(site, 0, 1);
    const webhooks = floor > before ? await webhooksBehind(engine, site, floor) : [];
    pruned.push({ site, deleted: floor - before, begins: floor + 1, webhooks });
  }
  return pruned;
}
