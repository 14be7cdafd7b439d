// Gives each request a view of its site that is up to date: it has at least the head that the database had when the request arrived.
//
// A view is the site's snapshot, if it is cached, or an `UncachedSite`, which reads single records from the database. The first lane returns a
// snapshot that is in memory and up to date, without a promise: `checkSystemSiteUpToDate`, then `findUpToDate`. Nothing changes until the caller
// awaits something. The second lane reads heads, and catches up to them: `catchUpSystemSite`, then `getUpToDate`. Other requests run in between.
//
// The embedded engine tells cheaply whether anything was committed (`checkUnchanged`). If any process has committed anything, the next request
// increments the commit generation. A view that was checked in the current generation is up to date, so most requests need no query. For a
// remote engine, the first lane finds nothing, and the requests that wait share one head query (head-queries.ts).
//
// A database server can lose its last changes in a failover. If another machine became the primary, the timeline in the heads differs, and all
// snapshots are verified. Without timelines, a revision that is lower than before shows the loss, and the snapshot is evicted.
//
// Invariants:
// - The system site catches up first. So the keys that authorize a request are never older than the records that it reads, if the caller checks
//   the key and then uses the view synchronously.
// - A view never mixes two epochs. If the epoch changes while a request reads, the read throws `OutdatedError`, and the request repeats it.
// - A request waits for the load of a site only if it needs the whole site. Such a request is a list without `limit`, a list with `sort` or
//   `filter`, or a page with a large offset.

