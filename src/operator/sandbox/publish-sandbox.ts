// Publishes a complete copy as the sandbox of its site, in one commit, and deletes the rows of the former sandbox.

import { errorMessage } from "../../lib/errors-for-log.ts";
import type { Engine } from "../../model/engine.ts";
import { toDeclaredJson } from "../../model/record.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { commitSystemChanges, toDeleteIntent, toUpdateIntent } from "../../system/system-changes.ts";
import type { SiteRecord, SystemRecords } from "../../system/system-records.ts";
import { findSandboxRecord, requireSandboxName } from "../sites/sandboxes.ts";
import { listWebhooks } from "../webhooks/webhook-list.ts";
import {
  type CopyHeads,
  findReserved,
  lostCopyError,
  lostError,
  readCopyHeads,
  type SandboxCopy,
} from "./sandbox-copy.ts";
import { carryLateChanges, carryWebhooks } from "./sandbox-webhooks.ts";

interface PublishedSandbox {
  readonly site: SiteRecord;
  readonly live: SiteRecord;
  readonly keys: number;
  readonly webhooks: number;
  /** Why the rows of the former sandbox are not all deleted yet; undefined if they are. */
  readonly leftover: string | undefined;
}

/**
 * Publishes the copy, with the keys and webhooks of the former sandbox.
 * @param before the heads before the first record was copied
 * @param records the number of copied records
 * @throws ProblemError `conflict` if a site was removed or the database restored meanwhile, or the name of the sandbox is taken. Nothing is published
 */
export async function publishCopy(
  engine: Engine,
  copy: SandboxCopy,
  { before, records, now }: { readonly before: CopyHeads; readonly records: number; readonly now: number },
): Promise<PublishedSandbox> {
  const { id, former } = copy;
  const move = former && { from: former.ID, to: id };
  const carried = move && (await carryWebhooks(engine, await webhooksOf(engine, former), move));
  await requireAllRecords(engine, copy, before, records);
  const { webhooks, ...published } = await commitPublication(engine, copy, before.system.epoch, now);
  let leftover: string | undefined;
  try {
    if (move && carried) {
      await carryLateChanges(engine, webhooks, move, carried);
      await engine.dropSite(former.ID);
    }
  } catch (error) {
    leftover = `its former records are not all deleted yet: ${errorMessage(error)}; the next command continues`;
  }
  return { ...published, webhooks: webhooks.length, leftover };
}

async function webhooksOf(engine: Engine, site: SiteRecord): Promise<number[]> {
  return (await listWebhooks(engine, site)).map(({ ID }) => ID);
}

/**
 * Requires that the reserved site has exactly the copied records. After a restore, it has another epoch. After a failover, the last batches may be
 * missing.
 */
async function requireAllRecords(engine: Engine, copy: SandboxCopy, before: CopyHeads, records: number): Promise<void> {
  const { system, own } = await readCopyHeads(engine, copy);
  const isSameEpoch = own.epoch === before.own.epoch && system.epoch === before.system.epoch;
  if (!isSameEpoch || own.revision !== records) throw await lostCopyError(engine, copy);
}

/**
 * Commits the publication. Each prefix of the changes is consistent, because a server may apply many changes in several steps.
 * @param systemEpoch the epoch of the system site before the copy: nothing is published if the database was restored since
 */
async function commitPublication(engine: Engine, copy: SandboxCopy, systemEpoch: string, now: number) {
  let live = copy.live;
  let [keys, webhooks]: [readonly number[], readonly number[]] = [[], []];
  const bodies = await commitSystemChanges(engine, (system) => {
    const { sites } = system;
    const present = sites.find(({ ID }) => ID === copy.live.ID);
    if (!present || !findReserved(sites, copy)) throw lostError(copy.live, sites);
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
