// Builds the events that webhooks deliver, with their IDs, bodies and signatures (contract section 12).

import { createHmac } from "node:crypto";
import { json } from "../formats/json.ts";
import type { Resource } from "../model/resource.ts";
import { secretPrefix, type WebhookState } from "../model/webhooks.ts";
import type { FeedPage } from "../store/changes/feed.ts";
import { digestInCursor, revisionInCursor } from "../store/database/cursor.ts";

/** An event that's ready to be signed and sent. */
export interface WebhookEvent {
  /** The same for every attempt. Has no dots, because they separate the parts that are signed. */
  readonly id: string;
  readonly body: string;
  /** The cursor after this event. */
  readonly next: string;
}

/**
 * Always returns the same bytes for the same page, unless the program was upgraded.
 * @param state has the page's first and last revision
 * @param resources by name
 */
export function changesEvent(
  state: WebhookState,
  site: string,
  page: FeedPage,
  resources: ReadonlyMap<string, Resource>,
): WebhookEvent {
  const items = page.changes.map((found) => json.feed.item(resources.get(found.change.resource) as Resource, found));
  const at = page.changes.at(-1)?.change.at as number;
  const [Site, Since, Next] = [site, continuedCursorOf(state), page.next].map((text) => JSON.stringify(text));
  const data = `{"Site":${Site},"Since":${Since},"Changes":[${items.join(json.feed.separator)}],"Next":${Next}}`;
  return {
    id: eventId(state, `${state.first}_${state.last}_${digestInCursor(page.next)}`),
    body: `{"type":"storefront.changes","timestamp":${JSON.stringify(new Date(at).toISOString())},"data":${data}}`,
    next: page.next,
  };
}

/**
 * Tells a receiver to read the lists again, because changes after its cursor are gone.
 * @param now when that was found, in milliseconds since 1970
 */
export function goneEvent(state: WebhookState, site: string, now: number): WebhookEvent {
  const { cursor } = state;
  // The time makes the ID unique, because a database that has lost its last commits can reach the same cursor twice.
  const id = eventId(state, `gone_${revisionInCursor(cursor)}_${now}`);
  return eventWithoutChanges("storefront.gone", id, {
    data: { Site: site, Since: continuedCursorOf(state), Next: cursor },
    now,
  });
}

/** For `webhook test`. @param random makes the ID unique */
export function testEvent({ webhook, cursor }: WebhookState, site: string, random: string, now: number): WebhookEvent {
  return eventWithoutChanges("storefront.test", `evt_${webhook}_test_${random}`, {
    data: { Site: site, Next: cursor },
    now,
  });
}

/** The `Next` of the last event that the receiver accepted. By comparing it with its own, the receiver notices a missing event. */
export function continuedCursorOf({ since, cursor }: Pick<WebhookState, "since" | "cursor">): string {
  return since ?? cursor;
}

interface BareEvent {
  readonly data: { readonly Site: string; readonly Since?: string; readonly Next: string };
  /** Milliseconds since 1970. */
  readonly now: number;
}

function eventWithoutChanges(type: string, id: string, { data, now }: BareEvent): WebhookEvent {
  return { id, body: JSON.stringify({ type, timestamp: new Date(now).toISOString(), data }), next: data.Next };
}

function eventId({ webhook, epoch, rewinds }: WebhookState, what: string): string {
  return `evt_${webhook}_${epoch}_${what}${rewinds > 0 ? `_${rewinds}` : ""}`;
}

/**
 * Signs a delivery with each secret, according to Standard Webhooks 1.0.
 * @param at when it's sent, in milliseconds since 1970
 * @param secrets `whsec_` and base64
 */
export function signatureHeaders(id: string, at: number, body: string, secrets: readonly string[]) {
  const timestamp = String(Math.floor(at / 1000));
  const content = `${id}.${timestamp}.${body}`;
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": secrets.map((secret) => `v1,${sign(content, secret)}`).join(" "),
  };
}

function sign(content: string, secret: string): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  return createHmac("sha256", key).update(content).digest("base64");
}
