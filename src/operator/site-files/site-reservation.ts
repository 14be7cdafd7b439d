// The records of the system site for a site that is imported. Its record is created first and reserves its name. A time in that record
// reserves the site for this process, which renews it. Until the import is complete, the site has no hostname, and commands refuse it.
// What an interrupted import leaves is removed by the first command after that time (`finishRemovals`).

import { messageOf } from "../../lib/errors-for-log.ts";
import type { IpNetwork } from "../../lib/networks.ts";
import { randomText } from "../../lib/text.ts";
import { isBeginning } from "../../model/api-key.ts";
import type { DumpedRow, Engine } from "../../model/engine.ts";
import { invalidRecord, Refusal } from "../../model/errors.ts";
import { readHostname } from "../../model/hostname.ts";
import { readNewRecord, readRecord, type Values } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { isWebhookSecret, type WebhookSecret } from "../../model/webhooks.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { revisionInCursor } from "../../store/database/cursor.ts";
import { changeSystem, toCreate, toInstant, toUpdate } from "../../system/system-changes.ts";
import { requireAllowed } from "../../webhooks/address-policy.ts";
import type { KeyRecord } from "../keys.ts";
import { changeSites, hostnamesOf, requireFree, type SiteRecord } from "../sites.ts";
import { newWebhookState, requireWebhookRoom } from "../webhooks.ts";
import { isCount, isTime, requireTime, type SystemRecord, unfit } from "./site-file-rows.ts";

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

// The webhooks of a site in a file of `export-site`. They arrive paused, so that a copy of a site delivers nothing by itself, and their
// URLs are judged as for saving, so that a forged file cannot name an address inside.

/** A webhook's record in a file, validated. */
interface ImportedWebhook {
  /** Its ID in the file. */
  readonly id: number;
  readonly values: Values;
}

/** A webhook that is not imported, and why. */
export interface OmittedWebhook {
  readonly url: string;
  readonly reason: string;
}

/** Secrets of a webhook at most. */
const maxSecrets = 2;

/**
 * Validates the records of webhooks. Those with a URL that is not allowed here are left out.
 * @param allow networks that are allowed although they are not public
 * @throws Refusal `invalid-record`
 */
export async function readWebhooks(records: readonly SystemRecord[], allow: readonly IpNetwork[], now: number) {
  const webhooks: ImportedWebhook[] = [];
  const omitted: OmittedWebhook[] = [];
  for (const { id, values } of records) {
    const read = readNewRecord(webhookResource, values);
    for (const field of ["Created", "Paused"]) requireTime(field, read);
    const url = String(read.URL);
    const reason = await urlFault(url, allow);
    const paused = read.Paused === "" ? { Paused: toInstant(now), Reason: "it was imported with its site" } : {};
    if (reason) omitted.push({ url, reason });
    else webhooks.push({ id, values: { ...read, ...paused } });
  }
  return { webhooks, omitted };
}

/** Why a URL is not allowed. Names are not resolved here: `webhook resume` and each delivery do that. */
async function urlFault(url: string, allow: readonly IpNetwork[]): Promise<string | undefined> {
  try {
    await requireAllowed(url, { allow, isLoopbackAllowed: false, lookup: async () => [] });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** What a file has of webhooks beside their records. Rows of webhooks that are not imported are skipped. */
export class WebhookRows {
  readonly #ids: ReadonlyMap<number, number>;
  readonly #states = new Map<unknown, DumpedRow["row"]>();
  readonly #secrets = new Map<unknown, WebhookSecret[]>();

  /** @param ids the IDs of the webhooks by their IDs in the file */
  constructor(ids: ReadonlyMap<number, number>) {
    this.#ids = ids;
  }

  /** @throws Refusal `bad-request` when the row is damaged, or one too many */
  add({ table, row }: DumpedRow): void {
    const id = Number(row.webhook_id);
    if (!this.#ids.has(id)) return;
    if (table === "webhook_secrets") this.#addSecret(id, row);
    else this.#addState(id, row);
  }

  #addState(id: number, row: DumpedRow["row"]): void {
    const isFit =
      revisionInCursor(String(row.cursor)) !== undefined && isEpoch(String(row.epoch)) && isCount(row.rewinds);
    if (!isFit || this.#states.has(id)) throw unfit(`the state of webhook ${id} is damaged`);
    this.#states.set(id, row);
  }

  #addSecret(id: number, { secret, created_at, until }: DumpedRow["row"]): void {
    const isFit = isWebhookSecret(String(secret)) && isTime(created_at) && (until === null || isTime(until));
    const secrets = this.#secrets.get(id) ?? [];
    const isTwice = until === null && secrets.some((other) => other.until === null);
    if (!isFit || isTwice || secrets.length === maxSecrets) throw unfit(`a secret of webhook ${id} is damaged`);
    const added = {
      secret: String(secret),
      createdAt: Number(created_at),
      until: until === null ? null : Number(until),
    };
    this.#secrets.set(id, [...secrets, added]);
  }

  /**
   * Stores what there is of the webhooks of a site. They have no home: none delivers before it is resumed. One without a state or a secret,
   * such as one that was removed during the export, stays incomplete.
   */
  async store(engine: Engine, site: number): Promise<void> {
    for (const [id, webhook] of this.#ids) {
      const state = this.#states.get(id);
      const secrets = this.#secrets.get(id) ?? [];
      if (!state || !secrets.some(({ until }) => until === null)) continue;
      const { cursor, epoch, rewinds } = state;
      // One of a site without a history would take any for its own.
      const carried = { cursor: String(cursor), epoch: String(epoch) || randomText(8), rewinds: Number(rewinds) };
      await engine.putWebhook(newWebhookState({ site, webhook }, { home: "", ...carried }), secrets);
    }
  }
}

function isEpoch(text: string): boolean {
  return /^[0-9A-Za-z]{0,64}$/.test(text);
}
