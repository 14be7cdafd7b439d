import { nearest } from "../lib/nearest.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { hostnameOf, readHostname } from "../model/hostname.ts";
import type { Intent } from "../model/intent.ts";
import { toDeclared, type Values } from "../model/record.ts";
import { site as siteResource } from "../resources/site.ts";
import { changeSystem, readSystem, type System, toCreate, toInstant, toUpdate } from "./system.ts";

export interface SiteRecord {
  readonly ID: number;
  readonly Name: string;
  /** In their normal form (model/hostname.ts), separated by spaces. */
  readonly Hostnames: string;
  readonly Default: "" | "yes";
  /** Since when it is suspended, as an ISO 8601 time; empty if it is served. */
  readonly Suspended: string;
  /** Until when an import keeps it for itself, as an ISO 8601 time; empty if it is complete. */
  readonly Importing: string;
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

/** There is no site of this name. The hint may name others. */
export class UnknownSite extends Refusal {
  constructor(name: string, hint?: string) {
    super("not-found", `unknown site \`${name}\`${hint ? `: ${hint}` : ""}`);
  }
}

export async function listSites(engine: Engine): Promise<SiteRecord[]> {
  return (await readSystem(engine)).records<SiteRecord>(siteResource);
}

/** The site of this name. @throws Refusal `not-found` that suggests the nearest name, or `conflict` while it is imported */
export async function findSite(engine: Engine, name: string): Promise<SiteRecord> {
  return requireComplete(requireSite(await listSites(engine), name));
}

/** Creates a site. @throws Refusal `invalid-record`, or `conflict` when its name or a hostname is taken */
export function addSite(engine: Engine, name: string, settings: SiteSettings, now: number): Promise<SiteRecord> {
  return changeSites(engine, (sites) => {
    const values = toSiteValues({ ...settings, name }, undefined, now);
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
    const site = requireComplete(requireSite(sites, name));
    const values = toSiteValues(settings, site, now);
    requireFree(sites, site.ID, values);
    return [...unsetDefault(sites, site.ID, settings, now), toUpdate(siteResource, site.ID, values, now)];
  });
}

/** Stores the changes that `decide` returns, that of the site last. Returns the site. */
export async function changeSites(
  engine: Engine,
  decide: (sites: readonly SiteRecord[], system: System) => readonly Intent[],
): Promise<SiteRecord> {
  const bodies = await changeSystem(engine, (system) => decide(system.records<SiteRecord>(siteResource), system));
  return JSON.parse(toDeclared(siteResource, bodies.at(-1) as string));
}

/** @throws Refusal `conflict` while it is imported */
function requireComplete(site: SiteRecord): SiteRecord {
  if (!site.Importing) return site;
  const how = "if the import was interrupted, the first command after that time removes it";
  throw new Refusal("conflict", `the site \`${site.Name}\` is imported until ${site.Importing}; ${how}`);
}

/** @throws Refusal `not-found` that suggests the nearest name */
export function requireSite(sites: readonly SiteRecord[], name: string): SiteRecord {
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
  throw new UnknownSite(name, hint);
}

/** The values that change. @param site undefined for a new one */
export function toSiteValues(settings: SiteSettings, site: SiteRecord | undefined, now: number): Values {
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

/** The hostnames of a site in their normal form. */
export function hostnamesOf(site: { Hostnames?: string } | undefined): string[] {
  return site?.Hostnames ? site.Hostnames.split(" ").map(hostnameOf) : [];
}

/** @param own the ID of the site that is changed. @throws Refusal `conflict` when the name or a hostname is taken */
export function requireFree(
  sites: readonly SiteRecord[],
  own: number | undefined,
  wanted: { Name?: string; Hostnames?: string },
) {
  const wantedHosts = hostnamesOf(wanted);
  for (const other of sites) {
    if (other.ID === own) continue;
    if (other.Name === wanted.Name) requireComplete(other);
    if (other.Name === wanted.Name) throw new Refusal("conflict", `the site \`${other.Name}\` exists already`);
    const hosts = wantedHosts.length === 0 ? [] : hostnamesOf(other);
    const taken = wantedHosts.find((host) => hosts.includes(host));
    if (taken) throw new Refusal("conflict", `the hostname \`${taken}\` already belongs to the site \`${other.Name}\``);
  }
}

/** There is at most one default site: a new one replaces the present one. */
export function unsetDefault(
  sites: readonly SiteRecord[],
  own: number | undefined,
  { isDefault }: SiteSettings,
  now: number,
) {
  if (!isDefault) return [];
  const others = sites.filter((site) => site.Default === "yes" && site.ID !== own);
  return others.map((site) => toUpdate(siteResource, site.ID, { Default: "" }, now));
}
