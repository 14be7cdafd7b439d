// Tells subscribers, such as long polls and webhooks, that the head of their site has changed. There's one instance per process.
//
// The engine's hints about commits can be late, repeated or, on PostgreSQL, missing. So a hint only marks sites as due. Their heads are then read in
// chunks and compared with what each subscriber was last told. Where hints can be missing, all sites are due every 250 ms.
//
// Invariants:
// - While a site's head differs from what a subscriber knows, a call is due or in flight. A subscriber's calls never overlap.
// - With the embedded engine, reading heads takes at most about a tenth of the time. Calls go through a fair queue, so no site blocks others.
// - Without subscribers, nothing runs.

import { sleep } from "../../lib/background.ts";
import { FairQueue, type FairTask } from "../../lib/fair-queue.ts";
import { type MaybePromise, whenResolved } from "../../lib/maybe-promise.ts";
import { yieldToEventLoop } from "../../lib/yielding.ts";
import type { CommitSubscription, Engine } from "../../model/engine.ts";
import { type Head, isSameHead } from "../../model/head.ts";

/** SQLite reads them in less than a millisecond. */
const headsPerRead = 200;
/** How often all sites are checked where hints can be missing, and the pause after a database failure. */
const checkIntervalMs = 250;
/** Pause after a check, as a multiple of its duration. `here`: the engine reads on this thread. `elsewhere`: a database server does. */
const pauseFactor = { here: 10, elsewhere: 1 };
/** Maximum pause after a check. */
const maxPauseMs = 1000;
/** How long to stay subscribed to the engine after the last subscriber leaves. Most clients poll again right away. */
const lingerMs = 5000;

interface NotifierTimes {
  readonly checkIntervalMs: number;
  readonly lingerMs: number;
}

