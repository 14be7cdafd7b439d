// One turn of a webhook: at most one attempt of one event.

import { nextTurn } from "../lib/event-loop.ts";
import type { Engine, Head } from "../model/engine.ts";
import { Refusal, TryAgain } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { cursorAt, type FeedPage, readFeed } from "../store/changes/feed.ts";
import { type AttemptDependencies, attempt } from "./delivery-attempt.ts";
import type { LastSent } from "./last-sent.ts";
import { forgetHeld, type HeldLease, releaseHeld, type TurnResult, takeLease, type WebhookLease } from "./lease.ts";
import type { ActiveWebhook, WebhookRecords } from "./records.ts";
import { isWaiting } from "./retry-policy.ts";
import { changesEvent, cursorRevision, goneEvent, sinceOf, type WebhookEvent } from "./webhook-event.ts";

export interface TurnDependencies extends AttemptDependencies {
  readonly records: WebhookRecords;
  /** Brings `records` up to date. */
  readonly refresh: () => Promise<unknown>;
  /** By name. */
  readonly resources: ReadonlyMap<string, Resource>;
  /** Identifies this process. */
  readonly holder: string;
}

/**
 * Takes a turn. Keeps the lease in `held` if there is more to deliver, otherwise releases it.
 * @param stop aborts the attempt
 */
export async function takeTurn(
  id: number,
  held: HeldLease,
  dependencies: TurnDependencies,
  stop: AbortSignal,
): Promise<TurnResult> {
  const { records, refresh, engine, clock } = dependencies;
  await refresh();
  const webhook = records.active(id);
  if (!webhook) return releaseHeld(held, "later");
  const lease = await leaseOf(webhook, held, dependencies);
  if (!lease) return "later";
  const { state } = lease;
  if (state.home !== (await engine.databaseIdentity()) || isWaiting(state, clock.now()))
    return releaseHeld(held, "later");
  // The claims of many webhooks come back together. To read an event takes a millisecond or two.
  await nextTurn();
  const next = await nextEvent(lease, webhook, { ...dependencies, now: clock.now });
  if (next === "lost") return forgetHeld(held);
  if (next === "none") return releaseHeld(held, "done");
  if (next === "skipped") return releaseHeld(held, "later");
  return attempt(next, webhook, held, dependencies, stop);
}

/** Undefined when another process has the lease. */
async function leaseOf(
  webhook: ActiveWebhook,
  held: HeldLease,
  { engine: store, holder, clock }: TurnDependencies,
): Promise<WebhookLease | undefined> {
  const { lease } = held;
  const isHeld = lease !== undefined && lease.left > 0 && (await lease.renew());
  held.lease = isHeld ? lease : await takeLease(webhook, { store, holder, clock });
  return held.lease;
}

// What a webhook delivers next. Everything on which the event depends is stored before it is sent for the first time, so that each attempt of
// any process sends the same.

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
  readonly lastSent: LastSent;
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
async function nextEvent(
  lease: WebhookLease,
  webhook: ActiveWebhook,
  sources: EventSources,
): Promise<NextEvent | "none" | "skipped" | "lost"> {
  for (let restarts = 0; restarts < maxRestarts; ) {
    const { state } = lease;
    const isLost = await sources.lastSent.isLost(state, sources.engine);
    const page = isLost ? "gone" : await readPage(lease, webhook, sources);
    if (page === "gone") {
      restarts++;
      if (!(await startAnew(lease, sources, isLost))) return "lost";
    } else if (state.isGone) {
      // An older program has not stored when.
      if (state.goneAt === null && !(await lease.update({ goneAt: sources.now() }))) return "lost";
      const isMore = page.head.revision > cursorRevision(state.cursor);
      return { event: goneEvent(lease.state, webhook.siteName), isMore };
    } else if (page.changes.length > 0) {
      if (!(await fixPage(lease, page))) return "lost";
      return { event: changesEvent(lease.state, webhook.siteName, page, sources.resources), isMore: page.isMore };
    } else {
      if (page.next === state.cursor) return "none";
      const moved = { cursor: page.next, epoch: page.head.epoch, since: sinceOf(state), first: 0, last: 0 };
      if (!(await lease.update(moved))) return "lost";
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

/**
 * Goes on after the last change, once the receiver has heard that it has to read the lists again.
 * @param isLost whether the database has lost what was sent
 */
async function startAnew(
  lease: WebhookLease,
  { engine, now, lastSent }: EventSources,
  isLost: boolean,
): Promise<boolean> {
  const { state } = lease;
  const [head] = (await engine.heads([state.site])) as [Head];
  const cursor = await cursorAt(engine, state.site, head);
  const gone = { isGone: 1, goneAt: now(), first: 0, last: 0 } as const;
  const rewinds = isLost ? lastSent.nextRewind(state) : state.rewinds;
  return lease.update({ cursor, epoch: head.epoch, since: sinceOf(state), rewinds, ...gone });
}
