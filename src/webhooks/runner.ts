// Delivers the webhooks of a database. Every server process runs one; leases decide which process delivers a webhook (lease.ts).
//
// A webhook becomes due in two ways: a scan of all states every two to four seconds, which also takes over webhooks of dead processes, and a
// notification that its site has changed. Due webhooks wait in the delivery queue (delivery-queue.ts). A delivery makes at most one attempt
// (deliver-next.ts) and returns when the next one may start: `more` at once, `done` after the next change, `later` after the next scan.
//
// Invariants:
// - This process makes one delivery per webhook at a time, and at most 64 in all. At most 32 of them are to failing or slow receivers.
// - After `done`, changes are debounced. After `later`, changes start nothing for two seconds. So a busy site costs a few requests per second.
// - `stop` aborts the requests in flight and releases the leases, so that another process continues at once.

import type { Logger } from "pino";
import { messageOf } from "../lib/errors-for-log.ts";
import { nextTurn } from "../lib/event-loop.ts";
import { createLogLimit, type LogLimit } from "../lib/logging.ts";
import type { Head } from "../model/engine.ts";
import type { WebhookKey, WebhookState } from "../model/webhooks.ts";
import { type TurnDependencies, takeTurn } from "./deliver-next.ts";
import type { RunnerEngine } from "./delivery-attempt.ts";
import { TurnQueue } from "./delivery-queue.ts";
import { LastSent } from "./last-sent.ts";
import { type HeldLease, releaseHeld, type TurnResult } from "./lease.ts";
import type { ActiveWebhook } from "./records.ts";
import { isWaiting } from "./retry-policy.ts";
import { cursorRevision } from "./webhook-event.ts";

/** Minimum and maximum milliseconds between two scans of all states. With the maximum, another process takes over a webhook within 30 s. */
const [shortestPause, longestPause] = [2000, 4000];
/** Pause between two scans, as a multiple of the duration of a scan. */
const pausesPerLook = 20;
/** Cool-down in milliseconds after a delivery that ended with `later`: changes of the site do not start another delivery during this time. */
const restTime = 2000;

/** Milliseconds from which on an attempt counts as slow. */
const slowTime = 1000;

/** Debounce time in milliseconds after a delivery that left nothing to deliver, and the additional time per webhook that is debouncing. */
const gatherTime = 250;
const gatherTimePerWebhook = 20;

/** Calls `onChange` after each change of the site, until the returned function is called. */
type WatchSite = (site: number, head: Head, onChange: () => void) => () => void;

interface RunnerDependencies extends Omit<TurnDependencies, "lastSent"> {
  readonly watchSite: WatchSite;
  readonly log: Pick<Logger, "warn">;
}

export class WebhookRunner {
  readonly #dependencies: RunnerDependencies & TurnDependencies;
  readonly #stop = new AbortController();
  readonly #turns = new TurnQueue((webhook, site) => void this.#takeTurn(webhook, site));
  readonly #leases = new Map<number, HeldLease>();
  readonly #running = new Set<Promise<void>>();
  /** The end of the cool-down of each webhook, on the monotonic clock. */
  readonly #resting = new Map<number, number>();
  readonly #lastSent = new LastSent();
  /** Webhooks whose last attempt by this process was slow. */
  readonly #slow = new Set<number>();
  /** Webhooks that are debouncing, and whether their site has changed since. */
  readonly #gathering = new Map<number, boolean>();
  readonly #watches = new Map<number, () => void>();
  readonly #logLimit: LogLimit;
  #seen: ReadonlyMap<number, SeenWebhook> = new Map();
  #givenUp: ReadonlyMap<number, SeenWebhook> = new Map();
  #bySite: ReadonlyMap<number, readonly ActiveWebhook[]> = new Map();
  #cancelLook: () => void = () => {};

