// Which entries of a journal are old, and their deletion in small transactions with pauses, so that nothing else waits for long.

import { nextTurn } from "../lib/pace.ts";
import type { Engine } from "../model/engine.ts";
import { siteResourceName, systemSite } from "../model/system-site.ts";
import { revisionInCursor } from "./feed-cursor.ts";
import { loadSite } from "./load-site.ts";

/** Entries that one transaction deletes at most: a few milliseconds. */
const portion = 500;
/** The pause between two portions: at least so many milliseconds, and so many times as long as the last portion took. */
export const minPauseMs = 10;
const pausePerWork = 2;

type JournalEngine = Pick<Engine, "journal" | "prune">;
type AgeEngine = Pick<Engine, "journal" | "heads" | "readSite">;

/** Entries to delete: those of a site up to a revision, which has some. */
export interface OldEntries {
  readonly site: number;
  readonly through: number;
}

/**
 * The revision of the last entry before a time; that before the first entry if there is none. Takes about 25 reads, since the time of an
 * entry is never earlier than that of the entry before.
 * @param at milliseconds since 1970
 */
export async function revisionBefore(engine: JournalEngine, site: number, at: number): Promise<number> {
  const { head, floor, entries } = await engine.journal(site, 0, 1);
  let [low, high] = [floor, head.revision];
  if (!entries[0] || entries[0].at >= at) return floor;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const [entry] = (await engine.journal(site, middle - 1, 1)).entries;
    if (entry && entry.at < at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Deletes a portion. Returns whether there is more to delete, and the pause that should follow, in milliseconds. */
export async function prunePortion(engine: JournalEngine, { site, through }: OldEntries) {
  const started = performance.now();
  const isMore = await engine.prune(site, through, portion);
  return { isMore, pause: Math.max(minPauseMs, pausePerWork * (performance.now() - started)) };
}

/** The IDs of the webhooks of a site that have not delivered all changes up to `floor`. If these are deleted, they deliver `storefront.gone`. */
export async function webhooksBehind(engine: Engine, site: number, floor: number): Promise<number[]> {
  const states = await engine.webhookStates();
  return states
    .filter((state) => state.site === site && (revisionInCursor(state.cursor) ?? 0) <= floor)
    .map(({ webhook }) => webhook);
}

/** The sites that are not removed; without the system site. */
export async function siteNumbers(engine: Pick<Engine, "readSite">): Promise<number[]> {
  const { rows } = await loadSite(engine, systemSite);
  return rows.flatMap(({ resource, id, body }) => (resource === siteResourceName && body !== null ? [id] : []));
}

/** Sites whose heads are read at once. */
const maxHeads = 1000;

/** The time of the newest entry of all journals, in milliseconds since 1970; undefined if there is none. */
async function newestEntryAt(engine: AgeEngine): Promise<number | undefined> {
  const sites = [systemSite, ...(await siteNumbers(engine))];
  let newest: number | undefined;
  for (let start = 0; start < sites.length; start += maxHeads) {
    const some = sites.slice(start, start + maxHeads);
    const heads = await engine.heads(some);
    for (const [n, { revision }] of heads.entries()) {
      if (revision === 0) continue;
      const [entry] = (await engine.journal(some[n] as number, revision - 1, 1)).entries;
      if (entry) newest = Math.max(newest ?? entry.at, entry.at);
      await nextTurn();
    }
  }
  return newest;
}

/**
 * The time so long before now. A clock that is ahead makes no entry older: an age counts from the newest entry of the whole database if that is
 * earlier than the clock.
 * @param age in milliseconds. @param now of the clock, in milliseconds since 1970
 */
export async function timeBefore(engine: AgeEngine, age: number, now: number): Promise<number> {
  return Math.min(now, (await newestEntryAt(engine)) ?? now) - age;
}
