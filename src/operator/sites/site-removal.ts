// Removes sites, and completes removals and imports that were interrupted.

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
 * Removes a site with its sandbox, and with their keys, webhooks, records and journals. Their IDs are never used again. As soon as the record of the
 * site is deleted, nobody can use the site.
 * If deleting the rest is interrupted, `completeRemovals` continues.
 * @throws ProblemError `not-found`, or `unavailable` if deleting the rest failed
 */
export function removeSite(engine: Engine, name: string, now: number): Promise<SiteRecord> {
  return remove(engine, (sites) => requireSite(sites, name), now);
}

/** Removes a site that is still being imported, or made as a sandbox. @throws ProblemError as `removeSite`; `not-found` also if the site is complete */
export function removeIncompleteSite(engine: Engine, id: number, now: number): Promise<SiteRecord> {
  return remove(engine, (sites) => requireIncompleteSite(sites, id), now);
}

/**
 * Removes the sites whose import or copy was interrupted, and completes removals that were interrupted. If one cannot be completed now, the next call tries again. Returns a sentence about each site.
 */
export async function completeRemovals(engine: Engine, now: number): Promise<readonly string[]> {
  const done: string[] = [];
  const sites = await listSites(engine);
  for (const site of sites.filter((one) => isAbandoned(one, now)))
    done.push(...(await removeAbandoned(engine, site.ID, describeAbandoned(site, sites), now)));
  for (const site of await engine.readSitesToDrop()) done.push(await finishRemoval(engine, site));
  return done;
}

/** Completes a removal. Returns a sentence even if it fails, because a command that only reads must work on a full disk. */
async function finishRemoval(engine: Engine, site: number): Promise<string> {
  try {
    await engine.dropSite(site);
    return `finished the interrupted removal of site ${site}`;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return `the interrupted removal of site ${site} could not be finished: ${error.message}`;
  }
}

/** Whether the import or copy of a site was interrupted, so that no process renews the reservation. */
function isAbandoned({ Importing }: SiteRecord, now: number): boolean {
  return Importing !== "" && Date.parse(Importing) <= now;
}

/** Returns what an abandoned site is, as the object of a sentence. */
function describeAbandoned(site: SiteRecord, sites: readonly SiteRecord[]): string {
  if (site.SandboxOf !== "") return `what an interrupted \`site sandbox ${nameOfLiveSite(site, sites)}\` has left`;
  return `the site ${site.Name}, whose import was interrupted`;
}

/** Returns a sentence about the removal, also if it fails, for example on a full disk; none if another process has removed the site. */
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
      : [`could not remove ${what}: ${error.message}; the next command tries again`];
  }
}

function requireIncompleteSite(sites: readonly SiteRecord[], id: number): SiteRecord {
  const site = sites.find((one) => one.ID === id && one.Importing !== "");
  if (!site) throw new ProblemError("not-found", "the site was removed, or is complete");
  return site;
}

/** Returns the sites that are removed with `site`, in the order of their removal: `site` is the last. */
function targetsOf(sites: readonly SiteRecord[], site: SiteRecord): SiteRecord[] {
  const { SandboxOf, Importing } = site;
  // The copy that is still being made leaves the present sandbox as it is. Without the present sandbox, nobody wants the copy.
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
    targets = targetsOf(sites, pick(sites));
    return targets.flatMap(({ ID }) => [
      ...toDeleteOwnedRecords(system, ID, now),
      toDeleteIntent(siteResource, ID, now),
    ]);
  });
  try {
    for (const { ID } of targets) await engine.dropSite(ID);
  } catch (error) {
    const why = errorMessage(error);
    throw new ProblemError(
      "unavailable",
      `the site \`${removed.Name}\` is out of use, but not all of its data is deleted yet: ${why}; the next command continues`,
      { cause: error },
    );
  }
  return removed;
}

/** Returns the intents to delete the keys and webhooks of a site. */
function toDeleteOwnedRecords(system: SystemRecords, site: number, now: number): Intent[] {
  const isOwn = ({ Site }: KeyRecord | WebhookRecord) => Number(Site) === site;
  return [
    ...system.keys.filter(isOwn).map(({ ID }) => toDeleteIntent(keyResource, ID, now)),
    ...system.webhooks.filter(isOwn).map(({ ID }) => toDeleteIntent(webhookResource, ID, now)),
  ];
}