import { FairQueue } from "../../lib/fair-queue.ts";
import type { RecordChange } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { OutdatedError, ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import type { Resource } from "../../model/resource.ts";
import { systemSite } from "../../model/system-site.ts";
import { Snapshot } from "../memory/snapshot.ts";
import { HeadQueries, type HeadQueryResult } from "./head-queries.ts";
import type { CacheUsage } from "./memory-budget.ts";
import { type CacheEvents, SnapshotCache, type SystemSiteSubscriber } from "./snapshot-cache.ts";
import type { SnapshotDifference } from "./snapshot-differences.ts";
import { SiteLoadPolicy, type UncachedRead, UncachedSite, type UncachedSiteOptions } from "./uncached-site.ts";

/** Maximum head queries per call. While a site is being restored, the epoch in its head and the epoch of its rows can differ. Then the heads are read again. */
const maxHeadQueries = 3;

/** Maximum number of uncached sites in `#checkedUncachedSites`. */
const maxCheckedUncachedSites = 1000;

/** An up-to-date view of a site: its snapshot if it is cached, otherwise an `UncachedSite`. */
export type SiteView = Snapshot | UncachedSite;

const noEvents: CacheEvents = { onLost: () => {}, onDifferences: () => {} };

export class SiteViews {
  readonly #engine: Engine;
  readonly #snapshots: SnapshotCache;
  /** Defined only for an engine without `checkUnchanged`. */
  readonly #sharedHeads: HeadQueries | undefined;
  readonly #loadPolicy = new SiteLoadPolicy();
  readonly #uncachedSiteOptions: UncachedSiteOptions;
  /** The timeline of the heads that were read last. */
  #timeline: number | undefined;
  /** Number of times that a request found new commits. `Snapshot.checkedGeneration` is its value when the snapshot was last found up to date. */
  #commitGeneration = 0;
  /** Uncached sites that were found up to date in the current commit generation, by ID. */
  readonly #checkedUncachedSites = new Map<number, UncachedSite>();

  /** @param budget maximum memory of all snapshots together, in bytes */
  constructor(engine: Engine, resources: readonly Resource[], budget: number, events: Partial<CacheEvents> = {}) {
    this.#engine = engine;
    this.#snapshots = new SnapshotCache(engine, resources, budget, { ...noEvents, ...events });
    this.#sharedHeads = engine.checkUnchanged ? undefined : new HeadQueries((sites) => this.#readHeads(sites));
    this.#uncachedSiteOptions = {
      engine,
      catchUpSystemSite: async (head) => requireEpoch((await this.#getViewAtLeast(systemSite, head)).epoch, head),
      isCached: (site) => this.#snapshots.find(site) !== undefined,
      queue: new FairQueue(),
      loadSnapshot: (site, head) => this.#loadSnapshot(site, head),
      onRead: (read) => this.#countUncachedRead(read),
    };
  }

  subscribeToSystemSite(subscriber: SystemSiteSubscriber): void {
    this.#snapshots.subscribeToSystemSite(subscriber);
  }

  /**
   * Asks the engine whether anything was committed since the last call; if so, begins a new commit generation, in which no view is checked yet.
   * Returns whether the snapshot of the system site is cached and up to date.
   * @throws ProblemError `unavailable` if the database file was replaced
   */
  checkSystemSiteUpToDate(): boolean {
    if (this.#sharedHeads) return false;
    if (!this.#engine.checkUnchanged?.()) {
      this.#commitGeneration++;
      this.#checkedUncachedSites.clear();
    }
    return this.#isSystemSiteChecked;
  }

  /**
   * Returns the snapshot of `site` if it is cached and, like the system site, up to date. Call `checkSystemSiteUpToDate` immediately before, without an
   * `await` in between, because this method does not ask the engine. Until the caller awaits something, neither snapshot changes.
   */
  findUpToDate(site: number): Snapshot | undefined {
    const view = this.#isSystemSiteChecked ? this.#findChecked(site) : undefined;
    return view instanceof Snapshot ? view : undefined;
  }

  /**
   * Catches the system site up to the head that it has at this moment. Reads the head of `provisionalSite` with the same query, so that
   * `getUpToDate` needs no other query if the request is for that site.
   * @throws ProblemError `unavailable` if the database does not respond, or is restored again and again
   */
  async catchUpSystemSite(provisionalSite: number): Promise<HeadQueryResult> {
    const sites = provisionalSite === systemSite ? [systemSite] : [systemSite, provisionalSite];
    for (let attempt = 1; attempt <= maxHeadQueries; attempt++) {
      const result = await (this.#sharedHeads?.queryHeads(sites) ?? this.#readHeads(sites));
      this.#setTimeline(result.heads.get(systemSite)?.timeline);
      const system = await this.#shareCatchUp(systemSite, result);
      if (hasReportedEpoch(system, result)) {
        this.#markChecked(system, result);
        return result;
      }
    }
    throw restoredRepeatedlyError();
  }

  /**
   * Returns a view of `site` that is up to date. The snapshot of the system site is then cached and up to date, too.
   * @param known a result of `catchUpSystemSite`: if it has the head of `site`, the view is up to date as of that result, otherwise as of this call
   * @throws ProblemError `unavailable` if the database does not respond, or is restored again and again
   */
  async getUpToDate(site: number, known?: HeadQueryResult): Promise<SiteView> {
    let heads = known?.heads.has(site) ? known : undefined;
    if (!heads && this.checkSystemSiteUpToDate()) {
      const checked = this.#findChecked(site);
      if (checked) return checked;
    }
    for (let attempt = 1; attempt <= maxHeadQueries; attempt++) {
      heads ??= await this.catchUpSystemSite(site);
      // The system site (keys) has caught up before the site (records). Otherwise another request could be authorized by keys that are older than
      // the records it reads.
      const view = await this.#shareCatchUp(site, heads);
      const system = this.#snapshots.find(systemSite);
      if (system && hasReportedEpoch(system, heads) && hasReportedEpoch(view, heads)) {
        this.#markChecked(view, heads);
        return this.#touch(view);
      }
      // The database was restored since the heads were read. Read them again.
      heads = undefined;
    }
    throw restoredRepeatedlyError();
  }

  /**
   * Applies a change that this process has just committed to the cached snapshot of its site. If the snapshot has another epoch than the
   * change, another process has restored the site since: then this does nothing.
   * @param timeline the timeline on which the change was committed; a snapshot of another timeline is not changed
   */
  applyOwnCommit(site: number, change: RecordChange, epoch: string, timeline?: number): void {
    const snapshot = this.#snapshots.find(site);
    if (snapshot?.epoch === epoch && snapshot.timeline === timeline) this.#snapshots.applyEntry(snapshot, change);
  }

  /** Applies the changes of one transaction, as `applyOwnCommit` does. Many changes are applied in the background. */
  applyOwnCommits(site: number, changes: readonly RecordChange[], epoch: string, timeline?: number): void {
    const snapshot = this.#snapshots.find(site);
    if (snapshot?.epoch === epoch && snapshot.timeline === timeline) this.#snapshots.applyMany(snapshot, changes);
  }

  /** Returns the IDs of the sites in memory. */
  listCachedSites(): number[] {
    return this.#snapshots.listSites();
  }

  /** Returns the snapshot of `site`, which may not be up to date, without marking it as used; undefined if it is not cached. */
  findCached(site: number): Snapshot | undefined {
    return this.#snapshots.find(site);
  }

  /** Drops a snapshot that differs from the database, so that the next request loads its site. */
  drop(snapshot: Snapshot, differences: readonly SnapshotDifference[]): void {
    this.#snapshots.drop(snapshot, differences);
  }

  /** The head of the system site in memory; before the first load, revision 0 with an empty epoch. */
  get systemHead(): Head {
    const { revision = 0, epoch = "", timeline } = this.#snapshots.find(systemSite) ?? {};
    return { revision, epoch, timeline };
  }

  get usage(): CacheUsage {
    return this.#snapshots.usage;
  }

  get #isSystemSiteChecked(): boolean {
    return this.#snapshots.find(systemSite)?.checkedGeneration === this.#commitGeneration;
  }

  /** Returns the view of `site` that was found up to date in the current commit generation; undefined if none was. */
  #findChecked(site: number): SiteView | undefined {
    const snapshot = this.#snapshots.find(site);
    if (!snapshot) return this.#checkedUncachedSites.get(site);
    return snapshot.checkedGeneration === this.#commitGeneration ? this.#touch(snapshot) : undefined;
  }

  /** Reads the heads of `sites`. Commits that become known during the read belong to a later commit generation. */
  async #readHeads(sites: readonly number[]): Promise<HeadQueryResult> {
    const commitGeneration = this.#commitGeneration;
    const knownRevisions = new Map(sites.map((site) => [site, this.#snapshots.find(site)?.revision ?? 0]));
    const heads = await this.#engine.readHeads(sites);
    return {
      heads: new Map(sites.map((site, index) => [site, heads[index] as Head])),
      knownRevisions,
      commitGeneration,
      catchUpsBySite: new Map(),
    };
  }

  /**
   * If another machine became the primary, verifies all snapshots in the background. A site that lost changes then gets a new epoch, so
   * other processes do not accept the lost changes either.
   */
  #setTimeline(timeline: number | undefined): void {
    if (timeline === this.#timeline) return;
    const isFirst = this.#timeline === undefined;
    this.#timeline = timeline;
    if (!isFirst) this.#verifyTimelines(timeline).catch(() => {});
  }

  /** Verifies one snapshot after the other, up to the first failure. The snapshots that remain are verified when requests use them. */
  async #verifyTimelines(timeline: number | undefined): Promise<void> {
    for (const site of this.#snapshots.listOfOtherTimelines(timeline)) {
      const snapshot = this.#snapshots.find(site);
      // The system site is left out, because every request verifies it.
      if (snapshot && snapshot.timeline !== timeline && site !== systemSite)
        await this.#snapshots.verifyTimeline(snapshot);
    }
  }

  /** Returns a view of `site` that has at least the head in the result. All requests with the same result share one catch-up. */
  async #shareCatchUp(site: number, { heads, knownRevisions, catchUpsBySite }: HeadQueryResult): Promise<SiteView> {
    const head = heads.get(site) as Head;
    const snapshot = this.#snapshots.find(site);
    if (snapshot?.isAt(head)) return snapshot;
    let catchUp = catchUpsBySite.get(site) as Promise<SiteView> | undefined;
    if (!catchUp) {
      // The database reports a lower revision than before: it lost its last changes, for example in a failover to a lagging standby.
      const isLower = head.revision < (knownRevisions.get(site) ?? 0);
      if (isLower && snapshot?.timeline === head.timeline) this.#snapshots.evict(site);
      catchUp = this.#getViewAtLeast(site, head);
      catchUp.catch(() => {});
      catchUpsBySite.set(site, catchUp);
    }
    return catchUp;
  }

  #markChecked(view: SiteView, { commitGeneration }: HeadQueryResult): void {
    if (this.#sharedHeads) return;
    if (view instanceof Snapshot) view.checkedGeneration = commitGeneration;
    else if (commitGeneration === this.#commitGeneration && this.#checkedUncachedSites.size < maxCheckedUncachedSites)
      this.#checkedUncachedSites.set(view.siteId, view);
  }

  /**
   * Returns a view of `site` at `head` or later, or of another epoch. Loads the system site if it is not cached. While any other site applies
   * many journal entries, or is reloaded because they were pruned, requests read its records from the database.
   */
  async #getViewAtLeast(site: number, head: Head): Promise<SiteView> {
    if (site === systemSite) return this.#snapshots.getOrLoad(site, head);
    const snapshot = this.#snapshots.find(site);
    if (snapshot?.epoch === head.epoch) {
      if (snapshot.timeline !== head.timeline)
        return this.#getViewAtLeast(site, await this.#snapshots.verifyTimeline(snapshot));
      const caughtUp = await this.#snapshots.tryCatchUp(snapshot, head);
      if (caughtUp) return caughtUp;
    } else this.#snapshots.evict(site);
    return new UncachedSite(site, head, this.#uncachedSiteOptions);
  }

  async #loadSnapshot(site: number, head: Head): Promise<Snapshot> {
    this.#loadPolicy.resetSite(site);
    return this.#touch(await this.#snapshots.getOrLoad(site, head));
  }

  /**
   * Counts the cost of a read. If the reads of the site have cost as much as a load, and the budget has room for the site in addition to the
   * sites in use, loads it in the background.
   */
  #countUncachedRead(read: UncachedRead): void {
    const { site } = read;
    const bytes = this.#loadPolicy.addReadCost(read);
    if (bytes === undefined || this.#snapshots.isReplacing(site)) return;
    this.#loadPolicy.resetSite(site);
    if (!this.#snapshots.hasRoomFor(bytes)) return;
    // After a failure, requests continue to read from the database, and their costs are counted from zero.
    this.#loadAtPresentHead(site).catch(() => {});
  }

  async #loadAtPresentHead(site: number): Promise<void> {
    const [head] = await this.#engine.readHeads([site]);
    await this.#loadSnapshot(site, head as Head);
  }

  #touch<T extends SiteView>(view: T): T {
    if (view instanceof Snapshot) this.#snapshots.touch(view);
    return view;
  }
}

function requireEpoch(epoch: string, head: Head): void {
  if (epoch !== head.epoch) throw new OutdatedError("epoch");
}

/** The error if the epoch changed during each attempt. */
function restoredRepeatedlyError(): ProblemError {
  const detail = "the site was restored several times while it was read; try again";
  return new ProblemError("unavailable", detail, { retryAfterSeconds: 1 });
}

function hasReportedEpoch({ siteId, epoch }: SiteView, { heads }: HeadQueryResult): boolean {
  return heads.get(siteId)?.epoch === epoch;
}
