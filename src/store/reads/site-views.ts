// Gives each request a view of its site that is up to date: it has at least the head that the database had when the request arrived.
//
// A view is the site's snapshot, if it is cached, or an `UncachedSite`, which reads single records from the database. The embedded engine
// tells cheaply whether anything was committed (`isUnchanged`), so most requests need no query. If a request finds that any process has
// committed anything, it increments the commit generation. A view that was checked in the current generation is up to date. For a remote
// engine, the requests that wait share one head query (head-queries.ts).
//
// A database server can lose its last changes in a failover. If another machine became the primary, the timeline in the heads differs, and all
// snapshots are verified. Without timelines, a revision that is lower than before shows the loss, and the snapshot is evicted.
//
// Invariants:
// - The system site catches up first. So the keys that authorize a request are never older than the records that it reads.
// - A view never mixes two epochs. If the epoch changes while a request reads, the read throws `EpochChangedError`, and the request is repeated.
// - A request waits for the load of a site only if it needs the whole site. Such a request is a list without `limit`, a list with `sort` or
//   `filter`, or a page with a large offset. A page also waits for the load if the number of records is unknown.

import { after, type MaybePromise } from "../../lib/maybe-promise.ts";
import type { RecordChange } from "../../model/change.ts";
import type { Engine, Head } from "../../model/engine.ts";
import { OtherHistory, Refusal } from "../../model/errors.ts";
import { systemSite } from "../../model/limits.ts";
import type { Resource } from "../../model/resource.ts";
import { Snapshot } from "../memory/snapshot.ts";
import { type QueriedHeads, SharedHeads } from "./head-queries.ts";
import type { MemorySize } from "./memory-budget.ts";
import { type Follower, LoadedSites, type OnLostCommits } from "./snapshot-cache.ts";
import { type ColdRead, ColdReads, ColdSite, type ColdSiteOptions } from "./uncached-site.ts";

/** Maximum head queries per request. The epoch in the head and the epoch of the rows can differ while a site is being restored. */
const maxAttempts = 3;

/** Maximum number of uncached sites in `#checkedUncachedSites`. */
const maxColdSites = 1000;

/** An up-to-date view of a site: its snapshot if it is cached, otherwise an `UncachedSite`. */
export type FreshSite = Snapshot | ColdSite;

export class Snapshots {
  readonly #engine: Engine;
  readonly #loaded: LoadedSites;
  /** Defined only for an engine without `isUnchanged`. */
  readonly #sharedHeads: SharedHeads | undefined;
  readonly #coldReads = new ColdReads();
  readonly #coldOptions: ColdSiteOptions;
  /** The timeline of the heads that were read last. */
  #timeline: number | undefined;
  /** Number of times that a request found new commits. `Snapshot.checked` is its value when the snapshot was last found up to date. */
  #generation = 0;
  /** Uncached sites that were found up to date in the current commit generation, by ID. */
  readonly #coldSites = new Map<number, ColdSite>();

  /** @param budget maximum memory of all snapshots together, in bytes */
  constructor(engine: Engine, resources: readonly Resource[], budget: number, onLost: OnLostCommits = () => {}) {
    this.#engine = engine;
    this.#loaded = new LoadedSites(engine, resources, budget, onLost);
    this.#sharedHeads = engine.unchanged ? undefined : new SharedHeads(engine);
    this.#coldOptions = {
      engine,
      bringUpSystem: (head) => after(this.#at(systemSite, head), ({ epoch }) => requireEpoch(epoch, head)),
      load: (site, head) => this.#load(site, head),
      noteRead: (read) => this.#noteColdRead(read),
    };
  }

  follow(follower: Follower): void {
    this.#loaded.follow(follower);
  }

  /**
   * Returns a view of `site` that is up to date as of this call. The snapshot of the system site is then cached and up to date, too.
   * @throws ProblemError `unavailable` if the database does not respond, or the site is restored again and again
   */
  fresh(site: number): MaybePromise<FreshSite> {
    if (this.#sharedHeads) return this.#freshRemote(this.#sharedHeads, site);
    if (!this.#engine.unchanged?.()) {
      this.#generation++;
      this.#coldSites.clear();
    }
    const wanted = this.#loaded.get(site) ?? this.#coldSites.get(site);
    const isChecked = wanted instanceof ColdSite || wanted?.checked === this.#generation;
    if (wanted && isChecked && this.#loaded.get(systemSite)?.checked === this.#generation) return this.#use(wanted);
    return this.#freshNow(site);
  }

  /**
   * Applies a change that this process has just committed to the cached snapshot of its site. If the snapshot has another epoch than the
   * change, another process has restored the site since: then this does nothing.
   * @param timeline the timeline on which the change was committed; a snapshot of another timeline is not changed
   */
  apply(site: number, change: RecordChange, epoch: string, timeline?: number): void {
    const snapshot = this.#loaded.get(site);
    if (snapshot?.epoch === epoch && snapshot.timeline === timeline) this.#loaded.fold(snapshot, change);
  }

  /** The head of the system site in memory; before the first load, revision 0 with an empty epoch. `getUpToDate` brings it up to date. */
  get system(): Head {
    const { revision = 0, epoch = "", timeline } = this.#loaded.get(systemSite) ?? {};
    return { revision, epoch, timeline };
  }

  get size(): MemorySize {
    return this.#loaded.size;
  }

  #freshNow(site: number): MaybePromise<FreshSite> {
    const sites = site === systemSite ? [systemSite] : [systemSite, site];
    const generation = this.#generation;
    return after(this.#engine.heads(sites), (heads) => this.#catchUp(sites, heads, generation));
  }

  async #freshRemote(sharedHeads: SharedHeads, site: number): Promise<FreshSite> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const known = [this.#loaded.get(systemSite), this.#loaded.get(site)].map((snapshot) => snapshot?.revision ?? 0);
      const result = await sharedHeads.headsOf(site === systemSite ? [systemSite] : [systemSite, site]);
      this.#noteTimeline(result.heads.get(systemSite)?.timeline);
      const system = this.#bringToHead(systemSite, result, known[0] as number);
      // The system site (keys) must catch up before the site (records). Otherwise another request could be authorized by keys that are older
      // than the records it reads.
      const freshSystem = system instanceof Promise ? await system : system;
      const wanted = site === systemSite ? freshSystem : this.#bringToHead(site, result, known[1] as number);
      const fresh = wanted instanceof Promise ? await wanted : wanted;
      if (isOfHistory(freshSystem, result) && isOfHistory(fresh, result)) return this.#use(fresh);
    }
    throw new Refusal("unavailable", "the site was restored several times while it was read; try again", {
      retryAfter: 1,
    });
  }

