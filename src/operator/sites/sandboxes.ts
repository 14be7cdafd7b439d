// Finds sandboxes among site records, and names them.
//
// A live site's sandbox is the complete site with its ID in `SandboxOf`. There's at most one. While a sandbox is being created or refreshed, there's
// also a reserved site with the same `SandboxOf`.

import { ProblemError } from "../../model/errors.ts";
import { maxSiteNameLength } from "../../resources/site.ts";
import type { SiteRecord } from "../../system/system-records.ts";

/** A sandbox is named after its live site, plus this. */
const suffix = "-sandbox";

/** May be too long for a name. */
export function sandboxName({ Name }: Pick<SiteRecord, "Name">): string {
  return `${Name}${suffix}`;
}

/** Undefined if the live site has no sandbox, or its first one is still being copied. */
export function findSandboxRecord(sites: readonly SiteRecord[], live: Pick<SiteRecord, "ID">): SiteRecord | undefined {
  return sites.find(({ SandboxOf, Importing }) => SandboxOf === String(live.ID) && Importing === "");
}

/** The reserved site, while a live site's sandbox is being created or refreshed. */
export function findReservedSandbox(
  sites: readonly SiteRecord[],
  live: Pick<SiteRecord, "ID">,
): SiteRecord | undefined {
  return sites.find(({ SandboxOf, Importing }) => SandboxOf === String(live.ID) && Importing !== "");
}

/** The ID of the live site, whether given that or its sandbox. */
export function liveIdOf({ ID, SandboxOf }: Pick<SiteRecord, "ID" | "SandboxOf">): number {
  return Number(SandboxOf || ID);
}

/** Keeps the order, but moves each sandbox to just below its live site. */
export function withSandboxesBelow(sites: readonly SiteRecord[]): SiteRecord[] {
  return sites.toSorted((a, b) => liveIdOf(a) - liveIdOf(b) || a.ID - b.ID);
}

/**
 * Finds a site again; undefined if it was removed. A refreshed sandbox has another ID, so it's found through its live site.
 * @param site as it was read earlier
 */
export function presentSiteOf(sites: readonly SiteRecord[], site: SiteRecord): SiteRecord | undefined {
  const { ID, SandboxOf } = site;
  return SandboxOf === "" ? sites.find((one) => one.ID === ID) : findSandboxRecord(sites, { ID: liveIdOf(site) });
}

/** @throws ProblemError `not-found`, or `conflict` while the first one is being copied */
export function requireSandbox(sites: readonly SiteRecord[], live: SiteRecord): SiteRecord {
  const found = findSandboxRecord(sites, live);
  if (found) return found;
  const reserved = findReservedSandbox(sites, live);
  if (reserved) throw sandboxBusyError(reserved, sites);
  const how = `create it with \`site sandbox ${live.Name}\``;
  throw new ProblemError("not-found", `the site \`${live.Name}\` has no sandbox yet; ${how}`);
}

/** A sandbox's live site, or the site itself if it isn't one. A sandbox is removed along with its live site. */
function liveSiteOf(site: SiteRecord, sites: readonly SiteRecord[]): SiteRecord {
  return site.SandboxOf === "" ? site : (sites.find(({ ID }) => ID === liveIdOf(site)) as SiteRecord);
}

/** Since when a site is suspended, or empty. A sandbox is suspended while its live site is. */
export function suspensionOf(site: SiteRecord, sites: readonly SiteRecord[]): string {
  return liveSiteOf(site, sites).Suspended;
}

/** @throws ProblemError `conflict` for a sandbox */
export function requireLive(site: SiteRecord, sites: readonly SiteRecord[]): SiteRecord {
  if (site.SandboxOf === "") return site;
  const how = `to refresh it, run \`site sandbox ${nameOfLiveSite(site, sites)}\``;
  throw new ProblemError("conflict", `\`${site.Name}\` is a sandbox itself; ${how}`);
}

/** @param reserved the site reserved for the copy */
export function sandboxBusyError(reserved: SiteRecord, sites: readonly SiteRecord[]): ProblemError {
  const { Importing: end } = reserved;
  const what = `the sandbox of \`${nameOfLiveSite(reserved, sites)}\` is already being copied`;
  return new ProblemError("conflict", `${what}; if that was interrupted, try again after ${end}`);
}

export function nameOfLiveSite(site: SiteRecord, sites: readonly SiteRecord[]): string {
  return liveSiteOf(site, sites).Name;
}

/**
 * The sandbox that has to follow when a live site is renamed, and its new name. This can be a first copy in progress, which already has the name.
 * @throws ProblemError `conflict` if the name is too long, or another site has it
 */
export function sandboxAfterRename(
  sites: readonly SiteRecord[],
  live: SiteRecord,
  to: string,
): { readonly sandbox: SiteRecord; readonly name: string } | undefined {
  const sandbox = findSandboxRecord(sites, live) ?? findReservedSandbox(sites, live);
  if (!sandbox) return undefined;
  const name = sandboxName({ Name: to });
  const isTooLong = name.length > maxSiteNameLength;
  if (!isTooLong && !isTaken(name, sites, live)) return { sandbox, name };
  const fault = isTooLong ? `is longer than ${maxSiteNameLength} characters` : "is taken";
  const how = `choose another name, or first remove the sandbox with \`site remove ${sandbox.Name} --yes\``;
  throw new ProblemError("conflict", `its sandbox would be called \`${name}\`, which ${fault}; ${how}`);
}

/** @throws ProblemError `conflict` if the name is too long, or another site has it */
export function requireSandboxName(sites: readonly SiteRecord[], live: SiteRecord): string {
  const name = sandboxName(live);
  if (name.length > maxSiteNameLength) {
    const most = maxSiteNameLength - suffix.length;
    const how = `first rename the site to at most ${most} with \`site set ${live.Name} --name NAME\``;
    const limit = `names have at most ${maxSiteNameLength} characters`;
    throw new ProblemError("conflict", `the sandbox would be called \`${name}\`, but ${limit}; ${how}`);
  }
  if (isTaken(name, sites, live)) {
    const fault = `another site is already called \`${name}\``;
    throw new ProblemError("conflict", `${fault}; first rename it with \`site set ${name} --name NAME\``);
  }
  return name;
}

/** By a site other than the sandbox of `live`. */
function isTaken(name: string, sites: readonly SiteRecord[], live: SiteRecord): boolean {
  return sites.some(({ Name, SandboxOf }) => Name === name && SandboxOf !== String(live.ID));
}
