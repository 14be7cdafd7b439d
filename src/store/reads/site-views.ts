// Gives each request an up-to-date view of its site: one with at least the head that the database had when the request arrived.
//
// A view is the site's cached snapshot, or an `UncachedSite`, which reads single records from the database. There are two lanes. The first returns a
// snapshot that's in memory and up to date without a promise: `checkSystemSiteUpToDate`, then `findUpToDate`. Nothing changes until the caller awaits
// something. The second reads the heads and catches up: `catchUpSystemSite`, then `getUpToDate`. Other requests run in between.
//
// The embedded engine can cheaply tell whether anything was committed (`checkUnchanged`). If so, by whatever process, the next request starts a new
// commit generation. A view that was checked in the current generation is up to date, so most requests need no query. With a remote engine, the first
// lane finds nothing, and waiting requests share one query for the heads (head-queries.ts).
//
// In a failover, a database server can lose its last changes. If another machine became the primary, the timeline in the heads is different, and all
// snapshots are verified. Without timelines, a revision that's gone down gives it away, and the snapshot is evicted.
//
// Invariants:
// - The system site catches up first. So if the caller checks the key and then uses the view synchronously, the keys are never older than the records
//   they give access to.
// - A view never mixes two epochs. If the epoch changes while a request reads, the read throws `OutdatedError` and the request starts over.
// - A request only waits for a site to load if it needs the whole site: for a list without `limit`, with `sort` or `filter`, or with a large offset.

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

/** Maximum head queries per call. While a site is being restored, the epochs of its head and its rows can differ, and we read the heads again. */
const maxHeadQueries = 3;

const maxCheckedUncachedSites = 1000;

/** A site's snapshot if it's cached, otherwise an `UncachedSite`. Up to date either way. */
export type SiteView = Snapshot | UncachedSite;

const noEvents: CacheEvents = { onLost: () => {}, onDifferences: () => {} };

export class SiteViews {
  readonly #engine: Engine;
  readonly #snapshots: SnapshotCache;
  /** Only defined for an engine without `checkUnchanged`. */
  readonly #sharedHeads: HeadQueries | undefined;
  readonly #loadPolicy = new SiteLoadPolicy();
  readonly #uncachedSiteOptions: UncachedSiteOptions;
  /** The timeline of the heads last read. */
  #timeline: number | undefined;
  /** How many times a request found new commits. `Snapshot.checkedGeneration` is what it was when the snapshot was last found up to date. */
  #commitGeneration = 0;
  /** Uncached sites found up to date in the current commit generation, by ID. */
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
   * Asks the engine whether anything was committed since the last call. If so, starts a new commit generation, in which no view is checked yet.
   * @returns whether the system site is cached and up to date
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
   * Returns the snapshot of `site` if both it and the system site are cached and up to date. Doesn't ask the engine, so call
   * `checkSystemSiteUpToDate` right before, without an `await` in between. Neither snapshot changes until the caller awaits something.
   */
  findUpToDate(site: number): Snapshot | undefined {
    const view = this.#isSystemSiteChecked ? this.#findChecked(site) : undefined;
    return view instanceof Snapshot ? view : undefined;
  }

  /**
   * Catches up with the current head of the system site. Reads the head of `provisionalSite` along with it, which saves `getUpToDate` a query if
   * that's the site the request is for.
   * @throws ProblemError `unavailable` if the database doesn't respond, or keeps being restored
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
   * Returns an up-to-date view of `site`. The system site is then cached and up to date too.
   * @param known a result of `catchUpSystemSite`. If it has the head of `site`, the view is up to date as of then, otherwise as of this call
   * @throws ProblemError `unavailable` if the database doesn't respond, or keeps being restored
   */
  async getUpToDate(site: number, known?: HeadQueryResult): Promise<SiteView> {
    let heads = known?.heads.has(site) ? known : undefined;
    if (!heads && this.checkSystemSiteUpToDate()) {
      const checked = this.#findChecked(site);
      if (checked) return checked;
    }
    for (let attempt = 1; attempt <= maxHeadQueries; attempt++) {
      heads ??= await this.catchUpSystemSite(site);
      // The system site (keys) has caught up before the site (records). The other way around, another request could be authorized by keys older than
      // the records it reads.
      const view = await this.#shareCatchUp(site, heads);
      const system = this.#snapshots.find(systemSite);
      if (system && hasReportedEpoch(system, heads) && hasReportedEpoch(view, heads)) {
        this.#markChecked(view, heads);
        return this.#touch(view);
      }
      // The database was restored in between, so read the heads again.
      heads = undefined;
    }
    throw restoredRepeatedlyError();
  }

