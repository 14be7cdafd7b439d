// Reserves a site while it is imported, and completes it.
//
// The record of the site is created first, so that its name is taken. The record contains the time until which this process has reserved the site;
// the process extends it. Until the import is complete, the site has no hostname and commands reject it. If the import is interrupted, the first
// command after that time removes the site (`completeRemovals`).

import { errorMessage } from "../../lib/errors-for-log.ts";
import type { IpNetwork } from "../../lib/networks.ts";
import { randomText } from "../../lib/text.ts";
import { isPartialKey } from "../../model/api-key.ts";
import type { DumpedRow, Engine } from "../../model/engine.ts";
import { invalidRecordError, ProblemError } from "../../model/errors.ts";
import { parseHostname } from "../../model/hostname.ts";
import { parseNewRecord, parseRecordChanges, type Values } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { isWebhookSecret, type WebhookSecret } from "../../model/webhooks.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { findCursorRevision } from "../../store/database/cursor.ts";
import { commitSystemChanges, toCreateIntent, toInstant, toUpdateIntent } from "../../system/system-changes.ts";
import { type SiteRecord, toSite } from "../../system/system-records.ts";
import { resolveAllowedUrl, toConsolePolicy } from "../../webhooks/address-policy.ts";
import { requireUnusedNames, updateSites } from "../sites/sites.ts";
import { newWebhookState, requireWebhookRoom } from "../webhooks/webhooks.ts";
import { invalidSiteFileError, isCount, isTime, requireTime, type SystemRecord } from "./site-file-rows.ts";

/** Milliseconds for which an import reserves its site. */
const reservationMs = 60_000;
/** Milliseconds between two renewals of the reservation. */
const renewIntervalMs = 15_000;

/** The settings of a site in a file, validated. */
interface ImportedSettings {
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  readonly suspended: string;
}

/** A key in a file, validated. */
export interface ImportedKey {
  /** The ID of the key in the file. */
  readonly id: number;
  readonly values: Values;
}

/** A site that only this process may write until its import is complete. */
export interface ReservedSite {
  readonly id: number;
  /** The new IDs of its keys, by their IDs in the file. */
  readonly keyIds: ReadonlyMap<number, number>;
  /** The new IDs of its webhooks, by their IDs in the file. */
  readonly webhookIds: ReadonlyMap<number, number>;
  /** The prefixes of the keys in the file that this database already has. */
  readonly takenKeys: readonly string[];
}

/** Validates the settings of a site. @param name the name to use instead of the name in the file @throws ProblemError `invalid-record` */
export function parseSettings({ values }: SystemRecord, name: string | undefined): ImportedSettings {
  const { Name, Hostnames = "", Default = "", Suspended = "" } = values;
  const read = parseRecordChanges(siteResource, { Name: name ?? Name, Hostnames, Default, Suspended }).values;
  const text = (field: string) => String(read[field]);
  requireTime("Suspended", read);
  const hostnames = text("Hostnames")
    .split(" ")
    .filter((host) => host !== "")
    .map(parseHostname);
  return { name: text("Name"), hostnames, isDefault: read.Default !== "", suspended: text("Suspended") };
}

/** Validates a key. @throws ProblemError `invalid-record` */
export function parseKey({ id, values }: SystemRecord): ImportedKey {
  const read = parseNewRecord(keyResource, values);
  for (const field of ["Created", "Expires", "Revoked"]) requireTime(field, read);
  if (!isPartialKey(String(read.Prefix)))
    throw invalidRecordError([{ field: "Prefix", detail: "must be that of a key" }]);
  return { id, values: read };
}

/**
 * Reserves a site: creates its record, without hostnames, and its keys and webhooks.
 * @throws ProblemError `conflict` if the name is taken, or there are too many webhooks
 */
export async function reserveSite(
  engine: Engine,
  name: string,
  { keys, webhooks }: { readonly keys: readonly ImportedKey[]; readonly webhooks: readonly ImportedWebhook[] },
  now: number,
): Promise<ReservedSite> {
  const values = { Name: name, Importing: toInstant(now + reservationMs) };
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
    const createAll = (resource: Resource, records: readonly { readonly values: Values }[]) =>
      records.map((record) => toCreateIntent(resource, { ...record.values, Site: String(id) }, now));
    return [
      toCreateIntent(siteResource, values, now, id),
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

/** Runs `work`, and renews the reservation of the site while it runs. @param now returns the present time in milliseconds since 1970 */
export async function runWhileReserved<T>(
  engine: Engine,
  id: number,
  now: () => number,
  work: () => Promise<T>,
): Promise<T> {
  const renew = () =>
    updateSites(engine, (sites) => {
      requireImporting(sites, id);
      return [toUpdateIntent(siteResource, id, { Importing: toInstant(now() + reservationMs) }, now())];
    });
  // If a renewal fails, the next one repeats it. If the site was removed, storing its next rows fails.
  const timer = setInterval(() => void renew().catch(() => {}), renewIntervalMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Completes the site. Leaves out hostnames that another site has. The site becomes the default site only if no other site is.
 * @throws ProblemError `conflict` if the site was removed at the same time
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
      Importing: "",
    };
    return [toUpdateIntent(siteResource, id, values, now)];
  });
  return { site, takenHostnames, takenDefault: settings.isDefault && hasDefault };
}

