// What the engines share about the journal: where it begins, its last time, and what older versions of the program wrote.

import { createPace } from "../../lib/event-loop.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { randomText } from "../../lib/text.ts";
import type { Change } from "../../model/change.ts";
import type { Engine, Head, RecordCounts, RecordRow, SinceOptions, SiteContents } from "../../model/engine.ts";
import { Refusal } from "../../model/errors.ts";
import { siteResourceName, systemSite } from "../../model/limits.ts";
import { primaryKeyOf, tableNames } from "./tables.ts";

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

// How many records a site has. The counts are stored in the site's row, so that a page can contain the total without counting. Programs
// from before the columns `live` and `live_revision` do not update them, so they are valid only while the site is at `live_revision`.

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

// A removed site keeps its row, with a special epoch. So its number is not used again, and a write that was under way does not
// create the site again.

/** The epoch of a removed site. No site with a history has it. */
export const removedEpoch = "";

/** The tables with the rows of a site, besides `sites` itself. */
export const siteTables = tableNames.filter((table) => primaryKeyOf(table)[0] === "site_id");

/** A statement for every engine: returns a row if the record of this site is a deleted one. After a restore it may exist again, or never have existed. */
export function selectDeleted(site: string): string {
  return `select 1 from records where site_id = ${systemSite} and resource = '${siteResourceName}' and id = ${site} and body is null`;
}

const leftovers = siteTables.map((table) => `exists (select 1 from ${table} as l where l.site_id = gone.id)`);

/** A statement for every engine: the sites whose record was deleted and that still have rows. */
export const selectUndropped = `select gone.id from records as gone
where gone.site_id = ${systemSite} and gone.resource = '${siteResourceName}' and gone.body is null and (
  exists (select 1 from sites where sites.id = gone.id and sites.epoch <> '${removedEpoch}')
  or ${leftovers.join("\n  or ")}
) order by gone.id`;

// How every engine fills a site that is imported: in portions, so that others can write in between. Until the last one, its row of
// `sites` has a special epoch, with which it takes no other writes, and `dropSite` can remove what is stored of it.

/** Epochs of other sites have no blanks. */
const fillingMark = "filling ";

/** An epoch for a site that is being filled. Another process cannot continue with it. */
export function newFillingEpoch(): string {
  return fillingMark + randomText(8);
}

export function isFillingEpoch(epoch: string): boolean {
  return epoch.startsWith(fillingMark);
}

/** Whether a site with this epoch has a history: it was not removed, and is not being filled. */
export function hasHistory(epoch: string): boolean {
  return epoch !== removedEpoch && !isFillingEpoch(epoch);
}

/** Whether a site may be filled. @param row of `sites`; undefined if an older program created the site, which then has none */
export function mayFill(row: Head | undefined): boolean {
  return row === undefined || (row.revision === 0 && hasHistory(row.epoch));
}

/** The refusal to fill a site whose row is not the one that this process made. */
export function notFilling(): Refusal {
  return new Refusal(
    "conflict",
    "the site was written to or removed while it was filled, or the database was restored",
  );
}

/** The refusal of a row that its table does not accept. */
export function unfitRow(cause: unknown): Refusal {
  return new Refusal("bad-request", "a row is there twice, or has a value that cannot be stored", { cause });
}

/**
 * The result of `Engine.since`: `changes`, read together with `head`, if they follow `revision` without a gap and belong to
 * the requested history; otherwise undefined.
 */
export function following(
  changes: readonly Change[],
  head: Head,
  revision: number,
  { epoch, timeline }: SinceOptions,
): readonly Change[] | undefined {
  if (epoch !== undefined && head.epoch !== epoch) return undefined;
  if (timeline !== undefined && head.timeline !== timeline) return undefined;
  const next = head.revision > revision ? revision + 1 : undefined;
  return changes[0]?.revision === next ? changes : undefined;
}

/** The code in the cause of the refusal of `requireReached`. */
export const outdated = "OUTDATED";

/**
 * Checks that a store is not behind what is known of it, as a replaced primary is. Revisions of another history cannot be
 * compared, and pass.
 * @throws Refusal `unavailable`
 */
export function requireReached(found: Head, least: Head | undefined): void {
  if (least === undefined || found.epoch !== least.epoch || found.revision >= least.revision) return;
  const detail = `the store is behind what is known of it: revision ${found.revision} of a site, where ${least.revision} is known`;
  throw new Refusal("unavailable", detail, { retryAfter: 1, cause: { code: outdated } });
}

/** Whether nothing has changed between two heads, and no machine has taken over that may lack what was there. */
export function isSameHead(one: Head, other: Head): boolean {
  return one.epoch === other.epoch && one.revision === other.revision && one.timeline === other.timeline;
}

/** A site's rows, those of a resource together and in ID order, as of `head`. */
export interface LoadedSite {
  readonly head: Head;
  readonly rows: readonly RecordRow[];
}

/** All rows of a site at once: for what is small, or belongs to a command. */
export function loadSite(engine: Pick<Engine, "readSite">, site: number, minHead?: Head): MaybePromise<LoadedSite> {
  return engine.readSite(site, async ({ head, portions }) => ({ head, rows: await gather(portions) }), minHead);
}

async function gather(portions: SiteContents["portions"]): Promise<RecordRow[]> {
  const rows: RecordRow[] = [];
  const pace = createPace();
  for await (const portion of portions) {
    rows.push(...portion);
    await pace();
  }
  return rows;
}

/** A site's row: its head, the last ID given per resource, and the number of records if it is known. */
export interface SiteState {
  epoch: string;
  revision: number;
  counters: Record<string, number>;
  counts: RecordCounts | undefined;
  /** The revision before the first kept entry of the journal; null where that is what the journal begins with. */
  readonly floor: number | null;
  /** The latest time of an entry, in milliseconds since 1970. */
  last_at: number;
}

/** The state of a site that was never written to: it has a history from its creation on, so that a restore to before its first change shows. */
export function newSite(): SiteState {
  return { epoch: randomText(8), revision: 0, counters: {}, counts: {}, floor: 0, last_at: 0 };
}
