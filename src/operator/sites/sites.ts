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
import { nameOfLiveSite, sandboxAfterRename, sandboxBusyError, suspensionOf } from "./sandboxes.ts";

interface SiteSettings {
  readonly name?: string | undefined;
  /** Replaces all hostnames. */
  readonly hostnames?: readonly string[] | undefined;
  readonly addedHostnames?: readonly string[] | undefined;
  readonly removedHostnames?: readonly string[] | undefined;
  readonly isDefault?: boolean | undefined;
  /** Whether servers reject all requests to the site. */
  readonly isSuspended?: boolean | undefined;
  /** Whether API keys with the right can manage its webhooks. */
  readonly allowsWebhooksByKey?: boolean | undefined;
}

export class UnknownSiteError extends ProblemError {
  constructor(name: string, hint?: string) {
    super("not-found", `unknown site \`${name}\`${hint ? `: ${hint}` : ""}`);
  }
}

/** For a name or hostname that another site has. The message says which. */
export class TakenNameError extends ProblemError {
  constructor(message: string) {
    super("conflict", message);
  }
}

/** Includes incomplete sites. */
export async function listSites(engine: Engine): Promise<readonly SiteRecord[]> {
  return (await readSystemRecords(engine)).sites;
}

/** @throws ProblemError `not-found` that suggests the most similar name, or `conflict` while the site is incomplete */
export async function getSite(engine: Engine, name: string): Promise<SiteRecord> {
  return requireCompleteSite(await listSites(engine), name);
}

/** Like `getSite`, if the sites have already been read. */
export function requireCompleteSite(sites: readonly SiteRecord[], name: string): SiteRecord {
  return requireComplete(requireSite(sites, name), sites);
}

/** @throws ProblemError `invalid-record`, or `conflict` if the name or a hostname is taken */
export function createSite(engine: Engine, name: string, settings: SiteSettings, now: number): Promise<SiteRecord> {
  return updateSites(engine, (sites) => {
    const values = toSiteValues({ ...settings, name }, undefined, now);
    requireUnusedNames(sites, undefined, values);
    return [...toUnsetDefaultIntents(sites, undefined, settings, now), toCreateIntent(siteResource, values, now)];
  });
}

/**
 * Takes effect with the next request. Renaming a site renames its sandbox too.
 * @throws ProblemError like `createSite`, `not-found` for an unknown site or an unknown hostname to remove, or `conflict` for a sandbox
 */
export function setSite(engine: Engine, name: string, settings: SiteSettings, now: number): Promise<SiteRecord> {
  return updateSites(engine, (sites) => {
    const site = requireChangeableSite(sites, name);
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

/** Commits what `decide` returns, and returns the site, which the last intent must be for. */
export async function updateSites(
  engine: Engine,
  decide: (sites: readonly SiteRecord[], system: SystemRecords) => readonly Intent[],
): Promise<SiteRecord> {
  const bodies = await commitSystemChanges(engine, (system) => decide(system.sites, system));
  return JSON.parse(toDeclaredJson(siteResource, bodies.at(-1) as string));
}

/** A sandbox has no settings of its own. @throws ProblemError `not-found`, or `conflict` for a sandbox or an incomplete site */
export function requireChangeableSite(sites: readonly SiteRecord[], name: string): SiteRecord {
  const site = requireCompleteSite(sites, name);
  if (site.SandboxOf === "") return site;
  const live = nameOfLiveSite(site, sites);
  throw new ProblemError(
    "conflict",
    `\`${site.Name}\` is a sandbox, which has the settings of its site; change \`${live}\` instead`,
  );
}

/** @throws ProblemError `conflict` while the site is being imported or copied */
function requireComplete(site: SiteRecord, sites: readonly SiteRecord[]): SiteRecord {
  if (!site.Importing) return site;
  throw incompleteError(site, sites);
}

function incompleteError(site: SiteRecord, sites: readonly SiteRecord[]): ProblemError {
  if (site.SandboxOf !== "") return sandboxBusyError(site, sites);
  const { Name, Importing: end } = site;
  const how = `if the import was interrupted, the first command after ${end} will remove the site`;
  return new ProblemError("conflict", `the site \`${Name}\` is still being imported; ${how}`);
}

/** @throws ProblemError `not-found` that suggests the most similar name */
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

/** The values that change. @param site undefined for a new site */
export function toSiteValues(settings: SiteSettings, site: SiteRecord | undefined, now: number): Values {
  const { name, isDefault, isSuspended, allowsWebhooksByKey } = settings;
  const hostnames = hostnamesAfter(settings, site);
  return {
    ...(name === undefined ? {} : { Name: name }),
    ...(hostnames === undefined ? {} : { Hostnames: hostnames }),
    ...(isDefault === undefined ? {} : { Default: isDefault ? "yes" : "" }),
    ...(isSuspended === undefined ? {} : { Suspended: isSuspended ? site?.Suspended || toInstant(now) : "" }),
    ...(allowsWebhooksByKey === undefined ? {} : { KeyWebhooks: allowsWebhooksByKey ? "" : "no" }),
  };
}

/** Undefined if `settings` doesn't change them. */
function hostnamesAfter(
  { hostnames, addedHostnames = [], removedHostnames = [] }: SiteSettings,
  site: SiteRecord | undefined,
): string | undefined {
  if (!hostnames && addedHostnames.length + removedHostnames.length === 0) return undefined;
  const present = hostnames?.map(parseHostname) ?? (site ? toSite(site).hostnames : []);
  const after = new Set([...present, ...addedHostnames.map(parseHostname)]);
  for (const removed of removedHostnames.map(parseHostname)) {
    if (after.delete(removed)) continue;
    throw new ProblemError("not-found", `the site \`${site?.Name}\` doesn't have the hostname \`${removed}\``);
  }
  return [...after].join(" ");
}

/** @param own the site that's being changed @throws TakenNameError */
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
        other.Importing ? incompleteError(other, sites).message : `the site \`${other.Name}\` already exists`,
      );
    const hosts = wantedHosts.length === 0 ? [] : toSite(other).hostnames;
    const taken = wantedHosts.find((host) => hosts.includes(host));
    if (taken) throw new TakenNameError(`the hostname \`${taken}\` already belongs to the site \`${other.Name}\``);
  }
}

/** If `settings` make this the default site, the current one no longer is, because there's at most one. */
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

interface SiteSummary {
  readonly site: SiteRecord;
  readonly validKeys: number;
  /** Including revoked and expired ones. */
  readonly keys: number;
  readonly webhooks: number;
  /** Counts by resource path. */
  readonly records: Readonly<Record<string, number>>;
  /** How many changes there have been. */
  readonly revision: number;
  /** When the last change was made; undefined if there hasn't been any, or it was pruned. */
  readonly changed: Date | undefined;
}

/**
 * The JSON that commands print and the console's API returns.
 * @param sites must include the live site of a sandbox
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
    keyWebhooks: (sites.find(({ ID }) => String(ID) === SandboxOf) ?? site).KeyWebhooks !== "no",
  };
}

/** @throws ProblemError `not-found` */
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