  /**
   * If another machine became the primary, verifies all snapshots in the background. A site that lost changes then gets a new epoch, so
   * other processes do not accept the lost changes either.
   */
  #noteTimeline(timeline: number | undefined): void {
    if (timeline === this.#timeline) return;
    const isFirst = this.#timeline === undefined;
    this.#timeline = timeline;
    if (!isFirst) this.#verifyAll(timeline).catch(() => {});
  }

  /** Verifies one snapshot after the other, up to the first failure. The snapshots that remain are verified when requests use them. */
  async #verifyAll(timeline: number | undefined): Promise<void> {
    for (const site of this.#loaded.unverified(timeline)) {
      const snapshot = this.#loaded.get(site);
      // The system site is left out, because every request verifies it.
      if (snapshot && snapshot.timeline !== timeline && site !== systemSite) await this.#loaded.verify(snapshot);
    }
  }

  /**
   * Returns a view of `site` that has at least the head in the result. All requests with the same result share one catch-up.
   * @param known the revision of the snapshot before the query; 0 if the site was not cached
   */
  #bringToHead(site: number, { heads, shared }: QueriedHeads, known: number): MaybePromise<FreshSite> {
    const head = heads.get(site) as Head;
    const snapshot = this.#loaded.get(site);
    if (snapshot?.isAt(head)) return snapshot;
    let loading = shared.get(site) as Promise<FreshSite> | undefined;
    if (!loading) {
      // The database reports a lower revision than before: it lost its last changes, for example in a failover to a lagging standby.
      if (head.revision < known && snapshot?.timeline === head.timeline) this.#loaded.drop(site);
      loading = Promise.resolve(this.#at(site, head));
      loading.catch(() => {});
      shared.set(site, loading);
    }
    return loading;
  }

  #catchUp(sites: readonly number[], heads: readonly Head[], generation: number): MaybePromise<FreshSite> {
    let done: MaybePromise<FreshSite | undefined>;
    sites.forEach((site, index) => {
      const head = heads[index] as Head;
      done = after(done, () =>
        after(this.#at(site, head), (fresh) => {
          this.#noteChecked(fresh, generation);
          return fresh;
        }),
      );
    });
    return after(done, (last) => this.#use(last as FreshSite));
  }

  #noteChecked(fresh: FreshSite, generation: number): void {
    if (fresh instanceof Snapshot) fresh.checked = generation;
    else if (generation === this.#generation && this.#coldSites.size < maxColdSites)
      this.#coldSites.set(fresh.site, fresh);
  }

  /**
   * Returns a view of `site` at `head` or later, or of another epoch. Loads the system site if it is not cached. While any other site applies
   * many journal entries, or is reloaded because they were pruned, requests read its records from the database.
   */
  #at(site: number, head: Head): MaybePromise<FreshSite> {
    const snapshot = this.#loaded.get(site);
    if (snapshot?.epoch === head.epoch && snapshot.timeline !== head.timeline)
      return after(this.#loaded.verify(snapshot), (now) => this.#at(site, now));
    if (snapshot?.epoch === head.epoch) {
      if (site === systemSite) return this.#loaded.bringUp(snapshot, head);
      return after(
        this.#loaded.catchUp(snapshot, head),
        (fresh) => fresh ?? new ColdSite(site, head, this.#coldOptions),
      );
    }
    if (site === systemSite) return this.#loaded.load(site, head);
    this.#loaded.drop(site);
    return new ColdSite(site, head, this.#coldOptions);
  }

  #load(site: number, head: Head): MaybePromise<Snapshot> {
    this.#coldReads.forget(site);
    return after(this.#loaded.load(site, head), (snapshot) => this.#use(snapshot));
  }

  /**
   * Counts the cost of a read. If the reads of the site have cost as much as a load, and the budget has room for the site in addition to the
   * sites in use, loads it in the background.
   */
  #noteColdRead(read: ColdRead): void {
    const { site } = read;
    const bytes = this.#coldReads.note(read);
    if (bytes === undefined || this.#loaded.isLoading(site)) return;
    this.#coldReads.forget(site);
    if (!this.#loaded.hasRoomFor(bytes)) return;
    try {
      const loaded = after(this.#engine.heads([site]), ([head]) => this.#load(site, head as Head));
      if (loaded instanceof Promise) loaded.catch(() => {});
    } catch {
      // Requests continue to read from the database, and their costs are counted from zero.
    }
  }

  #use<T extends FreshSite>(fresh: T): T {
    if (fresh instanceof Snapshot) this.#loaded.noteUse(fresh);
    return fresh;
  }
}

function requireEpoch(epoch: string, head: Head): void {
  if (epoch !== head.epoch) throw new OtherHistory();
}

function isOfHistory({ site, epoch }: FreshSite, { heads }: QueriedHeads): boolean {
  return heads.get(site)?.epoch === epoch;
}
