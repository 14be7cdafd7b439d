// Finds old journal entries, and prunes them in small transactions with pauses, so that other writes don't wait long. Used by `storefront journal
// prune` and a server's daily pruning (retention.ts).

import { readInChunks, yieldToEventLoop } from "../../lib/yielding.ts";
import type { Engine } from "../../model/engine.ts";
import { siteResourceName, systemSite } from "../../model/system-site.ts";
import { tryParseCursorRevision } from "../database/cursor.ts";
import { readAllRows } from "../database/read-all-rows.ts";

/** A transaction of this size takes a few milliseconds. */
const entriesPerTransaction = 500;
export const minPauseMs = 10;
/** Pause as a multiple of the transaction's duration. */
const pausePerWork = 2;

type AgeEngine = Pick<Engine, "readJournalPage" | "readHeads" | "readSite">;

/** A site's entries to prune, up to revision `through`; at least one. */
export interface PrunableRange {
  readonly site: number;
  readonly through: number;
}

/** Prunes a chunk in one transaction. Returns whether there's more, and how long to pause first, in milliseconds. */
export async function pruneChunk(engine: Pick<Engine, "pruneJournal">, { site, through }: PrunableRange) {
  const started = performance.now();
  const hasMore = await engine.pruneJournal(site, through, entriesPerTransaction);
  return { hasMore, pauseMs: Math.max(minPauseMs, pausePerWork * (performance.now() - started)) };
}

/**
 * Returns the IDs of a site's webhooks whose cursors are at entries up to `floor`. Once those are pruned, these webhooks deliver `storefront.gone`.
 * That even goes for a cursor at `floor`, although it has delivered everything that was deleted.
 */
export async function findWebhooksWithPrunedCursor(engine: Engine, site: number, floor: number): Promise<number[]> {
  const states = await engine.readWebhookStates();
  return states
    .filter((state) => state.site === site && (tryParseCursorRevision(state.cursor) ?? 0) <= floor)
    .map(({ webhook }) => webhook);
}

/** Leaves out the system site and removed sites. */
export async function listSiteIds(engine: Pick<Engine, "readSite">): Promise<number[]> {
  const { rows } = await readAllRows(engine, systemSite);
  return rows.flatMap(({ resource, id, body }) => (resource === siteResourceName && body !== null ? [id] : []));
}

/** Maximum heads per read. */
const maxHeads = 1000;

/** Returns the time of the newest entry in any journal, in milliseconds since 1970; undefined if there's none. */
async function readNewestEntryTime(engine: AgeEngine): Promise<number | undefined> {
  const sites = [systemSite, ...(await listSiteIds(engine))];
  let newest: number | undefined;
  const heads = await readInChunks(sites, maxHeads, (some) => engine.readHeads(some));
  for (const [n, { revision }] of heads.entries()) {
    if (revision === 0) continue;
    const [entry] = (await engine.readJournalPage(sites[n] as number, revision - 1, 1)).entries;
    if (entry) newest = Math.max(newest ?? entry.at, entry.at);
    await yieldToEventLoop();
  }
  return newest;
}

/**
 * Returns the time `age` milliseconds ago, in milliseconds since 1970. If the newest entry of the whole database is older than `now`, its time is
 * used instead, so that a clock that's ahead doesn't make entries look older.
 * @param now milliseconds since 1970
 */
export async function readTimeAtAge(engine: AgeEngine, age: number, now: number): Promise<number> {
  return Math.min(now, (await readNewestEntryTime(engine)) ?? now) - age;
}

/**
 * Returns the revision of the last entry before a time; if there's none, the one before the first entry. The binary search takes about 25 reads, and
 * relies on times never decreasing.
 * @param at milliseconds since 1970
 */
export async function readRevisionBefore(
  engine: Pick<Engine, "readJournalPage">,
  site: number,
  at: number,
): Promise<number> {
  const { head, floor, entries } = await engine.readJournalPage(site, 0, 1);
  let [low, high] = [floor, head.revision];
  if (!entries[0] || entries[0].at >= at) return floor;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const [entry] = (await engine.readJournalPage(site, middle - 1, 1)).entries;
    if (entry && entry.at < at) low = middle;
    else high = middle - 1;
  }
  return low;
}
