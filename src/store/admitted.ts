// The keys and sites by which the writes of a batch were admitted. They may have changed while the writes waited for the database, so they are
// read together with what the batch may change.

import type { Intent, Outcome } from "../model/intent.ts";
import { keyResourceName, siteResourceName, systemSite } from "../model/system-site.ts";
import type { Stored } from "./batch.ts";
import type { BatchRow } from "./batch-rows.ts";

/** Identifies a record of the system site. */
export type SystemRow = Pick<BatchRow, "resource" | "id">;

/** The keys and sites by which `intents` were admitted. */
export function admittingRows(intents: readonly Intent[]): SystemRow[] {
  const keys = new Set<number>();
  const sites = new Set<number>();
  for (const { site, admitted } of intents) {
    if (!admitted) continue;
    keys.add(admitted.keyId);
    sites.add(site);
  }
  const rowsOf = (resource: string, ids: Set<number>) => Array.from(ids, (id) => ({ resource, id }));
  return [...rowsOf(keyResourceName, keys), ...rowsOf(siteResourceName, sites)];
}

/**
 * The refusal of a write for which the database was restored, or its key or site has changed, since they were checked. After a restore,
 * equal IDs and revisions mean nothing.
 */
export function refuseOutdated(
  intent: Intent,
  { rows, systemEpoch }: Pick<Stored, "rows" | "systemEpoch">,
): Outcome | undefined {
  const { site, ifSystemEpoch, admitted } = intent;
  if (ifSystemEpoch !== undefined && ifSystemEpoch !== systemEpoch) return { kind: "refused", why: "other-history" };
  if (!admitted) return undefined;
  const { keyId, revision } = admitted;
  const key = rows.get(systemSite, keyResourceName, keyId);
  const record = rows.get(systemSite, siteResourceName, site);
  if (key && record && Math.max(key.revision, record.revision) <= revision) return undefined;
  return { kind: "refused", why: "key-changed" };
}
