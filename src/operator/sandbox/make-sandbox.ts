// Makes and renews the sandbox of a site: a copy of its records, as a site of its own.
//
// 1. A site is reserved: its record has `SandboxOf`, and the time until which this process may fill it, as during `import-site`.
// 2. The records are copied to it (copy-records.ts), and the states of the webhooks of the former sandbox (sandbox-webhooks.ts). Until the publication,
//    the former sandbox is served without a change.
// 3. One commit publishes the site. It completes the record of the site, moves the keys and webhooks of the former sandbox, and
//    deletes the record of the former sandbox. So a request sees the renewal completely or not at all, and the sandbox has a new epoch.
// 4. The rows of the former sandbox are deleted.
//
// If step 1 or 2 is interrupted, the first command after the reservation removes the reserved site. If step 4 is interrupted, the next command
// continues (`completeRemovals`).

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
  beingMadeError,
  findReservedSandbox,
  findSandboxRecord,
  requireLive,
  requireSandboxName,
} from "../sites/sandboxes.ts";
import { completeRemovals, removeIncompleteSite } from "../sites/site-removal.ts";
import { reservedUntil, runWhileReserved } from "../sites/site-reservation.ts";
import { listSites, requireCompleteSite, requireUnusedNames, updateSites } from "../sites/sites.ts";
import { listWebhooks } from "../webhooks/webhook-list.ts";
import { copyRecords } from "./copy-records.ts";
import { carryLateChanges, carryWebhooks } from "./sandbox-webhooks.ts";

/** A sandbox that was made or renewed. */
export interface MadeSandbox {
  readonly site: SiteRecord;
  readonly live: SiteRecord;
  /** Whether the site had no sandbox before. */
  readonly isNew: boolean;
  /** The number of copied records. */
  readonly records: number;
  readonly keys: number;
  readonly webhooks: number;
  /** Why the records of the former sandbox are not all deleted yet; undefined if they are. */
  readonly leftover: string | undefined;
}

interface MakeSandboxOptions {
  /** Stops the work. The former sandbox stays as it was. */
  readonly signal?: AbortSignal;
  /** Returns the present time in milliseconds since 1970. */
  readonly now: () => number;
  /** Removes the copy after a failure; by default, `engine` does. For an engine that rejects commits when its operator loses the right to make them. */
  readonly removalEngine?: Engine;
  /** Gets the number of records that are copied so far. */
  readonly onRecords?: (count: number) => void;
}

/**
 * Makes the sandbox of the live site `name`, or renews it: replaces it by a new copy of the records, as of one moment, with another ID and a new epoch.
 * Its keys and webhooks stay. Servers may run meanwhile.
 * @throws ProblemError `not-found` for an unknown site; `conflict` if the site is a sandbox or incomplete, its sandbox is being made, the name of the
 * sandbox is taken or too long, the site or its sandbox was removed meanwhile, or `signal` has stopped the work. Then the former sandbox is as before
 */
export async function makeSandbox(engine: Engine, name: string, options: MakeSandboxOptions): Promise<MadeSandbox> {
  const { now } = options;
  // Commands do this when they open the database. A server does it here.
  await completeRemovals(engine, now());
  const sites = await listSites(engine);
  const live = requireLive(requireCompleteSite(sites, name), sites);
  const copy = await reserveCopy(engine, live, now());
  try {
    return await runWhileReserved(engine, copy.id, now, () => fillAndPublish(engine, copy, options));
  } catch (error) {
    // A published site is not reserved, so it stays. If the reserved site cannot be removed now, `completeRemovals` does so later.
    await removeIncompleteSite(options.removalEngine ?? engine, copy.id, now()).catch(() => {});
    throw error;
  }
}

/** A copy of a live site that is not published yet. */
interface Copy {
  /** The ID of its reserved site. */
  readonly id: number;
  readonly live: SiteRecord;
  /** The sandbox that it replaces; undefined for the first one. */
  readonly former: SiteRecord | undefined;
}

/**
 * Reserves a site for the copy. The site of the first copy has the name of the sandbox at once, so that the name is taken.
 * @throws ProblemError `not-found` if the live site was removed; `conflict` if another copy is being made, or the name is taken or too long
 */
async function reserveCopy(engine: Engine, { ID, Name }: SiteRecord, now: number): Promise<Copy> {
  let known: Omit<Copy, "id"> | undefined;
  const { ID: id } = await updateSites(engine, (sites, { nextSiteId }) => {
    const live = sites.find((site) => site.ID === ID);
    if (!live) throw new ProblemError("not-found", `the site \`${Name}\` was removed`);
    const reserved = findReservedSandbox(sites, live);
    if (reserved) throw beingMadeError(reserved, sites);
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
    const rest = former ? `the sandbox of \`${live.Name}\` is as before` : "nothing of the sandbox is left";
    throw new ProblemError("conflict", `it was stopped: ${rest}`);
  }
  if (end === "removed") throw lostError(live, await listSites(engine));
  const move = former && { from: former.ID, to: id };
  const formerWebhooks = former ? (await listWebhooks(engine, former)).map(({ ID }) => ID) : [];
  const carried = move && (await carryWebhooks(engine, formerWebhooks, move));
  // After a restore, the reserved site has another epoch. After a failover, the last batches may be missing.
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
    leftover = `its former records are not all deleted yet: ${errorMessage(error)}; the next command continues`;
  }
  return { ...published, webhooks: webhooks.length, leftover, isNew: former === undefined, records };
}

/** Returns the heads of the system site and of a reserved site. */
async function readHeads(engine: Engine, id: number): Promise<[Head, Head]> {
  return (await engine.readHeads([systemSite, id])) as [Head, Head];
}

/**
 * Commits the publication. Each prefix of the changes is consistent, because a server may apply many changes in several steps.
 * @param systemEpoch the epoch of the system site before the copy: nothing is published if the database was restored since
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

/** Returns the IDs of the keys or webhooks of a site. */
function idsOf(records: SystemRecords["keys"] | SystemRecords["webhooks"], site: SiteRecord): readonly number[] {
  return records.filter(({ Site }) => Number(Site) === site.ID).map(({ ID }) => ID);
}

/** Returns the error for a copy that cannot continue, because a site of it was removed, or the database replaced or lost its rows. */
function lostError({ ID, Name }: SiteRecord, sites: readonly SiteRecord[]): ProblemError {
  const present = sites.find((site) => site.ID === ID);
  const lost = present
    ? `the sandbox of \`${present.Name}\` was removed while it was made, or the database was restored or renewed`
    : `the site \`${Name}\` was removed while its sandbox was made`;
  return new ProblemError("conflict", `${lost}; nothing of the copy is left`);
}
