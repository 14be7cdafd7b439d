// Sandboxes among the records of sites: which site is the sandbox of another site, who may manage it, and the names of sandboxes.
//
// The sandbox of a live site is the complete site that has its ID in `SandboxOf`. There is at most one. Another site with the same `SandboxOf` is
// reserved while the sandbox is made or renewed.

import { ProblemError } from "../../model/errors.ts";
import { maxSiteNameLength } from "../../resources/site.ts";
import type { SiteRecord } from "../../system/system-records.ts";

/** The end of the name of a sandbox, after the name of its live site. */
const ending = "-sandbox";

/** Returns the name that the sandbox of a live site has. It may be too long for a name. */
export function sandboxName({ Name }: Pick<SiteRecord, "Name">): string {
  return `${Name}${ending}`;
}

/** Returns the sandbox of a live site; undefined if it has none, or its first one is still being made. */
export function findSandboxRecord(sites: readonly SiteRecord[], live: Pick<SiteRecord, "ID">): SiteRecord | undefined {
  return sites.find(({ SandboxOf, Importing }) => SandboxOf === String(live.ID) && Importing === "");
}

/** Returns the site that is reserved while the sandbox of a live site is made or renewed; undefined if none is. */
export function findReservedSandbox(
  sites: readonly SiteRecord[],
  live: Pick<SiteRecord, "ID">,
): SiteRecord | undefined {
  return sites.find(({ SandboxOf, Importing }) => SandboxOf === String(live.ID) && Importing !== "");
}

/** Returns the ID of a live site, and for a sandbox the ID of its live site. */
export function liveIdOf({ ID, SandboxOf }: Pick<SiteRecord, "ID" | "SandboxOf">): number {
  return Number(SandboxOf || ID);
}

/** Returns the sites in their order, but each sandbox directly below its live site. */
export function withSandboxesBelow(sites: readonly SiteRecord[]): SiteRecord[] {
  return sites.toSorted((a, b) => liveIdOf(a) - liveIdOf(b) || a.ID - b.ID);
}

/**
 * Returns a site as it is now; undefined if it was removed. A renewed sandbox is another site than before: the sandbox of the same live site.
 * @param site as it was read before
 */
export function presentSiteOf(sites: readonly SiteRecord[], site: SiteRecord): SiteRecord | undefined {
  const { ID, SandboxOf } = site;
  return SandboxOf === "" ? sites.find((one) => one.ID === ID) : findSandboxRecord(sites, { ID: liveIdOf(site) });
}

/** Returns the sandbox of a live site. @throws ProblemError `not-found`, or `conflict` while the first one is being made */
export function requireSandbox(sites: readonly SiteRecord[], live: SiteRecord): SiteRecord {
  const found = findSandboxRecord(sites, live);
  if (found) return found;
  const reserved = findReservedSandbox(sites, live);
  if (reserved) throw beingMadeError(reserved, sites);
  const how = `make it with \`site sandbox ${live.Name}\``;
  throw new ProblemError("not-found", `the site \`${live.Name}\` has no sandbox yet: ${how}`);
}

/** Returns the live site of a sandbox, and any other site itself. A sandbox is removed together with its live site. */
function liveSiteOf(site: SiteRecord, sites: readonly SiteRecord[]): SiteRecord {
  return site.SandboxOf === "" ? site : (sites.find(({ ID }) => ID === liveIdOf(site)) as SiteRecord);
}

/** Returns since when a site is suspended; empty if it is not. A sandbox is suspended while its live site is. */
export function suspensionOf(site: SiteRecord, sites: readonly SiteRecord[]): string {
  return liveSiteOf(site, sites).Suspended;
}

/** Returns `site` if it can have a sandbox. @throws ProblemError `conflict` for a sandbox */
export function requireLive(site: SiteRecord, sites: readonly SiteRecord[]): SiteRecord {
  if (site.SandboxOf === "") return site;
  const how = `to renew it, run \`site sandbox ${nameOfLiveSite(site, sites)}\``;
  throw new ProblemError("conflict", `\`${site.Name}\` is a sandbox, and has none of its own: ${how}`);
}

/** The error while a sandbox is being made or renewed. @param reserved the site that is reserved for it */
export function beingMadeError(reserved: SiteRecord, sites: readonly SiteRecord[]): ProblemError {
  const { Importing: end } = reserved;
  const how = `if that was interrupted, the first command after ${end} removes what is left`;
  const what = `the sandbox of \`${nameOfLiveSite(reserved, sites)}\` is being made`;
  return new ProblemError("conflict", `${what}, and reserved until ${end}; ${how}`);
}

export function nameOfLiveSite(site: SiteRecord, sites: readonly SiteRecord[]): string {
  return liveSiteOf(site, sites).Name;
}

/**
 * Returns the sandbox whose name changes if a live site is renamed (its sandbox, or the first copy that is still being made), and its new name;
 * undefined if the site has no sandbox.
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
  const fault = isTooLong ? `is longer than ${maxSiteNameLength} characters` : "another site has";
  const how = `choose another name, or remove the sandbox first with \`site remove ${sandbox.Name} --yes\``;
  throw new ProblemError("conflict", `its sandbox would be called \`${name}\`, which ${fault}: ${how}`);
}

/** Returns the name for the sandbox of `live`. @throws ProblemError `conflict` if it is too long, or another site has it */
export function requireSandboxName(sites: readonly SiteRecord[], live: SiteRecord): string {
  const name = sandboxName(live);
  if (name.length > maxSiteNameLength) {
    const most = maxSiteNameLength - ending.length;
    const how = `give the site a name of at most ${most} with \`site set ${live.Name} --name NAME\`, then try again`;
    const limit = `a name has at most ${maxSiteNameLength} characters`;
    throw new ProblemError("conflict", `the sandbox would be called \`${name}\`, and ${limit}: ${how}`);
  }
  if (isTaken(name, sites, live)) {
    const how = `rename it with \`site set ${name} --name NAME\`, then try again`;
    const fault = `the site \`${name}\` exists already, and is not the sandbox of \`${live.Name}\``;
    throw new ProblemError("conflict", `${fault}: ${how}`);
  }
  return name;
}

/** Whether a site that is not a sandbox of `live` has the name. */
function isTaken(name: string, sites: readonly SiteRecord[], live: SiteRecord): boolean {
  return sites.some(({ Name, SandboxOf }) => Name === name && SandboxOf !== String(live.ID));
}