function requireImporting(sites: readonly SiteRecord[], id: number): void {
  if (sites.some((site) => site.ID === id && site.Importing !== "")) return;
  throw new ProblemError("conflict", "the site was removed while it was imported");
}

// The webhooks of a site in a file of `export-site`. They are imported paused, so that a copy of a site does not call receivers. Their URLs are
// checked as for `webhook add`, so that a forged file cannot name an internal address.

/** A webhook in a file, validated. */
interface ImportedWebhook {
  /** The ID of the webhook in the file. */
  readonly id: number;
  readonly values: Values;
}

/** A webhook that was left out, and the reason. */
export interface OmittedWebhook {
  readonly url: string;
  readonly reason: string;
}

/** Maximum secrets of a webhook. */
const maxSecrets = 2;

/**
 * Validates the records of webhooks. Leaves out webhooks with a URL that is not allowed here.
 * @param allow networks that are allowed although they are not public
 * @throws ProblemError `invalid-record`
 */
export async function parseWebhooks(records: readonly SystemRecord[], allow: readonly IpNetwork[], now: number) {
  const webhooks: ImportedWebhook[] = [];
  const omitted: OmittedWebhook[] = [];
  for (const { id, values } of records) {
    const read = parseNewRecord(webhookResource, values);
    for (const field of ["Created", "Paused"]) requireTime(field, read);
    const url = String(read.URL);
    const reason = await urlFault(url, allow);
    const paused = read.Paused === "" ? { Paused: toInstant(now), Reason: "it was imported with its site" } : {};
    if (reason) omitted.push({ url, reason });
    else webhooks.push({ id, values: { ...read, ...paused } });
  }
  return { webhooks, omitted };
}

/** Returns why a URL is not allowed, or undefined. Does not resolve its name: `webhook resume` and each delivery do that. */
async function urlFault(url: string, allow: readonly IpNetwork[]): Promise<string | undefined> {
  try {
    await resolveAllowedUrl(url, { ...toConsolePolicy(allow), lookup: async () => [] });
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** The states and secrets of webhooks in a file. Rows of webhooks that are not imported are skipped. */
export class WebhookRows {
  readonly #ids: ReadonlyMap<number, number>;
  readonly #states = new Map<unknown, DumpedRow["row"]>();
  readonly #secrets = new Map<unknown, WebhookSecret[]>();

  /** @param ids the new IDs of the webhooks, by their IDs in the file */
  constructor(ids: ReadonlyMap<number, number>) {
    this.#ids = ids;
  }

  /** @throws ProblemError `bad-request` if the row is damaged, or the webhook has too many rows */
  add({ table, row }: DumpedRow): void {
    const id = Number(row.webhook_id);
    if (!this.#ids.has(id)) return;
    if (table === "webhook_secrets") this.#addSecret(id, row);
    else this.#addState(id, row);
  }

  #addState(id: number, row: DumpedRow["row"]): void {
    const isFit =
      findCursorRevision(String(row.cursor)) !== undefined && isEpoch(String(row.epoch)) && isCount(row.rewinds);
    if (!isFit || this.#states.has(id)) throw invalidSiteFileError(`the state of webhook ${id} is damaged`);
    this.#states.set(id, row);
  }

  #addSecret(id: number, { secret, created_at, until }: DumpedRow["row"]): void {
    const isFit = isWebhookSecret(String(secret)) && isTime(created_at) && (until === null || isTime(until));
    const secrets = this.#secrets.get(id) ?? [];
    const isTwice = until === null && secrets.some((other) => other.until === null);
    if (!isFit || isTwice || secrets.length === maxSecrets)
      throw invalidSiteFileError(`a secret of webhook ${id} is damaged`);
    const added = {
      secret: String(secret),
      createdAt: Number(created_at),
      until: until === null ? null : Number(until),
    };
    this.#secrets.set(id, [...secrets, added]);
  }

  /**
   * Stores the states and secrets of the webhooks. They have no home database, so that a webhook delivers only after it was resumed. A webhook
   * without a state or a secret stays incomplete, for example if it was removed during the export.
   */
  async store(engine: Engine, site: number): Promise<void> {
    for (const [id, webhook] of this.#ids) {
      const state = this.#states.get(id);
      const secrets = this.#secrets.get(id) ?? [];
      if (!state || !secrets.some(({ until }) => until === null)) continue;
      const { cursor, epoch, rewinds } = state;
      // The epoch is empty if the site had no changes. An empty epoch would be valid in any epoch.
      const carried = { cursor: String(cursor), epoch: String(epoch) || randomText(8), rewinds: Number(rewinds) };
      await engine.saveWebhook(newWebhookState({ site, webhook }, { home: "", ...carried }), secrets);
    }
  }
}

function isEpoch(text: string): boolean {
  return /^[0-9A-Za-z]{0,64}$/.test(text);
}
