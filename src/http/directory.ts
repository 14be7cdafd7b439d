// Sites by host and keys by digest: an index of the system site's records.

import type { Scope } from "../model/api-key.ts";
import type { RecordChange } from "../model/change.ts";
import { hostnameOf } from "../model/hostname.ts";
import { toDeclared } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { key as keyResource } from "../resources/key.ts";
import { site as siteResource } from "../resources/site.ts";
import type { Snapshot } from "../store/memory/snapshot.ts";
import type { Follower } from "../store/reads/snapshot-cache.ts";

export interface Site {
  readonly id: number;
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  readonly isSuspended: boolean;
}

export interface Key {
  readonly id: number;
  readonly site: number;
  readonly prefix: string;
  readonly digest: string;
  readonly scope: Scope;
  /** Requests per second; undefined for the server's default. */
  readonly rate: number | undefined;
  /** The end of its validity, by expiry or revocation, in milliseconds since 1970; infinite when there is none. */
  readonly endsAt: number;
}

/** Follows the system site. */
export class Directory implements Follower {
  readonly #sites = new Map<number, Site>();
  readonly #hosts = new Map<string, Site>();
  readonly #keys = new Map<number, Key>();
  readonly #digests = new Map<string, Key>();
  #default: Site | undefined;

  /** The site with the hostname `host` (in its normal form), otherwise the default site, if there is one. */
  siteOf(host: string): Site | undefined {
    return this.#hosts.get(host) ?? this.#default;
  }

  /** The key with this digest, which may have expired or been revoked. */
  keyOf(digest: string): Key | undefined {
    return this.#digests.get(digest);
  }

  reset(system: Snapshot): void {
    for (const map of [this.#sites, this.#hosts, this.#keys, this.#digests]) map.clear();
    this.#default = undefined;
    for (const { id, json } of system.collection(siteResource)) this.#putSite(id, json);
    for (const { id, json } of system.collection(keyResource)) this.#putKey(id, json);
  }

  change({ resource, id, operation, body }: RecordChange): void {
    const after = (declared: Resource) => (operation === "delete" ? null : toDeclared(declared, body));
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

function toKey(id: number, body: string): Key {
  const { Site, Prefix, Digest, Scope, Rate, Expires, Revoked } = JSON.parse(body);
  const ends = [Expires, Revoked].filter((time) => time !== "").map((time) => Date.parse(time));
  const rate = Rate === "" ? undefined : Number(Rate);
  return { id, site: Number(Site), prefix: Prefix, digest: Digest, scope: Scope, rate, endsAt: Math.min(...ends) };
}
