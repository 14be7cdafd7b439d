// The actions of an operator on a webhook: change, pause, resume, retry, rotate, rewind, test and remove. webhook-creation.ts creates webhooks.
//
// The record of a webhook (site, URL, resources, pause) is journaled. Its state (cursor, lease, failures) and its secrets are in other tables
// (model/webhooks.ts). Without them, the webhook is incomplete and is never delivered. `webhook add` stores the record first, and `webhook remove`
// deletes it last. So after an interruption, the record shows that the webhook is incomplete.

import type { IpNetwork } from "../../lib/networks.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { toDeclaredJson, type Values } from "../../model/record.ts";
import {
  createWebhookSecret,
  type DeliveryAttempt,
  noFailures,
  nothingInProgress,
  type WebhookRef,
  type WebhookState,
  type WebhookStateUpdate,
} from "../../model/webhooks.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { revisionInCursor } from "../../store/database/cursor.ts";
import { commitSystemChanges, toDeleteIntent, toInstant, toUpdateIntent } from "../../system/system-changes.ts";
import type { WebhookRecord } from "../../system/system-records.ts";
import { type AddressPolicy, resolveAllowedUrl } from "../../webhooks/address-policy.ts";
import { deliverTest } from "../../webhooks/delivery.ts";
import { isBackingOff } from "../../webhooks/retry-policy.ts";
import { continuedCursorOf } from "../../webhooks/webhook-event.ts";
import { type DeliveryStart, resolveDeliveryStart, type WebhookPosition } from "./delivery-start.ts";
import { getWebhook, type ListedWebhook, requireWebhook, webhookRefOf } from "./webhook-list.ts";

/** Milliseconds for which deliveries are signed with the previous secret, too. */
const secretOverlapMs = 24 * 60 * 60_000;
/** Minimum milliseconds between two attempts that operators ask for. */
const retryPauseMs = 5000;
/** Maximum attempts to change a state while deliveries change it, too. */
const maxAttempts = 100;

/** Pauses a webhook. Pausing it again changes nothing. @throws ProblemError `not-found` */
export async function pauseWebhook(engine: Engine, id: number, now: number): Promise<ListedWebhook> {
  await changeRecord(engine, id, now, ({ Paused }) =>
    Paused === "" ? { Paused: toInstant(now), Reason: "an operator paused it" } : {},
  );
  return getWebhook(engine, id);
}

/**
 * Lets a webhook deliver in this database, at once, from its cursor.
 * @throws ProblemError `not-found`, `bad-request` if its URL is not allowed, or `conflict` if it is incomplete
 */
export async function resumeWebhook(
  engine: Engine,
  id: number,
  policy: AddressPolicy,
  now: number,
): Promise<ListedWebhook> {
  const { URL: url } = requireComplete(await getWebhook(engine, id));
  await checkWebhookUrl(url, policy);
  const home = await engine.readDatabaseId();
  await updateState(engine, id, ({ resumes }) => ({
    home,
    ...noFailures,
    resumes: resumes + 1,
  }));
  await changeRecord(engine, id, now, () => ({ Paused: "", Reason: "" }));
  return getWebhook(engine, id);
}

/**
 * Gives a webhook another URL. It keeps its secrets and its cursor, and delivers at once. An attempt that is in flight still ends at the earlier URL; its
 * result does not count, so that the same changes are sent to the new URL.
 * @throws ProblemError `not-found`, `bad-request` if the URL is not allowed, or `conflict` if the webhook is incomplete
 */
export async function changeWebhookUrl(
  engine: Engine,
  id: number,
  url: string,
  policy: AddressPolicy,
  now: number,
): Promise<{ webhook: ListedWebhook; isResolved: boolean }> {
  const before = requireComplete(await getWebhook(engine, id));
  const { href, isResolved } = await checkWebhookUrl(url, policy);
  if (href === before.URL) return { webhook: before, isResolved };
  await changeRecord(engine, id, now, () => ({ URL: href }));
  // After the record, so that no attempt whose result counts can have the earlier URL (webhooks/delivery.ts).
  await updateState(engine, id, ({ resumes }) => ({ ...noFailures, resumes: resumes + 1 }));
  return { webhook: await getWebhook(engine, id), isResolved };
}

