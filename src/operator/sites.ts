import { nearest } from "../lib/nearest.ts";
import { messageOf } from "../lib/thrown.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { hostnameOf, readHostname } from "../model/hostname.ts";
import type { Intent } from "../model/intent.ts";
import { toDeclared, type Values } from "../model/record.ts";
import { key as keyResource } from "../resources/key.ts";
import { site as siteResource } from "../resources/site.ts";
import { changeSystem, readSystem, type System, toCreate, toDelete, toInstant, toUpdate } from "./system.ts";

export interface SiteRecord {
  readonly ID: number;
  readonly Name: string;
  /** In their normal form (model/hostname.ts), separated by spaces. */
  readonly Hostnames: string;
  readonly Default: "" | "yes";
  /** Since when it is suspended, as an ISO 8601 time; empty if it is served. */
  readonly Suspended: string;
}

interface SiteSettings {
  readonly name?: string | undefined;
  /** All of its hostnames; undefined to keep the present ones. */
  readonly hostnames?: readonly string[] | undefined;
  readonly addedHostnames?: readonly string[] | undefined;
  readonly removedHostnames?: readonly string[] | undefined;
  readonly isDefault?: boolean | undefined;
  /** Whether every request to it is refused. */
  readonly isSuspended?: boolean | undefined;
}

export async function listSites(engine: Engine): Promise<SiteRecord[]> {
  return (await readSystem(engine)).records<SiteRecord>(siteResource);
}

/** The site of this name. @throws Refusal `not-found` that suggests the nearest name */
export async function findSite(engine: Engine, name: string): Promise<SiteRecord> {
  return requireSite(await listSites(engine), name);
}

/** Creates a site. @throws Refusal `invalid-record`, or `conflict` when its name or a hostname is taken */
export function addSite(engine: Engine, name: string, settings: SiteSettings, now: number): Promise<SiteRecord> {
  return changeSites(engine, (sites) => {
    const values = toValues({ ...settings, name }, undefined, now);
    requireFree(sites, undefined, values);
    return [...unsetDefault(sites, undefined, settings, now), toCreate(siteResource, values, now)];
  });
}

/**
 * Changes a site. Running servers apply it to the next request.
 * @throws Refusal as addSite does, or `not-found` for the site or a removed hostname
 */
export function setSite(engine: Engine, name: string, settings: SiteSettings, now: number): Promise<SiteRecord> {
  return changeSites(engine, (sites) => {
    const site = requireSite(sites, name);
    const values = toValues(settings, site, now);
    requireFree(sites, site.ID, values);
    return [...unsetDefault(sites, site.ID, settings, now), toUpdate(siteResource, site.ID, values, now)];
  });
}

/**
 * Removes a site with its keys, records and history. Its ID is never used again. When its record is deleted, the site is out
 * of use; if the removal of the rest is interrupted, `finishRemovals` completes it.
 * @throws Refusal `not-found`, or `unavailable` when the removal of the rest failed
 */
export async function removeSite(engine: Engine, name: string, now: number): Promise<SiteRecord> {
  const removed = await changeSites(engine, (sites, system) => {
    const site = requireSite(sites, name);
    const keys = system
      .records<{ ID: number; Site: string }>(keyResource)
      .filter((key) => Number(key.Site) === site.ID);
    return [...keys.map(({ ID }) => toDelete(keyResource, ID, now)), toDelete(siteResource, site.ID, now)];
  });
  try {
    await engine.dropSite(removed.ID);
  } catch (error) {
    const why = messageOf(error);
    throw new Refusal(
      "unavailable",
      `the site \`${name}\` is out of use, but not all of its data is deleted yet: ${why}; the next command continues`,
      { cause: error },
    );
  }
  return removed;
}

/** Completes removals that were interrupted. Returns the IDs of the sites. */
export async function finishRemovals(engine: Engine): Promise<readonly number[]> {
  const sites = await engine.undroppedSites();
  for (const site of sites) await engine.dropSite(site);
  return sites;
}

/** Stores the changes that `decide` returns, that of the site last. Returns the site. */
async function changeSites(
  engine: Engine,
  decide: (sites: readonly SiteRecord[], system: System) => readonly Intent[],
): Promise<SiteRecord> {
  const bodies = await changeSystem(engine, (system) => decide(system.records<SiteRecord>(siteResource), system));
  return JSON.parse(toDeclared(siteResource, bodies.at(-1) as string));
}

function requireSite(sites: readonly SiteRecord[], name: string): SiteRecord {
  const site = sites.find(({ Name }) => Name === name);
  if (site) return site;
  const names = sites.map(({ Name }) => Name);
  const meant = nearest(name, names);
  const some = names.slice(0, 10).join(", ") + (names.length > 10 ? ", ..." : "");
  const hint = meant
    ? `did you mean \`${meant}\`?`
    : names.length > 0
      ? `known sites: ${some}`
      : "there are no sites yet; create one with `storefront site add`";
  throw new Refusal("not-found", `unknown site \`${name}\`: ${hint}`);
}

/** The values that change. @param site undefined for a new one */
function toValues(settings: SiteSettings, site: SiteRecord | undefined, now: number): Values {
  const { name, isDefault, isSuspended } = settings;
  const hostnames = hostnamesAfter(settings, site);
  return {
    ...(name === undefined ? {} : { Name: name }),
    ...(hostnames === undefined ? {} : { Hostnames: hostnames }),
    ...(isDefault === undefined ? {} : { Default: isDefault ? "yes" : "" }),
    ...(isSuspended === undefined ? {} : { Suspended: isSuspended ? site?.Suspended || toInstant(now) : "" }),
  };
}

/** The hostnames after the change; undefined if it is not about them. */
function hostnamesAfter(
  { hostnames, addedHostnames = [], removedHostnames = [] }: SiteSettings,
  site: SiteRecord | undefined,
): string | undefined {
  if (!hostnames && addedHostnames.length + removedHostnames.length === 0) return undefined;
  const present = hostnames?.map(readHostname) ?? hostnamesOf(site);
  const after = new Set([...present, ...addedHostnames.map(readHostname)]);
  for (const removed of removedHostnames.map(readHostname)) {
    if (after.delete(removed)) continue;
    throw new Refusal("not-found", `the site \`${site?.Name}\` does not have the hostname \`${removed}\``);
  }
  return [...after].join(" ");
}

function hostnamesOf(site: { Hostnames?: string } | undefined): string[] {
  return site?.Hostnames ? site.Hostnames.split(" ").map(hostnameOf) : [];
}

function requireFree(
  sites: readonly SiteRecord[],
  own: number | undefined,
  wanted: { Name?: string; Hostnames?: string },
) {
  for (const other of sites) {
    if (other.ID === own) continue;
    if (other.Name === wanted.Name) throw new Refusal("conflict", `the site \`${other.Name}\` exists already`);
    const hosts = hostnamesOf(other);
    const taken = hostnamesOf(wanted).find((host) => hosts.includes(host));
    if (taken) throw new Refusal("conflict", `the hostname \`${taken}\` already belongs to the site \`${other.Name}\``);
  }
}

/** There is at most one default site: a new one replaces the present one. */
function unsetDefault(sites: readonly SiteRecord[], own: number | undefined, { isDefault }: SiteSettings, now: number) {
  if (!isDefault) return [];
  const others = sites.filter((site) => site.Default === "yes" && site.ID !== own);
  return others.map((site) => toUpdate(siteResource, site.ID, { Default: "" }, now));
}
