// The cache of snapshots. It loads a site into memory, and applies new journal entries to the snapshot. If all snapshots together exceed the budget, it
// evicts the least recently used ones.
//
// There are two ways to bring a site to a required head. `getOrLoad` waits until the site has reached it: the loop in this method decides the next step,
// and nothing else does. `tryCatchUp` waits only for few entries: if many are missing, or some were pruned, it starts a replacement in the background.
//
// A load reads the whole site from the database. A replacement is a load, or a copy of the cached snapshot that catches up; its result then replaces the
// cached snapshot. If many entries are missing, a copy catches up. If entries were pruned, the site is loaded. The snapshot of the system site is never
// copied, because every request waits for it in any case. Entries after the required head are never read, because their transaction may have further
// entries that are not read yet.
//
// Invariants:
// - At most one replacement per site is in flight. Requests share its result and its failure (single flight).
// - If a replacement started before the required head was read, its result may be too old. So the request waits for it, and decides again.
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
import { toCursor } from "../database/cursor.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";
import { buildSnapshot } from "../memory/site-loader.ts";
import type { Snapshot } from "../memory/snapshot.ts";
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
  /** The replacements in flight, by site. */
  readonly #replacements = new SingleFlight<number, Snapshot>();
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
  listOfOtherTimelines(timeline: number | undefined): number[] {
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

  /** Whether a load of the site, or a copy that catches up, is in flight. */
  isReplacing(site: number): boolean {
    return this.#replacements.findRunning(site) !== undefined;
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
   * Returns the snapshot of `site` at `requiredHead` or later, or of another epoch. Loads the site if it is not cached.
   *
   * For example, replacement 7 is in flight at the call, so `startedBefore` is 7. Replacement 7 may have read the site before `requiredHead` was committed.
   * So the request waits for its end, and decides again. If replacement 8 is in flight then, the request shares its result.
   */
  async getOrLoad(site: number, requiredHead: Head): Promise<Snapshot> {
    let head = requiredHead;
    // The number of replacements, of all sites, that may have started before `head` was read. It can be too high, which is safe: the request then waits
    // for a replacement whose result it could have used, and decides again.
    let startedBefore = this.#replacements.startedCount;
    for (;;) {
      const cached = this.#snapshots.get(site);
      const snapshot = cached?.epoch === head.epoch ? cached : undefined;
      const running = this.#replacements.findRunning(site);
      if (snapshot && snapshot.timeline !== head.timeline) {
        head = await this.verifyTimeline(snapshot);
        startedBefore = this.#replacements.startedCount;
      } else if (snapshot && snapshot.revision >= head.revision) {
        return snapshot;
      } else if (running && running.number <= startedBefore) {
        await waitForEnd(running.promise);
      } else if (running) {
        // Return also another epoch, and throw its failure: if every request loaded again, all would try a database that hangs or is being restored.
        const shared = await running.promise;
        if (shared.epoch !== head.epoch) return shared;
      } else {
        const reached = await this.#catchUpOrLoad(site, snapshot, head);
        if (reached) return reached;
      }
    }
  }

  /**
   * Verifies a snapshot of another timeline, after a failover: the snapshot stays only if the database has its last change. Otherwise the snapshot is
   * evicted. If the database has lost the change, the site gets a new epoch, so that versions and cursors of lost changes are not accepted.
   * @returns the head of the site after that
   */
  async verifyTimeline(snapshot: Snapshot): Promise<Head> {
    const { siteId, epoch, revision } = snapshot;
    const { head, finding } = await compareLastChange(this.#engine, snapshot);
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
   * Returns `snapshot` after applying the entries up to `head`, which has the same epoch. If there are many entries, or some were pruned,
   * returns undefined: the snapshot is replaced in the background, and no request waits. After a failure, the next request starts again.
   */
  async tryCatchUp(snapshot: Snapshot, head: Head): Promise<Snapshot | undefined> {
    const { siteId } = snapshot;
    if (isFarBehind(snapshot, head)) return this.#startInBackground(siteId, () => this.#replaceByCopy(snapshot, head));
    const caughtUp = await this.#applyNewEntries(snapshot, head);
    if (caughtUp) return caughtUp;
    const isCached = this.#snapshots.get(siteId) === snapshot;
    return this.#startInBackground(siteId, () => (isCached ? this.#load(siteId, head) : this.getOrLoad(siteId, head)));
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
   * until then, the snapshot has none of them. Does nothing if changes before them are missing, or if a replacement is in flight: requests then catch up.
   */
  applyMany(snapshot: Snapshot, changes: readonly RecordChange[]): void {
    const { siteId, epoch, timeline } = snapshot;
    const [first, last] = [changes[0], changes.at(-1)];
    if (!first || !last || first.revision !== snapshot.revision + 1) return;
    const head = { revision: last.revision, epoch, timeline };
    if (!isFarBehind(snapshot, head)) return void changes.every((change) => this.applyEntry(snapshot, change));
    const make = () => this.#copyAndApply(snapshot, head, changes);
    this.#startInBackground(siteId, () => this.#replaceBy(make, siteId, head));
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

  /** Starts `replace` in the background, unless a replacement of the site is in flight. If it rejects, the next request starts again. */
  #startInBackground(site: number, replace: () => Promise<Snapshot>): undefined {
    if (!this.isReplacing(site)) replace().catch(() => {});
  }

  /**
   * Brings the site to `head`, while no replacement of it is in flight.
   * @param snapshot the cached snapshot, if it has the epoch of `head`
   * @returns undefined if the cache has changed meanwhile, so that the caller must decide again
   */
  async #catchUpOrLoad(site: number, snapshot: Snapshot | undefined, head: Head): Promise<Snapshot | undefined> {
    if (!snapshot) return this.#load(site, head);
    if (isFarBehind(snapshot, head)) return this.#replaceByCopy(snapshot, head);
    const caughtUp = await this.#applyNewEntries(snapshot, head);
    if (caughtUp) return caughtUp;
    const hasCacheChanged = this.#snapshots.get(site) !== snapshot || this.isReplacing(site);
    return hasCacheChanged ? undefined : this.#load(site, head);
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

  #load(site: number, head: Head): Promise<Snapshot> {
    return this.#replaceBy(() => this.#readSnapshot(site, head), site, head);
  }

  #replaceByCopy(snapshot: Snapshot, head: Head): Promise<Snapshot> {
    return this.#replaceBy(() => this.#copyAndApplyEntries(snapshot, head), snapshot.siteId, head);
  }

  /** Caches the result of `make`, and returns the cached snapshot. No replacement of the site may be in flight. */
  #replaceBy(make: () => Promise<Snapshot>, site: number, head: Head): Promise<Snapshot> {
    return this.#replacements.run(site, async () => requireAtLeast(this.#cacheIfNewer(await make()), head));
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

/** Waits for a replacement, and ignores its result and its failure. @throws ProblemError if the database did not respond */
async function waitForEnd(replacement: Promise<Snapshot>): Promise<void> {
  try {
    await replacement;
  } catch (error) {
    if (error instanceof ProblemError) throw error;
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

// Finds out whether a database that was promoted has the changes that a snapshot has. After a failover, it may lack the last commits of a site, and have
// other commits with the same revisions. Each promotion of a standby starts a new timeline. Before a snapshot is used on a new timeline, its last change is
// compared with the stored entry of the same revision, by the digests in their feed cursors. `verifyTimeline` then keeps or evicts the snapshot.

interface Comparison {
  readonly head: Head;
  /**
   * `same`: the database has the snapshot's last change. `lost`: the database has another change of that revision, or none. `unknown`: the entry
   * was pruned, the snapshot does not know its last change, or the epoch differs.
   */
  readonly finding: "same" | "lost" | "unknown";
}

/** Compares the last change of a snapshot with the database. */
async function compareLastChange(engine: Pick<Engine, "readJournalPage">, snapshot: Snapshot): Promise<Comparison> {
  const { siteId, revision, epoch, last } = snapshot;
  const { head, floor, entries } = await engine.readJournalPage(siteId, Math.max(0, revision - 1), 1);
  const [entry] = entries;
  if (head.epoch !== epoch) return { head, finding: "unknown" };
  if (revision === 0) return { head, finding: "same" };
  if (head.revision < revision) return { head, finding: "lost" };
  if (!last || floor >= revision || entry?.revision !== revision) return { head, finding: "unknown" };
  // `last` may have the time and the actor too; then they are also compared.
  const isSame = toCursor(epoch, entry) === toCursor(epoch, { ...entry, ...last });
  return { head, finding: isSame ? "same" : "lost" };
}
