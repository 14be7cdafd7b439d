// `--journal-days`: deletes the old entries of all journals once a day.
//
// If more than half of a journal is old enough, the clock may be wrong, and so may the times of entries that were made since. Nothing of
// such a journal is deleted in the first round that finds it, and half of what there is in a later one, a day after: an operator has a day to read the
// log or the metric. A day is measured by the time that this process has run, so neither a clock that jumps nor a restart shortens it.

import type { Logger } from "pino";
import { type Background, randomized, startBackground } from "../lib/background.ts";
import { gauge } from "../lib/metric-families.ts";
import type { MetricFamily } from "../lib/metric-samples.ts";
import { nextTurn } from "../lib/pace.ts";
import { messageOf } from "../lib/thrown.ts";
import type { Engine } from "../model/engine.ts";
import { lastPrunable } from "./journal.ts";
import {
  minPauseMs,
  type OldEntries,
  prunePortion,
  revisionBefore,
  siteNumbers,
  timeBefore,
  webhooksBehind,
} from "./retention.ts";

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
