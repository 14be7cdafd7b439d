// Builds the events that webhooks deliver, with their IDs, bodies and signatures (contract section 12).

import { createHmac } from "node:crypto";
import { secretPrefix, type WebhookState } from "../model/webhooks.ts";
import { digestInCursor, revisionInCursor } from "../store/database/cursor.ts";
import type { EventPage } from "./shared-pages.ts";

/** An event that's ready to be signed and sent. */
export interface WebhookEvent {
  /** The same for every attempt. Has no dots, because they separate the parts that are signed. */
  readonly id: string;
  readonly body: Buffer;
  /** The cursor after this event. */
  readonly next: string;
}

/**
 * Always returns the same bytes for the same page, unless the program was upgraded.
 * @param state has the page's first and last revision
 */
export function changesEvent(state: WebhookState, site: string, { at, changes, next }: EventPage): WebhookEvent {
  const [Site, Since, Next] = [site, continuedCursorOf(state), next].map((text) => JSON.stringify(text));
  const timestamp = JSON.stringify(new Date(at).toISOString());
  const start = `{"type":"storefront.changes","timestamp":${timestamp},"data":{"Site":${Site},"Since":${Since},"Changes":[`;
  return {
    id: eventId(state, `${state.first}_${state.last}_${digestInCursor(next)}`),
    body: Buffer.concat([Buffer.from(start), changes, Buffer.from(`],"Next":${Next}}}`)]),
    next,
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
  const body = JSON.stringify({ type, timestamp: new Date(now).toISOString(), data });
  return { id, body: Buffer.from(body), next: data.Next };
}

function eventId({ webhook, epoch, rewinds }: WebhookState, what: string): string {
  return `evt_${webhook}_${epoch}_${what}${rewinds > 0 ? `_${rewinds}` : ""}`;
}

/**
 * Signs a delivery with each secret, according to Standard Webhooks 1.0.
 * @param at when it's sent, in milliseconds since 1970
 * @param secrets `whsec_` and base64
 */
export function signatureHeaders(id: string, at: number, body: string | Buffer, secrets: readonly string[]) {
  const timestamp = String(Math.floor(at / 1000));
  const start = `${id}.${timestamp}.`;
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": secrets.map((secret) => `v1,${sign(start, body, secret)}`).join(" "),
  };
}

function sign(start: string, body: string | Buffer, secret: string): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  return createHmac("sha256", key).update(start).update(body).digest("base64");
}
