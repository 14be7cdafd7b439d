// What the engines share about the journal: where it begins, its last time, and what older versions of the program wrote.

/** A column for every engine. Older versions of the program called an update or create that put a record back `restore`. */
export const operationColumn = "case operation when 'restore' then 'update' else operation end as operation";

/** The columns of a change as `Engine.since` returns it. */
export const changeColumns = `revision, at, actor, resource, id, ${operationColumn}, body`;

/** The columns of an entry as `Engine.journal` returns it. */
export const entryColumns = `${changeColumns}, run, before`;

/**
 * A column of a site's row for every engine: the revision before the first entry of its journal. Older versions of the program do not
 * store it, and no version deletes entries but from the beginning.
 */
export const floorColumn =
  "coalesce(floor, (select min(revision) from journal where site_id = sites.id) - 1, revision) as floor";

/**
 * The last entry that pruning through a revision may delete. The last entry of a site stays: the cursor of a reader that has
 * read everything names it, so such a reader is never cut off.
 * @param revision of the last entry
 */
export function lastPrunable(through: number, revision: number): number {
  return Math.min(through, revision - 1);
}

/** The columns of a site's row with the time of the last entry. */
export interface StoredTime {
  readonly revision: number;
  readonly last_at: number | null;
  readonly live_revision: number | null;
}

/**
 * The latest time of an entry, in milliseconds since 1970. Undefined when an older version of the program wrote the last entry: then it
 * is the time of that entry.
 */
export function lastAt({ revision, last_at, live_revision }: StoredTime): number | undefined {
  return live_revision === revision ? (last_at ?? undefined) : undefined;
}

/** A statement for every engine: stores the counts of a site at a revision, and with them the time of its last entry. */
export function putCounts(parameters: Readonly<Record<"live" | "site" | "epoch" | "revision", string>>): string {
  const { live, site, epoch, revision } = parameters;
  const lastEntry = `select at from journal where site_id = sites.id and journal.revision = sites.revision`;
  return `update sites set live = ${live}, live_revision = ${revision}, last_at = coalesce((${lastEntry}), last_at)
where sites.id = ${site} and epoch = ${epoch} and revision = ${revision}`;
}
