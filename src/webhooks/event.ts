// The events that webhooks deliver: their IDs and bodies.

import { json } from "../formats/json.ts";
import type { Resource } from "../model/resource.ts";
import type { WebhookState } from "../model/webhooks.ts";
import type { FeedPage } from "../store/feed.ts";

export interface WebhookEvent {
  /** The same for each attempt. Without a dot, so that it can be signed. */
  readonly id: string;
  readonly body: string;
  /** The cursor after this event. */
  readonly next: string;
}

/**
 * The event of a page of changes. Each attempt has the same bytes, unless the program was upgraded.
 * @param state with the first and last revision of the page
 * @param resources by name
 */
export function changesEvent(
  state: WebhookState,
  site: string,
  page: FeedPage,
  resources: ReadonlyMap<string, Resource>,
): WebhookEvent {
  const items = page.changes.map(({ cursor, change }) =>
    json.feed.item(resources.get(change.resource) as Resource, cursor, change),
  );
  const at = page.changes.at(-1)?.change.at as number;
  const data = `{"Site":${JSON.stringify(site)},"Changes":[${items.join(json.feed.separator)}],"Next":${JSON.stringify(page.next)}}`;
  return {
    id: eventId(state, `${state.first}_${state.last}`),
    body: `{"type":"storefront.changes","timestamp":${JSON.stringify(toInstant(at))},"data":${data}}`,
    next: page.next,
  };
}

/** The event for a webhook whose changes are no longer all there: the receiver has to read the lists again. */
export function goneEvent(state: WebhookState, site: string, now: number): WebhookEvent {
  const { cursor } = state;
  const id = eventId(state, `gone_${cursorRevision(cursor)}`);
  return bareEvent("storefront.gone", id, { site, next: cursor, now });
}

/** The event of `webhook test`. @param random makes its ID unique */
export function testEvent({ webhook, cursor }: WebhookState, site: string, random: string, now: number): WebhookEvent {
  return bareEvent("storefront.test", `evt_${webhook}_test_${random}`, { site, next: cursor, now });
}

/** The number of the change after which a reader with this cursor goes on. */
export function cursorRevision(cursor: string): number {
  return Number(cursor.slice(cursor.lastIndexOf(".") + 1));
}

interface BareData {
  readonly site: string;
  readonly next: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

function bareEvent(type: string, id: string, { site, next, now }: BareData): WebhookEvent {
  return { id, body: JSON.stringify({ type, timestamp: toInstant(now), data: { Site: site, Next: next } }), next };
}

function eventId({ webhook, epoch, rewinds }: WebhookState, what: string): string {
  return `evt_${webhook}_${epoch}_${what}${rewinds > 0 ? `_${rewinds}` : ""}`;
}

function toInstant(at: number): string {
  return new Date(at).toISOString();
}
