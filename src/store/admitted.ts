// The keys and sites by which the writes of a batch were admitted. They may have changed while the writes waited for the database, so they are
// read together with what the batch may change.

import type { Intent, Outcome } from "../model/intent.ts";
import { keyResourceName, siteResourceName, systemSite } from "../model/system-site.ts";
import type { BatchRow, BatchRows } from "./batch-rows.ts";

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
 * The refusal of a write whose key or site has changed since they were checked. In another history of the system site, as after a
 * restore, equal IDs and revisions mean nothing, and every site has another history.
 * @param systemEpoch of the system site as stored
 */
export function refuseOutdated({ site, admitted }: Intent, rows: BatchRows, systemEpoch: string): Outcome | undefined {
  if (!admitted) return undefined;
  const { keyId, system } = admitted;
  if (systemEpoch !== system.epoch) return { kind: "refused", why: "other-history" };
  const key = rows.get(systemSite, keyResourceName, keyId);
  const record = rows.get(systemSite, siteResourceName, site);
  if (key && record && Math.max(key.revision, record.revision) <= system.revision) return undefined;
  return { kind: "refused", why: "key-changed" };
}