export class SiteChangeNotifier {
  readonly #engine: Pick<Engine, "readsOnThisThread" | "readHeads" | "subscribeToCommits">;
  readonly #times: NotifierTimes;
  readonly #sites = new Map<number, SubscribedSite>();
  readonly #queue = new FairQueue<number>();
  readonly #stopped = Promise.withResolvers<void>();
  /** IDs of the sites to check next. */
  #due = new Set<number>();
  /** Whether to check all sites next. */
  #isAllDue = false;
  #isChecking = false;
  #commits: CommitSubscription | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  #lingerTimer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    engine: Pick<Engine, "readsOnThisThread" | "readHeads" | "subscribeToCommits">,
    times: NotifierTimes = { checkIntervalMs, lingerMs },
  ) {
    this.#engine = engine;
    this.#times = times;
  }

  /** Number of sites with subscribers. */
  get size(): number {
    return this.#sites.size;
  }

  /**
   * Calls `onChange` soon after the head of `site` differs from `head`, and then whenever it differs from the one last passed on. A new epoch or a
   * lower revision counts too. Calls don't overlap.
   * @param head the latest that the caller knows
   * @returns a function to unsubscribe, which may be called more than once
   */
  subscribe(site: number, head: Head, onChange: OnChange): () => void {
    if (this.#isStopped) return () => {};
    const subscribed = this.#getOrAddSite(site);
    const subscriber = new SiteSubscriber(subscribed, head, onChange, this.#queue);
    subscribed.subscribers.add(subscriber);
    this.#startListening();
    // The hint for a commit before this call may have come and gone, so check the head now.
    if (!subscriber.isUpToDate) this.#markDue([site]);
    return () => this.#unsubscribe(subscribed, subscriber);
  }

  /** Ends all subscriptions. There are no calls after this. */
  stop(): void {
    this.#isStopped = true;
    for (const { subscribers } of this.#sites.values()) for (const subscriber of subscribers) subscriber.stop();
    this.#sites.clear();
    this.#stopped.resolve();
    this.#stopListening();
  }

  #getOrAddSite(id: number): SubscribedSite {
    let subscribed = this.#sites.get(id);
    if (!subscribed) {
      subscribed = { id, head: undefined, subscribers: new Set() };
      this.#sites.set(id, subscribed);
    }
    return subscribed;
  }

  #unsubscribe(subscribed: SubscribedSite, subscriber: SiteSubscriber): void {
    subscriber.stop();
    if (!subscribed.subscribers.delete(subscriber) || subscribed.subscribers.size > 0) return;
    this.#sites.delete(subscribed.id);
    if (this.#sites.size > 0 || this.#isStopped) return;
    this.#lingerTimer = setTimeout(() => this.#stopListening(), this.#times.lingerMs);
    this.#lingerTimer.unref();
  }

  #startListening(): void {
    clearTimeout(this.#lingerTimer);
    if (this.#commits) return;
    this.#commits = this.#engine.subscribeToCommits((sites) => this.#markDue(sites));
    if (!this.#commits.mayMissCommits) return;
    this.#checkTimer = setInterval(() => this.#markDue(undefined), this.#times.checkIntervalMs);
    this.#checkTimer.unref();
  }

  #stopListening(): void {
    clearTimeout(this.#lingerTimer);
    clearInterval(this.#checkTimer);
    this.#commits?.stop();
    this.#commits = undefined;
  }

  /** Marks sites as due and starts a check unless one is running. @param sites those that may have changed; undefined for all */
  #markDue(sites: readonly number[] | undefined): void {
    if (!sites) this.#isAllDue = true;
    for (const site of sites ?? []) if (this.#sites.has(site)) this.#due.add(site);
    if (!this.#isChecking) void this.#checkDueSites();
  }

  async #checkDueSites(): Promise<void> {
    this.#isChecking = true;
    for (let due = this.#takeDue(); due.length > 0; due = this.#takeDue()) {
      await sleep(await this.#checkInChunks(due), this.#stopped.promise);
    }
    this.#isChecking = false;
  }

  #takeDue(): number[] {
    const due = [...(this.#isAllDue ? this.#sites.keys() : this.#due)];
    this.#due.clear();
    this.#isAllDue = false;
    return due;
  }

  /** Returns how long to pause, in milliseconds. */
  async #checkInChunks(due: readonly number[]): Promise<number> {
    let pauseMs = 0;
    for (let at = 0; at < due.length && !this.#isStopped; at += headsPerRead) {
      if (at > 0) await yieldToEventLoop();
      try {
        pauseMs += await this.#checkHeads(due.slice(at, at + headsPerRead));
      } catch {
        // The database isn't responding. Requests report that; a later check will find the same changes.
        this.#markDue(due.slice(at));
        return this.#times.checkIntervalMs;
      }
    }
    return Math.min(maxPauseMs, pauseMs);
  }

  async #checkHeads(sites: readonly number[]): Promise<number> {
    const started = performance.now();
    const heads = await this.#engine.readHeads(sites);
    sites.forEach((site, index) => {
      const subscribed = this.#sites.get(site);
      if (!subscribed) return;
      subscribed.head = heads[index] as Head;
      for (const subscriber of subscribed.subscribers) subscriber.scheduleIfChanged();
    });
    const factor = this.#engine.readsOnThisThread ? pauseFactor.here : pauseFactor.elsewhere;
    return factor * (performance.now() - started);
  }
}

/** Gets the head that was read. Must not throw or reject. */
type OnChange = (head: Head) => MaybePromise<void>;

interface SubscribedSite {
  readonly id: number;
  readonly subscribers: Set<SiteSubscriber>;
  /** The last head read; undefined before the first read. */
  head: Head | undefined;
}

/** A site's subscriber. Its calls are tasks of the fair queue. */
class SiteSubscriber implements FairTask {
  readonly #site: SubscribedSite;
  readonly #onChange: OnChange;
  readonly #queue: FairQueue<number>;
  /** The last head that the subscriber was told. */
  #lastNotifiedHead: Head;
  /** Whether a call is queued or in flight. */
  #isBusy = false;
  #isStopped = false;

  /** @param queue the calls of all subscribers, by site */
  constructor(site: SubscribedSite, known: Head, onChange: OnChange, queue: FairQueue<number>) {
    this.#site = site;
    this.#lastNotifiedHead = known;
    this.#onChange = onChange;
    this.#queue = queue;
  }

  /** Whether the subscriber knows the last head read. */
  get isUpToDate(): boolean {
    const { head } = this.#site;
    return head !== undefined && isSameHead(head, this.#lastNotifiedHead);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Queues a call if the site has changed. Called after its head was read. */
  scheduleIfChanged(): void {
    if (this.#isBusy || this.#isStopped || this.isUpToDate) return;
    this.#isBusy = true;
    this.#queue.add(this.#site.id, this);
  }

  run(): MaybePromise<void> {
    if (this.#isStopped) return;
    if (this.#site.head) this.#lastNotifiedHead = this.#site.head;
    return whenResolved(this.#onChange(this.#lastNotifiedHead), () => {
      this.#isBusy = false;
      // There may have been a commit during the call.
      this.scheduleIfChanged();
    });
  }
}
