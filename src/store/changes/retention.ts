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
  readRevisionBefore,
  readTimeAtAge,
} from "./journal-pruning.ts";

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

interface RoundOptions extends RetentionOptions {
  readonly days: number;
}

function startRounds(engine: Engine, options: RoundOptions): Retention {
  const { log, firstPauseMs } = options;
  const rounds = new Rounds(engine, options);
  const onError = (error: unknown) => {
    log.warn({ reason: errorMessage(error) }, "could not delete the old entries of the journal");
    rounds.endRound();
  };
  const background = startBackground((isStopped) => rounds.runStep(isStopped), { onError, firstPauseMs });
  return { ...background, families: () => [throttledFamily(rounds.throttledCount)] };
}

/** The rounds of this process. The first step of a round finds the entries to prune, and each further step prunes a chunk of them. */
class Rounds {
  readonly #engine: Engine;
  readonly #options: RoundOptions;
  /** The ranges that this round has not pruned yet. Empty between two rounds. */
  #due: readonly PrunableRange[] = [];
  #throttled: ThrottledJournals = new Map();

  constructor(engine: Engine, options: RoundOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** The number of throttled journals, as of the last round. */
  get throttledCount(): number {
    return this.#throttled.size;
  }

  /** Runs one step. Returns the pause after it, in milliseconds. */
  runStep(isStopped: () => boolean): Promise<number> {
    const [next] = this.#due;
    return next ? this.#pruneChunkOf(next) : this.#startRound(isStopped);
  }

  /** Ends the round, although ranges may remain. The next round finds them again. */
  endRound(): void {
    this.#due = [];
  }

  async #startRound(isStopped: () => boolean): Promise<number> {
    const { days, log, now } = this.#options;
    const before = await readTimeAtAge(this.#engine, days * dayMs, now());
    const last = { throttled: this.#throttled, minThrottleMs: this.#roundPauseMs / 2 };
    const { due, throttled } = await findPrunableRanges(this.#engine, before, last, isStopped);
    this.#due = due;
    this.#throttled = throttled;
    if (throttled.size > 0)
      log.warn(describeThrottled(throttled, days), "most entries of these journals are old: is the clock right?");
    return this.#pauseAfterStep(minPauseMs);
  }

  async #pruneChunkOf(range: PrunableRange): Promise<number> {
    const { log } = this.#options;
    const { hasMore, pauseMs } = await pruneChunk(this.#engine, range);
    if (hasMore) return pauseMs;
    this.#due = this.#due.slice(1);
    log.info(range, "deleted the old entries of a journal");
    const webhooks = await findWebhooksWithPrunedCursor(this.#engine, range.site, range.through);
    if (webhooks.length > 0) log.warn({ ...range, webhooks }, prunedCursorsMessage);
    return this.#pauseAfterStep(pauseMs);
  }

  /** Returns `pauseMs` during a round, and the pause between two rounds after its last step. */
  #pauseAfterStep(pauseMs: number): number {
    return this.#due.length > 0 ? pauseMs : withJitter(this.#roundPauseMs);
  }

  get #roundPauseMs(): number {
    return this.#options.pauseMs ?? dayMs;
  }
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
  return gauge("storefront_journals_pruned_slowly", help, count, "max");
}