/**
 * Makes the next attempt of a failing webhook due now, and not only after its back-off. A server makes it within a few seconds. Changes nothing if the
 * webhook need not wait.
 * @throws ProblemError `not-found`; `conflict` if the webhook is paused or incomplete, or is being delivered; `too-many-requests` if the last attempt was a
 * moment ago
 */
export async function retryWebhook(engine: Engine, id: number, now: number): Promise<ListedWebhook> {
  const webhook = requireComplete(await getWebhook(engine, id));
  const { status, detail, state } = webhook;
  if (status === "paused") throw new ProblemError("conflict", `webhook ${id} is paused: ${detail}; resume it`);
  if (!isBackingOff(state, now)) return webhook;
  if (state.holder !== null && state.leaseUntil > now)
    throw new ProblemError("conflict", `webhook ${id} is being delivered now`);
  const [last] = await engine.readWebhookAttempts(webhookRefOf(webhook), 1);
  const remainingMs = last ? last.at + retryPauseMs - now : 0;
  if (remainingMs > 0 && remainingMs <= retryPauseMs) {
    const detail = `the last attempt of webhook ${id} was a moment ago`;
    throw new ProblemError("too-many-requests", detail, { retryAfterSeconds: remainingMs / 1000 });
  }
  // An attempt that an operator asks for does not count. Otherwise each failed attempt would make the wait for the next automatic attempt longer.
  await updateState(engine, id, ({ failures }) => ({ nextAt: 0, failures: Math.max(failures - 1, 1) }));
  return getWebhook(engine, id);
}

/**
 * Gives a webhook a new secret, and returns it. Deliveries are signed with the previous secret, too, for 24 hours or until the next rotation.
 * @throws ProblemError `not-found`, or `conflict` if the webhook is incomplete
 */
export async function rotateWebhook(
  engine: Engine,
  id: number,
  now: number,
): Promise<{ webhook: ListedWebhook; secret: string; until: number }> {
  const secret = createWebhookSecret();
  const until = now + secretOverlapMs;
  const webhook = await changeAtItsSite(engine, id, async (ref) => {
    // The renewal of a sandbox may have carried the new secret already.
    const secrets = await engine.readWebhookSecrets(ref);
    if (secrets.some((one) => one.secret === secret)) return true;
    return engine.rotateWebhookSecret(ref, secret, now, until);
  });
  return { webhook, secret, until };
}

/**
 * Moves the cursor of a webhook back, or forward, to `point`. The webhook delivers the changes after it, even if they were delivered before.
 * @throws ProblemError `not-found`, `gone` if changes after `point` are missing, or `conflict` if the webhook is incomplete
 */
export async function rewindWebhook(engine: Engine, id: number, point: DeliveryStart): Promise<ListedWebhook> {
  const { site } = webhookRefOf(requireComplete(await getWebhook(engine, id)));
  const position = await resolveDeliveryStart(engine, site, point);
  await updateState(engine, id, (state) => {
    const since = continuesChain(position, state) ? continuedCursorOf(state) : position.cursor;
    return { ...position, ...nothingInProgress, since, rewinds: state.rewinds + 1 };
  });
  return getWebhook(engine, id);
}

/**
 * Whether the chain of events continues after a rewind (contract section 12): the position is not after the cursor, and `storefront.gone` is not
 * pending. Otherwise, `Since` of the next event differs from the last `Next`, so that the receiver detects the gap.
 */
function continuesChain({ cursor, epoch }: WebhookPosition, state: WebhookState): boolean {
  return epoch === state.epoch && state.goneAt === null && revisionInCursor(cursor) <= revisionInCursor(state.cursor);
}

/**
 * Sends `storefront.test` once, even if the webhook is paused. `webhook deliveries` lists the attempt.
 * @param allow networks that are allowed although they are not public
 * @throws ProblemError `not-found`, or `conflict` if the webhook is incomplete
 */
