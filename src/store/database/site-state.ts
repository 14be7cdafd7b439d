// The meaning of a row in the table `sites`, shared by the engines.
//
// - `epoch`: a random ID if the site is live. It is empty if the site was removed, and begins with `filling ` while the site is being imported.
// - `revision`: the revision of the last journal entry. `counters`: the last ID of each resource.
// - `floor`: the revision before the first entry that the journal still has.
// - `last_at`: the time of the last entry. Times never decrease from entry to entry.
// - `live`: the number of records by resource. `live_revision`: the revision for which `live` is valid. Every program since commit 271c903 stores
//   both with each change, so `live_revision` equals `revision`.

import { randomText } from "../../lib/text.ts";
import type { RecordCounts } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { siteResourceName, systemSite } from "../../model/system-site.ts";
import { primaryKeyOf, type TableName, type TableRow, tableNames } from "./tables.ts";

// The number of records of a site, by resource. The counts are stored in the site's row, so that a page has the total without counting.

/** The columns of a site's row for its counts. */
export interface StoredCounts {
  readonly revision: number;
  /** JSON text of the counts. */
  readonly live: string | null;
  readonly live_revision: number | null;
}

/** Returns the counts of a site's records. @throws ProblemError `unavailable` if a program older than commit 271c903 has written the site */
export function parseCounts({ revision, live, live_revision }: StoredCounts): RecordCounts {
  if (revision === 0) return {};
  if (live !== null && live_revision === revision) return JSON.parse(live);
  const detail = "a program older than commit 271c903 has written this site: stop that program, then restart this one";
  throw new ProblemError("unavailable", detail);
}

/**
 * Returns the counts after one more change.
 * @param difference 1 if the record exists only after the change, -1 if it existed only before the change, otherwise 0
 */
export function countsAfterChange(
  counts: RecordCounts,
  {
    resource,
    revision,
    difference,
  }: { readonly resource: string; readonly revision: number; readonly difference: number },
): RecordCounts {
  return { ...counts, [resource]: { count: (counts[resource]?.count ?? 0) + difference, revision } };
}

// Programs older than commit 271c903 have written incomplete rows (`incompleteSites`). That commit opens such databases and restores such backups, but
// does not complete the rows. So each start, restore and import completes them, and no other code has to know such rows.

/** A condition for every engine: a program older than commit 271c903 has written this row of `sites`. */
export const incompleteSites =
  "floor is null or last_at is null or live is null or live_revision is distinct from revision";

export interface CompletedSites {
  /** The ID of the only site to complete; by default, all sites. */
  readonly site?: number;
  /** Returns the name of a table in the database; by default, the name of the table itself. */
  readonly nameOf?: (table: TableName) => string;
}

/**
 * Returns the statements that complete such rows, in a transaction that has locked them. In the journals of these sites, the operation `restore`
 * becomes `update`, as other programs write it.
 * @param live the expression of the engine for the counts as JSON text, of rows with the columns `resource`, `count` and `revision`
 */
export function completeSites(live: string, { site, nameOf = (table) => table }: CompletedSites = {}): string[] {
  const isChosen = site === undefined ? "" : ` and id = ${site}`;
  const entries = `from ${nameOf("journal")} as journal where journal.site_id = sites.id`;
  const counted = `select resource, count(body) as count, max(revision) as revision from ${nameOf("records")} where site_id = sites.id group by resource`;
  return [
    `update ${nameOf("journal")} set operation = 'update'
where operation = 'restore' and site_id in (select id from ${nameOf("sites")} where floor is null${isChosen})`,
    `update ${nameOf("sites")} as sites set
  floor = coalesce(floor, (select min(journal.revision) ${entries}) - 1, revision),
  last_at = coalesce((select at ${entries} and journal.revision = sites.revision), last_at, 0),
  live = (select ${live} from (${counted}) as counted),
  live_revision = revision
where (${incompleteSites})${isChosen}`,
  ];
}

// A removed site keeps its row, with the epoch of removed sites. So its ID is not used again, and a write in flight does not create the site again.

/** The epoch of a removed site. */
export const removedEpoch = "";

/** The tables with the rows of a site, without `sites`. */
export const siteTables = tableNames.filter((table) => primaryKeyOf(table)[0] === "site_id");

/**
 * Returns a statement for every engine. Its result has a row only if the record of this site is deleted. After a restore, the record may exist
 * again, or may never have existed.
 */
export function selectDeleted(site: string): string {
  return `select 1 from records where site_id = ${systemSite} and resource = '${siteResourceName}' and id = ${site} and body is null`;
}

const leftovers = siteTables.map((table) => `exists (select 1 from ${table} as l where l.site_id = gone.id)`);

/** A statement for every engine that reads the IDs of sites with a deleted record that still have rows. */
export const selectSitesToDrop = `select gone.id from records as gone
where gone.site_id = ${systemSite} and gone.resource = '${siteResourceName}' and gone.body is null and (
  exists (select 1 from sites where sites.id = gone.id and sites.epoch <> '${removedEpoch}')
  or ${leftovers.join("\n  or ")}
) order by gone.id`;

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

/** Whether a site with this epoch is live: it was not removed, and is not being imported. */
export function isLiveEpoch(epoch: string): boolean {
  return epoch !== removedEpoch && !isImportingEpoch(epoch);
}

/** Whether a site may be imported: it was never written to. @param row of `sites`; undefined for a new site of an older program version */
export function canImportSite(row: Head | undefined): boolean {
  return row === undefined || (row.revision === 0 && isLiveEpoch(row.epoch));
}

/** Returns the error for an import into a site that was written to before, or that no longer has the importing epoch of this process. */
export function siteNotImportingError(): ProblemError {
  return new ProblemError(
    "conflict",
    "the site was written to or removed while it was imported, or the database was restored",
  );
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
