// The meaning of a row in the table `sites`, shared by the engines.
//
// - `epoch`: a random ID if the site is usable. It is empty if the site was removed, and begins with `importing ` while the site is being imported.
// - `revision`: the revision of the last journal entry. `last_ids`: the last ID of each resource, as JSON.
// - `floor`: the revision before the first entry that the journal still has.
// - `last_at`: the time of the last entry. Times never decrease from entry to entry.
// - `counts`: of each resource, the number of records and the revision of the last change, as JSON. So a page has the total without counting.

import { randomText } from "../../lib/text.ts";
import type { RecordCounts } from "../../model/engine.ts";
import type { TableRow } from "./tables.ts";

// A removed site keeps its row, with the epoch of removed sites. So its ID is not used again, and a write in flight does not create the site again.

/** The epoch of a removed site. */
export const removedEpoch = "";

// An imported site is stored in chunks, so that others can write in between. Until the last chunk is stored, the row in `sites` has an importing
// epoch: other writes are rejected, and `dropSite` can delete the rows.

/** The prefix of importing epochs. Other epochs do not contain a space. */
const importingPrefix = "importing ";

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

export function toSiteState({ epoch, revision, last_ids, counts, floor, last_at }: TableRow<"sites">): SiteState {
  return { epoch, revision, lastIds: JSON.parse(last_ids), counts: JSON.parse(counts), floor, last_at };
}

export function toSiteRow(id: number, { lastIds, counts, ...state }: SiteState): TableRow<"sites"> {
  return { id, ...state, last_ids: JSON.stringify(lastIds), counts: JSON.stringify(counts) };
}

/**
 * Returns the state of a site that was never written to. It has an epoch already, so that a restore to a time before the first change is noticed:
 * the epoch is another one then.
 */
export function newSiteState(): SiteState {
  return { epoch: randomText(8), revision: 0, lastIds: {}, counts: {}, floor: 0, last_at: 0 };
}
