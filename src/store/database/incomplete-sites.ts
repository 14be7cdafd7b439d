// Programs older than the base version have written incomplete rows (`incompleteSites`). The base version opens such databases and restores such backups,
// but does not complete the rows. So each start, restore and import completes them, and no other code has to know such rows.

import type { TableName } from "./tables.ts";

/** A condition for every engine: a program older than the base version has written this row of `sites`. */
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
  const andChosenId = site === undefined ? "" : ` and id = ${site}`;
  const entries = `from ${nameOf("journal")} as journal where journal.site_id = sites.id`;
  const counted = `select resource, count(body) as count, max(revision) as revision from ${nameOf("records")} where site_id = sites.id group by resource`;
  return [
    `update ${nameOf("journal")} set operation = 'update'
where operation = 'restore' and site_id in (select id from ${nameOf("sites")} where floor is null${andChosenId})`,
    `update ${nameOf("sites")} as sites set
  floor = coalesce(floor, (select min(journal.revision) ${entries}) - 1, revision),
  last_at = coalesce((select at ${entries} and journal.revision = sites.revision), last_at, 0),
  live = (select ${live} from (${counted}) as counted),
  live_revision = revision
where (${incompleteSites})${andChosenId}`,
  ];
}
