// Creates and refreshes a site's sandbox, which is a separate site with a copy of its records.
//
// 1. Reserve a site: its record has `SandboxOf`, and the time until which this process may fill it, as with `import-site`.
// 2. Copy the records to it (copy-records.ts), and the webhook states of the old sandbox, if there is one (sandbox-webhooks.ts). Until the next step,
//    the old sandbox is served as usual.
// 3. Publish the site. One commit completes its record, moves the old sandbox's keys and webhooks to it, and deletes the old sandbox's record. So a
//    request sees all of the refresh or nothing. The sandbox gets a new epoch.
// 4. Delete the old sandbox's rows.
//
// If step 1 or 2 is interrupted, the first command after the reservation expires removes the reserved site. If step 4 is interrupted, the next command
// continues it (`completeRemovals`).

import { errorMessage } from "../../lib/errors-for-log.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { toDeclaredJson } from "../../model/record.ts";
import { systemSite } from "../../model/system-site.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { commitSystemChanges, toCreateIntent, toDeleteIntent, toUpdateIntent } from "../../system/system-changes.ts";
import type { SiteRecord, SystemRecords } from "../../system/system-records.ts";
import {
  findReservedSandbox,
  findSandboxRecord,
  requireLive,
  requireSandboxName,
  sandboxBusyError,
} from "../sites/sandboxes.ts";
import { completeRemovals, removeIncompleteSite } from "../sites/site-removal.ts";
import { reservedUntil, runWhileReserved } from "../sites/site-reservation.ts";
import { listSites, requireCompleteSite, requireUnusedNames, updateSites } from "../sites/sites.ts";
import { listWebhooks } from "../webhooks/webhook-list.ts";
import { copyRecords } from "./copy-records.ts";
import { carryLateChanges, carryWebhooks } from "./sandbox-webhooks.ts";

export interface MadeSandbox {
  readonly site: SiteRecord;
  readonly live: SiteRecord;
  /** Whether it's the site's first sandbox. */
  readonly isNew: boolean;
  /** Records copied. */
  readonly records: number;
  readonly keys: number;
  readonly webhooks: number;
  /** Why the old sandbox's records aren't all deleted yet; undefined if they are. */
  readonly leftover: string | undefined;
}

interface MakeSandboxOptions {
  /** Stops the copy. The old sandbox stays as it was. */
  readonly signal?: AbortSignal;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  /** Cleans up after a failure, by default `engine`. Needed if `engine` rejects commits once its operator has lost the right to make them. */
  readonly removalEngine?: Engine;
  /** Called with the number of records copied so far. */
  readonly onRecords?: (count: number) => void;
}

/**
 * Creates the sandbox of the live site `name`, or replaces it with a fresh, consistent copy of the records that has another ID and a new epoch. Its
 * keys and webhooks stay. Servers can keep running.
 * @throws ProblemError `not-found` for an unknown site; `conflict` if the site is a sandbox or incomplete, its sandbox is already being copied, the
 * sandbox's name is taken or too long, either site was removed during the copy, or `signal` has stopped it. The old sandbox is then as before
 */
export async function makeSandbox(engine: Engine, name: string, options: MakeSandboxOptions): Promise<MadeSandbox> {
  const { now } = options;
  // Commands do this when they open the database, but servers don't.
  await completeRemovals(engine, now());
  const sites = await listSites(engine);
  const live = requireLive(requireCompleteSite(sites, name), sites);
  const copy = await reserveCopy(engine, live, now());
  try {
    return await runWhileReserved(engine, copy.id, now, () => fillAndPublish(engine, copy, options));
  } catch (error) {
    // Once published, the site isn't reserved, so this doesn't remove it. If it fails, `completeRemovals` removes the site later.
    await removeIncompleteSite(options.removalEngine ?? engine, copy.id, now()).catch(() => {});
    throw error;
  }
}

/** A copy that isn't published yet. */
interface Copy {
  /** The reserved site. */
  readonly id: number;
  readonly live: SiteRecord;
  /** The sandbox to replace; undefined for the first one. */
  readonly former: SiteRecord | undefined;
}

/**
 * Reserves a site for the copy. The first one gets the sandbox's name right away, so that nobody else can take it.
 * @throws ProblemError `not-found` if the live site was removed; `conflict` if another copy is in progress, or the name is taken or too long
 */
async function reserveCopy(engine: Engine, { ID, Name }: SiteRecord, now: number): Promise<Copy> {
  let known: Omit<Copy, "id"> | undefined;
  const { ID: id } = await updateSites(engine, (sites, { nextSiteId }) => {
    const live = sites.find((site) => site.ID === ID);
    if (!live) throw new ProblemError("not-found", `the site \`${Name}\` was removed`);
    const reserved = findReservedSandbox(sites, live);
    if (reserved) throw sandboxBusyError(reserved, sites);
    const name = requireSandboxName(sites, live);
    const former = findSandboxRecord(sites, live);
    const ownName = former ? `sandbox-of-${ID}-being-made` : name;
    if (former) requireUnusedNames(sites, undefined, { Name: ownName });
    known = { live, former };
    const values = { Name: ownName, SandboxOf: String(ID), Importing: reservedUntil(now) };
    return [toCreateIntent(siteResource, values, now, nextSiteId)];
  });
  return { ...(known as Omit<Copy, "id">), id };
}

