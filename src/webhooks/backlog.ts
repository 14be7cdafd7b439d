// How many changes a webhook has yet to deliver.
//
// If it follows all resources, that's one per revision after its cursor. Otherwise, the journal's entries have to be counted. Because they never change, none
// is counted twice for the same cursor: a count continues where the last one stopped, however often someone asks.

import { yieldToEventLoop } from "../lib/yielding.ts";
import type { Engine } from "../model/engine.ts";
import type { Head } from "../model/head.ts";
import { publicResources } from "../model/resource.ts";
import type { WebhookState } from "../model/webhooks.ts";
import { allResources } from "../resources/all.ts";
import { tryParseCursorRevision } from "../store/database/cursor.ts";

export interface Backlog {
  readonly changes: number;
  /** Whether there may be more, because counting them would have taken too long. */
  readonly isMinimum: boolean;
}

/** Beyond this, nobody needs the exact number. */
const maxCounted = 10_000;
/** Journal entries that one call reads by default. */
const defaultEntries = 25_000;
/** SQLite reads this many in about a millisecond. */
const entriesPerRead = 2000;

interface Count {
  readonly changes: number;
  /** The last revision that was counted. */
  readonly through: number;
}

/** By epoch, cursor and resources; the one that was used last comes last. */
const counts = new Map<string, Promise<Count>>();
const maxCounts = 1000;

/**
 * @param head of the webhook's site
 * @param resources the names of those whose changes are delivered
 * @param maxEntries how many journal entries to read
 * @returns undefined if the cursor belongs to another epoch
 */
export async function countBacklog(
  engine: Pick<Engine, "countChanges">,
  { site, cursor, epoch }: WebhookState,
  head: Head,
  resources: ReadonlySet<string>,
  maxEntries = defaultEntries,
): Promise<Backlog | undefined> {
  const delivered = tryParseCursorRevision(cursor);
  if (delivered === undefined || (delivered !== 0 && epoch !== head.epoch)) return undefined;
  const revisions = Math.max(0, head.revision - delivered);
  if (revisions === 0 || publicResources(allResources).every(({ name }) => resources.has(name)))
    return { changes: revisions, isMinimum: false };
  // Every site has its own epoch. After a failover, the same revisions may be other changes.
  const key = [head.epoch, head.timeline, cursor, ...resources].join(" ");
  const known = counts.get(key) ?? Promise.resolve({ changes: 0, through: delivered });
  const count = known.then((before) =>
    continueCount(engine, site, resources, before, Math.min(head.revision, before.through + maxEntries)),
  );
  counts.delete(key);
  counts.set(key, count);
  const [oldest = ""] = counts.keys();
  if (counts.size > maxCounts) counts.delete(oldest);
  try {
    const { changes, through } = await count;
    return { changes, isMinimum: through < head.revision };
  } catch (error) {
    if (counts.get(key) === count) counts.delete(key);
    throw error;
  }
}

async function continueCount(
  engine: Pick<Engine, "countChanges">,
  site: number,
  resources: ReadonlySet<string>,
  before: Count,
  end: number,
): Promise<Count> {
  let { changes, through } = before;
  while (through < end && changes < maxCounted) {
    const next = Math.min(end, through + entriesPerRead);
    for (const [resource, count] of await engine.countChanges(site, through, next))
      if (resources.has(resource)) changes += count;
    through = next;
    await yieldToEventLoop();
  }
  return { changes, through };
}
