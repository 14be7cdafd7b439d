// Creates webhooks: stores the record first, then the state and the secret. If those can't be saved, removes the record again. webhooks.ts has the other
// actions, and explains incomplete webhooks.

import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { createWebhookSecret, nothingInProgress, type WebhookRef, type WebhookState } from "../../model/webhooks.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { commitSystemChanges, toCreateIntent, toInstant } from "../../system/system-changes.ts";
import type { SiteRecord, SystemRecords, WebhookRecord } from "../../system/system-records.ts";
import type { AddressPolicy } from "../../webhooks/address-policy.ts";
import { presentSiteOf } from "../sites/sandboxes.ts";
import { type DeliveryStart, resolveDeliveryStart, type WebhookPosition } from "./delivery-start.ts";
import type { ListedWebhook } from "./webhook-list.ts";
import { changeAtItsSite, checkWebhookUrl, removeWebhook } from "./webhooks.ts";

export const maxWebhooksOfSite = 20;
const maxOfDatabase = 10_000;

interface WebhookSettings {
  readonly url: string;
  /** Whose changes to deliver; empty for all. */
  readonly resources: readonly Resource[];
  readonly since: DeliveryStart;
  /** Prefix of the API key that makes it; default: an operator does. */
  readonly key?: string;
}

interface CreatedWebhook {
  readonly webhook: ListedWebhook;
  /** Can't be shown again. */
  readonly secret: string;
  /** Whether the URL's hostname resolves at the moment. */
  readonly isResolved: boolean;
}

/**
 * A key can't make two with the same URL, so that it can repeat a request whose response was lost.
 * @throws ProblemError `bad-request` for a URL that isn't allowed, `gone` if changes after `since` have been pruned, `conflict` if there are too many
 * webhooks or the URL is a key's second, `not-found` if the site was removed
 */
export async function createWebhook(
  engine: Engine,
  site: SiteRecord,
  { url, resources, since, key = "" }: WebhookSettings,
  policy: AddressPolicy,
  now: number,
): Promise<CreatedWebhook> {
  const { href, isResolved } = await checkWebhookUrl(url, policy);
  const position = await resolveDeliveryStart(engine, site.ID, since);
  const values = {
    URL: href,
    Resources: [...new Set(resources.map(({ path }) => path))].join(" "),
    Created: toInstant(now),
    Key: key,
  };
  const [body] = await commitSystemChanges(engine, (system) => {
    const Site = String(requireRoom(system, site).ID);
    const same = key === "" ? undefined : system.webhooks.find((one) => one.Site === Site && one.URL === href);
    if (same)
      throw new ProblemError(
        "conflict",
        `webhook ${same.ID} already has this URL; if you've lost its secret, rotate it`,
      );
    return [toCreateIntent(webhookResource, { ...values, Site }, now)];
  });
  const record: WebhookRecord = JSON.parse(body as string);
  const secret = createWebhookSecret();
  try {
    const isSameSite = Number(record.Site) === site.ID;
    const start = isSameSite ? position : await resolveDeliveryStart(engine, Number(record.Site), since);
    const webhook = await saveNewWebhook(engine, record.ID, start, secret, now);
    return { webhook, secret, isResolved };
  } catch (error) {
    // If this fails too, the webhook is listed as incomplete.
    await removeWebhook(engine, record.ID, now).catch(() => {});
    throw error;
  }
}

/** Completes a webhook whose record this process has created. @throws ProblemError `not-found` if it was removed */
export async function saveNewWebhook(engine: Engine, id: number, start: WebhookPosition, secret: string, now: number) {
  const home = await engine.readDatabaseId();
  return changeAtItsSite(engine, id, async (ref) => {
    await engine.saveWebhook(newWebhookState(ref, { ...start, home }), [{ secret, createdAt: now, until: null }]);
    return true;
  });
}

/**
 * Finds the site again, because a sandbox may just have been refreshed.
 * @throws ProblemError `not-found` if the site was removed, `conflict` if it or the database has the maximum number of webhooks
 */
function requireRoom(system: SystemRecords, site: SiteRecord): SiteRecord {
  const present = presentSiteOf(system.sites, site);
  if (!present) throw new ProblemError("not-found", `the site \`${site.Name}\` was removed`);
  requireWebhookRoom(system, 1);
  if (system.webhooks.filter(({ Site }) => Number(Site) === present.ID).length >= maxWebhooksOfSite)
    throw new ProblemError(
      "conflict",
      `the site \`${site.Name}\` already has ${maxWebhooksOfSite} webhooks, which is the maximum; remove one first`,
    );
  return present;
}

/** @throws ProblemError `conflict` if there's no room for `added` more webhooks */
export function requireWebhookRoom(system: SystemRecords, added: number): void {
  if (system.webhooks.length + added <= maxOfDatabase) return;
  throw new ProblemError("conflict", `a database can't have more than ${maxOfDatabase} webhooks; remove some first`);
}

/** Before the first delivery. */
export function newWebhookState(
  webhookRef: WebhookRef,
  values: Pick<WebhookState, "home" | "cursor" | "epoch"> & Partial<WebhookState>,
): WebhookState {
  return {
    ...nothingInProgress,
    rewinds: 0,
    resumes: 0,
    since: null,
    holder: null,
    leaseUntil: 0,
    ...values,
    ...webhookRef,
  };
}
