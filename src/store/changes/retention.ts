// Prunes old journal entries of all sites, including the system site, once a day (`serve --journal-days`).
//
// If more than half of a journal is old, the clock may be wrong, or have been wrong when the latest entries were made. The first round to find such a
// journal leaves it alone; each round after that, a day later, prunes half of the rest. That gives an operator a day to notice the log or the metric
// before anything is deleted, and again before each further half. The day is measured by a timer in this process, so neither a clock that jumps nor a
// restart can shorten it. If another process has pruned the journal since the last round, the day starts over, so that all processes together prune
// half per day.

import type { Logger } from "pino";
import { type Background, startBackground, withJitter } from "../../lib/background.ts";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { gauge, type MetricFamily } from "../../lib/metrics.ts";
import { yieldToEventLoop } from "../../lib/yielding.ts";
import type { Engine } from "../../model/engine.ts";
import { systemSite } from "../../model/system-site.ts";
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
/** Maximum sites listed in a log line. */
const maxNamed = 20;

interface RetentionOptions {
  /** Prune entries older than this; undefined keeps them all. */
  readonly days: number | undefined;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly firstPauseMs?: number;
  /** Between two rounds, with jitter. Default: a day. */
  readonly pauseMs?: number;
}

interface Retention extends Background {
  families(): MetricFamily[];
}

/** A journal pruned slowly because more than half of its entries are old. */
interface ThrottledJournal {
  /** The revision before the first entry left by this round. */
  readonly floor: number;
  /** When this process found the journal with this `floor`, or pruned it to there, by `performance.now()`. */
  readonly since: number;
}

/** Throttled journals by site ID. */
type ThrottledJournals = ReadonlyMap<number, ThrottledJournal>;

/** Any number of processes can do this for the same database. */
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
    log.warn({ reason: errorMessage(error) }, "could not delete old journal entries");
    rounds.endRound();
  };
  const background = startBackground((isStopped) => rounds.runStep(isStopped), { onError, firstPauseMs });
  return { ...background, families: () => [throttledFamily(rounds.throttledCount)] };
}

/** The first step of a round finds the entries to prune; each of the others prunes a chunk. */
class Rounds {
  readonly #engine: Engine;
  readonly #options: RoundOptions;
  /** What this round has yet to prune. Empty between rounds. */
  #due: readonly PrunableRange[] = [];
  #throttled: ThrottledJournals = new Map();

  constructor(engine: Engine, options: RoundOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** How many journals were throttled in the last round. */
  get throttledCount(): number {
    return this.#throttled.size;
  }

  /** Returns how long to pause, in milliseconds. */
  runStep(isStopped: () => boolean): Promise<number> {
    const [next] = this.#due;
    return next ? this.#pruneChunkOf(next) : this.#startRound(isStopped);
  }

  /** Gives up the rest of the round. The next one will find it again. */
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
      log.warn(describeThrottled(throttled, days), "most entries in these journals are old; is the clock right?");
    return this.#pauseAfterStep(minPauseMs);
  }

  async #pruneChunkOf(range: PrunableRange): Promise<number> {
    const { log } = this.#options;
    const { hasMore, pauseMs } = await pruneChunk(this.#engine, range);
    if (hasMore) return pauseMs;
    this.#due = this.#due.slice(1);
    log.info(range, "deleted old journal entries");
    const webhooks = await findWebhooksWithPrunedCursor(this.#engine, range.site, range.through);
    if (webhooks.length > 0) log.warn({ ...range, webhooks }, prunedCursorsMessage);
    return this.#pauseAfterStep(pauseMs);
  }

  /** Returns `pauseMs` during a round, or the pause until the next one after its last step. */
  #pauseAfterStep(pauseMs: number): number {
    return this.#due.length > 0 ? pauseMs : withJitter(this.#roundPauseMs);
  }

  get #roundPauseMs(): number {
    return this.#options.pauseMs ?? dayMs;
  }
}

/**
 * Finds the entries to prune in this round.
 * @param before entries are old if made before this time, in milliseconds since 1970
 * @param last.throttled the throttled journals of the last round
 * @param last.minThrottleMs minimum time between throttling a journal and pruning half of it. Without it, a round repeated soon after a failure would
 * prune too early
 */
async function findPrunableRanges(
  engine: Engine,
  before: number,
  last: { readonly throttled: ThrottledJournals; readonly minThrottleMs: number },
  isStopped: () => boolean,
): Promise<{ due: readonly PrunableRange[]; throttled: ThrottledJournals }> {
  const due: PrunableRange[] = [];
  const throttled = new Map<number, ThrottledJournal>();
  for (const site of [systemSite, ...(await listSiteIds(engine))]) {
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
    // Reads of SQLite don't let the event loop run.
    await yieldToEventLoop();
  }
  return { due, throttled };
}

const prunedCursorsMessage =
  "these webhooks can't continue, because the changes at their cursors were deleted; they'll deliver storefront.gone next";

function describeThrottled(throttled: ThrottledJournals, days: number) {
  const advice =
    "half of each will be deleted in a day, and half of the rest each day after that; to delete all old entries now, use storefront journal prune --before, with a time";
  return { journals: throttled.size, sites: [...throttled.keys()].slice(0, maxNamed), days, advice };
}

function throttledFamily(count: number): MetricFamily {
  const help =
    "Journals that --journal-days is pruning slowly because more than half of their entries are old, as of its last round.";
  return gauge("storefront_journals_pruned_slowly", help, count, "max");
}