export async function testWebhook(
  engine: Engine,
  id: number,
  allow: readonly IpNetwork[],
): Promise<{ webhook: ListedWebhook; attempt: DeliveryAttempt }> {
  const webhook = requireComplete(await getWebhook(engine, id));
  const { siteName, URL: url } = webhook;
  return { webhook, attempt: await deliverTest(engine, { ...webhookRefOf(webhook), siteName, url }, allow) };
}

/**
 * Removes a webhook with its secrets and attempts, and returns the webhook as it was.
 * @throws ProblemError `not-found`
 */
export async function removeWebhook(engine: Engine, id: number, now: number): Promise<ListedWebhook> {
  const webhook = await getWebhook(engine, id);
  await engine.deleteWebhook(webhookRefOf(webhook));
  const [body] = await commitSystemChanges(engine, (system) => [
    toDeleteIntent(webhookResource, requireWebhook(system, id).ID, now),
  ]);
  const deleted: WebhookRecord = JSON.parse(toDeclaredJson(webhookResource, body as string));
  // The renewal of a sandbox may have moved the webhook meanwhile, with a state that was carried.
  if (deleted.Site !== webhook.Site) await engine.deleteWebhook(webhookRefOf(deleted));
  return webhook;
}

async function changeRecord(
  engine: Engine,
  id: number,
  now: number,
  change: (record: WebhookRecord) => Values,
): Promise<void> {
  await commitSystemChanges(engine, (system) => [
    toUpdateIntent(webhookResource, id, change(requireWebhook(system, id)), now),
  ]);
}

/**
 * Changes a state, even while the webhook is delivered.
 * @throws ProblemError `conflict` if the webhook is incomplete, or deliveries change its state before each attempt
 */
async function updateState(
  engine: Engine,
  id: number,
  change: (state: WebhookState) => WebhookStateUpdate,
): Promise<void> {
  await changeAtItsSite(engine, id, async (ref) => {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const [state] = await engine.readWebhookStates([ref]);
      if (!state) return false;
      const { cursor, rewinds, resumes } = state;
      if (await engine.compareAndSetWebhook(ref, { cursor, rewinds, resumes }, change(state))) return true;
    }
    throw new ProblemError("conflict", `deliveries change the state of webhook ${id} all the time; try again`);
  });
}

/**
 * Changes the state or the secrets of a webhook, which belong to its site. The renewal of a sandbox moves the webhook to another site: then the
 * change is made there, too.
 * @param change returns whether the webhook has a state at this site
 * @returns the webhook after the change
 * @throws ProblemError `not-found`, or `conflict` if the webhook is incomplete
 */
export async function changeAtItsSite(
  engine: Engine,
  id: number,
  change: (ref: WebhookRef) => Promise<boolean>,
): Promise<ListedWebhook> {
  for (let webhook = await getWebhook(engine, id); ; ) {
    const isDone = await change(webhookRefOf(webhook));
    const present = await getWebhook(engine, id);
    if (present.Site === webhook.Site && !isDone) throw incompleteError(id);
    if (present.Site === webhook.Site) return present;
    webhook = present;
  }
}

function requireComplete(webhook: ListedWebhook): ListedWebhook & { readonly state: WebhookState } {
  const { state } = webhook;
  if (!state) throw incompleteError(webhook.ID);
  return { ...webhook, state };
}

function incompleteError(id: number): ProblemError {
  return new ProblemError("conflict", `webhook ${id} is incomplete, and has no secret: remove it, and add it again`);
}

/**
 * Returns the normal form of a URL. A name that has no address now is allowed, because each delivery resolves it again.
 * @throws ProblemError `bad-request`
 */
export async function checkWebhookUrl(
  text: string,
  policy: AddressPolicy,
): Promise<{ href: string; isResolved: boolean }> {
  let isResolved = true;
  const lookup = (name: string) =>
    policy.lookup(name).catch(() => {
      isResolved = false;
      return [];
    });
  const { url } = await resolveAllowedUrl(text, { ...policy, lookup });
  return { href: url.href, isResolved };
}
