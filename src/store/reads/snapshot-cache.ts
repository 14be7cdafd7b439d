// The cache of snapshots. It loads a site into memory, and applies new journal entries to the snapshot. If all snapshots together exceed the budget, it
// evicts the least recently used ones.
//
// A snapshot that lacks few entries applies them while the request waits (`tryCatchUp`). If it lacks many, a copy catches up in the
// background, and then replaces it. If entries were pruned, the site is reloaded. For the system site, requests wait in every case.
// Entries after the required head are never read, because their transaction may have further entries that are not read yet.
//
// To bring the site to a required head, these functions call each other:
//   getOrLoad            if none of this epoch is cached, calls #reload. If the cached snapshot has another timeline, first calls `verify`. If it has reached
//                        the head, returns it. If a load is in flight, calls #reload; otherwise catchUp
//   catchUp              if few entries are missing, calls #applyNewEntries; if many, #replaceSnapshot with a copy; if some were pruned, #loadInstead
//   tryCatchUp           the same, but only #applyNewEntries runs while the request waits; the others run in the background
//   #loadInstead         if another snapshot is cached by then, calls getOrLoad; otherwise #reload
//   #reload              calls #replaceSnapshot with a snapshot that is read from the database
//   #replaceSnapshot     caches the snapshot that its parameter `make` returns. If a load is in flight, waits for it instead, and then usually calls
//                        getOrLoad
//
// For example, load 7 is in flight when the required head is read. Its result may be too old, but the result of load 8 is new enough. So these functions
// pass on `loadsStartedBefore`, here 7, for the second invariant: the number of loads that had started when the required head was read.
//
// Invariants:
// - At most one load or replacement per site is in flight. Requests share its result and its failure (single flight).
// - If a load started before the required head was read, its result may be too old. So the request waits for the load, and asks again.
// - The cached snapshot never goes back. Only a newer snapshot, or a snapshot of another epoch, replaces it.
// - Requests see all entries of a replacement or none. Subscribers are notified of the cached snapshot of the system site only.

import { SingleFlight } from "../../lib/concurrency.ts";
import { yieldBetween, yieldToEventLoop } from "../../lib/yielding.ts";
import type { RecordChange } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import type { Resource } from "../../model/resource.ts";
import { systemSite } from "../../model/system-site.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";
import { buildSnapshot } from "../memory/site-loader.ts";
import type { Snapshot } from "../memory/snapshot.ts";
import { compareWithDatabase } from "./compare-after-failover.ts";
import { type CacheUsage, MemoryBudget } from "./memory-budget.ts";
import type { OnDifferences, SnapshotDifference } from "./snapshot-differences.ts";

/** A subscriber to the system site: gets its cached snapshot, and the snapshot after each load, and then each change. */
export interface SystemSiteSubscriber {
  onSnapshot(system: Snapshot): void;
  onEntry(change: RecordChange): void;
}

/** Called after the database lost commits of a site that were in memory, and the site got a new epoch for that reason. */
type OnLostCommits = (site: number) => void;

/** The events of a cache that a caller may be told of. */
export interface CacheEvents {
  readonly onLost: OnLostCommits;
  readonly onDifferences: OnDifferences;
}

export class SnapshotCache {
  readonly #engine: Engine;
  readonly #resources: readonly Resource[];
  readonly #snapshots = new Map<number, Snapshot>();
  /** The loads and replacements in flight, by site. */
  readonly #loadsInFlight = new SingleFlight<number, Snapshot>();
  readonly #subscribers: SystemSiteSubscriber[] = [];
  readonly #memory: MemoryBudget;
  readonly #events: CacheEvents;
  /** Snapshots that were dropped because they differ from the database. Copies of them are not cached either. */
  readonly #dropped = new WeakSet<Snapshot>();
  #loads = 0;
  #evictions = 0;

  /** @param budget in bytes */
  constructor(engine: Engine, resources: readonly Resource[], budget: number, events: CacheEvents) {
    this.#engine = engine;
    this.#events = events;
    this.#resources = resources;
    this.#memory = new MemoryBudget(budget);
  }

