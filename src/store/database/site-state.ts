// The meaning of a row in the table `sites`, shared by the engines.
//
// - `epoch`: a random ID if the site is usable. It is empty if the site was removed, and begins with `filling ` while the site is being imported.
// - `revision`: the revision of the last journal entry. `counters`: the last ID of each resource.
// - `floor`: the revision before the first entry that the journal still has.
// - `last_at`: the time of the last entry. Times never decrease from entry to entry.
// - `live`: the number of records by resource. `live_revision`: the revision for which `live` is valid. The base version and later programs
//   store both with each change, so `live_revision` equals `revision`.

import { randomText } from "../../lib/text.ts";
import type { RecordCounts } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import { parseCounts, type StoredCounts } from "./record-counts.ts";
import type { TableRow } from "./tables.ts";

// A removed site keeps its row, with the epoch of removed sites. So its ID is not used again, and a write in flight does not create the site again.

/** The epoch of a removed site. */
export const removedEpoch = "";

// An imported site is stored in chunks, so that others can write in between. Until the last chunk is stored, the row in `sites` has an importing
// epoch: other writes are rejected, and `dropSite` can delete the rows.

/** The prefix of importing epochs. Other epochs do not contain a space. */
const importingPrefix = "filling ";

/** Returns an epoch for a site that is being imported. It is random, so that another process cannot continue the import by mistake. */
export function newImportingEpoch(): string {
  return importingPrefix + randomText(8);
}

export function isImportingEpoch(epoch: string): boolean {
  return epoch.startsWith(importingPrefix);
}

/** Whether a site with this epoch is usable: it was not removed, and is not being imported. */
export function isUsableEpoch(epoch: string): boolean {
  return epoch !== removedEpoch && !isImportingEpoch(epoch);
}

/** Whether a site may be imported: it was never written to. @param row of `sites`; undefined for a new site of an older program version */
export function canImportSite(row: Head | undefined): boolean {
  return row === undefined || (row.revision === 0 && isUsableEpoch(row.epoch));
}

/** The row of a site while a batch is decided: its head, the last ID of each resource, and the counts of records. */
export interface SiteState {
  epoch: string;
  revision: number;
  lastIds: Record<string, number>;
  counts: RecordCounts;
  /** The revision before the first entry of the journal. */
  readonly floor: number;
  /** The latest time of an entry, in milliseconds since 1970. */
  last_at: number;
}

/** A row of `sites`. */
export interface StoredSite extends StoredCounts, Pick<SiteState, "epoch" | "floor" | "last_at"> {
  readonly id: number;
  /** JSON text of the last ID of each resource. */
  readonly counters: string;
}

/** @throws ProblemError as `parseCounts` */
export function toSiteState(row: StoredSite): SiteState {
  const { epoch, revision, counters, floor, last_at } = row;
  return { epoch, revision, lastIds: JSON.parse(counters), counts: parseCounts(row), floor, last_at };
}

export function toSiteRow(id: number, { lastIds, counts, ...state }: SiteState): TableRow<"sites"> {
  const { revision: live_revision } = state;
  return { id, ...state, counters: JSON.stringify(lastIds), live: JSON.stringify(counts), live_revision };
}

/**
 * Returns the state of a site that was never written to. It has an epoch already, so that a restore to a time before the first change is noticed:
 * the epoch is another one then.
 */
export function newSiteState(): SiteState {
  return { epoch: randomText(8), revision: 0, lastIds: {}, counts: {}, floor: 0, last_at: 0 };
}