  constructor(dependencies: RunnerDependencies) {
    const { onAttempt } = dependencies;
    this.#dependencies = {
      ...dependencies,
      lastSent: this.#lastSent,
      onAttempt: (outcome, webhook, milliseconds) => {
        this.#noteTime(webhook, milliseconds);
        onAttempt(outcome, webhook, milliseconds);
      },
    };
    this.#logLimit = createLogLimit(dependencies.clock.now);
    this.#lookAfter(0);
  }

  /** The webhooks that are not paused and may deliver in this database, by ID, as of the last scan. */
  get seen(): ReadonlyMap<number, SeenWebhook> {
    return this.#seen;
  }

  /** The webhooks of this database that are paused because their receivers failed, by ID. Metrics still show how far they are behind. */
  get givenUp(): ReadonlyMap<number, SeenWebhook> {
    return this.#givenUp;
  }

  /** Aborts the requests in flight and releases the leases, so that other processes continue at once. */
  async stop(): Promise<void> {
    this.#turns.end();
    this.#stop.abort();
    this.#cancelLook();
    for (const stopWatch of this.#watches.values()) stopWatch();
    this.#watches.clear();
    while (this.#running.size > 0) await Promise.all(this.#running);
    await Promise.allSettled([...this.#leases.values()].map((held) => releaseHeld(held, "done")));
  }

  #lookAfter(milliseconds: number): void {
    this.#cancelLook = this.#dependencies.clock.after(milliseconds, () => this.#run(this.#lookAndGoOn()));
  }

  async #lookAndGoOn(): Promise<void> {
    const { clock } = this.#dependencies;
    const started = clock.elapsed();
    try {
      await this.#look();
    } catch (error) {
      this.#logError(error);
    }
    const pause = pausesPerLook * (clock.elapsed() - started);
    if (!this.#stop.signal.aborted) this.#lookAfter(Math.min(Math.max(pause, shortestPause), longestPause));
  }

  /** Reads all states, and enqueues each webhook that may have changes to deliver. */
  async #look(): Promise<void> {
    const { engine, records, refresh, clock } = this.#dependencies;
    await refresh();
    const active = records.allActive();
    this.#seen = await lookAt(active, engine);
    this.#givenUp = await lookAt(records.allGivenUp(), engine);
    this.#bySite = Map.groupBy(active, ({ site }) => site);
    this.#watch(new Map([...this.#seen.values()].map(({ state, head }) => [state.site, head])));
    for (const seen of this.#seen.values())
      if (isDue(seen, clock.now(), this.#lastSent)) this.#addTurn(seen.state, seen.state.failures);
    this.#lastSent.keep(this.#seen);
    for (const id of this.#slow) if (!this.#seen.has(id)) this.#slow.delete(id);
    for (const [id, until] of this.#resting) if (until <= clock.elapsed()) this.#resting.delete(id);
  }

  /** Subscribes to exactly these sites. */
  #watch(heads: ReadonlyMap<number, Head>): void {
    for (const [site, stopWatch] of this.#watches) {
      if (heads.has(site)) continue;
      stopWatch();
      this.#watches.delete(site);
    }
    if (this.#stop.signal.aborted) return;
    for (const [site, head] of heads) {
      if (this.#watches.has(site)) continue;
      this.#watches.set(
        site,
        this.#dependencies.watchSite(site, head, () => this.#onChange(site)),
      );
    }
  }

  #onChange(site: number): void {
    for (const { webhook } of this.#bySite.get(site) ?? []) this.#addChanged(webhook);
  }

  /** Enqueues a webhook whose site has changed, unless it backs off or cools down. While it is debouncing, only marks the change. */
  #addChanged(webhook: number): void {
    const seen = this.#seen.get(webhook);
    if (this.#gathering.has(webhook)) this.#gathering.set(webhook, true);
    else if (seen && this.#mayTakeTurn(seen.state)) this.#addTurn(seen.state, seen.state.failures);
  }

  /** @param failures its failed attempts since the last success */
  #addTurn({ webhook, site }: WebhookKey, failures = 0): void {
    this.#turns.add(webhook, { site, speed: failures > 0 || this.#slow.has(webhook) ? "slow" : "quick" });
  }

  #noteTime({ webhook }: ActiveWebhook, milliseconds: number): void {
    if (milliseconds >= slowTime) this.#slow.add(webhook);
    else this.#slow.delete(webhook);
  }

  #mayTakeTurn(state: WebhookState): boolean {
    const { now, elapsed } = this.#dependencies.clock;
    return !isWaiting(state, now()) && (this.#resting.get(state.webhook) ?? 0) <= elapsed();
  }

  #takeTurn(webhook: number, site: number): void {
    const held = this.#leases.get(webhook) ?? {};
    this.#leases.set(webhook, held);
    this.#run(
      takeTurn(webhook, held, this.#dependencies, this.#stop.signal)
        .catch((error): TurnResult => {
          // The stored state is not known now. The next delivery reads it.
          held.lease = undefined;
          this.#logError(error);
          return "later";
        })
        .then((result) => this.#afterTurn({ webhook, site }, held, result)),
    );
  }

  #afterTurn(key: WebhookKey, held: HeldLease, result: TurnResult): void {
    const { webhook } = key;
    if (!held.lease) this.#leases.delete(webhook);
    const { elapsed } = this.#dependencies.clock;
    const isChanged = this.#turns.done(webhook);
    if (result === "more") this.#addTurn(key);
    else if (result === "later") this.#resting.set(webhook, elapsed() + restTime);
    else this.#gather(webhook, isChanged);
  }

  /**
   * Waits a moment for further changes before the next delivery, so that a site that changes all the time costs a few requests per second, not one
   * per change.
   */
  #gather(webhook: number, isChanged: boolean): void {
    this.#gathering.set(webhook, isChanged);
    this.#dependencies.clock.after(gatherTime + gatherTimePerWebhook * this.#gathering.size, () => {
      const isWanted = this.#gathering.get(webhook);
      this.#gathering.delete(webhook);
      if (isWanted) this.#addChanged(webhook);
    });
  }

  /** Runs work that `stop` waits for. It must not reject. */
  #run(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #logError(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    const reason = messageOf(error);
    this.#logLimit(reason, (suppressed) =>
      this.#dependencies.log.warn({ reason, suppressed }, "webhooks could not be delivered; they are tried again"),
    );
  }
}

