// Deletes old entries of the journal, in small transactions with pauses, so that nothing else waits for long.

import type { Logger } from "pino";
import { type Background, randomized, startBackground } from "../lib/background.ts";
import { nextTurn } from "../lib/pace.ts";
import { messageOf } from "../lib/thrown.ts";
import type { Engine } from "../model/engine.ts";
import { siteResourceName, systemSite } from "../model/system-site.ts";
import { revisionInCursor } from "./feed-cursor.ts";
import { lastPrunable } from "./journal.ts";
import { loadSite } from "./load-site.ts";

/** Entries that one transaction deletes at most: a few milliseconds. */
const portion = 500;
/** The pause between two portions: at least so many milliseconds, and so many times as long as the last portion took. */
const minPause = 10;
const pausesPerWork = 2;
const day = 24 * 60 * 60_000;

type JournalEngine = Pick<Engine, "journal" | "prune">;

/** Entries to delete: those of a site up to a revision, which has some. */
interface OldEntries {
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
  return { isMore, pause: Math.max(minPause, pausesPerWork * (performance.now() - started)) };
}

/** The IDs of the webhooks of a site that have not delivered all changes up to `floor`. If these are deleted, they deliver `storefront.gone`. */
export async function webhooksBehind(engine: Engine, site: number, floor: number): Promise<number[]> {
  const states = await engine.webhookStates();
  return states
    .filter((state) => state.site === site && (revisionInCursor(state.cursor) ?? 0) <= floor)
    .map(({ webhook }) => webhook);
}

/** The sites that are not removed; without the system site. */
async function siteNumbers(engine: Pick<Engine, "readSite">): Promise<number[]> {
  const { rows } = await loadSite(engine, systemSite);
  return rows.flatMap(({ resource, id, body }) => (resource === siteResourceName && body !== null ? [id] : []));
}

interface RetentionOptions {
  /** Entries are deleted when they are this many days old. */
  readonly days: number;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds before the first round. */
  readonly firstPause?: number;
}

/** Deletes the old entries of all sites once a day, until it is stopped. Any number of processes may do so on one database. */
export function startRetention(engine: Engine, options: RetentionOptions): Background {
  const { days, log, now, firstPause } = options;
  let due: OldEntries[] = [];

  /** Deletes a portion, or searches what to delete. */
  async function work(isStopped: () => boolean): Promise<number> {
    const [next] = due;
    if (!next) {
      due = await findOld(engine, now() - days * day, isStopped);
      return due.length > 0 ? minPause : randomized(day);
    }
    const { isMore, pause } = await prunePortion(engine, next);
    if (!isMore) {
      due = due.slice(1);
      log.info(next, "deleted the old entries of a journal");
      const webhooks = await webhooksBehind(engine, next.site, next.through);
      if (webhooks.length > 0) log.warn({ ...next, webhooks }, "deleted changes that webhooks had not delivered");
    }
    return pause;
  }

  const onError = (error: unknown) => {
    log.warn({ reason: messageOf(error) }, "could not delete the old entries of the journal");
    due = [];
  };
  return startBackground(work, { onError, firstPause });
}

async function findOld(engine: Engine, before: number, isStopped: () => boolean): Promise<OldEntries[]> {
  const found: OldEntries[] = [];
  for (const site of await siteNumbers(engine)) {
    if (isStopped()) return [];
    const { head, floor } = await engine.journal(site, 0, 1);
    const through = lastPrunable(await revisionBefore(engine, site, before), head.revision);
    if (through > floor) found.push({ site, through });
    // Reads of SQLite take no turn of the event loop.
    await nextTurn();
  }
  return found;
}
