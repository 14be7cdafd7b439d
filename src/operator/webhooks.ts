// What an operator does with webhooks. The record says what a webhook is, and its changes are journaled; where it is and its secrets are
// stored beside it (model/webhooks.ts). A record without them is incomplete and is never delivered: it is created before them, and deleted
// after them.

import type { IpNetwork } from "../lib/networks.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import {
  makeWebhookSecret,
  type WebhookAttempt,
  type WebhookChanges,
  type WebhookKey,
  type WebhookState,
} from "../model/webhooks.ts";
import { site as siteResource } from "../resources/site.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import {
  changeSystem,
  readSystem,
  type System,
  toCreate,
  toDelete,
  toInstant,
  toUpdate,
} from "../system/system-changes.ts";
import { type AddressPolicy, requireAllowed } from "../webhooks/address-policy.ts";
import { deliverTest } from "../webhooks/delivery-attempt.ts";
import { cursorRevision, sinceOf } from "../webhooks/webhook-event.ts";
import type { SiteRecord } from "./sites.ts";
import {
  findWebhook,
  type ListedWebhook,
  positionAt,
  requireWebhook,
  type WebhookPoint,
  type WebhookPosition,
  type WebhookRecord,
  webhookKeyOf,
  webhooksIn,
} from "./webhook-list.ts";

/** Milliseconds for which deliveries are signed with the secret before too. */
const rotationTime = 24 * 60 * 60_000;
/** How often a change of a state is tried while deliveries move it. */
const maxAttempts = 100;

/** Pauses a webhook. Pausing it again changes nothing. @throws Refusal `not-found` */
export async function pauseWebhook(engine: Engine, id: number, now: number): Promise<ListedWebhook> {
  await changeRecord(engine, id, now, ({ Paused }) =>
    Paused === "" ? { Paused: toInstant(now), Reason: "an operator paused it" } : {},
  );
  return findWebhook(engine, id);
}

/**
 * Lets a webhook deliver in this database, at once, from where it is.
 * @throws Refusal `not-found`, `bad-request` when its URL is not allowed, or `conflict` when it is incomplete
 */
export async function resumeWebhook(
  engine: Engine,
  id: number,
  policy: AddressPolicy,
  now: number,
): Promise<ListedWebhook> {
  const { URL: url } = requireComplete(await findWebhook(engine, id));
  await checkWebhookUrl(url, policy);
  const home = await engine.databaseIdentity();
  await changeState(engine, id, ({ resumes }) => ({
    home,
    failures: 0,
    failingSince: null,
    nextAt: 0,
    resumes: resumes + 1,
  }));
  await changeRecord(engine, id, now, () => ({ Paused: "", Reason: "" }));
  return findWebhook(engine, id);
}

/**
 * Gives a webhook a new secret, and returns it. For 24 hours, deliveries are signed with the one before too; then, or after another
 * rotation, no longer.
 * @throws Refusal `not-found`, or `conflict` when it is incomplete
 */
export async function rotateWebhook(
  engine: Engine,
  id: number,
  now: number,
): Promise<{ webhook: ListedWebhook; secret: string; until: number }> {
  const webhook = await findWebhook(engine, id);
  const secret = makeWebhookSecret();
  const until = now + rotationTime;
  if (!(await engine.addWebhookSecret(webhookKeyOf(webhook), secret, now, until))) throw incomplete(id);
  return { webhook, secret, until };
}

/**
 * Sets a webhook back, or forward, to `point`: it delivers the changes after it, again.
 * @throws Refusal `not-found`, `gone` when these changes are not all there, or `conflict` when it is incomplete
 */
export async function rewindWebhook(engine: Engine, id: number, point: WebhookPoint): Promise<ListedWebhook> {
  const { site } = webhookKeyOf(requireComplete(await findWebhook(engine, id)));
  const position = await positionAt(engine, site, point);
  const none = { first: 0, last: 0, isGone: 0, goneAt: null, failures: 0, failingSince: null, nextAt: 0 } as const;
  await changeState(engine, id, (state) => {
    const since = isBehind(position, state) ? sinceOf(state) : position.cursor;
    return { ...position, ...none, since, rewinds: state.rewinds + 1 };
  });
  return findWebhook(engine, id);
}

/** Whether everything that was delivered comes before `position` or again after it. If not, the receiver finds that it does not continue. */
function isBehind({ cursor, epoch }: WebhookPosition, state: WebhookState): boolean {
  return epoch === state.epoch && !state.isGone && cursorRevision(cursor) <= cursorRevision(state.cursor);
}

/**
 * Sends `storefront.test` once, also if the webhook is paused. The attempt is among its deliveries.
 * @param allow networks that are allowed although they are not public
 * @throws Refusal `not-found`, or `conflict` when it is incomplete
 */
export async function testWebhook(
  engine: Engine,
  id: number,
  allow: readonly IpNetwork[],
): Promise<{ webhook: ListedWebhook; attempt: WebhookAttempt }> {
  const webhook = requireComplete(await findWebhook(engine, id));
  const { siteName, URL: url } = webhook;
  return { webhook, attempt: await deliverTest(engine, { ...webhookKeyOf(webhook), siteName, url }, allow) };
}

/**
 * Removes a webhook with its secrets and attempts, and returns its record. There is none when an older program restored the database and
 * left the rest.
 * @throws Refusal `not-found`
 */
