// Reserves a site while it's being imported, and completes it. operator/sandbox reserves copies the same way.
//
// The site's record is created first, so that nobody else can take the name. Until the import is complete, the site has no hostnames and commands
// reject it. The record says until when the site is reserved, and the importing process keeps extending that. If it's interrupted, the first command
// after that time removes the site (`completeRemovals`).

import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Values } from "../../model/record.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { commitSystemChanges, toCreateIntent, toInstant, toUpdateIntent } from "../../system/system-changes.ts";
import { type SiteRecord, toSite } from "../../system/system-records.ts";
import type { ImportedKey, ImportedSettings } from "../site-files/site-file-settings.ts";
import type { ImportedWebhook } from "../site-files/site-file-webhooks.ts";
import { requireWebhookRoom } from "../webhooks/webhook-creation.ts";
import { requireUnusedNames, updateSites } from "./sites.ts";

const reservationMs = 60_000;
/** How often the reservation is renewed. */
const renewIntervalMs = 15_000;

/** The value of `Importing` that reserves a site from `now` on. */
export function reservedUntil(now: number): string {
  return toInstant(now + reservationMs);
}

/** A site that only this process can write to until its import is complete. */
export interface ReservedSite {
  readonly id: number;
  /** New key IDs by the IDs in the file. */
  readonly keyIds: ReadonlyMap<number, number>;
  /** New webhook IDs by the IDs in the file. */
  readonly webhookIds: ReadonlyMap<number, number>;
  /** Prefixes of keys in the file that this database already has. */
  readonly takenKeys: readonly string[];
}

/**
 * Creates the site's record without hostnames, and its keys and webhooks. A site or webhook whose identity is taken gets a new one.
 * @param systemEpoch the system site's epoch when the restrictions of the keys and webhooks were read, because a restore may have added more
 * @throws ProblemError `conflict` if the name is taken, or there are too many webhooks
 */
export async function reserveSite(
  engine: Engine,
  { name, identity }: ImportedSettings,
  { keys, webhooks }: { readonly keys: readonly ImportedKey[]; readonly webhooks: readonly ImportedWebhook[] },
  systemEpoch: string,
  now: number,
): Promise<ReservedSite> {
  const values = { Name: name, Importing: reservedUntil(now) };
  let free: ImportedKey[] = [];
  let taken: ImportedKey[] = [];
  const bodies = await commitSystemChanges(engine, (system) => {
    requireUnusedNames(system.sites, undefined, values);
    const digests = new Set<unknown>(system.keys.map(({ Digest }) => Digest));
    [free, taken] = [[], []];
    for (const key of keys) {
      (digests.has(key.values.Digest) ? taken : free).push(key);
      digests.add(key.values.Digest);
    }
    requireWebhookRoom(system, webhooks.length);
    const id = system.nextSiteId;
    const identities = new Set<unknown>([...system.sites, ...system.webhooks].map(({ UID }) => UID));
    const withUID = (record: Values, wanted: unknown): Values => {
      if (!wanted || identities.has(wanted)) return { ...record, UID: "" };
      identities.add(wanted);
      return { ...record, UID: String(wanted) };
    };
    const Site = String(id);
    return [
      toCreateIntent(siteResource, withUID(values, identity), now, id),
      ...free.map((key) => toCreateIntent(keyResource, { ...key.values, Site }, now)),
      ...webhooks.map(({ values: { UID, ...others } }) =>
        toCreateIntent(webhookResource, withUID({ ...others, Site }, UID), now),
      ),
    ].map((intent) => ({ ...intent, ifSystemEpoch: systemEpoch }));
  });
  const [id = 0, ...others] = bodies.map((body): number => JSON.parse(body).ID);
  return {
    id,
    keyIds: new Map(free.map((key, n) => [key.id, others[n] as number])),
    webhookIds: new Map(webhooks.map((webhook, n) => [webhook.id, others[free.length + n] as number])),
    takenKeys: taken.map((key) => String(key.values.Prefix)),
  };
}

/** Keeps renewing the reservation while `work` runs. @param now in milliseconds since 1970 */
export async function runWhileReserved<T>(
  engine: Engine,
  id: number,
  now: () => number,
  work: () => Promise<T>,
): Promise<T> {
  const renew = () =>
    updateSites(engine, (sites) => {
      requireImporting(sites, id);
      return [toUpdateIntent(siteResource, id, { Importing: reservedUntil(now()) }, now())];
    });
  // A failed renewal is made up for by the next one. If the site was removed, storing its next rows will fail.
  const timer = setInterval(() => void renew().catch(() => {}), renewIntervalMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Skips hostnames that another site has. The site only becomes the default one if there's no other.
 * @throws ProblemError `conflict` if the site was removed in the meantime
 */
export async function completeSiteImport(engine: Engine, id: number, settings: ImportedSettings, now: number) {
  let takenHostnames: readonly string[] = [];
  let hasDefault = false;
  const site = await updateSites(engine, (sites) => {
    requireImporting(sites, id);
    const taken = new Set(sites.flatMap((site) => toSite(site).hostnames));
    takenHostnames = settings.hostnames.filter((host) => taken.has(host));
    hasDefault = sites.some((other) => other.Default !== "");
    const values = {
      Hostnames: settings.hostnames.filter((host) => !taken.has(host)).join(" "),
      Default: settings.isDefault && !hasDefault ? "yes" : "",
      Suspended: settings.suspended,
      KeyWebhooks: settings.keyWebhooks,
      Importing: "",
    };
    return [toUpdateIntent(siteResource, id, values, now)];
  });
  return { site, takenHostnames, takenDefault: settings.isDefault && hasDefault };
}

function requireImporting(sites: readonly SiteRecord[], id: number): void {
  if (sites.some((site) => site.ID === id && site.Importing !== "")) return;
  throw new ProblemError("conflict", "the site was removed during the import");
}
