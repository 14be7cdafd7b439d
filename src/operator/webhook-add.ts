import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { makeWebhookSecret } from "../model/webhook-secret.ts";
import type { WebhookKey, WebhookState } from "../model/webhooks.ts";
import { site as siteResource } from "../resources/site.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import type { AddressPolicy } from "../webhooks/addresses.ts";
import type { SiteRecord } from "./sites.ts";
import { changeSystem, type System, toCreate, toInstant } from "./system.ts";
import { positionAt, type WebhookPoint } from "./webhook-cursor.ts";
import { findWebhook, type ListedWebhook, type WebhookRecord, webhookKeyOf, webhooksIn } from "./webhook-list.ts";
import { checkWebhookUrl } from "./webhook-url.ts";
import { removeWebhook } from "./webhooks.ts";

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
