// Knows which webhooks may be delivered: an index of their records and of the records of their sites.

import type { RecordChange } from "../model/change.ts";
import { toDeclaredJson } from "../model/record.ts";
import { publicResources, type Resource } from "../model/resource.ts";
import { site as siteResource } from "../resources/site.ts";
import { webhook as webhookResource } from "../resources/webhook.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type { SystemSiteListener } from "../store/reads/snapshot-cache.ts";
import { isReasonToPause } from "./retry-policy.ts";

/** A webhook that is not paused, of a site that is neither suspended nor incomplete. */
export interface ActiveWebhook {
  readonly site: number;
  readonly webhook: number;
  readonly siteName: string;
  readonly url: string;
  /** The names of the resources that it follows. */
  readonly resources: ReadonlySet<string>;
}

interface SiteEntry {
  readonly name: string;
  readonly isServed: boolean;
}

type WebhookEntry = Omit<ActiveWebhook, "siteName"> & {
  readonly isPaused: boolean;
  /** Whether it is paused because its receiver failed. */
  readonly hasGivenUp: boolean;
};

/** The index of all webhooks and their sites. It listens to the system site, whose records they are. */
export class WebhookIndex implements SystemSiteListener {
  readonly #sites = new Map<number, SiteEntry>();
  readonly #webhooks = new Map<number, WebhookEntry>();
  /** The names of the resources, by path. */
  readonly #names: ReadonlyMap<string, string>;

  constructor(resources: readonly Resource[]) {
    this.#names = new Map(publicResources(resources).map(({ path, name }) => [path, name]));
  }

  /** The number of all webhooks, and of paused webhooks. */
  get counts(): { readonly all: number; readonly paused: number } {
    const paused = [...this.#webhooks.values()].filter(({ isPaused }) => isPaused).length;
    return { all: this.#webhooks.size, paused };
  }

  /** Returns undefined if the webhook is paused, or its site is suspended, incomplete or removed. */
  findActive(webhook: number): ActiveWebhook | undefined {
    const entry = this.#webhooks.get(webhook);
    const site = entry && this.#sites.get(entry.site);
    return entry && !entry.isPaused && site?.isServed ? { ...entry, siteName: site.name } : undefined;
  }

  listActive(): ActiveWebhook[] {
    return [...this.#webhooks.keys()].flatMap((id) => this.findActive(id) ?? []);
  }

  /** Returns the webhooks that are paused because their receivers failed, without those of suspended or incomplete sites. */
  allGivenUp(): ActiveWebhook[] {
    return [...this.#webhooks.values()].flatMap((entry) => {
      const site = this.#sites.get(entry.site);
      return entry.hasGivenUp && site?.isServed ? [{ ...entry, siteName: site.name }] : [];
    });
  }

  onSnapshot(system: Snapshot): void {
    this.#sites.clear();
    this.#webhooks.clear();
    for (const { id, json } of system.collection(siteResource)) this.#putSite(id, json);
    for (const { id, json } of system.collection(webhookResource)) this.#putWebhook(id, json);
  }

  onEntry({ resource, id, operation, body }: RecordChange): void {
    const after = (declared: Resource) => (operation === "delete" ? null : toDeclaredJson(declared, body));
    if (resource === siteResource.name) this.#putSite(id, after(siteResource));
    else if (resource === webhookResource.name) this.#putWebhook(id, after(webhookResource));
  }

  #putSite(id: number, body: string | null): void {
    if (body === null) return void this.#sites.delete(id);
    const { Name, Suspended, Importing } = JSON.parse(body);
    this.#sites.set(id, { name: Name, isServed: Suspended === "" && Importing === "" });
  }

  #putWebhook(id: number, body: string | null): void {
    if (body === null) return void this.#webhooks.delete(id);
    const { Site, URL: url, Resources, Paused, Reason } = JSON.parse(body);
    const paths: string[] = Resources === "" ? [...this.#names.keys()] : Resources.split(" ");
    const resources = new Set(paths.flatMap((path) => this.#names.get(path) ?? []));
    const isPaused = Paused !== "";
    const hasGivenUp = isPaused && isReasonToPause(Reason);
    this.#webhooks.set(id, { site: Number(Site), webhook: id, url, resources, isPaused, hasGivenUp });
  }
}
