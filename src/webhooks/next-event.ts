// Prepares the next event of a webhook: a page of changes, or `storefront.gone` if changes after the cursor are gone.
//
// Everything on which the event depends is saved before the event is sent for the first time. So each attempt, in whichever process, sends the same
// event.

import type { Engine } from "../model/engine.ts";
import { ProblemError, RetryableError } from "../model/errors.ts";
import type { Head } from "../model/head.ts";
import { maxChangesPerEvent } from "../model/limits.ts";
import type { Resource } from "../model/resource.ts";
import { type FeedPage, readCursorAt, readFeedPage } from "../store/changes/feed.ts";
import { revisionInCursor } from "../store/database/cursor.ts";
import type { ServedWebhook } from "../system/system-site-index.ts";
import type { NextEvent } from "./delivery-attempt.ts";
import type { LastSent } from "./last-sent.ts";
import type { WebhookLease } from "./lease.ts";
import { changesEvent, continuedCursorOf, goneEvent } from "./webhook-event.ts";

/** Maximum times that the cursor is moved to the head while one event is prepared, because the changes after it are gone. */
const maxRestarts = 3;

interface EventSources {
  readonly engine: Pick<Engine, "readHeads" | "readJournalPage">;
  /** The resources by name. */
  readonly resources: ReadonlyMap<string, Resource>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly lastSent: LastSent;
}

/**
 * Returns the event to deliver, and saves what its next attempts need. Moves the cursor past changes of resources that the webhook does not follow.
 * @returns `none`: nothing to deliver; `skipped`: the cursor only moved past changes of other resources; `lost`: others have changed the state, or
 * the lease has ended
 */
export async function prepareNextEvent(
  lease: WebhookLease,
  webhook: ServedWebhook,
  sources: EventSources,
): Promise<NextEvent | "none" | "skipped" | "lost"> {
  for (let restarts = 0; restarts < maxRestarts; ) {
    const { state } = lease;
    const isLost = await sources.lastSent.isLost(state, sources.engine);
    const page = isLost ? "gone" : await readPage(lease, webhook, sources);
    if (page === "gone") {
      restarts++;
      if (!(await moveCursorToHead(lease, sources, isLost))) return "lost";
    } else if (state.goneAt !== null) {
      const hasMore = page.head.revision > revisionInCursor(state.cursor);
      return { event: goneEvent(state, webhook.siteName, state.goneAt), hasMore };
    } else if (page.changes.length > 0) {
      if (!(await savePageBounds(lease, page))) return "lost";
      return { event: changesEvent(lease.state, webhook.siteName, page, sources.resources), hasMore: page.hasMore };
    } else {
      if (page.next === state.cursor) return "none";
      const moved = { cursor: page.next, epoch: page.head.epoch, since: continuedCursorOf(state), first: 0, last: 0 };
      if (!(await lease.update(moved))) return "lost";
      if (!page.hasMore) return "skipped";
    }
  }
  throw new RetryableError("the site was restored, or its journal pruned, several times while an event was prepared");
}

/**
 * Reads the page that is being delivered, or else the next one. Returns `gone` if changes after the cursor are missing or belong to another epoch.
 */
async function readPage(
  { state }: WebhookLease,
  { resources }: ServedWebhook,
  { engine }: EventSources,
): Promise<FeedPage | "gone"> {
  const { site, cursor: since, epoch, last } = state;
  // A page that is being delivered is read up to its last revision. Another program version may see more changes in it, so the limit is its number of
  // revisions.
  const limit = last > 0 ? last - revisionInCursor(since) : maxChangesPerEvent;
  const until = last > 0 ? { until: last } : {};
  try {
    const page = await readFeedPage(engine, site, { since, limit, resources, isCollapsed: false, ...until });
    return page.head.epoch === epoch ? page : "gone";
  } catch (error) {
    if (error instanceof ProblemError && error.code === "gone") return "gone";
    throw error;
  }
}

/** Saves the first and last revision of a page before its first attempt. Returns whether the state could be changed. */
async function savePageBounds(lease: WebhookLease, { changes, next, head }: FeedPage): Promise<boolean> {
  const first = changes[0]?.change.revision as number;
  const last = revisionInCursor(next);
  const { state } = lease;
  if (state.first === first && state.last === last && state.epoch === head.epoch) return true;
  return lease.update({ first, last, epoch: head.epoch });
}

/**
 * Moves the cursor to the head of the site. `storefront.gone` is then delivered first: it tells the receiver to read the lists again. Returns whether
 * the state could be changed.
 * @param isLost whether the database has lost changes that were sent
 */
async function moveCursorToHead(
  lease: WebhookLease,
  { engine, now, lastSent }: EventSources,
  isLost: boolean,
): Promise<boolean> {
  const { state } = lease;
  const [head] = (await engine.readHeads([state.site])) as [Head];
  const cursor = await readCursorAt(engine, state.site, head);
  const gone = { goneAt: now(), first: 0, last: 0 } as const;
  const rewinds = isLost ? lastSent.nextRewind(state) : state.rewinds;
  return lease.update({ cursor, epoch: head.epoch, since: continuedCursorOf(state), rewinds, ...gone });
}
