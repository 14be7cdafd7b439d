// Prunes a journal in small transactions with pauses, so that other writes do not wait long; and finds out which entries are old. `storefront journal
// prune` and the daily pruning of a server (retention.ts) both use this file.

import { readInChunks, yieldToEventLoop } from "../../lib/yielding.ts";
import type { Engine } from "../../model/engine.ts";
import { siteResourceName, systemSite } from "../../model/system-site.ts";
import { tryParseCursorRevision } from "../database/cursor.ts";
import { readAllRows } from "../database/read-all-rows.ts";

/** Maximum entries that one transaction deletes. It takes a few milliseconds. */
const entriesPerTransaction = 500;
/** Minimum pause after a transaction, in milliseconds. */
export const minPauseMs = 10;
/** The pause after a transaction, as a multiple of its duration. */
const pausePerWork = 2;

type AgeEngine = Pick<Engine, "readJournalPage" | "readHeads" | "readSite">;

/** A range of entries to prune: the entries of a site up to the revision `through`. The range has at least one entry. */
export interface PrunableRange {
  readonly site: number;
  readonly through: number;
}

/** Prunes a chunk in one transaction. Returns whether there is more to prune, and the pause that should follow, in milliseconds. */
export async function pruneChunk(engine: Pick<Engine, "pruneJournal">, { site, through }: PrunableRange) {
  const started = performance.now();
  const hasMore = await engine.pruneJournal(site, through, entriesPerTransaction);
  return { hasMore, pauseMs: Math.max(minPauseMs, pausePerWork * (performance.now() - started)) };
}

/**
 * Returns the IDs of the webhooks of a site whose cursors name an entry up to `floor`. After pruning through `floor`, the journal no longer has these
 * entries. So the webhooks deliver `storefront.gone`, even a webhook with its cursor at `floor`, which has delivered all deleted changes.
 */
export async function findWebhooksWithPrunedCursor(engine: Engine, site: number, floor: number): Promise<number[]> {
  const states = await engine.readWebhookStates();
  return states
    .filter((state) => state.site === site && (tryParseCursorRevision(state.cursor) ?? 0) <= floor)
    .map(({ webhook }) => webhook);
}

/** Returns the IDs of the sites that are not removed, without the system site. */
export async function listSiteIds(engine: Pick<Engine, "readSite">): Promise<number[]> {
  const { rows } = await readAllRows(engine, systemSite);
  return rows.flatMap(({ resource, id, body }) => (resource === siteResourceName && body !== null ? [id] : []));
}

/** Maximum heads in one read. */
const maxHeads = 1000;

/** Returns the time of the newest entry of all journals, in milliseconds since 1970; undefined if none exists. */
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
 * Returns the time that is `age` milliseconds before now, in milliseconds since 1970. Reads the newest entry of the whole database: if it is earlier than
 * the clock, its time counts as now. So a clock that is ahead does not make entries older.
 * @param now the time of the clock, in milliseconds since 1970
 */
export async function readTimeAtAge(engine: AgeEngine, age: number, now: number): Promise<number> {
  return Math.min(now, (await readNewestEntryTime(engine)) ?? now) - age;
}

/**
 * Returns the revision of the last entry before a time; if none exists, the revision before the first entry. A binary search takes about 25
 * reads. It relies on times that never decrease from entry to entry.
 * @param at the time, in milliseconds since 1970
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
