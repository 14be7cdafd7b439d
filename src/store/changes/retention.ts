// Prunes the old entries of the journals of all sites but the system site once a day (`serve --journal-days`).
//
// If more than half of a journal is old, the clock may be wrong, and the times of the latest entries too. The first round that finds such a journal
// prunes nothing of it. Each further round, a day later, prunes half of the rest. So an operator has a day to read the log or the metric before the
// first entry is deleted, and before each further half. The day is measured by a timer of this process, so that a clock that jumps, or a restart,
// cannot shorten it. If another process has pruned the journal since the last round, the day begins again. So all processes together prune half
// per day.

import type { Logger } from "pino";
import { type Background, startBackground, withJitter } from "../../lib/background.ts";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { gauge, type MetricFamily } from "../../lib/metrics.ts";
import { yieldToEventLoop } from "../../lib/yielding.ts";
import type { Engine } from "../../model/engine.ts";
import { lastPrunable } from "../database/journal.ts";
import {
  findWebhooksWithPrunedCursor,
  listSiteIds,
  minPauseMs,
  type PrunableRange,
  pruneChunk,
  readTimeAtAge,
} from "./journal-pruning.ts";
import { readRevisionBefore } from "./revision-before.ts";

const dayMs = 24 * 60 * 60_000;
/** Maximum sites that a log line lists. */
const maxNamed = 20;

interface RetentionOptions {
  /** The age in days at which entries are pruned; undefined to keep all entries. */
  readonly days: number | undefined;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds before the first round. */
  readonly firstPauseMs?: number;
  /** Milliseconds between two rounds, with jitter; by default a day. */
  readonly pauseMs?: number;
}

interface Retention extends Background {
  families(): MetricFamily[];
}

/** A throttled journal: its old entries are not all pruned at once, because they are more than half of it. */
interface ThrottledJournal {
  /** The revision before the first entry, after this round has pruned its part. */
  readonly floor: number;
  /** When a round of this process found the journal with this `floor`, or pruned it up to there: milliseconds of `performance.now()`. */
  readonly since: number;
}

/** By site ID. */
type ThrottledJournals = ReadonlyMap<number, ThrottledJournal>;

/** Prunes the old entries of all sites but the system site once a day, until it is stopped. Any number of processes may do this on one database. */
export function startRetention(engine: Engine, { days, ...options }: RetentionOptions): Retention {
  if (days !== undefined) return startRounds(engine, { ...options, days });
  return { stop: async () => {}, families: () => [throttledFamily(0)] };
}

function startRounds(engine: Engine, options: RetentionOptions & { readonly days: number }): Retention {
  const { days, log, now, firstPauseMs, pauseMs: roundPauseMs = dayMs } = options;
  let due: readonly PrunableRange[] = [];
  let throttled: ThrottledJournals = new Map();

  /** Prunes a chunk; if there is nothing to prune, finds prunable entries. Returns the pause after that, in milliseconds. */
  async function work(isStopped: () => boolean): Promise<number> {
    const [next] = due;
    if (!next) {
      const before = await readTimeAtAge(engine, days * dayMs, now());
      ({ due, throttled } = await findPrunableRanges(
        engine,
        before,
        { throttled, minThrottleMs: roundPauseMs / 2 },
        isStopped,
      ));
      if (throttled.size > 0)
        log.warn(describeThrottled(throttled, days), "most entries of these journals are old: is the clock right?");
      return due.length > 0 ? minPauseMs : withJitter(roundPauseMs);
    }
    const { hasMore, pauseMs } = await pruneChunk(engine, next);
    if (hasMore) return pauseMs;
    due = due.slice(1);
    log.info(next, "deleted the old entries of a journal");
    const webhooks = await findWebhooksWithPrunedCursor(engine, next.site, next.through);
    if (webhooks.length > 0) log.warn({ ...next, webhooks }, prunedCursorsMessage);
    return due.length > 0 ? pauseMs : withJitter(roundPauseMs);
  }

  const onError = (error: unknown) => {
    log.warn({ reason: errorMessage(error) }, "could not delete the old entries of the journal");
    due = [];
  };
  return { ...startBackground(work, { onError, firstPauseMs }), families: () => [throttledFamily(throttled.size)] };
}

/**
 * Finds the entries to prune in this round.
 * @param before entries are old if they were made before this time, in milliseconds since 1970
 * @param last.throttled the throttled journals of the last round
 * @param last.minThrottleMs minimum milliseconds between the time when a journal is throttled and the time when half of it is pruned. Otherwise a round
 *   that is repeated soon after a failure would prune the half too early
 */
async function findPrunableRanges(
  engine: Engine,
  before: number,
  last: { readonly throttled: ThrottledJournals; readonly minThrottleMs: number },
  isStopped: () => boolean,
): Promise<{ due: readonly PrunableRange[]; throttled: ThrottledJournals }> {
  const due: PrunableRange[] = [];
  const throttled = new Map<number, ThrottledJournal>();
  for (const site of await listSiteIds(engine)) {
    if (isStopped()) return { due: [], throttled: last.throttled };
    const { head, floor } = await engine.readJournalPage(site, 0, 1);
    const through = lastPrunable(await readRevisionBefore(engine, site, before), head.revision);
    const half = floor + Math.floor((head.revision - floor) / 2);
    if (through <= half) {
      if (through > floor) due.push({ site, through });
    } else {
      const known = last.throttled.get(site);
      const isDue = known?.floor === floor && performance.now() - known.since >= last.minThrottleMs;
      if (isDue) due.push({ site, through: half });
      const nextFloor = isDue ? half : floor;
      throttled.set(site, known?.floor === nextFloor ? known : { floor: nextFloor, since: performance.now() });
    }
    // Yield, because reads of SQLite do not let the event loop run.
    await yieldToEventLoop();
  }
  return { due, throttled };
}

const prunedCursorsMessage =
  "webhooks cannot continue, because the changes at their cursors were deleted: they deliver storefront.gone next";

function describeThrottled(throttled: ThrottledJournals, days: number) {
  const advice =
    "half of each is deleted a day later, and half of the rest each day after that; to delete all old entries at once: storefront journal prune --before, with a time";
  return { journals: throttled.size, sites: [...throttled.keys()].slice(0, maxNamed), days, advice };
}

function throttledFamily(count: number): MetricFamily {
  const help =
    "Journals that --journal-days prunes slowly, because more than half of their entries are old, as of its last round.";
  return gauge("storefront_journals_pruning_stopped", help, count, "max");
}
