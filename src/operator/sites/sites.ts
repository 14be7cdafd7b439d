// Creates, changes, finds and summarizes sites.

import { findNearest } from "../../lib/text.ts";
import type { Intent } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { parseHostname } from "../../model/hostname.ts";
import { toDeclaredJson, type Values } from "../../model/record.ts";
import { publicResources } from "../../model/resource.ts";
import { allResources } from "../../resources/all.ts";
import { site as siteResource } from "../../resources/site.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import { commitSystemChanges, toCreateIntent, toInstant, toUpdateIntent } from "../../system/system-changes.ts";
import { type SiteRecord, type SystemRecords, splitWords, toSite } from "../../system/system-records.ts";
import { listWebhooks } from "../webhooks/webhook-list.ts";
import { listKeys } from "./keys.ts";
import { beingMadeError, nameOfLiveSite, sandboxAfterRename, suspensionOf } from "./sandboxes.ts";

interface SiteSettings {
  readonly name?: string | undefined;
  /** All hostnames of the site; undefined to keep the present ones. */
  readonly hostnames?: readonly string[] | undefined;
  readonly addedHostnames?: readonly string[] | undefined;
  readonly removedHostnames?: readonly string[] | undefined;
  readonly isDefault?: boolean | undefined;
  /** Whether servers reject every request to the site. */
  readonly isSuspended?: boolean | undefined;
}

/** The error for an unknown name of a site. Its message can suggest other names. */
export class UnknownSiteError extends ProblemError {
  constructor(name: string, hint?: string) {
    super("not-found", `unknown site \`${name}\`${hint ? `: ${hint}` : ""}`);
  }
}

/** The error for a name or hostname that another site has. Its message names that site. */
export class TakenNameError extends ProblemError {
  constructor(message: string) {
    super("conflict", message);
  }
}

/** Lists all sites, including incomplete ones. */
export async function listSites(engine: Engine): Promise<readonly SiteRecord[]> {
  return (await readSystemRecords(engine)).sites;
}

/** Returns the site of this name. @throws ProblemError `not-found` that suggests the nearest name, or `conflict` while the site is incomplete */
export async function getSite(engine: Engine, name: string): Promise<SiteRecord> {
  return requireCompleteSite(await listSites(engine), name);
}

/** As `getSite`, for sites that were read already. */
export function requireCompleteSite(sites: readonly SiteRecord[], name: string): SiteRecord {
  return requireComplete(requireSite(sites, name), sites);
}

/** Creates a site. @throws ProblemError `invalid-record`, or `conflict` if its name or a hostname is taken */
export function createSite(engine: Engine, name: string, settings: SiteSettings, now: number): Promise<SiteRecord> {
  return updateSites(engine, (sites) => {
    const values = toSiteValues({ ...settings, name }, undefined, now);
    requireUnusedNames(sites, undefined, values);
    return [...toUnsetDefaultIntents(sites, undefined, settings, now), toCreateIntent(siteResource, values, now)];
  });
}

/**
 * Changes a site. Running servers apply the change to the next request. If its name changes, the name of its sandbox follows.
 * @throws ProblemError as `createSite`, `not-found` for an unknown site or an unknown hostname to remove, or `conflict` for a sandbox
 */
export function setSite(engine: Engine, name: string, settings: SiteSettings, now: number): Promise<SiteRecord> {
  return updateSites(engine, (sites) => {
    const site = requireCompleteSite(sites, name);
    rejectSandbox(site, sites);
    const values = toSiteValues(settings, site, now);
    requireUnusedNames(sites, site.ID, values);
    const renamed = settings.name === undefined ? undefined : sandboxAfterRename(sites, site, settings.name);
    return [
      ...toUnsetDefaultIntents(sites, site.ID, settings, now),
      ...(renamed ? [toUpdateIntent(siteResource, renamed.sandbox.ID, { Name: renamed.name }, now)] : []),
      toUpdateIntent(siteResource, site.ID, values, now),
    ];
  });
}

/** Commits the intents that `decide` returns; the last of them must be for the site. Returns the site. */
export async function updateSites(
  engine: Engine,
  decide: (sites: readonly SiteRecord[], system: SystemRecords) => readonly Intent[],
): Promise<SiteRecord> {
  const bodies = await commitSystemChanges(engine, (system) => decide(system.sites, system));
  return JSON.parse(toDeclaredJson(siteResource, bodies.at(-1) as string));
}

/** @throws ProblemError `conflict` for a sandbox, which has no settings of its own */
function rejectSandbox(site: SiteRecord, sites: readonly SiteRecord[]): void {
  if (site.SandboxOf === "") return;
  const live = nameOfLiveSite(site, sites);
  const why = `it has no hostnames, and follows the name and the suspension of \`${live}\``;
  throw new ProblemError(
    "conflict",
    `\`${site.Name}\` is the sandbox of \`${live}\`: ${why}; change \`${live}\` instead`,
  );
}

/** @throws ProblemError `conflict` while the site is imported, or made as a sandbox */
function requireComplete(site: SiteRecord, sites: readonly SiteRecord[]): SiteRecord {
  if (!site.Importing) return site;
  throw incompleteError(site, sites);
}

