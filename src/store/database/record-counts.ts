// The number of records of a site, by resource. The counts are stored in the site's row, so that a page has the total without counting.

import type { RecordCounts } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { baseVersion } from "./schema-versions.ts";

/** The columns of a site's row for its counts. */
export interface StoredCounts {
  readonly revision: number;
  /** JSON text of the counts. */
  readonly live: string | null;
  readonly live_revision: number | null;
}

/** Returns the counts of a site's records. @throws ProblemError `unavailable` if a program older than the base version has written the site */
export function parseCounts({ revision, live, live_revision }: StoredCounts): RecordCounts {
  if (revision === 0) return {};
  if (live !== null && live_revision === revision) return JSON.parse(live);
  const detail = `a program older than commit ${baseVersion} has written this site: stop that program, then restart this one`;
  throw new ProblemError("unavailable", detail);
}

/**
 * Returns the counts after one more change.
 * @param difference 1 if the record exists only after the change, -1 if it existed only before the change, otherwise 0
 * @throws Error if the stored count was too low
 */
export function countsAfterChange(
  counts: RecordCounts,
  {
    resource,
    revision,
    difference,
  }: { readonly resource: string; readonly revision: number; readonly difference: number },
): RecordCounts {
  const count = (counts[resource]?.count ?? 0) + difference;
  if (count < 0)
    throw new Error(`the site has records of ${resource}, and its count says none; run \`storefront check\``);
  return { ...counts, [resource]: { count, revision } };
}
