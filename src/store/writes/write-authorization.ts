// Checks that the API keys and sites that authorized a batch haven't changed while its writes waited for the database. The batch's transaction reads
// their records again, so that a revoked key can't store anything.

import type { Intent, Outcome } from "../../model/change.ts";
import { keyResourceName, siteResourceName, systemSite } from "../../model/system-site.ts";
import type { BatchRow, BatchRows } from "./batch-rows.ts";

export type SystemRecordKey = Pick<BatchRow, "resource" | "id">;

/** Returns the API keys and sites that `intents` were authorized by. */
export function authorizationKeys(intents: readonly Intent[]): SystemRecordKey[] {
  const keys = new Set<number>();
  const sites = new Set<number>();
  for (const { site, authorizedBy } of intents) {
    if (!authorizedBy) continue;
    keys.add(authorizedBy.keyId);
    sites.add(site);
    if (authorizedBy.hostSite !== undefined) sites.add(authorizedBy.hostSite);
  }
  const rowsOf = (resource: string, ids: Set<number>) => Array.from(ids, (id) => ({ resource, id }));
  return [...rowsOf(keyResourceName, keys), ...rowsOf(siteResourceName, sites)];
}

interface SystemState {
  /** Must include the records from `authorizationKeys`. */
  readonly rows: BatchRows;
  readonly systemEpoch: string;
  readonly timeline?: number | undefined;
}

/**
 * Rejects a write if the database was restored since the writer read it, or if the key or a site has changed since the write was authorized. After a
 * restore, IDs and revisions mean nothing; after a failover, which can lose commits, they may mean something else.
 */
export function rejectIfAuthorizationChanged(
  intent: Intent,
  { rows, systemEpoch, timeline }: SystemState,
): Outcome | undefined {
  const { site, ifSystemEpoch, authorizedBy } = intent;
  if (ifSystemEpoch !== undefined && ifSystemEpoch !== systemEpoch)
    return { kind: "rejected", rejectionReason: "other-epoch" };
  if (!authorizedBy) return undefined;
  const { keyId, hostSite = site, revision } = authorizedBy;
  if (authorizedBy.timeline !== undefined && authorizedBy.timeline !== timeline)
    return { kind: "rejected", rejectionReason: "authorization-changed" };
  const keyRow = rows.find(systemSite, keyResourceName, keyId);
  const siteRow = rows.find(systemSite, siteResourceName, site);
  const hostSiteRow = hostSite === site ? siteRow : rows.find(systemSite, siteResourceName, hostSite);
  const isComplete = keyRow && siteRow && hostSiteRow;
  if (isComplete && Math.max(keyRow.revision, siteRow.revision, hostSiteRow.revision) <= revision) return undefined;
  return { kind: "rejected", rejectionReason: "authorization-changed" };
}