async function fillAndPublish(engine: Engine, copy: Copy, options: MakeSandboxOptions): Promise<MadeSandbox> {
  const { id, live, former } = copy;
  const { signal, now, onRecords } = options;
  const [system, own] = await readHeads(engine, id);
  const { end, count: records } = await copyRecords(engine, {
    from: live.ID,
    to: id,
    epoch: own.epoch,
    signal,
    now,
    onRecords,
  });
  if (end === "stopped") {
    const rest = former ? `the sandbox of \`${live.Name}\` is as it was` : "nothing was kept";
    throw new ProblemError("conflict", `the copy was stopped; ${rest}`);
  }
  if (end === "removed") throw lostError(live, await listSites(engine));
  const move = former && { from: former.ID, to: id };
  const formerWebhooks = former ? (await listWebhooks(engine, former)).map(({ ID }) => ID) : [];
  const carried = move && (await carryWebhooks(engine, formerWebhooks, move));
  // A restore gives the reserved site another epoch, and a failover can lose the last batches.
  const [systemNow, ownNow] = await readHeads(engine, id);
  const isSameEpoch = ownNow.epoch === own.epoch && systemNow.epoch === system.epoch;
  if (!isSameEpoch || ownNow.revision !== records) throw lostError(live, await listSites(engine));
  const { webhooks, ...published } = await publish(engine, copy, system.epoch, now());
  let leftover: string | undefined;
  try {
    if (move && carried) {
      await carryLateChanges(engine, webhooks, move, carried);
      await engine.dropSite(former.ID);
    }
  } catch (error) {
    leftover = `its old records aren't all deleted yet (${errorMessage(error)}); the next command you run will finish that`;
  }
  return { ...published, webhooks: webhooks.length, leftover, isNew: former === undefined, records };
}

/** The heads of the system site and the reserved site. */
async function readHeads(engine: Engine, id: number): Promise<[Head, Head]> {
  return (await engine.readHeads([systemSite, id])) as [Head, Head];
}

/**
 * The order of the changes matters: every prefix is consistent, because a server may apply many changes in several steps.
 * @param systemEpoch the system site's epoch before the copy, so that nothing is published if the database has been restored since
 */
async function publish(engine: Engine, copy: Copy, systemEpoch: string, now: number) {
  let live = copy.live;
  let [keys, webhooks]: [readonly number[], readonly number[]] = [[], []];
  const bodies = await commitSystemChanges(engine, (system) => {
    const { sites } = system;
    const present = sites.find(({ ID }) => ID === copy.live.ID);
    const isReserved = sites.some(
      ({ ID, SandboxOf, Importing }) => ID === copy.id && SandboxOf === String(copy.live.ID) && Importing !== "",
    );
    if (!present || !isReserved) throw lostError(copy.live, sites);
    live = present;
    const former = findSandboxRecord(sites, live);
    keys = former ? idsOf(system.keys, former) : [];
    webhooks = former ? idsOf(system.webhooks, former) : [];
    const Site = String(copy.id);
    const values = { Name: requireSandboxName(sites, live), Importing: "" };
    return [
      toUpdateIntent(siteResource, copy.id, values, now),
      ...keys.map((id) => toUpdateIntent(keyResource, id, { Site }, now)),
      ...webhooks.map((id) => toUpdateIntent(webhookResource, id, { Site }, now)),
      ...(former ? [toDeleteIntent(siteResource, former.ID, now)] : []),
    ].map((intent) => ({ ...intent, ifSystemEpoch: systemEpoch }));
  });
  const site: SiteRecord = JSON.parse(toDeclaredJson(siteResource, bodies[0] as string));
  return { site, live, keys: keys.length, webhooks };
}

function idsOf(records: SystemRecords["keys"] | SystemRecords["webhooks"], site: SiteRecord): readonly number[] {
  return records.filter(({ Site }) => Number(Site) === site.ID).map(({ ID }) => ID);
}

/** For a copy that can't go on because one of its sites was removed, or the database was replaced or lost its rows. */
function lostError({ ID, Name }: SiteRecord, sites: readonly SiteRecord[]): ProblemError {
  const present = sites.find((site) => site.ID === ID);
  const lost = present
    ? `the sandbox of \`${present.Name}\` was removed during the copy, or the database was restored or renewed`
    : `the site \`${Name}\` was removed during the copy`;
  return new ProblemError("conflict", `${lost}; nothing was kept`);
}
