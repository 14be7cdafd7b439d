// Makes and renews the sandbox of a site: a copy of its records, as a site of its own.
//
// 1. A site is reserved (sandbox-copy.ts): its record has `SandboxOf`, and the time until which this process may fill it, as during `import-site`.
// 2. The records are copied to it (copy-records.ts), and the states of the webhooks of the former sandbox (sandbox-webhooks.ts). Until the publication,
//    the former sandbox is served without a change.
// 3. One commit publishes the site (publish-sandbox.ts). It completes the record of the site, moves the keys and webhooks of the former sandbox, and
//    deletes the record of the former sandbox. So a request sees the renewal completely or not at all, and the sandbox has a new epoch.
// 4. The rows of the former sandbox are deleted.
//
// If step 1 or 2 is interrupted, the first command after the reservation removes the reserved site. If step 4 is interrupted, the next command
// continues (`completeRemovals`).

import type { Engine } from "../../model/engine.ts";
import type { SiteRecord } from "../../system/system-records.ts";
import { requireLive } from "../sites/sandboxes.ts";
import { completeRemovals, removeIncompleteSite } from "../sites/site-removal.ts";
import { runWhileReserved } from "../sites/site-reservation.ts";
import { listSites, requireCompleteSite } from "../sites/sites.ts";
import { copyRecords } from "./copy-records.ts";
import { publishCopy } from "./publish-sandbox.ts";
import { lostCopyError, readCopyHeads, reserveCopy, type SandboxCopy, stoppedCopyError } from "./sandbox-copy.ts";

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

async function fillAndPublish(engine: Engine, copy: SandboxCopy, options: MakeSandboxOptions): Promise<MadeSandbox> {
  const { signal, now, onRecords } = options;
  const before = await readCopyHeads(engine, copy);
  const target = { from: copy.live.ID, to: copy.id, epoch: before.own.epoch };
  const { end, count: records } = await copyRecords(engine, { ...target, signal, now, onRecords });
  if (end === "stopped") throw stoppedCopyError(copy);
  if (end === "removed") throw await lostCopyError(engine, copy);
  const published = await publishCopy(engine, copy, { before, records, now: now() });
  return { ...published, isNew: copy.former === undefined, records };
}
