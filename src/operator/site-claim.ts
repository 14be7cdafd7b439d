// The records of the system site for a site that is imported. Its record is created first and reserves its name. A time in that record
// reserves the site for this process, which renews it. Until the import is complete, the site has no hostname, and commands refuse it.
// What an interrupted import leaves is removed by the first command after that time (`finishRemovals`).

import type { Engine } from "../model/engine.ts";
import { invalidRecord, Refusal } from "../model/errors.ts";
import { readHostname } from "../model/hostname.ts";
import { isBeginning } from "../model/key.ts";
import { readNewRecord, readRecord, type Values } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { key as keyResource } from "../resources/key.ts";
import { site as siteResource } from "../resources/site.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import type { KeyRecord } from "./keys.ts";
import type { SystemRecord } from "./site-rows.ts";
import type { ImportedWebhook } from "./site-webhooks.ts";
import { changeSites, hostnamesOf, requireFree, type SiteRecord } from "./sites.ts";
import { changeSystem, toCreate, toInstant, toUpdate } from "./system.ts";
import { requireWebhookRoom } from "./webhook-add.ts";

/** Milliseconds for which an import reserves its site, and after which it renews that. */
const leaseTime = 60_000;
const renewalInterval = 15_000;

/** What a site's record in a file says, validated. */
interface ImportedSettings {
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  readonly suspended: string;
}

/** A key's record in a file, validated. */
export interface ImportedKey {
  /** Its ID in the file. */
  readonly id: number;
  readonly values: Values;
}

/** A site that only this process may fill. */
export interface ClaimedSite {
  readonly id: number;
  /** The IDs of its keys by their IDs in the file. */
  readonly keyIds: ReadonlyMap<number, number>;
  /** The IDs of its webhooks by their IDs in the file. */
  readonly webhookIds: ReadonlyMap<number, number>;
  /** The prefixes of the keys that the database has already. */
  readonly takenKeys: readonly string[];
}

/** @param name the name to use instead of that in the file. @throws Refusal `invalid-record` */
export function readSettings({ values }: SystemRecord, name: string | undefined): ImportedSettings {
  const { Name, Hostnames = "", Default = "", Suspended = "" } = values;
  const read = readRecord(siteResource, { Name: name ?? Name, Hostnames, Default, Suspended }).values;
  const text = (field: string) => String(read[field]);
  requireTime("Suspended", read);
  const hostnames = text("Hostnames")
    .split(" ")
    .filter((host) => host !== "")
    .map(readHostname);
  return { name: text("Name"), hostnames, isDefault: read.Default !== "", suspended: text("Suspended") };
}

/** @throws Refusal `invalid-record` */
export function readKey({ id, values }: SystemRecord): ImportedKey {
  const read = readNewRecord(keyResource, values);
  for (const field of ["Created", "Expires", "Revoked"]) requireTime(field, read);
  if (!isBeginning(String(read.Prefix))) throw invalidRecord([{ field: "Prefix", detail: "must be that of a key" }]);
  return { id, values: read };
}

/**
 * Creates the site's record, without hostnames, and its keys and webhooks.
 * @throws Refusal `conflict` when the name is taken, or there are too many webhooks
 */
export async function claimSite(
  engine: Engine,
  name: string,
  { keys, webhooks }: { readonly keys: readonly ImportedKey[]; readonly webhooks: readonly ImportedWebhook[] },
  now: number,
): Promise<ClaimedSite> {
  const values = { Name: name, Importing: toInstant(now + leaseTime) };
  let free: ImportedKey[] = [];
  let taken: ImportedKey[] = [];
  const bodies = await changeSystem(engine, (system) => {
    requireFree(system.records<SiteRecord>(siteResource), undefined, values);
    const digests = new Set<unknown>(system.records<KeyRecord>(keyResource).map(({ Digest }) => Digest));
    [free, taken] = [[], []];
    for (const key of keys) {
      (digests.has(key.values.Digest) ? taken : free).push(key);
      digests.add(key.values.Digest);
    }
    requireWebhookRoom(system, webhooks.length);
    const id = system.nextId(siteResource);
    const createAll = (resource: Resource, records: readonly { readonly values: Values }[]) =>
      records.map((record) => toCreate(resource, { ...record.values, Site: String(id) }, now));
    return [
      toCreate(siteResource, values, now, id),
      ...createAll(keyResource, free),
      ...createAll(webhookResource, webhooks),
    ];
  });
  const [id = 0, ...others] = bodies.map((body): number => JSON.parse(body).ID);
  return {
    id,
    keyIds: new Map(free.map((key, n) => [key.id, others[n] as number])),
    webhookIds: new Map(webhooks.map((webhook, n) => [webhook.id, others[free.length + n] as number])),
    takenKeys: taken.map((key) => String(key.values.Prefix)),
  };
}

/** Runs `work`, and meanwhile renews the time until which the site is reserved. @param now the present time in milliseconds since 1970 */
export async function whileClaimed<T>(
  engine: Engine,
  id: number,
  now: () => number,
  work: () => Promise<T>,
): Promise<T> {
  const renew = () =>
    changeSites(engine, (sites) => {
      requireImporting(sites, id);
      return [toUpdate(siteResource, id, { Importing: toInstant(now() + leaseTime) }, now())];
    });
  // A renewal that fails is repeated by the next one. If the site was removed, storing its next rows fails.
  const timer = setInterval(() => void renew().catch(() => {}), renewalInterval);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Completes the site. Hostnames that another site has are left out, and so is that it is the default site if there is one.
 * @throws Refusal `conflict` when it was removed meanwhile
 */
export async function publishSite(engine: Engine, id: number, settings: ImportedSettings, now: number) {
  let takenHostnames: readonly string[] = [];
  let hasDefault = false;
  const site = await changeSites(engine, (sites) => {
    requireImporting(sites, id);
    const taken = new Set(sites.flatMap(hostnamesOf));
    takenHostnames = settings.hostnames.filter((host) => taken.has(host));
    hasDefault = sites.some((other) => other.Default !== "");
    const values = {
      Hostnames: settings.hostnames.filter((host) => !taken.has(host)).join(" "),
      Default: settings.isDefault && !hasDefault ? "yes" : "",
      Suspended: settings.suspended,
      Importing: "",
    };
    return [toUpdate(siteResource, id, values, now)];
  });
  return { site, takenHostnames, takenDefault: settings.isDefault && hasDefault };
}

function requireImporting(sites: readonly SiteRecord[], id: number): void {
  if (sites.some((site) => site.ID === id && site.Importing !== "")) return;
  throw new Refusal("conflict", "the site was removed while it was imported");
}

/** Some texts have the form of a time and are none. */
export function requireTime(field: string, values: Values): void {
  const { [field]: value = "" } = values;
  if (value === "" || !Number.isNaN(Date.parse(String(value)))) return;
  throw invalidRecord([{ field, detail: "must be a time" }]);
}
