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

import { type MaybePromise, whenResolved } from "../../lib/maybe-promise.ts";
import type { RecordChange } from "../../model/change.ts";
import type { Engine, Head } from "../../model/engine.ts";
import { EpochChangedError, ProblemError } from "../../model/errors.ts";
import { systemSite } from "../../model/limits.ts";
import type { Resource } from "../../model/resource.ts";
import { Snapshot } from "../memory/snapshot.ts";
import { HeadQueries, type HeadQueryResult } from "./head-queries.ts";
import type { CacheUsage } from "./memory-budget.ts";
import { type OnLostCommits, SnapshotCache, type SystemSiteListener } from "./snapshot-cache.ts";
import { SiteLoadPolicy, type UncachedRead, UncachedSite, type UncachedSiteOptions } from "./uncached-site.ts";

/** Maximum head queries per request. The epoch in the head and the epoch of the rows can differ while a site is being restored. */
const maxHeadQueries = 3;

/** Maximum number of uncached sites in `#checkedUncachedSites`. */
const maxCheckedUncachedSites = 1000;

/** An up-to-date view of a site: its snapshot if it is cached, otherwise an `UncachedSite`. */
export type SiteView = Snapshot | UncachedSite;

export class SiteViews {
  readonly #engine: Engine;
  readonly #loaded: SnapshotCache;
  /** Defined only for an engine without `isUnchanged`. */
  readonly #sharedHeads: HeadQueries | undefined;
  readonly #loadPolicy = new SiteLoadPolicy();
  readonly #uncachedSiteOptions: UncachedSiteOptions;
  /** The timeline of the heads that were read last. */
  #timeline: number | undefined;
  /** Number of times that a request found new commits. `Snapshot.checked` is its value when the snapshot was last found up to date. */
  #commitGeneration = 0;
  /** Uncached sites that were found up to date in the current commit generation, by ID. */
  readonly #checkedUncachedSites = new Map<number, UncachedSite>();

  /** @param budget maximum memory of all snapshots together, in bytes */
  constructor(engine: Engine, resources: readonly Resource[], budget: number, onLost: OnLostCommits = () => {}) {
    this.#engine = engine;
    this.#loaded = new SnapshotCache(engine, resources, budget, onLost);
    this.#sharedHeads = engine.isUnchanged ? undefined : new HeadQueries(engine);
    this.#uncachedSiteOptions = {
      engine,
      catchUpSystemSite: (head) =>
        whenResolved(this.#viewAtLeast(systemSite, head), ({ epoch }) => requireEpoch(epoch, head)),
      loadSnapshot: (site, head) => this.#loadSnapshot(site, head),
      onStoreRead: (read) => this.#countUncachedRead(read),
    };
  }

  addSystemListener(follower: SystemSiteListener): void {
    this.#loaded.follow(follower);
  }

