// Finds sites by host, API keys by digest, and webhooks that may deliver.
//
// Each process has one index, which start.ts passes to the public listener and to webhook delivery. It subscribes to the cached snapshot of the system
// site, so it always has the same changes. To bring both up to date, get the up-to-date view of the system site (store/reads/site-views.ts). Lookups are a
// single `Map.get`, because every request makes two, and changed records are only parsed once.
//
// Commands have no snapshots, so operator/ uses read-system-records.ts instead.

import type { RecordChange } from "../model/change.ts";
import { toDeclaredJson } from "../model/record.ts";
import { publicResources, type Resource } from "../model/resource.ts";
import { key as keyResource } from "../resources/key.ts";
import { site as siteResource } from "../resources/site.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type { SystemSiteSubscriber } from "../store/reads/snapshot-cache.ts";
import {
  type ApiKey,
  type KeyRecord,
  type Site,
  type SiteRecord,
  splitWords,
  toApiKey,
  toSite,
  toWebhook,
  type Webhook,
  type WebhookRecord,
} from "./system-records.ts";

/** A webhook whose site is served. */
export interface ServedWebhook extends Webhook {
  readonly siteName: string;
}

/** `onSnapshot` and `onEntry` keep it up to date. */
export class SystemSiteIndex implements SystemSiteSubscriber {
  readonly #sites = new Map<number, Site>();
  readonly #sitesByHost = new Map<string, Site>();
  readonly #keys = new Map<number, ApiKey>();
  readonly #keysByDigest = new Map<string, ApiKey>();
  readonly #keysByPrefix = new Map<string, ApiKey>();
  readonly #webhooks = new Map<number, Webhook>();
  /** Names of served resources, by path. */
  readonly #resourceNames: ReadonlyMap<string, string>;
  #defaultSite: Site | undefined;

  /** @param resources all that this server has */
  constructor(resources: readonly Resource[]) {
    this.#resourceNames = new Map(publicResources(resources).map(({ path, name }) => [path, name]));
  }

  /** Falls back to the default site. @param host in normal form */
  findSiteByHost(host: string): Site | undefined {
    return this.#sitesByHost.get(host) ?? this.#defaultSite;
  }

  /**
   * Returns the site `id` if it's the sandbox of `live` and not still being copied. Callers check if the live site is suspended.
   */
  findSandbox(id: number, live: number): Site | undefined {
    const site = this.#sites.get(id);
    return site?.sandboxOf === live && site.isServed ? site : undefined;
  }

  /** Like `findSandbox`. */
  findSandboxOf(live: number): Site | undefined {
    for (const id of this.#sites.keys()) {
      const sandbox = this.findSandbox(id, live);
      if (sandbox) return sandbox;
    }
    return undefined;
  }

  /** The key may have expired or been revoked. */
  findKeyByDigest(digest: string): ApiKey | undefined {
    return this.#keysByDigest.get(digest);
  }

  /** Undefined if the webhook is paused, or its site (or a sandbox's live site) is suspended, incomplete or removed. */
  findActive(webhookId: number): ServedWebhook | undefined {
    const webhook = this.#webhooks.get(webhookId);
    return webhook && webhook.pauseReason === undefined ? this.#withSite(webhook) : undefined;
  }

  /** All that `findActive` returns. */
  listActive(): ServedWebhook[] {
    return [...this.#webhooks.keys()].flatMap((id) => this.findActive(id) ?? []);
  }

  /** Paused webhooks whose site is served. */
  listPaused(): ServedWebhook[] {
    const paused = [...this.#webhooks.values()].filter(({ pauseReason }) => pauseReason !== undefined);
    return paused.flatMap((webhook) => this.#withSite(webhook) ?? []);
  }

  get counts(): {
    readonly servedSites: number;
    readonly servedSandboxes: number;
    readonly webhooks: number;
    readonly pausedWebhooks: number;
  } {
    const served = [...this.#sites.values()].filter((site) => this.#isServed(site));
    const servedSites = served.filter(({ sandboxOf }) => sandboxOf === undefined).length;
    return {
      servedSites,
      servedSandboxes: served.length - servedSites,
      webhooks: this.#webhooks.size,
      pausedWebhooks: [...this.#webhooks.values()].filter(({ pauseReason }) => pauseReason !== undefined).length,
    };
  }

  /** Rebuilds the index. */
  onSnapshot(system: Snapshot): void {
    for (const map of [
      this.#sites,
      this.#sitesByHost,
      this.#keys,
      this.#keysByDigest,
      this.#keysByPrefix,
      this.#webhooks,
    ])
      map.clear();
    this.#defaultSite = undefined;
    for (const resource of [siteResource, keyResource, webhookResource])
      for (const { id, json } of system.collection(resource)) this.#put(resource.name, id, JSON.parse(json));
  }

  /** Applies an entry of the system site's journal. */
  onEntry({ resource, id, operation, body }: RecordChange): void {
    const declared = [siteResource, keyResource, webhookResource].find(({ name }) => name === resource);
    if (!declared) return;
    this.#put(resource, id, operation === "delete" ? undefined : JSON.parse(toDeclaredJson(declared, body)));
  }

  /** @param record undefined if it was deleted */
  #put(resource: string, id: number, record: unknown): void {
    if (resource === siteResource.name) this.#putSite(id, record as SiteRecord | undefined);
    else if (resource === keyResource.name) this.#putKey(id, record as KeyRecord | undefined);
    else this.#putWebhook(id, record as WebhookRecord | undefined);
  }

  #putSite(id: number, record: SiteRecord | undefined): void {
    const before = this.#sites.get(id);
    this.#sites.delete(id);
    for (const host of before?.hostnames ?? [])
      if (this.#sitesByHost.get(host) === before) this.#sitesByHost.delete(host);
    if (this.#defaultSite?.id === id) this.#defaultSite = undefined;
    if (!record) return;
    const site = toSite(record);
    this.#sites.set(id, site);
    for (const host of site.hostnames) this.#sitesByHost.set(host, site);
    if (site.isDefault) this.#defaultSite = site;
  }

  #putKey(id: number, record: KeyRecord | undefined): void {
    const before = this.#keys.get(id);
    this.#keys.delete(id);
    if (before) {
      this.#keysByDigest.delete(before.digest);
      this.#keysByPrefix.delete(before.prefix);
    }
    if (!record) return;
    const key = toApiKey(record, this.#findReplaced(record));
    this.#keys.set(id, key);
    this.#keysByDigest.set(key.digest, key);
    this.#keysByPrefix.set(key.prefix, key);
  }

  /** The last key that a key has replaced. It's already in the index, because keys are added by ID. */
  #findReplaced({ Former }: KeyRecord): ApiKey | undefined {
    return splitWords(Former).flatMap((prefix) => this.#keysByPrefix.get(prefix) ?? [])[0];
  }

  #putWebhook(id: number, record: WebhookRecord | undefined): void {
    if (record) this.#webhooks.set(id, toWebhook(record, this.#resourceNames));
    else this.#webhooks.delete(id);
  }

  #withSite(webhook: Webhook): ServedWebhook | undefined {
    const site = this.#sites.get(webhook.site);
    return site && this.#isServed(site) ? { ...webhook, siteName: site.name } : undefined;
  }

  /** A sandbox is only served while its live site is. */
  #isServed({ isServed, sandboxOf }: Site): boolean {
    return isServed && (sandboxOf === undefined || this.#sites.get(sandboxOf)?.isServed === true);
  }
}
