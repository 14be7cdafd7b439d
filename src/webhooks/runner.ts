// Delivers the webhooks of a database, beside any number of other processes that do the same. A webhook is the feed of a site, pushed: its
// state (model/webhooks.ts) has a cursor, and one process at a time, by a lease, sends what comes after it (deliver-next.ts). The state is read again
// every two seconds, which is how a process finds what another one left behind; changes of a site come sooner, by its watch.

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

/** Milliseconds between two looks at all states, and how many times as long as the look took. With the longest, a webhook is taken over in 30 s. */
const [shortestPause, longestPause] = [2000, 4000];
const pausesPerLook = 20;
/** Milliseconds in which changes of the site give a webhook no turn, after one that ended with `later`. */
const restTime = 2000;

/** Milliseconds from which on an attempt was slow. */
const slowTime = 1000;

/** Milliseconds in which changes gather after a request that left nothing to deliver, and how many more for each webhook that does so. */
const gatherTime = 250;
const gatherTimePerWebhook = 20;

/** Calls back whenever a site has new changes, until the returned function is called. */
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
  /** Until when, by the clock's `elapsed`, changes of the site give a webhook no turn. */
  readonly #resting = new Map<number, number>();
  readonly #lastSent = new LastSent();
  /** Webhooks whose last attempt by this process was slow. */
  readonly #slow = new Set<number>();
  /** Webhooks that let changes gather, and whether there are any. */
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

  /** The webhooks that are not paused and may deliver in this database, by ID. */
  get seen(): ReadonlyMap<number, SeenWebhook> {
    return this.#seen;
  }

  /** The webhooks of this database whose receivers failed, by ID: they are paused, and how far they are behind is still watched. */
  get givenUp(): ReadonlyMap<number, SeenWebhook> {
    return this.#givenUp;
  }

  /** Aborts the requests under way, and lets other processes go on at once. */
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

  /** Reads all states, and gives a turn to each webhook that is due. */
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

  /** Follows exactly these sites from now on. */
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

  /** Gives a webhook whose site has changed a turn, unless it rests. */
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
          // What is stored is not known. The next turn reads it.
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

  /** Lets the next changes gather for a moment, so that a site that changes all the time costs a few requests per second, not one per change. */
  #gather(webhook: number, isChanged: boolean): void {
    this.#gathering.set(webhook, isChanged);
    this.#dependencies.clock.after(gatherTime + gatherTimePerWebhook * this.#gathering.size, () => {
      const isWanted = this.#gathering.get(webhook);
      this.#gathering.delete(webhook);
      if (isWanted) this.#addChanged(webhook);
    });
  }

  /** Runs work for which `stop` waits. It does not reject. */
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

// What is stored of the webhooks that may be delivered here, read in portions with a turn of the event loop after each.

/** Webhooks or sites that are read at once: about a millisecond. */
const portion = 200;

/** What the last look found of a webhook. */
export interface SeenWebhook {
  readonly state: WebhookState;
  /** The end of the journal of its site. */
  readonly head: Head;
}

/** The webhooks of `active` that may deliver in this database, by ID. */
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
    // Reads of SQLite take no turn of the event loop.
    await nextTurn();
  }
  return found;
}
