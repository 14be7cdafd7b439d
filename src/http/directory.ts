// An index of the system site's records: finds a site by host, and an API key by digest. It listens to the snapshot of the system site, so it always
// has the same changes as that snapshot.

import type { Scope } from "../model/api-key.ts";
import type { RecordChange } from "../model/change.ts";
import { hostnameOf } from "../model/hostname.ts";
import { toDeclaredJson } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { key as keyResource } from "../resources/key.ts";
import { site as siteResource } from "../resources/site.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type { SystemSiteListener } from "../store/reads/snapshot-cache.ts";

/** A site, as its record in the system site describes it. */
export interface Site {
  readonly id: number;
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  readonly isSuspended: boolean;
}

/** An API key, as its record in the system site describes it. */
export interface ApiKey {
  readonly id: number;
  /** The ID of the key's site. */
  readonly site: number;
  readonly prefix: string;
  readonly digest: string;
  readonly scope: Scope;
  /** Requests per second; undefined for the server's default. */
  readonly rate: number | undefined;
  /** When the key expires or was revoked, whichever is earlier, in milliseconds since 1970; infinity if neither. */
  readonly endsAt: number;
}

/** The index. `onSnapshot` and `onEntry` keep it up to date. */
export class SiteKeyIndex implements SystemSiteListener {
  readonly #sites = new Map<number, Site>();
  readonly #hosts = new Map<string, Site>();
  readonly #keys = new Map<number, ApiKey>();
  readonly #digests = new Map<string, ApiKey>();
  #default: Site | undefined;

  /** Returns the site with the hostname `host` (in its normal form), otherwise the default site; undefined if there is neither. */
  findSiteByHost(host: string): Site | undefined {
    return this.#hosts.get(host) ?? this.#default;
  }

  /** Returns the key with this digest, which may have expired or been revoked; undefined if it is unknown. */
  findKeyByDigest(digest: string): ApiKey | undefined {
    return this.#digests.get(digest);
  }

  /** Builds the index again from a snapshot. */
  onSnapshot(system: Snapshot): void {
    for (const map of [this.#sites, this.#hosts, this.#keys, this.#digests]) map.clear();
    this.#default = undefined;
    for (const { id, json } of system.collection(siteResource)) this.#putSite(id, json);
    for (const { id, json } of system.collection(keyResource)) this.#putKey(id, json);
  }

  /** Applies a journal entry of the system site. */
  onEntry({ resource, id, operation, body }: RecordChange): void {
    const after = (declared: Resource) => (operation === "delete" ? null : toDeclaredJson(declared, body));
    if (resource === siteResource.name) this.#putSite(id, after(siteResource));
    else if (resource === keyResource.name) this.#putKey(id, after(keyResource));
  }

  #putSite(id: number, body: string | null): void {
    const before = this.#sites.get(id);
    this.#sites.delete(id);
    for (const host of before?.hostnames ?? []) if (this.#hosts.get(host) === before) this.#hosts.delete(host);
    if (this.#default?.id === id) this.#default = undefined;
    if (body === null) return;
    const site = toSite(id, body);
    this.#sites.set(id, site);
    for (const host of site.hostnames) this.#hosts.set(host, site);
    if (site.isDefault) this.#default = site;
  }

  #putKey(id: number, body: string | null): void {
    const before = this.#keys.get(id);
    this.#keys.delete(id);
    if (before) this.#digests.delete(before.digest);
    if (body === null) return;
    const key = toKey(id, body);
    this.#keys.set(id, key);
    this.#digests.set(key.digest, key);
  }
}

function toSite(id: number, body: string): Site {
  const { Name, Hostnames, Default, Suspended } = JSON.parse(body);
  const hostnames = Hostnames === "" ? [] : Hostnames.split(" ").map(hostnameOf);
  return { id, name: Name, hostnames, isDefault: Default === "yes", isSuspended: Suspended !== "" };
}

function toKey(id: number, body: string): ApiKey {
  const { Site, Prefix, Digest, Scope, Rate, Expires, Revoked } = JSON.parse(body);
  const ends = [Expires, Revoked].filter((time) => time !== "").map((time) => Date.parse(time));
  const rate = Rate === "" ? undefined : Number(Rate);
  return { id, site: Number(Site), prefix: Prefix, digest: Digest, scope: Scope, rate, endsAt: Math.min(...ends) };
}
