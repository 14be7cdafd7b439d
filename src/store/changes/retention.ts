// Which entries of a journal are old, and their deletion in small transactions with pauses, so that nothing else waits for long.

import type { Logger } from "pino";
import { type Background, randomized, startBackground } from "../../lib/background.ts";
import { messageOf } from "../../lib/errors-for-log.ts";
import { nextTurn } from "../../lib/event-loop.ts";
import { gauge, type MetricFamily } from "../../lib/metrics.ts";
import type { Engine } from "../../model/engine.ts";
import { idempotencyLifetime, siteResourceName, systemSite } from "../../model/limits.ts";
import { revisionInCursor } from "../database/cursor.ts";
import { lastPrunable, loadSite } from "../database/site-state.ts";

/** Entries that one transaction deletes at most: a few milliseconds. */
const portion = 500;
/** The pause between two portions: at least so many milliseconds, and so many times as long as the last portion took. */
const minPauseMs = 10;
const pausePerWork = 2;

type JournalEngine = Pick<Engine, "journal" | "prune">;
type AgeEngine = Pick<Engine, "journal" | "heads" | "readSite">;

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
async function siteNumbers(engine: Pick<Engine, "readSite">): Promise<number[]> {
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

// Deletes the expired responses of idempotency keys. An expired response is never used, so this only frees space: it may be late,
// but must not delay writes. So it deletes small portions, each in a separate transaction, and pauses most of the time.

/** Responses that one transaction deletes at most: a few milliseconds. */
const maxPortion = 250;
/** The pause between two portions: at least so many milliseconds, and so many times as long as the last portion took (a fifth of the time is work). */
const minExpiryPauseMs = 50;
const expiryPausePerWork = 4;
/** Milliseconds after a round over everything. */
const betweenRounds = 60 * 60_000;

interface ExpiryOptions {
  readonly log: Pick<Logger, "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly portion?: number;
  /** Milliseconds before the first portion. */
  readonly firstPause?: number;
}

/** Deletes expired responses until it is stopped. Any number of processes may do so on one database. */
export function startResponseExpiry(
  engine: Pick<Engine, "deleteExpiredResponses">,
  options: ExpiryOptions,
): Background {
  const { log, now, portion = maxPortion, firstPause } = options;
  /** Deletes a portion. Returns how long to pause, in milliseconds. */
  async function work(): Promise<number> {
    const started = performance.now();
    const isMore = await engine.deleteExpiredResponses(now() - idempotencyLifetime, portion);
    if (!isMore) return randomized(betweenRounds);
    return Math.max(minExpiryPauseMs, expiryPausePerWork * (performance.now() - started));
  }

  const onError = (error: unknown) =>
    log.warn({ reason: messageOf(error) }, "could not delete the expired responses of idempotency keys");
  return startBackground(work, { onError, firstPause });
}

// `--journal-days`: deletes the old entries of all journals once a day.
//
// If more than half of a journal is old enough, the clock may be wrong, and so may the times of entries that were made since. Nothing of
// such a journal is deleted in the first round that finds it, and half of what there is in a later one, a day after: an operator has a day to read the
// log or the metric. A day is measured by the time that this process has run, so neither a clock that jumps nor a restart shortens it.

const day = 24 * 60 * 60_000;
/** Sites that a line of the log names. */
const maxNamed = 20;

interface RetentionOptions {
  /** Entries are deleted when they are this many days old; undefined to keep them. */
  readonly days: number | undefined;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds before the first round. */
  readonly firstPause?: number;
  /** Milliseconds between two rounds, more or less: a day. */
  readonly pause?: number;
}

interface Retention extends Background {
  families(): MetricFamily[];
}

/** A journal of which more than half is old: the revision before its first entry, and since when it has been so (`performance.now`). */
interface Stop {
  readonly floor: number;
  readonly since: number;
}

/** By site. */
type Stops = ReadonlyMap<number, Stop>;

/** Deletes the old entries of all sites once a day, until it is stopped. Any number of processes may do so on one database. */
export function startRetention(engine: Engine, { days, ...options }: RetentionOptions): Retention {
  if (days !== undefined) return startRounds(engine, { ...options, days });
  return { stop: async () => {}, families: () => [stoppedFamily(0)] };
}

function startRounds(engine: Engine, options: RetentionOptions & { readonly days: number }): Retention {
  const { days, log, now, firstPause, pause: roundPause = day } = options;
  let due: readonly OldEntries[] = [];
  let stopped: Stops = new Map();

  /** Deletes a portion, or searches what to delete. */
  async function work(isStopped: () => boolean): Promise<number> {
    const [next] = due;
    if (!next) {
      const before = await timeBefore(engine, days * day, now());
      ({ due, stopped } = await findOld(engine, before, { stopped, minStop: roundPause / 2 }, isStopped));
      if (stopped.size > 0)
        log.warn(toStopped(stopped, days), "more than half of these journals is old: is the clock right?");
      return due.length > 0 ? minPauseMs : randomized(roundPause);
    }
    const { isMore, pause } = await prunePortion(engine, next);
    if (isMore) return pause;
    due = due.slice(1);
    log.info(next, "deleted the old entries of a journal");
    const webhooks = await webhooksBehind(engine, next.site, next.through);
    if (webhooks.length > 0) log.warn({ ...next, webhooks }, "deleted changes that webhooks had not delivered");
    return due.length > 0 ? pause : randomized(roundPause);
  }

  const onError = (error: unknown) => {
    log.warn({ reason: messageOf(error) }, "could not delete the old entries of the journal");
    due = [];
  };
  return { ...startBackground(work, { onError, firstPause }), families: () => [stoppedFamily(stopped.size)] };
}

/**
 * @param before the time before which entries are old
 * @param last the stops of the round before, and how long one must last before half of the journal is deleted, in milliseconds: a round that failed
 *   is repeated soon
 */
async function findOld(
  engine: Engine,
  before: number,
  last: { readonly stopped: Stops; readonly minStop: number },
  isStopped: () => boolean,
): Promise<{ due: readonly OldEntries[]; stopped: Stops }> {
  const due: OldEntries[] = [];
  const stopped = new Map<number, Stop>();
  for (const site of await siteNumbers(engine)) {
    if (isStopped()) return { due: [], stopped: last.stopped };
    const { head, floor } = await engine.journal(site, 0, 1);
    const through = lastPrunable(await revisionBefore(engine, site, before), head.revision);
    const half = floor + Math.floor((head.revision - floor) / 2);
    if (through <= half) {
      if (through > floor) due.push({ site, through });
    } else {
      // Another process may have deleted half of it since the round before: then it begins anew.
      const known = last.stopped.get(site);
      const stop = known?.floor === floor ? known : { floor, since: performance.now() };
      stopped.set(site, stop);
      if (performance.now() - stop.since >= last.minStop) due.push({ site, through: half });
    }
    // Reads of SQLite take no turn of the event loop.
    await nextTurn();
  }
  return { due, stopped };
}

function toStopped(stopped: Stops, days: number) {
  const advice =
    "half of each is deleted a day later; to delete all old entries at once: storefront journal prune --before, with a time";
  return { journals: stopped.size, sites: [...stopped.keys()].slice(0, maxNamed), days, advice };
}

function stoppedFamily(count: number): MetricFamily {
  const help =
    "Journals of which --journal-days does not delete all old entries at once, because they are more than half, as of its last look.";
  return gauge("storefront_journals_pruning_stopped", help, count, "max");
}