  /**
   * Returns a view of `site` that is up to date as of this call. The snapshot of the system site is then cached and up to date, too.
   * @throws ProblemError `unavailable` if the database does not respond, or the site is restored again and again
   */
  getUpToDate(site: number): MaybePromise<SiteView> {
    if (this.#sharedHeads) return this.#getUpToDateRemote(this.#sharedHeads, site);
    if (!this.#engine.isUnchanged?.()) {
      this.#commitGeneration++;
      this.#checkedUncachedSites.clear();
    }
    const wanted = this.#loaded.get(site) ?? this.#checkedUncachedSites.get(site);
    const isChecked = wanted instanceof UncachedSite || wanted?.checked === this.#commitGeneration;
    if (wanted && isChecked && this.#loaded.get(systemSite)?.checked === this.#commitGeneration)
      return this.#touch(wanted);
    return this.#readHeadsAndCatchUp(site);
  }

  /**
   * Applies a change that this process has just committed to the cached snapshot of its site. If the snapshot has another epoch than the
   * change, another process has restored the site since: then this does nothing.
   * @param timeline the timeline on which the change was committed; a snapshot of another timeline is not changed
   */
  applyOwnCommit(site: number, change: RecordChange, epoch: string, timeline?: number): void {
    const snapshot = this.#loaded.get(site);
    if (snapshot?.epoch === epoch && snapshot.timeline === timeline) this.#loaded.applyEntry(snapshot, change);
  }

  /** The head of the system site in memory; before the first load, revision 0 with an empty epoch. `getUpToDate` brings it up to date. */
  get systemHead(): Head {
    const { revision = 0, epoch = "", timeline } = this.#loaded.get(systemSite) ?? {};
    return { revision, epoch, timeline };
  }

  get usage(): CacheUsage {
    return this.#loaded.size;
  }

  #readHeadsAndCatchUp(site: number): MaybePromise<SiteView> {
    const sites = site === systemSite ? [systemSite] : [systemSite, site];
    const generation = this.#commitGeneration;
    return whenResolved(this.#engine.readHeads(sites), (heads) => this.#catchUpInOrder(sites, heads, generation));
  }

  async #getUpToDateRemote(sharedHeads: HeadQueries, site: number): Promise<SiteView> {
    for (let attempt = 1; attempt <= maxHeadQueries; attempt++) {
      const known = [this.#loaded.get(systemSite), this.#loaded.get(site)].map((snapshot) => snapshot?.revision ?? 0);
      const result = await sharedHeads.queryHeads(site === systemSite ? [systemSite] : [systemSite, site]);
      this.#markTimeline(result.heads.get(systemSite)?.timeline);
      const systemHead = this.#shareCatchUp(systemSite, result, known[0] as number);
      // The system site (keys) must catch up before the site (records). Otherwise another request could be authorized by keys that are older
      // than the records it reads.
      const upToDateSystem = systemHead instanceof Promise ? await systemHead : systemHead;
      const wanted = site === systemSite ? upToDateSystem : this.#shareCatchUp(site, result, known[1] as number);
      const view = wanted instanceof Promise ? await wanted : wanted;
      if (hasReportedEpoch(upToDateSystem, result) && hasReportedEpoch(view, result)) return this.#touch(view);
    }
    throw new ProblemError("unavailable", "the site was restored several times while it was read; try again", {
      retryAfterSeconds: 1,
    });
  }

  /**
   * If another machine became the primary, verifies all snapshots in the background. A site that lost changes then gets a new epoch, so
   * other processes do not accept the lost changes either.
   */
  #markTimeline(timeline: number | undefined): void {
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
  #shareCatchUp(site: number, { heads, catchUpsBySite }: HeadQueryResult, known: number): MaybePromise<SiteView> {
    const head = heads.get(site) as Head;
    const snapshot = this.#loaded.get(site);
    if (snapshot?.isAt(head)) return snapshot;
    let loading = catchUpsBySite.get(site) as Promise<SiteView> | undefined;
    if (!loading) {
      // The database reports a lower revision than before: it lost its last changes, for example in a failover to a lagging standby.
      if (head.revision < known && snapshot?.timeline === head.timeline) this.#loaded.evict(site);
      loading = Promise.resolve(this.#viewAtLeast(site, head));
      loading.catch(() => {});
      catchUpsBySite.set(site, loading);
    }
    return loading;
  }

  #catchUpInOrder(sites: readonly number[], heads: readonly Head[], generation: number): MaybePromise<SiteView> {
    let done: MaybePromise<SiteView | undefined>;
    sites.forEach((site, index) => {
      const head = heads[index] as Head;
      done = whenResolved(done, () =>
        whenResolved(this.#viewAtLeast(site, head), (view) => {
          this.#markChecked(view, generation);
          return view;
        }),
      );
    });
    return whenResolved(done, (last) => this.#touch(last as SiteView));
  }

  #markChecked(view: SiteView, generation: number): void {
    if (view instanceof Snapshot) view.checked = generation;
    else if (generation === this.#commitGeneration && this.#checkedUncachedSites.size < maxCheckedUncachedSites)
      this.#checkedUncachedSites.set(view.site, view);
  }

  /**
   * Returns a view of `site` at `head` or later, or of another epoch. Loads the system site if it is not cached. While any other site applies
   * many journal entries, or is reloaded because they were pruned, requests read its records from the database.
   */
  #viewAtLeast(site: number, head: Head): MaybePromise<SiteView> {
    const snapshot = this.#loaded.get(site);
    if (snapshot?.epoch === head.epoch && snapshot.timeline !== head.timeline)
      return whenResolved(this.#loaded.verify(snapshot), (now) => this.#viewAtLeast(site, now));
    if (snapshot?.epoch === head.epoch) {
      if (site === systemSite) return this.#loaded.catchUp(snapshot, head);
      return whenResolved(
        this.#loaded.tryCatchUp(snapshot, head),
        (view) => view ?? new UncachedSite(site, head, this.#uncachedSiteOptions),
      );
    }
    if (site === systemSite) return this.#loaded.getOrLoad(site, head);
    this.#loaded.evict(site);
    return new UncachedSite(site, head, this.#uncachedSiteOptions);
  }

  #loadSnapshot(site: number, head: Head): MaybePromise<Snapshot> {
    this.#loadPolicy.resetSite(site);
    return whenResolved(this.#loaded.getOrLoad(site, head), (snapshot) => this.#touch(snapshot));
  }

  /**
   * Counts the cost of a read. If the reads of the site have cost as much as a load, and the budget has room for the site in addition to the
   * sites in use, loads it in the background.
   */
  #countUncachedRead(read: UncachedRead): void {
    const { site } = read;
    const bytes = this.#loadPolicy.addReadCost(read);
    if (bytes === undefined || this.#loaded.isLoading(site)) return;
    this.#loadPolicy.resetSite(site);
    if (!this.#loaded.hasRoomFor(bytes)) return;
    try {
      const loaded = whenResolved(this.#engine.readHeads([site]), ([head]) => this.#loadSnapshot(site, head as Head));
      if (loaded instanceof Promise) loaded.catch(() => {});
    } catch {
      // Requests continue to read from the database, and their costs are counted from zero.
    }
  }

  #touch<T extends SiteView>(view: T): T {
    if (view instanceof Snapshot) this.#loaded.touch(view);
    return view;
  }
}

function requireEpoch(epoch: string, head: Head): void {
  if (epoch !== head.epoch) throw new EpochChangedError();
}

function hasReportedEpoch({ site, epoch }: SiteView, { heads }: HeadQueryResult): boolean {
  return heads.get(site)?.epoch === epoch;
}