  /** Returns the sites with a snapshot that was not verified on `timeline`: it may have changes that the database lost. */
  listUnverified(timeline: number | undefined): number[] {
    const snapshots = [...this.#snapshots.values()].filter((snapshot) => snapshot.timeline !== timeline);
    return snapshots.map(({ siteId }) => siteId);
  }

  /** Returns the IDs of the sites with a snapshot. */
  listSites(): number[] {
    return [...this.#snapshots.keys()];
  }

  find(site: number): Snapshot | undefined {
    return this.#snapshots.get(site);
  }

  isLoading(site: number): boolean {
    return this.#loadsInFlight.findRunning(site) !== undefined;
  }

  /** Calls `subscriber` from now on, at once if the system site is cached. */
  subscribeToSystemSite(subscriber: SystemSiteSubscriber): void {
    this.#subscribers.push(subscriber);
    const system = this.#snapshots.get(systemSite);
    if (system) subscriber.onSnapshot(system);
  }

  get usage(): CacheUsage {
    const { size: sites } = this.#snapshots;
    return { sites, bytes: this.#memory.usedBytes, loads: this.#loads, evictions: this.#evictions };
  }

  /** Whether the budget has room for a site of `bytes`, in addition to the sites in use. */
  hasRoomFor(bytes: number): boolean {
    return this.#memory.hasRoomFor(bytes);
  }

  /**
   * Returns the snapshot of `site` at `head` or later, or of another epoch. Loads the site if it is not cached.
   *
   * For example, load 7 is in flight when `head` is read, so `loadsStartedBefore` is 7. Load 7 may have read the site before `head` was committed. So the
   * request waits for the end of load 7, and asks again. If load 8 is in flight then, the request shares its result, because load 8 began after `head` was
   * read.
   * @param loadsStartedBefore the number of loads and replacements, of all sites, that had started when `head` was read. The default, the number at this
   *   call, can be too high. That is safe: the request may then wait for a load whose result it could have used, and read the site again
   */
  async getOrLoad(site: number, head: Head, loadsStartedBefore = this.#loadsInFlight.startedCount): Promise<Snapshot> {
    const snapshot = this.#snapshots.get(site);
    if (snapshot?.epoch !== head.epoch) return this.#reload(site, head, loadsStartedBefore);
    if (snapshot.timeline !== head.timeline)
      return this.getOrLoad(site, await this.verify(snapshot), this.#loadsInFlight.startedCount);
    if (snapshot.revision >= head.revision) return snapshot;
    // If a load is in flight, wait for it: the entries to apply may have been pruned.
    return this.isLoading(site)
      ? this.#reload(site, head, loadsStartedBefore)
      : this.catchUp(snapshot, head, loadsStartedBefore);
  }

  /**
   * Verifies a snapshot of another timeline: the snapshot stays only if the database has its last change; otherwise it is evicted. If the
   * database lost changes, gives the site a new epoch, so that their versions and cursors are not accepted. Returns the head of the site after
   * that.
   */
  async verify(snapshot: Snapshot): Promise<Head> {
    const { siteId, epoch, revision } = snapshot;
    const { head, finding } = await compareWithDatabase(this.#engine, snapshot);
    if (finding === "same" && snapshot.revision === revision) {
      snapshot.timeline = head.timeline;
      return head;
    }
    let headAfter = head;
    if (finding === "lost" && this.#engine.replaceEpoch) {
      // Replace the epoch before the snapshot is evicted. Otherwise, if this fails, no later request could detect the loss.
      headAfter = await this.#engine.replaceEpoch(siteId, epoch);
      this.#events.onLost(siteId);
    }
    if (this.#snapshots.get(siteId) === snapshot) this.evict(siteId);
    return headAfter;
  }

  /**
   * Returns `snapshot` after applying the entries up to `head`, which has the same epoch. Reloads the site if entries were pruned.
   * @param loadsStartedBefore as for `getOrLoad`
   */
  async catchUp(
    snapshot: Snapshot,
    head: Head,
    loadsStartedBefore = this.#loadsInFlight.startedCount,
  ): Promise<Snapshot> {
    const { siteId } = snapshot;
    if (isFarBehind(snapshot, head))
      return this.#replaceSnapshot(siteId, head, loadsStartedBefore, () => this.#copyAndApplyEntries(snapshot, head));
    return (await this.#applyNewEntries(snapshot, head)) ?? this.#loadInstead(snapshot, head, loadsStartedBefore);
  }

  /**
   * Returns `snapshot` after applying the entries up to `head`, which has the same epoch. If there are many entries, or some were pruned,
   * returns undefined: the site catches up or is reloaded in the background, and no request waits. After a failure, the next request starts
   * again.
   */
  async tryCatchUp(snapshot: Snapshot, head: Head): Promise<Snapshot | undefined> {
    const { siteId } = snapshot;
    if (isFarBehind(snapshot, head)) return this.#startInBackground(siteId, () => this.catchUp(snapshot, head));
    const loadLater = () => this.#loadInstead(snapshot, head, this.#loadsInFlight.startedCount);
    return (await this.#applyNewEntries(snapshot, head)) ?? this.#startInBackground(siteId, loadLater);
  }

  /**
   * Applies a change to `snapshot`. Returns false if changes before it are missing. If the change does not fit the records in memory, drops the
   * snapshot and returns false too, so that the site is loaded.
   */
  applyEntry(snapshot: Snapshot, change: RecordChange): boolean {
    const isNew = change.revision > snapshot.revision;
    if (!this.#applyOrDrop(snapshot, change)) return false;
    // A request can still be updating a snapshot that was replaced in the cache. Subscribers are notified only of the cached snapshot.
    if (isNew && snapshot === this.#snapshots.get(systemSite))
      for (const subscriber of this.#subscribers) subscriber.onEntry(change);
    return true;
  }

  /**
   * Applies the changes of one transaction, which are in order. If they are many, a copy of the snapshot gets them in the background, and then replaces it;
   * until then, the snapshot is as it was. Does nothing if changes before them are missing, or if a load is in flight: requests then catch up.
   */
  applyMany(snapshot: Snapshot, changes: readonly RecordChange[]): void {
    const { siteId, epoch, timeline } = snapshot;
    const [first, last] = [changes[0], changes.at(-1)];
    if (!first || !last || first.revision !== snapshot.revision + 1) return;
    const head = { revision: last.revision, epoch, timeline };
    if (!isFarBehind(snapshot, head)) return void changes.every((change) => this.applyEntry(snapshot, change));
    const { startedCount } = this.#loadsInFlight;
    const make = () => this.#copyAndApply(snapshot, head, changes);
    this.#startInBackground(siteId, () => this.#replaceSnapshot(siteId, head, startedCount, make));
  }

  /** Drops a snapshot that differs from the database: evicts its site, so that the next request loads it, and reports the differences. */
  drop(snapshot: Snapshot, differences: readonly SnapshotDifference[]): void {
    const { siteId, epoch, revision } = snapshot;
    this.#dropped.add(snapshot);
    if (this.#snapshots.get(siteId)?.epoch === epoch) this.evict(siteId);
    this.#events.onDifferences({ site: siteId, revision, differences });
  }

  /** Marks `snapshot` as used now, and evicts others if all together exceed the budget. */
  touch(snapshot: Snapshot): void {
    // Ignore a snapshot that was evicted while a request waited. Otherwise its bytes would be counted, and never be released.
    if (this.#snapshots.get(snapshot.siteId) !== snapshot) return;
    for (const { siteId } of this.#memory.touch(snapshot)) {
      this.#evictions++;
      this.evict(siteId);
    }
  }

  evict(site: number): void {
    const snapshot = this.#snapshots.get(site);
    if (!snapshot) return;
    this.#memory.remove(snapshot);
    this.#snapshots.delete(site);
  }

  #applyOrDrop(snapshot: Snapshot, change: RecordChange): boolean {
    if (snapshot.apply(change)) return true;
    const { resource, id, operation, revision } = change;
    if (revision === snapshot.revision + 1) this.drop(snapshot, [{ resource, id, kind: "unfit-change", operation }]);
    return false;
  }

  /** Starts `work` in the background, unless a load or replacement of the site is in flight. If it rejects, the next request starts again. */
  #startInBackground(site: number, work: () => Promise<Snapshot>): undefined {
    if (!this.isLoading(site)) work().catch(() => {});
  }

  /** Reads and applies the entries up to `head`. Returns undefined if entries were pruned, or the epoch or timeline has changed. */
  async #applyNewEntries(snapshot: Snapshot, head: Head): Promise<Snapshot | undefined> {
    const { siteId, epoch, timeline } = snapshot;
    while (snapshot.revision < head.revision) {
      const limit = nextReadLimit(head, snapshot.revision);
      const options = { epoch, timeline, limit, requiredHead: head };
      const changes = await this.#engine.readChangesSince(siteId, snapshot.revision, options);
      if (snapshot.timeline !== timeline) return undefined;
      if (!changes?.every((change) => this.applyEntry(snapshot, change))) return undefined;
      if (changes.length < limit) return requireAtLeast(snapshot, head);
    }
    return snapshot;
  }

  /** Reloads the site, unless another snapshot has replaced `snapshot` in the cache while its entries were read. */
  #loadInstead(snapshot: Snapshot, head: Head, loadsStartedBefore: number): Promise<Snapshot> {
    if (this.#snapshots.get(snapshot.siteId) !== snapshot)
      return this.getOrLoad(snapshot.siteId, head, loadsStartedBefore);
    return this.#reload(snapshot.siteId, head, loadsStartedBefore);
  }

  #reload(site: number, head: Head, loadsStartedBefore: number): Promise<Snapshot> {
    return this.#replaceSnapshot(site, head, loadsStartedBefore, () => this.#readSnapshot(site, head));
  }

  /**
   * Replaces the cached snapshot by the result of `make`, unless a load is in flight. If that load started before `head` was read, its result may be too
   * old: this waits for it, and then tries again, unless the database did not respond. If it started later, this returns its result, also a failure or
   * another epoch. If every request loaded again after such a result, all would try a database that hangs or is being restored.
   */
  #replaceSnapshot(
    site: number,
    head: Head,
    loadsStartedBefore: number,
    make: () => Promise<Snapshot>,
  ): Promise<Snapshot> {
    const running = this.#loadsInFlight.findRunning(site);
    if (!running)
      return this.#loadsInFlight.run(site, async () => requireAtLeast(this.#cacheIfNewer(await make()), head));
    const again = () => this.getOrLoad(site, head, loadsStartedBefore);
    const againUnlessUnavailable = (error: unknown) => {
      if (error instanceof ProblemError) throw error;
      return again();
    };
    if (running.number <= loadsStartedBefore) return running.promise.then(again, againUnlessUnavailable);
    return running.promise.then((made) => (made.epoch === head.epoch ? again() : made));
  }

  /**
   * Applies many entries to a copy, and yields to the event loop in between. Requests see none of the entries, or all. If entries were pruned,
   * reads the site instead.
   */
  async #copyAndApplyEntries(snapshot: Snapshot, head: Head): Promise<Snapshot> {
    const { siteId, epoch, timeline } = snapshot;
    const copy = await snapshot.copy();
    while (copy.revision < head.revision) {
      const limit = nextReadLimit(head, copy.revision);
      const changes = await this.#engine.readChangesSince(siteId, copy.revision, {
        epoch,
        timeline,
        limit,
        requiredHead: head,
      });
      if (!changes?.every((change) => this.#applyOrDrop(copy, change))) return this.#readSnapshot(siteId, head);
      await yieldToEventLoop();
    }
    if (this.#dropped.has(snapshot)) return this.#readSnapshot(siteId, head);
    return copy;
  }

  /** Applies the changes up to `head` to a copy, as `#copyAndApplyEntries` does. */
  async #copyAndApply(snapshot: Snapshot, head: Head, changes: readonly RecordChange[]): Promise<Snapshot> {
    const copy = await snapshot.copy();
    for await (const change of yieldBetween(changes))
      if (!this.#applyOrDrop(copy, change)) return this.#readSnapshot(snapshot.siteId, head);
    return this.#dropped.has(snapshot) ? this.#readSnapshot(snapshot.siteId, head) : copy;
  }

  #readSnapshot(site: number, head: Head): Promise<Snapshot> {
    this.#loads++;
    return this.#engine.readSite(site, (contents) => buildSnapshot(site, contents, this.#resources), head);
  }

  /** Caches `snapshot`, unless the cached snapshot has the same epoch and timeline, and at least the same revision. Returns the cached one. */
  #cacheIfNewer(snapshot: Snapshot): Snapshot {
    const { siteId } = snapshot;
    const current = this.#snapshots.get(siteId);
    const isSameLineage = current?.epoch === snapshot.epoch && current.timeline === snapshot.timeline;
    if (isSameLineage && current.revision >= snapshot.revision) return current;
    this.evict(siteId);
    this.#snapshots.set(siteId, snapshot);
    // Count its memory now, because no request may ever use it.
    this.touch(snapshot);
    if (siteId === systemSite) for (const subscriber of this.#subscribers) subscriber.onSnapshot(snapshot);
    return snapshot;
  }
}

/** Returns `snapshot` if it has reached `head`; the engine has checked the same for its rows. @throws ProblemError `unavailable` */
function requireAtLeast(snapshot: Snapshot, head: Head): Snapshot {
  requireHeadAtLeast(snapshot, head);
  return snapshot;
}

// The steps in which a snapshot catches up.

/** Maximum entries that are read and applied in one step, which takes some milliseconds. */
const maxEntriesPerRead = 500;

/** Whether `snapshot` lacks more entries than one step applies. Never true of the system site: its requests wait in every case. */
function isFarBehind({ siteId, revision }: Snapshot, head: Head): boolean {
  return head.revision - revision > maxEntriesPerRead && siteId !== systemSite;
}

/** Returns the number of entries to read after `revision`. Entries after `head` are not read, because their transaction may be incomplete. */
function nextReadLimit(head: Head, revision: number): number {
  return Math.min(maxEntriesPerRead, head.revision - revision);
}
