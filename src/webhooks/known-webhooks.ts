// Reads webhook states and the heads of their sites for the runner's scan, which show who may have changes to deliver. Reads them in chunks, with a tick
// of the event loop after each.

import { readInChunks } from "../lib/yielding.ts";
import type { Head } from "../model/head.ts";
import type { WebhookState } from "../model/webhooks.ts";
import { revisionInCursor } from "../store/database/cursor.ts";
import type { ServedWebhook } from "../system/system-site-index.ts";
import type { RunnerEngine } from "./delivery.ts";
import type { LastSent } from "./last-sent.ts";
import { isBackingOff } from "./retry-policy.ts";

/** A read of this many webhooks or sites takes about a millisecond. */
const rowsPerRead = 200;

/** A webhook as of the last scan. */
export interface KnownWebhook {
  readonly state: WebhookState;
  /** Its site's head. */
  readonly head: Head;
  /** Names of the resources it follows. */
  readonly resources: ReadonlySet<string>;
}

/** Skips webhooks that may not deliver from this database. @returns by ID */
export async function readKnownWebhooks(
  active: readonly ServedWebhook[],
  engine: Pick<RunnerEngine, "readDatabaseId" | "readWebhookStates" | "readHeads">,
): Promise<ReadonlyMap<number, KnownWebhook>> {
  if (active.length === 0) return new Map();
  const home = await engine.readDatabaseId();
  const states = (await readInChunks(active, rowsPerRead, (some) => engine.readWebhookStates(some))).filter(
    (state) => state.home === home,
  );
  const sites = [...new Set(states.map(({ site }) => site))];
  const all = await readInChunks(sites, rowsPerRead, (some) => engine.readHeads(some));
  const heads = new Map(sites.map((site, index) => [site, all[index] as Head]));
  const resources = new Map(active.map((served) => [served.webhook, served.resources]));
  return new Map(
    states.map((state) => [
      state.webhook,
      { state, head: heads.get(state.site) as Head, resources: resources.get(state.webhook) ?? new Set<string>() },
    ]),
  );
}

/** Whether there may be something to deliver now. @param now milliseconds since 1970 */
export function mayHaveChanges({ state, head }: KnownWebhook, now: number, lastSent: LastSent): boolean {
  if (isBackingOff(state, now)) return false;
  if (lastSent.isAhead(state)) return true;
  const { epoch, cursor, goneAt, first } = state;
  return goneAt !== null || first > 0 || epoch !== head.epoch || revisionInCursor(cursor) !== head.revision;
}
