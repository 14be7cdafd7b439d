// How many records a site has. The counts are stored in the site's row, so that a page can contain the total without counting. Programs
// from before the columns `live` and `live_revision` do not update them, so they are valid only while the site is at `live_revision`.

import type { RecordCounts } from "../model/engine.ts";

/** The columns of a site's row for its records, and its revision. */
export interface StoredCounts {
  readonly revision: number;
  /** JSON text of the counts. */
  readonly live: string | null;
  readonly live_revision: number | null;
}

/** The counts of a site's records; undefined where they are not known. */
export function readCounts({ revision, live, live_revision }: StoredCounts): RecordCounts | undefined {
  if (revision === 0) return {};
  return live !== null && live_revision === revision ? JSON.parse(live) : undefined;
}

/** The columns of a site's row for counts that hold at `revision`. @param counts undefined where they are not known */
export function writeCounts(revision: number, counts: RecordCounts | undefined): Omit<StoredCounts, "revision"> {
  return { live: counts ? JSON.stringify(counts) : null, live_revision: revision };
}

/**
 * The counts after one more change.
 * @param counts undefined where they are not known, and stay so
 * @param change `difference` is 1 for a record that is there now and was not before, -1 for the opposite, otherwise 0
 */
export function withChange(
  counts: RecordCounts | undefined,
  {
    resource,
    revision,
    difference,
  }: { readonly resource: string; readonly revision: number; readonly difference: number },
): RecordCounts | undefined {
  return counts && { ...counts, [resource]: { count: (counts[resource]?.count ?? 0) + difference, revision } };
}
