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
import { FairQueue, type FairWork, nextTurn } from "../../lib/event-loop.ts";
import { after, type MaybePromise } from "../../lib/maybe-promise.ts";
import type { CommitWatch, Engine, Head } from "../../model/engine.ts";
import { isSameHead } from "../database/site-state.ts";

/** Maximum heads in one read. SQLite reads them in less than a millisecond. */
const portion = 200;
/** Milliseconds between two checks of all sites, if hints may be missing; and the pause after a failure of the database. */
const lookInterval = 250;
/**
 * Pause per check, as a multiple of its duration. `here`: the engine reads in this process. `elsewhere`: a database server reads, so this process
 * can do other work. The maximum pause is in milliseconds.
 */
const pauseFactor = { here: 10, elsewhere: 1 };
const maxPause = 1000;
/** How long the engine subscription stays open after the last subscriber leaves, in milliseconds. Most clients poll again at once. */
const lingerTime = 5000;

export class SiteWatch {
  readonly #engine: Pick<Engine, "heads" | "watchCommits">;
  readonly #sites = new Map<number, WatchedSite>();
  readonly #queue = new FairQueue<number>();
  readonly #stopped = Promise.withResolvers<void>();
  /** The sites to check next, by ID. */
  #due = new Set<number>();
  /** Whether to check all sites next. */
  #isAllDue = false;
  #isLooking = false;
  #commits: CommitWatch | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  #lingerTimer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(engine: Pick<Engine, "heads" | "watchCommits">) {
    this.#engine = engine;
  }

  /** Number of sites with subscribers. */
  get size(): number {
    return this.#sites.size;
  }

  /**
   * Calls `onChange` soon after the head of `site` differs from the last head that it was notified of, first `head`. Another epoch or a lower
   * revision is also a difference. Calls do not overlap.
   * @param head the last head that the caller knows
   * @returns a function that unsubscribes; it may be called more than once
   */
  watch(site: number, head: Head, onChange: OnChange): () => void {
    if (this.#isStopped) return () => {};
    const watched = this.#watched(site);
    const watcher = new SiteWatcher(watched, head, onChange, this.#queue);
    watched.watchers.add(watcher);
    this.#open();
    // A hint for a commit before this call may have arrived earlier, so check the head now.
    if (!watcher.isUpToDate) this.#note([site]);
    return () => this.#remove(watched, watcher);
  }

  /** Ends all subscriptions. No callback is called after that. */
  stop(): void {
    this.#isStopped = true;
    for (const { watchers } of this.#sites.values()) for (const watcher of watchers) watcher.stop();
    this.#sites.clear();
    this.#stopped.resolve();
    this.#close();
  }

  #watched(id: number): WatchedSite {
    let watched = this.#sites.get(id);
    if (!watched) {
      watched = { id, head: undefined, watchers: new Set() };
      this.#sites.set(id, watched);
    }
    return watched;
  }

  #remove(watched: WatchedSite, watcher: SiteWatcher): void {
    watcher.stop();
    if (!watched.watchers.delete(watcher) || watched.watchers.size > 0) return;
    this.#sites.delete(watched.id);
    if (this.#sites.size > 0 || this.#isStopped) return;
    this.#lingerTimer = setTimeout(() => this.#close(), lingerTime);
    this.#lingerTimer.unref();
  }

  #open(): void {
    clearTimeout(this.#lingerTimer);
    if (this.#commits) return;
    this.#commits = this.#engine.watchCommits((sites) => this.#note(sites));
    if (!this.#commits.mayMiss) return;
    this.#lookTimer = setInterval(() => this.#note(undefined), lookInterval);
    this.#lookTimer.unref();
  }

  #close(): void {
    clearTimeout(this.#lingerTimer);
    clearInterval(this.#lookTimer);
    this.#commits?.stop();
    this.#commits = undefined;
  }

  /** Marks sites as due, and starts a check unless one is running. @param sites that may have changed; undefined for all sites */
  #note(sites: readonly number[] | undefined): void {
    if (!sites) this.#isAllDue = true;
    for (const site of sites ?? []) if (this.#sites.has(site)) this.#due.add(site);
    if (!this.#isLooking) void this.#lookAtAll();
  }

  async #lookAtAll(): Promise<void> {
    this.#isLooking = true;
    for (let due = this.#takeDue(); due.length > 0; due = this.#takeDue()) {
      await sleep(await this.#look(due), this.#stopped.promise);
    }
    this.#isLooking = false;
  }

  #takeDue(): number[] {
    const due = [...(this.#isAllDue ? this.#sites.keys() : this.#due)];
    this.#due.clear();
    this.#isAllDue = false;
    return due;
  }

  /** Checks the heads of `due` in chunks. Returns the pause after that, in milliseconds. */
  async #look(due: readonly number[]): Promise<number> {
    let pause = 0;
    for (let at = 0; at < due.length && !this.#isStopped; at += portion) {
      if (at > 0) await nextTurn();
      try {
        pause += await this.#lookAt(due.slice(at, at + portion));
      } catch {
        // The database does not respond. Requests report that. A later check finds the same changes.
        this.#note(due.slice(at));
        return lookInterval;
      }
    }
    return Math.min(maxPause, pause);
  }

  async #lookAt(sites: readonly number[]): Promise<number> {
    const started = performance.now();
    const found = this.#engine.heads(sites);
    const heads = found instanceof Promise ? await found : found;
    sites.forEach((site, index) => {
      const watched = this.#sites.get(site);
      if (!watched) return;
      watched.head = heads[index] as Head;
      for (const watcher of watched.watchers) watcher.callIfChanged();
    });
    const factor = found instanceof Promise ? pauseFactor.elsewhere : pauseFactor.here;
    return factor * (performance.now() - started);
  }
}

/** Called after a site has changed, with the head that was read. Must not throw or reject. */
type OnChange = (head: Head) => MaybePromise<void>;

interface WatchedSite {
  readonly id: number;
  readonly watchers: Set<SiteWatcher>;
  /** The last head that was read; undefined before the first read. */
  head: Head | undefined;
}

/** A subscriber of one site. Its calls run as tasks of the fair queue. */
class SiteWatcher implements FairWork {
  readonly #site: WatchedSite;
  readonly #onChange: OnChange;
  readonly #queue: FairQueue<number>;
  /** The last head that the subscriber was notified of. */
  #known: Head;
  /** Whether a call is in the queue or in flight. */
  #isBusy = false;
  #isStopped = false;

  /** @param queue the calls of all subscribers, grouped by site */
  constructor(site: WatchedSite, known: Head, onChange: OnChange, queue: FairQueue<number>) {
    this.#site = site;
    this.#known = known;
    this.#onChange = onChange;
    this.#queue = queue;
  }

  /** Whether the last head that was read is the head that the subscriber knows. */
  get isUpToDate(): boolean {
    const { head } = this.#site;
    return head !== undefined && isSameHead(head, this.#known);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Puts a call into the queue, if the site has changed. Called after the head of the site was read. */
  callIfChanged(): void {
    if (this.#isBusy || this.#isStopped || this.isUpToDate) return;
    this.#isBusy = true;
    this.#queue.add(this.#site.id, this);
  }

  run(): MaybePromise<void> {
    if (this.#isStopped) return;
    if (this.#site.head) this.#known = this.#site.head;
    return after(this.#onChange(this.#known), () => {
      this.#isBusy = false;
      // A commit during the call may have been missed: check again.
      this.callIfChanged();
    });
  }
}
