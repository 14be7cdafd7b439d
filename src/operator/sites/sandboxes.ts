// Sandboxes among the records of sites: which site is the sandbox of which, what follows from it, and the names of sandboxes.
//
// The sandbox of a live site is the complete site that has its ID in `SandboxOf`. There is at most one. Another site with the same `SandboxOf` is
// reserved while the sandbox is made or renewed.

import { ProblemError } from "../../model/errors.ts";
import type { SiteRecord } from "../../system/system-records.ts";

/** What the name of a sandbox has after the name of its live site. */
const ending = "-sandbox";
/** Maximum characters of a name (resources/site.ts). */
const maxNameLength = 64;

/** Returns the name that the sandbox of a live site has. It may be too long for a name. */
export function sandboxName({ Name }: Pick<SiteRecord, "Name">): string {
  return `${Name}${ending}`;
}

/** Returns the sandbox of a live site; undefined if it has none, or its first one is still being made. */
export function findSandboxRecord(sites: readonly SiteRecord[], live: Pick<SiteRecord, "ID">): SiteRecord | undefined {
  return sites.find(({ SandboxOf, Importing }) => SandboxOf === String(live.ID) && Importing === "");
}

/** Returns the live site of a sandbox, and any other site itself; undefined if an older program has removed the live site. */
export function liveSiteOf(sites: readonly SiteRecord[], site: SiteRecord): SiteRecord | undefined {
  return site.SandboxOf === "" ? site : sites.find(({ ID }) => String(ID) === site.SandboxOf);
}

/** Returns since when a site is suspended; empty if it is not. A sandbox is also suspended while its live site is. */
export function suspensionOf(site: SiteRecord, sites: readonly SiteRecord[]): string {
  return site.Suspended || (liveSiteOf(sites, site)?.Suspended ?? "");
}

/** Returns `site` if it can have a sandbox. @throws ProblemError `conflict` for a sandbox */
export function requireLive(site: SiteRecord, sites: readonly SiteRecord[]): SiteRecord {
  if (site.SandboxOf === "") return site;
  const how = `to renew it, run \`site sandbox ${nameOfLiveSite(site, sites)}\``;
  throw new ProblemError("conflict", `\`${site.Name}\` is a sandbox, and has none of its own: ${how}`);
}

/** Returns the name of the live site of a sandbox, also if an older program has removed it. */
function nameOfLiveSite(site: SiteRecord, sites: readonly SiteRecord[]): string {
  return liveSiteOf(sites, site)?.Name ?? site.Name.replace(/-sandbox$/, "");
}

/** Returns the name for the sandbox of `live`. @throws ProblemError `conflict` if it is too long, or another site has it */
export function requireSandboxName(sites: readonly SiteRecord[], live: SiteRecord): string {
  const name = sandboxName(live);
  if (name.length > maxNameLength) {
    const most = maxNameLength - ending.length;
    const how = `give the site a name of at most ${most} with \`site set ${live.Name} --name NAME\`, then try again`;
    const limit = `a name has at most ${maxNameLength} characters`;
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