// The states of the webhooks that may be delivered in this database. They are read in chunks, with a tick of the event loop after each.

/** Webhooks or sites per read. It takes about a millisecond. */
const portion = 200;

/** A webhook as of the last scan. */
export interface SeenWebhook {
  readonly state: WebhookState;
  /** The head of its site. */
  readonly head: Head;
}

/** Reads the states and heads of the webhooks of `active` that may deliver in this database, by ID. */
async function lookAt(
  active: readonly ActiveWebhook[],
  engine: Pick<RunnerEngine, "databaseIdentity" | "webhookStates" | "heads">,
): Promise<ReadonlyMap<number, SeenWebhook>> {
  if (active.length === 0) return new Map();
  const home = await engine.databaseIdentity();
  const states = (await inPortions(active, (some) => engine.webhookStates(some))).filter(
    (state) => state.home === home,
  );
  const sites = [...new Set(states.map(({ site }) => site))];
  const all = await inPortions(sites, (some) => engine.heads(some));
  const heads = new Map(sites.map((site, index) => [site, all[index] as Head]));
  return new Map(states.map((state) => [state.webhook, { state, head: heads.get(state.site) as Head }]));
}

/** Whether there may be something to deliver now. @param now milliseconds since 1970 */
function isDue({ state, head }: SeenWebhook, now: number, lastSent: LastSent): boolean {
  if (isWaiting(state, now)) return false;
  if (lastSent.isAhead(state)) return true;
  const { epoch, cursor, isGone, first } = state;
  return (
    isGone === 1 || first > 0 || (epoch !== "" && epoch !== head.epoch) || cursorRevision(cursor) !== head.revision
  );
}

async function inPortions<T, R>(
  values: readonly T[],
  read: (some: readonly T[]) => readonly R[] | Promise<readonly R[]>,
): Promise<R[]> {
  const found: R[] = [];
  for (let i = 0; i < values.length; i += portion) {
    found.push(...(await read(values.slice(i, i + portion))));
    // Reads of SQLite are synchronous: they never yield to the event loop.
    await nextTurn();
  }
  return found;
}