  /**
   * Applies a change just committed by this process to its site's cached snapshot. Does nothing if the snapshot is from another epoch, because
   * another process has restored the site.
   * @param timeline where the change was committed; a snapshot from another timeline isn't changed either
   */
  applyOwnCommit(site: number, change: RecordChange, epoch: string, timeline?: number): void {
    const snapshot = this.#snapshots.find(site);
    if (snapshot?.epoch === epoch && snapshot.timeline === timeline) this.#snapshots.applyEntry(snapshot, change);
  }

  /** The same for the changes of one transaction. If there are many, they're applied in the background. */
  applyOwnCommits(site: number, changes: readonly RecordChange[], epoch: string, timeline?: number): void {
    const snapshot = this.#snapshots.find(site);
    if (snapshot?.epoch === epoch && snapshot.timeline === timeline) this.#snapshots.applyMany(snapshot, changes);
  }

  listCachedSites(): number[] {
    return this.#snapshots.listSites();
  }

  /** Returns the cached snapshot of `site`, which may be out of date, without marking it as used. */
  findCached(site: number): Snapshot | undefined {
    return this.#snapshots.find(site);
  }

  /** Drops a snapshot that differs from the database, so that the next request loads the site. */
  drop(snapshot: Snapshot, differences: readonly SnapshotDifference[]): void {
    this.#snapshots.drop(snapshot, differences);
  }

  /** The system site's head in memory; revision 0 and an empty epoch before the first load. */
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

  /** Returns the view of `site` that was found up to date in the current commit generation, if any. */
  #findChecked(site: number): SiteView | undefined {
    const snapshot = this.#snapshots.find(site);
    if (!snapshot) return this.#checkedUncachedSites.get(site);
    return snapshot.checkedGeneration === this.#commitGeneration ? this.#touch(snapshot) : undefined;
  }

  /** Commits noticed during the read belong to a later generation. */
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
   * If another machine became the primary, verifies all snapshots in the background. A site that lost changes gets a new epoch, so that other
   * processes won't accept those changes either.
   */
  #setTimeline(timeline: number | undefined): void {
    if (timeline === this.#timeline) return;
    const isFirst = this.#timeline === undefined;
    this.#timeline = timeline;
    if (!isFirst) this.#verifyTimelines(timeline).catch(() => {});
  }

  /** Stops at the first failure. The remaining snapshots are verified when requests use them. */
  async #verifyTimelines(timeline: number | undefined): Promise<void> {
    for (const site of this.#snapshots.listOfOtherTimelines(timeline)) {
      const snapshot = this.#snapshots.find(site);
      // Every request verifies the system site anyway.
      if (snapshot && snapshot.timeline !== timeline && site !== systemSite)
        await this.#snapshots.verifyTimeline(snapshot);
    }
  }

  /** Returns a view of `site` at the result's head or later. All requests with the same result share a catch-up. */
  async #shareCatchUp(site: number, { heads, knownRevisions, catchUpsBySite }: HeadQueryResult): Promise<SiteView> {
    const head = heads.get(site) as Head;
    const snapshot = this.#snapshots.find(site);
    if (snapshot?.isAt(head)) return snapshot;
    let catchUp = catchUpsBySite.get(site) as Promise<SiteView> | undefined;
    if (!catchUp) {
      // The revision went down: the database lost its last changes, for example in a failover to a lagging standby.
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
   * Returns a view of `site` at `head` or later, or from another epoch. Loads the system site if it isn't cached. For any other site, requests read
   * from the database while many journal entries are being applied, or while the site is reloaded because entries were pruned.
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
   * Adds up what reads of a site cost. Once they've cost as much as a load, and there's room beside the sites in use, loads the site in the
   * background.
   */
  #countUncachedRead(read: UncachedRead): void {
    const { site } = read;
    const bytes = this.#loadPolicy.addReadCost(read);
    if (bytes === undefined || this.#snapshots.isReplacing(site)) return;
    this.#loadPolicy.resetSite(site);
    if (!this.#snapshots.hasRoomFor(bytes)) return;
    // After a failure, requests keep reading from the database, and the count starts from zero.
    this.#loadAtCurrentHead(site).catch(() => {});
  }

  async #loadAtCurrentHead(site: number): Promise<void> {
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

function restoredRepeatedlyError(): ProblemError {
  const detail = "the site was restored several times while it was being read; try again";
  return new ProblemError("unavailable", detail, { retryAfterSeconds: 1 });
}

function hasReportedEpoch({ siteId, epoch }: SiteView, { heads }: HeadQueryResult): boolean {
  return heads.get(siteId)?.epoch === epoch;
}
