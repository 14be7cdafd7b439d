// What a row in the table `sites` means, with either engine:
//
// - `epoch`: a random ID if the site is usable; empty if it was removed; starts with `importing ` while it's being imported.
// - `revision`: the last journal entry. `last_ids`: the last ID of each resource, as JSON.
// - `floor`: the revision before the journal's first remaining entry.
// - `last_at`: the time of the last entry. Times never decrease.
// - `counts`: for each resource, the number of records and the revision of the last change, as JSON. They give pages a total without counting.

import { randomText } from "../../lib/text.ts";
import type { RecordCounts } from "../../model/engine.ts";
import type { TableRow } from "./tables.ts";

/** A removed site keeps its row, so that its ID isn't used again and a write in flight doesn't bring the site back. */
export const removedEpoch = "";

// A site is imported in chunks, so that others can write in between. Until the last chunk, its row has an importing epoch: other writes are rejected,
// and `dropSite` can delete the rows.

/** No other epoch contains a space. */
const importingPrefix = "importing ";

/** Random, so that another process can't continue the import by mistake. */
export function newImportingEpoch(): string {
  return importingPrefix + randomText(8);
}

export function isImportingEpoch(epoch: string): boolean {
  return epoch.startsWith(importingPrefix);
}

/** Whether the site was neither removed nor is being imported. */
export function isUsableEpoch(epoch: string): boolean {
  return epoch !== removedEpoch && !isImportingEpoch(epoch);
}

/** The row of a site while a batch is decided. */
export interface SiteState {
  epoch: string;
  revision: number;
  lastIds: Record<string, number>;
  counts: RecordCounts;
  /** The revision before the journal's first entry. */
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
 * The state of a site that was never written to. It already has an epoch, which is how we notice a restore to a time before the first change:
 * there'll be a different one.
 */
export function newSiteState(): SiteState {
  return { epoch: randomText(8), revision: 0, lastIds: {}, counts: {}, floor: 0, last_at: 0 };
}
