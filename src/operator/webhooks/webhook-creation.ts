// Creates webhooks. The record is stored first, then the state and the secret. If the state cannot be saved, the record is removed again. webhooks.ts has
// the other actions, and says what an incomplete webhook is.

import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import {
  createWebhookSecret,
  nothingInProgress,
  type WebhookRef,
  type WebhookSecret,
  type WebhookState,
} from "../../model/webhooks.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { commitSystemChanges, toCreateIntent, toInstant } from "../../system/system-changes.ts";
import type { SiteRecord, SystemRecords, WebhookRecord } from "../../system/system-records.ts";
import type { AddressPolicy } from "../../webhooks/address-policy.ts";
import { presentSiteOf } from "../sites/sandboxes.ts";
import { type DeliveryStart, resolveDeliveryStart, type WebhookPosition } from "./delivery-start.ts";
import type { ListedWebhook } from "./webhook-list.ts";
import { changeAtItsSite, checkWebhookUrl, removeWebhook } from "./webhooks.ts";

/** Maximum webhooks of a site, and of a database. */
export const maxWebhooksOfSite = 20;
const maxOfDatabase = 10_000;

interface WebhookSettings {
  readonly url: string;
  /** Resources whose changes are delivered; empty for all. */
  readonly resources: readonly Resource[];
  readonly since: DeliveryStart;
}

/** A new webhook, with its secret, which is not shown again. */
interface CreatedWebhook {
  readonly webhook: ListedWebhook;
  readonly secret: string;
  /** Whether the name in the URL has an address at the moment. */
  readonly isResolved: boolean;
}

/**
 * Creates a webhook of `site`.
 * @throws ProblemError `bad-request` for a URL that is not allowed, `gone` if changes after `since` are missing, `conflict` if there are too many
 * webhooks, `not-found` if the site was removed
 */
export async function createWebhook(
  engine: Engine,
  site: SiteRecord,
  { url, resources, since }: WebhookSettings,
  policy: AddressPolicy,
  now: number,
): Promise<CreatedWebhook> {
  const { href, isResolved } = await checkWebhookUrl(url, policy);
  const position = await resolveDeliveryStart(engine, site.ID, since);
  const values = {
    URL: href,
    Resources: [...new Set(resources.map(({ path }) => path))].join(" "),
    Created: toInstant(now),
  };
  const [body] = await commitSystemChanges(engine, (system) => {
    const Site = String(requireRoom(system, site).ID);
    return [toCreateIntent(webhookResource, { ...values, Site }, now)];
  });
  const record: WebhookRecord = JSON.parse(body as string);
  const secret = createWebhookSecret();
  try {
    const isSameSite = Number(record.Site) === site.ID;
    const start = isSameSite ? position : await resolveDeliveryStart(engine, Number(record.Site), since);
    const webhook = await saveNewWebhook(engine, record.ID, start, { secret, createdAt: now, until: null });
    return { webhook, secret, isResolved };
  } catch (error) {
    // If the record cannot be deleted now either, the webhook is listed as incomplete.
    await removeWebhook(engine, record.ID, now).catch(() => {});
    throw error;
  }
}

async function saveNewWebhook(engine: Engine, id: number, start: WebhookPosition, secret: WebhookSecret) {
  const home = await engine.readDatabaseId();
  return changeAtItsSite(engine, id, async (ref) => {
    await engine.saveWebhook(newWebhookState(ref, { ...start, home }), [secret]);
    return true;
  });
}

/**
 * Returns the site as it is now: of a sandbox that was renewed meanwhile, the new one.
 * @throws ProblemError `not-found` if the site was removed, `conflict` if it or the database has the maximum number of webhooks
 */
function requireRoom(system: SystemRecords, site: SiteRecord): SiteRecord {
  const present = presentSiteOf(system.sites, site);
  if (!present) throw new ProblemError("not-found", `the site \`${site.Name}\` was removed`);
  requireWebhookRoom(system, 1);
  if (system.webhooks.filter(({ Site }) => Number(Site) === present.ID).length >= maxWebhooksOfSite)
    throw new ProblemError(
      "conflict",
      `the site \`${site.Name}\` has ${maxWebhooksOfSite} webhooks, and cannot have more`,
    );
  return present;
}

/** @throws ProblemError `conflict` if the database cannot have `added` more webhooks */
export function requireWebhookRoom(system: SystemRecords, added: number): void {
  if (system.webhooks.length + added <= maxOfDatabase) return;
  throw new ProblemError("conflict", `a database cannot have more than ${maxOfDatabase} webhooks`);
}

/** Returns the state of a webhook before its first delivery. */
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
