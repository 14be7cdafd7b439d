// Notifies subscribers, such as long polls and webhooks, that the head of their site has changed. One instance per process.
//
// The engine reports commits as hints, which can be late, repeated or, on PostgreSQL, missing. So a hint only marks sites as due. The heads
// of due sites are read in chunks, and compared with the head that each subscriber was last notified of. Where hints can be missing, all
// sites are due every 250 ms.
//
// Invariants:
// - While the head of a site differs from the head that a subscriber knows, a call is due or in flight. Two calls never overlap.
// - With the embedded engine, reading heads takes at most about a tenth of the time. Calls go through a fair queue, so no site blocks others.
// - Without subscribers, nothing runs.

import { sleep } from "../../lib/background.ts";
import { FairQueue, type FairTask } from "../../lib/fair-queue.ts";
import { type MaybePromise, whenResolved } from "../../lib/maybe-promise.ts";
import { yieldToEventLoop } from "../../lib/yielding.ts";
import type { CommitSubscription, Engine } from "../../model/engine.ts";
import { type Head, isSameHead } from "../../model/head.ts";

/** Maximum heads in one read. SQLite reads them in less than a millisecond. */
const headsPerRead = 200;
/** Milliseconds between two checks of all sites, if hints may be missing; and the pause after a failure of the database. */
const checkIntervalMs = 250;
/** Pause after a check, as a multiple of its duration. `here`: the engine reads on this thread. `elsewhere`: a database server reads. */
const pauseFactor = { here: 10, elsewhere: 1 };
/** Maximum milliseconds of this pause. */
const maxPauseMs = 1000;
/** How long the engine subscription stays open after the last subscriber leaves, in milliseconds. Most clients poll again at once. */
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
  /** The sites to check next, by ID. */
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
   * Calls `onChange` soon after the head of `site` has become different from `head`, and then soon after it has become different from the head at the
   * previous call. Another epoch or a lower revision is also a difference. Calls do not overlap.
   * @param head the last head that the caller knows
   * @returns a function that unsubscribes; it may be called more than once
   */
  subscribe(site: number, head: Head, onChange: OnChange): () => void {
    if (this.#isStopped) return () => {};
    const subscribed = this.#getOrAddSite(site);
    const subscriber = new SiteSubscriber(subscribed, head, onChange, this.#queue);
    subscribed.subscribers.add(subscriber);
    this.#startListening();
    // A hint for a commit before this call may have arrived earlier, so check the head now.
    if (!subscriber.isUpToDate) this.#markDue([site]);
    return () => this.#unsubscribe(subscribed, subscriber);
  }

  /** Ends all subscriptions. No callback is called after that. */
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

  /** Marks sites as due, and starts a check unless one is running. @param sites that may have changed; undefined for all sites */
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

  /** Checks the heads of `due` in chunks. Returns the pause after that, in milliseconds. */
  async #checkInChunks(due: readonly number[]): Promise<number> {
    let pauseMs = 0;
    for (let at = 0; at < due.length && !this.#isStopped; at += headsPerRead) {
      if (at > 0) await yieldToEventLoop();
      try {
        pauseMs += await this.#checkHeads(due.slice(at, at + headsPerRead));
      } catch {
        // The database does not respond. Requests report that. A later check finds the same changes.
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

/** Called after a site has changed, with the head that was read. Must not throw or reject. */
type OnChange = (head: Head) => MaybePromise<void>;

interface SubscribedSite {
  readonly id: number;
  readonly subscribers: Set<SiteSubscriber>;
  /** The last head that was read; undefined before the first read. */
  head: Head | undefined;
}

/** A subscriber of one site. Its calls run as tasks of the fair queue. */
class SiteSubscriber implements FairTask {
  readonly #site: SubscribedSite;
  readonly #onChange: OnChange;
  readonly #queue: FairQueue<number>;
  /** The last head that the subscriber was notified of. */
  #lastNotifiedHead: Head;
  /** Whether a call is in the queue or in flight. */
  #isBusy = false;
  #isStopped = false;

  /** @param queue the calls of all subscribers, grouped by site */
  constructor(site: SubscribedSite, known: Head, onChange: OnChange, queue: FairQueue<number>) {
    this.#site = site;
    this.#lastNotifiedHead = known;
    this.#onChange = onChange;
    this.#queue = queue;
  }

  /** Whether the last head that was read is the head that the subscriber knows. */
  get isUpToDate(): boolean {
    const { head } = this.#site;
    return head !== undefined && isSameHead(head, this.#lastNotifiedHead);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Puts a call into the queue, if the site has changed. Called after the head of the site was read. */
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
      // A commit during the call may have been missed: check again.
      this.scheduleIfChanged();
    });
  }
}
