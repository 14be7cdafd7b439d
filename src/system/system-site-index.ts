// The index of the system site: finds a site by host, an API key by digest, and the webhooks that may be delivered.
//
// A process has one index, which start.ts gives to the public listener and to the delivery of webhooks. It listens to the cached snapshot of the system
// site, so it always has the same changes as that snapshot. To catch it up, get the up-to-date view of the system site
// (store/reads/site-views.ts). Each changed record is parsed once. A look-up is one `Map.get`, because every request makes two of them.
//
// Commands have no snapshots, so functions of operator/ read the records with read-system-records.ts.

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

/** A webhook of a site that is served. */
export interface ServedWebhook extends Webhook {
  readonly siteName: string;
}

/** The index. `onSnapshot` and `onEntry` keep it up to date. */
export class SystemSiteIndex implements SystemSiteSubscriber {
  readonly #sites = new Map<number, Site>();
  readonly #sitesByHost = new Map<string, Site>();
  readonly #keys = new Map<number, ApiKey>();
  readonly #keysByDigest = new Map<string, ApiKey>();
  readonly #keysByPrefix = new Map<string, ApiKey>();
  readonly #webhooks = new Map<number, Webhook>();
  /** The names of the served resources, by path. */
  readonly #resourceNames: ReadonlyMap<string, string>;
  #defaultSite: Site | undefined;

  /** @param resources the resources of this server */
  constructor(resources: readonly Resource[]) {
    this.#resourceNames = new Map(publicResources(resources).map(({ path, name }) => [path, name]));
  }

  /** Returns the site with the hostname `host` (in its normal form), otherwise the default site; undefined if there is neither. */
  findSiteByHost(host: string): Site | undefined {
    return this.#sitesByHost.get(host) ?? this.#defaultSite;
  }

  /**
   * Returns the site `id` if it is the sandbox of the site `live`. Returns undefined for any other site, and for a sandbox that is still being made. The
   * caller checks whether the live site is suspended.
   */
  findSandbox(id: number, live: number): Site | undefined {
    const site = this.#sites.get(id);
    return site?.sandboxOf === live && site.isServed ? site : undefined;
  }

  /** Returns the sandbox of the site `live`, as `findSandbox` does. */
  findSandboxOf(live: number): Site | undefined {
    for (const id of this.#sites.keys()) {
      const sandbox = this.findSandbox(id, live);
      if (sandbox) return sandbox;
    }
    return undefined;
  }

  /** Returns the key with this digest, which may have expired or been revoked; undefined if it is unknown. */
  findKeyByDigest(digest: string): ApiKey | undefined {
    return this.#keysByDigest.get(digest);
  }

  /** Returns undefined if the webhook is paused, or its site (or the live site of its sandbox) is suspended, incomplete or removed. */
  findActive(webhookId: number): ServedWebhook | undefined {
    const webhook = this.#webhooks.get(webhookId);
    return webhook && webhook.pauseReason === undefined ? this.#withSite(webhook) : undefined;
  }

  /** Lists the webhooks that `findActive` returns. */
  listActive(): ServedWebhook[] {
    return [...this.#webhooks.keys()].flatMap((id) => this.findActive(id) ?? []);
  }

  /** Lists the paused webhooks of sites that are served. */
  listPaused(): ServedWebhook[] {
    const paused = [...this.#webhooks.values()].filter(({ pauseReason }) => pauseReason !== undefined);
    return paused.flatMap((webhook) => this.#withSite(webhook) ?? []);
  }

  /** The number of served live sites, of served sandboxes, of all webhooks, and of paused webhooks. */
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

  /** Builds the index again from a snapshot. */
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

  /** Applies a journal entry of the system site. */
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

  /** Returns the last key that a key has replaced. It was put before, because keys are put in ID order. */
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

  /** Whether a site is served. A sandbox is served only while its live site is. */
  #isServed({ isServed, sandboxOf }: Site): boolean {
    return isServed && (sandboxOf === undefined || this.#sites.get(sandboxOf)?.isServed === true);
  }
}
