// What operators can do with a webhook: change, pause, resume, retry, rotate, rewind, test and remove it. webhook-creation.ts creates webhooks.
//
// A webhook's record (site, URL, resources, pause) is journaled. Its state (cursor, lease, failures) and secrets are in other tables (model/webhooks.ts).
// Without those, the webhook is incomplete and never delivers. `webhook add` stores the record first and `webhook remove` deletes it last, so if either is
// interrupted, an incomplete webhook is left for everyone to see.

import type { IpNetwork } from "../../lib/networks.ts";
import { operatorActor } from "../../model/change.ts";
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

/** How long deliveries are also signed with the previous secret. */
const secretOverlapMs = 24 * 60 * 60_000;
/** How often operators can retry. */
const retryPauseMs = 5000;
/** How often we try to change a state that deliveries keep changing too. */
const maxAttempts = 100;

/** Why a webhook is paused that an operator has paused. */
export const operatorPause = "paused by an operator";

/** Pausing a paused webhook changes nothing, except that an operator's pause replaces any other. @throws ProblemError `not-found` */
export async function pauseWebhook(
  engine: Engine,
  id: number,
  now: number,
  reason = operatorPause,
): Promise<ListedWebhook> {
  await changeRecord(engine, id, now, ({ Paused, Reason }) => {
    const isStronger = reason === operatorPause && Reason !== operatorPause;
    if (Paused !== "" && !isStronger) return {};
    return { Paused: toInstant(now), Reason: reason, PausedBy: engine.actor ?? operatorActor };
  });
  return getWebhook(engine, id);
}

/**
 * Lets a webhook deliver from this database, starting right away at its cursor.
 * @param requireResumable throws if the caller may not resume it, as of the moment when it's resumed
 * @throws ProblemError `not-found`, `bad-request` if its URL isn't allowed, or `conflict` if it's incomplete
 */
export async function resumeWebhook(
  engine: Engine,
  id: number,
  policy: AddressPolicy,
  now: number,
  requireResumable = (_: WebhookRecord) => {},
): Promise<ListedWebhook> {
  const before = requireComplete(await getWebhook(engine, id));
  requireResumable(before);
  const { URL: url } = before;
  await checkWebhookUrl(url, policy);
  const home = await engine.readDatabaseId();
  await updateState(engine, id, ({ resumes }) => ({
    home,
    ...noFailures,
    resumes: resumes + 1,
  }));
  await changeRecord(engine, id, now, (record) => {
    requireResumable(record);
    return { Paused: "", Reason: "", PausedBy: "" };
  });
  return getWebhook(engine, id);
}

/**
 * The webhook keeps its secrets and cursor, and delivers right away. An attempt in flight still goes to the old URL, but its result doesn't count, so the
 * new URL gets the same changes.
 * @throws ProblemError `not-found`, `bad-request` if the URL isn't allowed, or `conflict` if the webhook is incomplete
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
  // The record goes first, so that no attempt whose result counts can have used the old URL (webhooks/delivery.ts).
  await updateState(engine, id, ({ resumes }) => ({ ...noFailures, resumes: resumes + 1 }));
  return { webhook: await getWebhook(engine, id), isResolved };
}

/**
 * Cuts a failing webhook's back-off short, so that a server makes the next attempt within a few seconds. Changes nothing if there's no back-off.
 * @throws ProblemError `not-found`; `conflict` if the webhook is paused, incomplete or busy delivering; `too-many-requests` if the last attempt was just a
 * moment ago
 */
export async function retryWebhook(engine: Engine, id: number, now: number): Promise<ListedWebhook> {
  const webhook = requireComplete(await getWebhook(engine, id));
  const { status, detail, state } = webhook;
  if (status === "paused") throw new ProblemError("conflict", `webhook ${id} is paused (${detail}); resume it first`);
  if (!isBackingOff(state, now)) return webhook;
  if (state.holder !== null && state.leaseUntil > now)
    throw new ProblemError("conflict", `webhook ${id} is delivering right now`);
  const [last] = await engine.readWebhookAttempts(webhookRefOf(webhook), 1);
  const remainingMs = last ? last.at + retryPauseMs - now : 0;
  if (remainingMs > 0 && remainingMs <= retryPauseMs) {
    const detail = `the last attempt of webhook ${id} was a moment ago`;
    throw new ProblemError("too-many-requests", detail, { retryAfterSeconds: remainingMs / 1000 });
  }
  // This attempt shouldn't count. Otherwise each failed retry would make the next back-off longer.
  await updateState(engine, id, ({ failures }) => ({ nextAt: 0, failures: Math.max(failures - 1, 1) }));
  return getWebhook(engine, id);
}

/**
 * Deliveries are also signed with the previous secret, for 24 hours or until the next rotation.
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
    // A sandbox refresh may already have carried the new secret over.
    const secrets = await engine.readWebhookSecrets(ref);
    if (secrets.some((one) => one.secret === secret)) return true;
    return engine.rotateWebhookSecret(ref, secret, now, until);
  });
  return { webhook, secret, until };
}

/**
 * Moves a webhook's cursor to `point`, back or forward. It then delivers everything after that, even if it was delivered before.
 * @throws ProblemError `not-found`, `gone` if changes after `point` have been pruned, or `conflict` if the webhook is incomplete
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
 * Whether the chain of events continues after a rewind (contract section 12), which it does unless changes are skipped or `storefront.gone` is pending.
 * Otherwise, the next event's `Since` differs from the last `Next`, so that the receiver notices the gap.
 */
function continuesChain({ cursor, epoch }: WebhookPosition, state: WebhookState): boolean {
  return epoch === state.epoch && state.goneAt === null && revisionInCursor(cursor) <= revisionInCursor(state.cursor);
}

/**
 * Sends `storefront.test` once, even if the webhook is paused. `webhook deliveries` lists the attempt.
 * @param allow networks that are allowed besides public ones
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

/** @returns the webhook as it was @throws ProblemError `not-found` */
export async function removeWebhook(engine: Engine, id: number, now: number): Promise<ListedWebhook> {
  const webhook = await getWebhook(engine, id);
  await engine.deleteWebhook(webhookRefOf(webhook));
  const [body] = await commitSystemChanges(engine, (system) => [
    toDeleteIntent(webhookResource, requireWebhook(system, id).ID, now),
  ]);
  const deleted: WebhookRecord = JSON.parse(toDeclaredJson(webhookResource, body as string));
  // A sandbox refresh may have moved the webhook in between, and carried its state over.
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
 * Works even while the webhook is delivering.
 * @throws ProblemError `conflict` if the webhook is incomplete, or deliveries keep getting in first
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
    throw new ProblemError("conflict", `webhook ${id} is busy delivering; try again in a moment`);
  });
}

/**
 * Changes a webhook's state or secrets, which belong to its site. If a sandbox refresh moves the webhook to another site, repeats the change there.
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
  return new ProblemError("conflict", `webhook ${id} is incomplete and has no secret; remove it and add it again`);
}

/**
 * Returns the URL in normal form. Its hostname doesn't have to resolve yet, because each delivery resolves it again.
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