function incompleteError(site: SiteRecord, sites: readonly SiteRecord[]): ProblemError {
  if (site.SandboxOf !== "") return beingMadeError(site, sites);
  const { Name, Importing: end } = site;
  const how = `if the import was interrupted, the first command after ${end} removes the site`;
  return new ProblemError("conflict", `the site \`${Name}\` is being imported, and reserved until ${end}; ${how}`);
}

/** @throws ProblemError `not-found` that suggests the nearest name */
export function requireSite(sites: readonly SiteRecord[], name: string): SiteRecord {
  const site = sites.find(({ Name }) => Name === name);
  if (site) return site;
  const names = sites.filter(({ Importing }) => Importing === "").map(({ Name }) => Name);
  const meant = findNearest(name, names);
  const some = names.slice(0, 10).join(", ") + (names.length > 10 ? ", ..." : "");
  const hint = meant
    ? `did you mean \`${meant}\`?`
    : names.length > 0
      ? `known sites: ${some}`
      : "there are no sites yet; create one with `storefront site add`";
  throw new UnknownSiteError(name, hint);
}

/** Returns the values that change. @param site undefined for a new site */
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

/** Returns the hostnames after the change; undefined if `settings` does not change them. */
function hostnamesAfter(
  { hostnames, addedHostnames = [], removedHostnames = [] }: SiteSettings,
  site: SiteRecord | undefined,
): string | undefined {
  if (!hostnames && addedHostnames.length + removedHostnames.length === 0) return undefined;
  const present = hostnames?.map(parseHostname) ?? (site ? toSite(site).hostnames : []);
  const after = new Set([...present, ...addedHostnames.map(parseHostname)]);
  for (const removed of removedHostnames.map(parseHostname)) {
    if (after.delete(removed)) continue;
    throw new ProblemError("not-found", `the site \`${site?.Name}\` does not have the hostname \`${removed}\``);
  }
  return [...after].join(" ");
}

/** @param own the ID of the site that is changed @throws TakenNameError */
export function requireUnusedNames(
  sites: readonly SiteRecord[],
  own: number | undefined,
  wanted: { Name?: string; Hostnames?: string },
) {
  const wantedHosts = splitWords(wanted.Hostnames ?? "");
  for (const other of sites) {
    if (other.ID === own) continue;
    if (other.Name === wanted.Name)
      throw new TakenNameError(
        other.Importing ? incompleteError(other, sites).message : `the site \`${other.Name}\` exists already`,
      );
    const hosts = wantedHosts.length === 0 ? [] : toSite(other).hostnames;
    const taken = wantedHosts.find((host) => hosts.includes(host));
    if (taken) throw new TakenNameError(`the hostname \`${taken}\` already belongs to the site \`${other.Name}\``);
  }
}

/** Returns the intents that unset the present default site, if `settings` has a new one: there is at most one default site. */
export function toUnsetDefaultIntents(
  sites: readonly SiteRecord[],
  own: number | undefined,
  { isDefault }: SiteSettings,
  now: number,
) {
  if (!isDefault) return [];
  const others = sites.filter((site) => site.Default === "yes" && site.ID !== own);
  return others.map((site) => toUpdateIntent(siteResource, site.ID, { Default: "" }, now));
}

/** An overview of a site. */
interface SiteSummary {
  readonly site: SiteRecord;
  /** Keys that are valid now. */
  readonly validKeys: number;
  /** All keys, including revoked and expired ones. */
  readonly keys: number;
  readonly webhooks: number;
  /** The number of records of each resource, by its path. */
  readonly records: Readonly<Record<string, number>>;
  /** The number of changes so far. */
  readonly revision: number;
  /** Time of the last change; undefined if the site has not changed yet, or the entry was pruned. */
  readonly changed: Date | undefined;
}

/**
 * Returns a site in the form that commands print as JSON, and that the console's API sends.
 * @param sites among them the live site of a sandbox
 */
export function toSiteInfo(site: SiteRecord, sites: readonly SiteRecord[]) {
  const { ID: id, Name: name, Hostnames, Default, Importing, SandboxOf } = site;
  return {
    id,
    name,
    hostnames: splitWords(Hostnames),
    isDefault: Default === "yes",
    suspended: suspensionOf(site, sites) || null,
    importing: Importing || null,
    sandboxOf: SandboxOf === "" ? null : Number(SandboxOf),
  };
}

/** Reads the overview of a site. @throws ProblemError `not-found` */
export async function summarizeSite(engine: Engine, name: string, now: number): Promise<SiteSummary> {
  const site = await getSite(engine, name);
  const keys = await listKeys(engine, site);
  const { head, counts } = await engine.readSite(site.ID, async (contents) => contents);
  const { revision } = head;
  const [last] = (revision > 0 && (await engine.readChangesSince(site.ID, revision - 1, { limit: 1 }))) || [];
  return {
    site,
    validKeys: keys.filter(({ endsAt }) => now < endsAt).length,
    keys: keys.length,
    webhooks: (await listWebhooks(engine, site)).length,
    records: Object.fromEntries(
      publicResources(allResources).map(({ name, path }) => [path, counts[name]?.count ?? 0]),
    ),
    revision,
    changed: last && new Date(last.at),
  };
}
