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
import { listSites, requireSite, updateSites } from "./sites.ts";

/**
 * Removes a site with its keys, webhooks, records and journal. Its ID is never used again. As soon as its record is deleted, nobody can use the site.
 * If deleting the rest is interrupted, `completeRemovals` continues.
 * @throws ProblemError `not-found`, or `unavailable` if deleting the rest failed
 */
export function removeSite(engine: Engine, name: string, now: number): Promise<SiteRecord> {
  return remove(engine, (sites) => requireSite(sites, name), now);
}

/** Removes a site that is still being imported. @throws ProblemError as `removeSite`; `not-found` also if the import is complete */
export function removeImport(engine: Engine, id: number, now: number): Promise<SiteRecord> {
  return remove(engine, (sites) => requireImport(sites, id), now);
}

/**
 * Removes the sites whose import was interrupted, and completes removals that were interrupted. If one cannot be completed now, the next call tries
 * again. Returns a sentence about each site.
 */
export async function completeRemovals(engine: Engine, now: number): Promise<readonly string[]> {
  const done: string[] = [];
  for (const { ID, Name } of (await listSites(engine)).filter((site) => isReservationExpired(site, now))) {
    const isRemoved = await removeAbandoned(engine, ID, now);
    if (isRemoved) done.push(`removed the site ${Name}, whose import was interrupted`);
  }
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

/** Whether the import of the site was interrupted: its process no longer renews the reservation. */
function isReservationExpired({ Importing }: SiteRecord, now: number): boolean {
  return Importing !== "" && Date.parse(Importing) <= now;
}

async function removeAbandoned(engine: Engine, id: number, now: number): Promise<boolean> {
  const pick = (sites: readonly SiteRecord[]) => {
    const site = requireImport(sites, id);
    if (!isReservationExpired(site, now)) throw new ProblemError("not-found", "its import is still running");
    return site;
  };
  try {
    await remove(engine, pick, now);
    return true;
  } catch (error) {
    // Another process has removed the site, or this database cannot be written.
    if (error instanceof ProblemError) return false;
    throw error;
  }
}

function requireImport(sites: readonly SiteRecord[], id: number): SiteRecord {
  const site = sites.find((one) => one.ID === id && one.Importing !== "");
  if (!site) throw new ProblemError("not-found", "the site was removed, or its import is complete");
  return site;
}

async function remove(
  engine: Engine,
  pick: (sites: readonly SiteRecord[]) => SiteRecord,
  now: number,
): Promise<SiteRecord> {
  const removed = await updateSites(engine, (sites, system) => {
    const site = pick(sites);
    return [...toDeleteOwnedRecords(system, site.ID, now), toDeleteIntent(siteResource, site.ID, now)];
  });
  try {
    await engine.dropSite(removed.ID);
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