export async function removeWebhook(engine: Engine, id: number, now: number): Promise<Partial<WebhookRecord>> {
  const record = webhooksIn(await readSystem(engine)).find(({ ID }) => ID === id);
  const left = record ? [] : (await engine.webhookStates()).filter(({ webhook }) => webhook === id);
  for (const key of record ? [webhookKeyOf(record)] : left) await engine.removeWebhook(key);
  if (left.length > 0) return { ID: id };
  await changeSystem(engine, (system) => [toDelete(webhookResource, requireWebhook(system, id).ID, now)]);
  return record as WebhookRecord;
}

async function changeRecord(
  engine: Engine,
  id: number,
  now: number,
  change: (record: WebhookRecord) => Values,
): Promise<void> {
  await changeSystem(engine, (system) => [toUpdate(webhookResource, id, change(requireWebhook(system, id)), now)]);
}

/** Changes a state, also while it is delivered. @throws Refusal `conflict` when it is incomplete, or moves all the time */
async function changeState(engine: Engine, id: number, change: (state: WebhookState) => WebhookChanges): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { state } = requireComplete(await findWebhook(engine, id));
    const { cursor, rewinds, resumes } = state;
    if (await engine.updateWebhook(state, { cursor, rewinds, resumes }, change(state))) return;
  }
  throw new Refusal("conflict", `webhook ${id} moves all the time; try again`);
}

function requireComplete(webhook: ListedWebhook): ListedWebhook & { readonly state: WebhookState } {
  const { state } = webhook;
  if (!state) throw incomplete(webhook.ID);
  return { ...webhook, state };
}

function incomplete(id: number): Refusal {
  return new Refusal("conflict", `webhook ${id} is incomplete, and has no secret: remove it, and add it again`);
}

/** Bounds of the number of webhooks. */
export const maxWebhooksOfSite = 20;
const maxOfDatabase = 10_000;

interface WebhookSettings {
  readonly url: string;
  /** Those whose changes are delivered; empty for all. */
  readonly resources: readonly Resource[];
  readonly since: WebhookPoint;
}

/** A new webhook, with its secret, which is not shown again. */
interface AddedWebhook {
  readonly webhook: ListedWebhook;
  readonly secret: string;
  /** Whether the name in the URL has an address at the moment. */
  readonly isResolved: boolean;
}

/**
 * Adds a webhook to `site`.
 * @throws Refusal `bad-request` for a URL that is not allowed, `gone` when the changes since then are not all there, `conflict` when there
 *   are too many webhooks, `not-found` when the site was removed
 */
export async function addWebhook(
  engine: Engine,
  site: SiteRecord,
  { url, resources, since }: WebhookSettings,
  policy: AddressPolicy,
  now: number,
): Promise<AddedWebhook> {
  const { href, isResolved } = await checkWebhookUrl(url, policy);
  const position = await positionAt(engine, site.ID, since);
  const values = {
    Site: String(site.ID),
    URL: href,
    Resources: [...new Set(resources.map(({ path }) => path))].join(" "),
    Created: toInstant(now),
  };
  const [body] = await changeSystem(engine, (system) => {
    requireRoom(system, site);
    return [toCreate(webhookResource, values, now)];
  });
  const record: WebhookRecord = JSON.parse(body as string);
  const secret = makeWebhookSecret();
  const state = newWebhookState(webhookKeyOf(record), { ...position, home: await engine.databaseIdentity() });
  try {
    await engine.putWebhook(state, [{ secret, createdAt: now, until: null }]);
  } catch (error) {
    // If it cannot be removed now either, it is shown as incomplete.
    await removeWebhook(engine, record.ID, now).catch(() => {});
    throw error;
  }
  return { webhook: await findWebhook(engine, record.ID), secret, isResolved };
}

/** @throws Refusal `not-found` when the site was removed, `conflict` when it or the database has as many webhooks as there may be */
function requireRoom(system: System, site: SiteRecord): void {
  if (!system.records<SiteRecord>(siteResource).some(({ ID }) => ID === site.ID))
    throw new Refusal("not-found", `the site \`${site.Name}\` was removed`);
  requireWebhookRoom(system, 1);
  if (webhooksIn(system).filter(({ Site }) => Number(Site) === site.ID).length >= maxWebhooksOfSite)
    throw new Refusal("conflict", `the site \`${site.Name}\` has ${maxWebhooksOfSite} webhooks, and cannot have more`);
}

/** @throws Refusal `conflict` when the database cannot have so many more webhooks */
export function requireWebhookRoom(system: System, added: number): void {
  if (webhooksIn(system).length + added <= maxOfDatabase) return;
  throw new Refusal("conflict", `a database cannot have more than ${maxOfDatabase} webhooks`);
}

/** The state of a webhook before its first delivery. */
export function newWebhookState(
  key: WebhookKey,
  values: Pick<WebhookState, "home" | "cursor" | "epoch"> & Partial<WebhookState>,
): WebhookState {
  const none = { first: 0, last: 0, failures: 0, failingSince: null, nextAt: 0, isGone: 0, goneAt: null } as const;
  return { ...none, rewinds: 0, resumes: 0, since: null, holder: null, leaseUntil: 0, ...values, ...key };
}

/** The normal form of a URL. A name that has no address now may be saved: each delivery resolves it again. @throws Refusal `bad-request` */
async function checkWebhookUrl(text: string, policy: AddressPolicy): Promise<{ href: string; isResolved: boolean }> {
  let isResolved = true;
  const lookup = (name: string) =>
    policy.lookup(name).catch(() => {
      isResolved = false;
      return [];
    });
  const { url } = await requireAllowed(text, { ...policy, lookup });
  return { href: url.href, isResolved };
}
