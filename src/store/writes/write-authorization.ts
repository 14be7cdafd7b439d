// Checks that the API keys and sites that authorized the writes of a batch have not changed while the writes waited for the database. Their records are read
// again for this, in the transaction of the batch. So a revoked key stores nothing.

import type { Intent, Outcome } from "../../model/change.ts";
import { keyResourceName, siteResourceName, systemSite } from "../../model/system-site.ts";
import type { BatchRow, BatchRows } from "./batch-rows.ts";

/** Identifies a record of the system site. */
export type SystemRecordKey = Pick<BatchRow, "resource" | "id">;

/** Returns the records of the API keys and sites by which `intents` were authorized. */
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
  /** With the records that `authorizationKeys` names. */
  readonly rows: BatchRows;
  /** The epoch of the system site. */
  readonly systemEpoch: string;
  /** As `Head.timeline`. */
  readonly timeline?: number | undefined;
}

/**
 * Rejects a write if `restore` has replaced the database since the writer read it, or if the key or a site has changed since the write was authorized.
 * After `restore`, equal IDs and revisions mean nothing. After a failover, which may have lost commits, they may mean something else.
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
