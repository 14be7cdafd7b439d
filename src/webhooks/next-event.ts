// What a webhook delivers next. Everything on which the event depends is stored before it is sent for the first time, so that each attempt of
// any process sends the same.

import type { Engine, Head } from "../model/engine.ts";
import { Refusal, TryAgain } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { cursorAt, type FeedPage, readFeed } from "../store/feed.ts";
import { changesEvent, cursorRevision, goneEvent, type WebhookEvent } from "./event.ts";
import type { WebhookLease } from "./lease.ts";
import type { ActiveWebhook } from "./records.ts";

/** Changes in one event (contract section 12). */
const maxChanges = 100;
/** How often the history may be replaced while an event is made. */
const maxRestarts = 3;

interface EventSources {
  readonly engine: Pick<Engine, "heads" | "journal">;
  /** By name. */
  readonly resources: ReadonlyMap<string, Resource>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The event, and whether there is more to deliver after it. */
export interface NextEvent {
  readonly event: WebhookEvent;
  readonly isMore: boolean;
}

/**
 * The event to deliver. Moves the cursor past changes of resources that the webhook does not follow.
 * @returns `none` when there is nothing to deliver, `skipped` when there is none after changes that it does not follow, `lost` when the state
 * is no longer as in the lease
 */
export async function nextEvent(
  lease: WebhookLease,
  webhook: ActiveWebhook,
  sources: EventSources,
): Promise<NextEvent | "none" | "skipped" | "lost"> {
  for (let restarts = 0; restarts < maxRestarts; ) {
    const { state } = lease;
    const page = await readPage(lease, webhook, sources);
    if (page === "gone") {
      restarts++;
      if (!(await startAnew(lease, sources))) return "lost";
    } else if (state.isGone) {
      return {
        event: goneEvent(state, webhook.siteName, sources.now()),
        isMore: page.head.revision > cursorRevision(state.cursor),
      };
    } else if (page.changes.length > 0) {
      if (!(await fixPage(lease, page))) return "lost";
      return { event: changesEvent(lease.state, webhook.siteName, page, sources.resources), isMore: page.isMore };
    } else {
      if (page.next === state.cursor) return "none";
      if (!(await lease.update({ cursor: page.next, epoch: page.head.epoch, first: 0, last: 0 }))) return "lost";
      if (!page.isMore) return "skipped";
    }
  }
  throw new TryAgain("the history of the website was replaced several times");
}

/** The page that is being delivered, or else the next one; `gone` when the changes after the cursor are not all there. */
async function readPage(
  { state }: WebhookLease,
  { resources }: ActiveWebhook,
  { engine }: EventSources,
): Promise<FeedPage | "gone"> {
  const { site, cursor: since, epoch, last } = state;
  // A page that is being delivered is read up to its end, however many changes a later version of the program sees in it.
  const limit = last > 0 ? last - cursorRevision(since) : maxChanges;
  const until = last > 0 ? { until: last } : {};
  try {
    const page = await readFeed(engine, site, { since, limit, resources, isCollapsed: false, ...until });
    // The cursor before the first change is valid in any history.
    return epoch === "" || page.head.epoch === epoch ? page : "gone";
  } catch (error) {
    if (error instanceof Refusal && error.code === "gone") return "gone";
    throw error;
  }
}

/** Stores the limits of a page before its first attempt. */
async function fixPage(lease: WebhookLease, { changes, next, head }: FeedPage): Promise<boolean> {
  const first = changes[0]?.change.revision as number;
  const last = cursorRevision(next);
  const { state } = lease;
  if (state.first === first && state.last === last && state.epoch === head.epoch) return true;
  return lease.update({ first, last, epoch: head.epoch });
}

/** Goes on after the last change, once the receiver has heard that it has to read the lists again. */
async function startAnew(lease: WebhookLease, { engine }: EventSources): Promise<boolean> {
  const { site } = lease.state;
  const [head] = await engine.heads([site]);
  const cursor = await cursorAt(engine, site, head as Head);
  return lease.update({ cursor, epoch: (head as Head).epoch, first: 0, last: 0, isGone: 1 });
}
