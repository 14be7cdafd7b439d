// Wakes what waits for the next change of a site: any number of requests and webhooks, for any number of sites.

import { sleep } from "../../lib/background.ts";
import { FairQueue, type FairWork, nextTurn } from "../../lib/event-loop.ts";
import { after, type MaybePromise } from "../../lib/maybe-promise.ts";
import type { CommitWatch, Engine, Head } from "../../model/engine.ts";
import { isSameHead } from "../database/site-state.ts";

/** Sites whose heads are read at once. It takes SQLite less than a millisecond. */
const portion = 200;
/** Milliseconds between two looks at all watched sites, where commits may be missed, and after the store failed. */
const lookInterval = 250;
/**
 * After a look, the pause is so many times as long as the look took, and at most so many milliseconds. While a database server looks,
 * this process does other work.
 */
const pauseFactor = { here: 10, elsewhere: 1 };
const maxPause = 1000;
/** Milliseconds after the last watcher in which the engine is watched on: most clients come back at once. */
const lingerTime = 5000;

/** One per process. It costs nothing while nothing is watched. */
export class SiteWatch {
  readonly #engine: Pick<Engine, "heads" | "watchCommits">;
  readonly #sites = new Map<number, WatchedSite>();
  readonly #queue = new FairQueue<number>();
  readonly #stopped = Promise.withResolvers<void>();
  /** The sites to look at, beside all of them. */
  #due = new Set<number>();
  #isAllDue = false;
  #isLooking = false;
  #commits: CommitWatch | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  #lingerTimer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(engine: Pick<Engine, "heads" | "watchCommits">) {
    this.#engine = engine;
  }

  /** How many sites are watched. */
  get size(): number {
    return this.#sites.size;
  }

  /**
   * Calls `onChange` soon after the head of `site` is another than `head`, also one of another history or one that went back, and again
   * whenever it is another than at the last call; not while a call is under way.
   * @param head what the caller knows of the site
   * @returns a function that ends this; it may be called more than once
   */
  watch(site: number, head: Head, onChange: OnChange): () => void {
    if (this.#isStopped) return () => {};
    const watched = this.#watched(site);
    const watcher = new SiteWatcher(watched, head, onChange, this.#queue);
    watched.watchers.add(watcher);
    this.#open();
    // What was committed before this call may have been reported already.
    if (!watcher.isUpToDate) this.#note([site]);
    return () => this.#remove(watched, watcher);
  }

  /** Ends all. Nothing is called any more. */
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

  /** @param sites that may have changed; undefined for any */
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

  /** Returns how long to pause. */
  async #look(due: readonly number[]): Promise<number> {
    let pause = 0;
    for (let at = 0; at < due.length && !this.#isStopped; at += portion) {
      if (at > 0) await nextTurn();
      try {
        pause += await this.#lookAt(due.slice(at, at + portion));
      } catch {
        // Requests report that the store does not respond. Here, nothing is lost by a later look.
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

/** Called when a site has changed, with its head as it was found. Must not throw or reject. */
type OnChange = (head: Head) => MaybePromise<void>;

interface WatchedSite {
  readonly id: number;
  readonly watchers: Set<SiteWatcher>;
  /** As it was last read; undefined before that. */
  head: Head | undefined;
}

/** What waits for a change of one site. */
class SiteWatcher implements FairWork {
  readonly #site: WatchedSite;
  readonly #onChange: OnChange;
  readonly #queue: FairQueue<number>;
  /** What the callee knows of the site. */
  #known: Head;
  /** Whether it is in the queue, or a call is under way. */
  #isBusy = false;
  #isStopped = false;

  /** @param queue of calls, by site */
  constructor(site: WatchedSite, known: Head, onChange: OnChange, queue: FairQueue<number>) {
    this.#site = site;
    this.#known = known;
    this.#onChange = onChange;
    this.#queue = queue;
  }

  /** Whether the site is known to be as this knows it. */
  get isUpToDate(): boolean {
    const { head } = this.#site;
    return head !== undefined && isSameHead(head, this.#known);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Calls it in its turn, if the site has changed. To be called when the head of the site was read. */
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
      // What was committed during the call may have come too late for it.
      this.callIfChanged();
    });
  }
}
