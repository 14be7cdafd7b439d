// Removes sites, and cleans up after removals, imports and copies that were interrupted.

import { errorMessage } from "../../lib/errors-for-log.ts";
import type { Intent } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { toDeleteIntent } from "../../system/system-changes.ts";
import type { KeyRecord, SiteRecord, SystemRecords, WebhookRecord } from "../../system/system-records.ts";
import { liveIdOf, nameOfLiveSite } from "./sandboxes.ts";
import { listSites, requireSite, updateSites } from "./sites.ts";

/**
 * Removes a site and its sandbox with all their keys, webhooks, records and journals. Their IDs are never reused. Deleting the site's record makes it
 * unusable. If deleting the rest is interrupted, `completeRemovals` continues.
 * @throws ProblemError `not-found`, or `unavailable` if deleting the rest failed
 */
export function removeSite(engine: Engine, name: string, now: number): Promise<SiteRecord> {
  return remove(engine, (sites) => requireSite(sites, name), now);
}

/** Removes a site that's still being imported or copied. @throws ProblemError like `removeSite`; also `not-found` if the site is complete */
export function removeIncompleteSite(engine: Engine, id: number, now: number): Promise<SiteRecord> {
  return remove(engine, (sites) => requireIncompleteSite(sites, id), now);
}

/**
 * Removes sites whose import or copy was interrupted, and continues interrupted removals. What fails is tried again by the next call.
 * @returns a message about each site
 */
export async function completeRemovals(engine: Engine, now: number): Promise<readonly string[]> {
  const done: string[] = [];
  const sites = await listSites(engine);
  for (const site of sites.filter((one) => isAbandoned(one, now)))
    done.push(...(await removeAbandoned(engine, site.ID, describeAbandoned(site, sites), now)));
  for (const site of await engine.readSitesToDrop()) done.push(await finishRemoval(engine, site));
  return done;
}

/** Returns a message even if it fails, because commands that only read must work on a full disk. */
async function finishRemoval(engine: Engine, site: number): Promise<string> {
  try {
    await engine.dropSite(site);
    return `finished the interrupted removal of site ${site}`;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return `couldn't finish the interrupted removal of site ${site}: ${error.message}`;
  }
}

/** Whether the site's import or copy was interrupted, so the reservation is no longer renewed. */
function isAbandoned({ Importing }: SiteRecord, now: number): boolean {
  return Importing !== "" && Date.parse(Importing) <= now;
}

/** Completes "removed …". */
function describeAbandoned(site: SiteRecord, sites: readonly SiteRecord[]): string {
  if (site.SandboxOf !== "")
    return `the partial copy of an interrupted \`site sandbox ${nameOfLiveSite(site, sites)}\``;
  return `the site ${site.Name}, whose import was interrupted`;
}

/** Returns a message even if the removal fails, for example on a full disk; none if another process was faster. */
async function removeAbandoned(engine: Engine, id: number, what: string, now: number): Promise<readonly string[]> {
  const pick = (sites: readonly SiteRecord[]) => {
    const site = sites.find((one) => one.ID === id && isAbandoned(one, now));
    if (!site) throw new ProblemError("not-found", "the site was removed, or is in use");
    return site;
  };
  try {
    await remove(engine, pick, now);
    return [`removed ${what}`];
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return error.code === "not-found"
      ? []
      : [`couldn't remove ${what}: ${error.message}; the next command you run will try again`];
  }
}

function requireIncompleteSite(sites: readonly SiteRecord[], id: number): SiteRecord {
  const site = sites.find((one) => one.ID === id && one.Importing !== "");
  if (!site) throw new ProblemError("not-found", "the site was removed, or is complete");
  return site;
}

/** What to commit to remove a site and its sandbox. Afterwards, `completeRemovals` deletes the rest. */
export function toRemovalIntents(system: SystemRecords, site: SiteRecord, now: number): Intent[] {
  return targetsOf(system.sites, site).flatMap(({ ID }) => [
    ...toDeleteOwnedRecords(system, ID, now),
    toDeleteIntent(siteResource, ID, now),
  ]);
}

/** The sites to remove with `site`, which is the last. */
function targetsOf(sites: readonly SiteRecord[], site: SiteRecord): SiteRecord[] {
  const { SandboxOf, Importing } = site;
  // Removing a copy in progress leaves the current sandbox alone. Removing the sandbox includes a copy in progress.
  if (SandboxOf !== "" && Importing !== "") return [site];
  const live = liveIdOf(site);
  return [...sites.filter((other) => other.SandboxOf === String(live) && other.ID !== site.ID), site];
}

async function remove(
  engine: Engine,
  pick: (sites: readonly SiteRecord[]) => SiteRecord,
  now: number,
): Promise<SiteRecord> {
  let targets: readonly SiteRecord[] = [];
  const removed = await updateSites(engine, (sites, system) => {
    const site = pick(sites);
    targets = targetsOf(sites, site);
    return toRemovalIntents(system, site, now);
  });
  try {
    for (const { ID } of targets) await engine.dropSite(ID);
  } catch (error) {
    const why = errorMessage(error);
    throw new ProblemError(
      "unavailable",
      `the site \`${removed.Name}\` is no longer served, but its data isn't all deleted yet (${why}); the next command you run will finish that`,
      { cause: error },
    );
  }
  return removed;
}

/** Deletes a site's keys and webhooks. */
function toDeleteOwnedRecords(system: SystemRecords, site: number, now: number): Intent[] {
  const isOwn = ({ Site }: KeyRecord | WebhookRecord) => Number(Site) === site;
  return [
    ...system.keys.filter(isOwn).map(({ ID }) => toDeleteIntent(keyResource, ID, now)),
    ...system.webhooks.filter(isOwn).map(({ ID }) => toDeleteIntent(webhookResource, ID, now)),
  ];
}
