import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { nearest } from "../model/nearest.ts";
import { key as keyResource } from "../resources/key.ts";
import { site as siteResource } from "../resources/site.ts";
import { listKeys } from "./keys.ts";
import { commitAll, systemRecords, toCreate, toDelete, toUpdate } from "./system.ts";

export interface SiteRecord {
  readonly ID: number;
  readonly Name: string;
  /** In lower case, separated by blanks. */
  readonly Hostnames: string;
  readonly Default: "" | "yes";
}

export interface SiteSettings {
  readonly name?: string | undefined;
  /** All of its hostnames; undefined to leave them as they are. */
  readonly hostnames?: readonly string[] | undefined;
  readonly isDefault?: boolean | undefined;
}

export function listSites(engine: Engine): Promise<SiteRecord[]> {
  return systemRecords<SiteRecord>(engine, siteResource);
}

/** The site of this name. @throws Refusal `not-found` that names the one that was probably meant */
export async function findSite(engine: Engine, name: string): Promise<SiteRecord> {
  const sites = await listSites(engine);
  const site = sites.find(({ Name }) => Name === name);
  if (site) return site;
  const names = sites.map(({ Name }) => Name);
  const meant = nearest(name, names);
  const some = names.slice(0, 10).join(", ") + (names.length > 10 ? ", ..." : "");
  const hint = meant ? `did you mean "${meant}"?` : names.length > 0 ? `there is ${some}` : "there is no site yet";
  throw new Refusal("not-found", `there is no site "${name}"; ${hint}`);
}

/** Makes a site. @throws Refusal `invalid-record`, or `conflict` when its name or a hostname is taken */
export async function addSite(engine: Engine, name: string, settings: SiteSettings, now: number): Promise<SiteRecord> {
  const sites = await listSites(engine);
  const values = { Name: name, ...toValues(settings) };
  refuseTaken(sites, undefined, values);
  const intents = [...displaceDefault(sites, undefined, settings, now), toCreate(siteResource, values, now)];
  const body = (await commitAll(engine, intents)).at(-1) as string;
  return JSON.parse(body);
}

/** Changes a site. @throws Refusal as addSite does, and `not-found` */
export async function setSite(engine: Engine, name: string, settings: SiteSettings, now: number): Promise<SiteRecord> {
  const site = await findSite(engine, name);
  const sites = await listSites(engine);
  const values = { ...(settings.name === undefined ? {} : { Name: settings.name }), ...toValues(settings) };
  refuseTaken(sites, site.ID, values);
  const intents = [...displaceDefault(sites, site.ID, settings, now), toUpdate(siteResource, site.ID, values, now)];
  const body = (await commitAll(engine, intents)).at(-1) as string;
  return JSON.parse(body);
}

/** Removes a site with its keys, its records and their history. Its number is never given again. */
export async function removeSite(engine: Engine, name: string, now: number): Promise<SiteRecord> {
  const site = await findSite(engine, name);
  const keys = (await listKeys(engine, site)).map(({ ID }) => toDelete(keyResource, ID, now));
  await commitAll(engine, [...keys, toDelete(siteResource, site.ID, now)]);
  await engine.dropSite(site.ID);
  return site;
}

function toValues({ hostnames, isDefault }: SiteSettings) {
  return {
    ...(hostnames === undefined
      ? {}
      : { Hostnames: [...new Set(hostnames.map((host) => host.toLowerCase()))].join(" ") }),
    ...(isDefault === undefined ? {} : { Default: isDefault ? "yes" : "" }),
  };
}

function refuseTaken(
  sites: readonly SiteRecord[],
  own: number | undefined,
  wanted: { Name?: string; Hostnames?: string },
) {
  for (const other of sites) {
    if (other.ID === own) continue;
    if (other.Name === wanted.Name) throw new Refusal("conflict", `there is a site "${other.Name}" already`);
    const hosts = other.Hostnames.split(" ").filter((host) => host !== "");
    const taken = wanted.Hostnames?.split(" ").find((host) => hosts.includes(host));
    if (taken) throw new Refusal("conflict", `the hostname ${taken} belongs to the site "${other.Name}" already`);
  }
}

/** There is one default site at most: who becomes it takes the place of the one before. */
function displaceDefault(
  sites: readonly SiteRecord[],
  own: number | undefined,
  { isDefault }: SiteSettings,
  now: number,
) {
  if (!isDefault) return [];
  const others = sites.filter((site) => site.Default === "yes" && site.ID !== own);
  return others.map((site) => toUpdate(siteResource, site.ID, { Default: "" }, now));
}
