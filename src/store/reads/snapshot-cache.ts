// Keeps sites in memory as snapshots, follows the journal to keep them current, and evicts the least recently used when they exceed the budget.
//
// `getOrLoad` waits until a site has reached the required head; its loop alone decides how. `tryCatchUp` only waits for a few entries. For more, or
// if some were pruned, it starts a replacement in the background.
//
// A replacement is built on the side: from a copy if many entries are missing, from the database if some were pruned. The system site is never
// copied, because every request waits for it anyway. Nothing reads past the required head, where a transaction may still be incomplete.
//
// Invariants:
// - Each site has at most one replacement in flight. Requests share its result or its failure.
// - One that started before the required head was read may be too old. Requests wait for it, then decide again.
// - The cached snapshot never goes back. Only a newer one, or one from another epoch, takes its place.
// - Requests see all of a replacement's entries or none. Subscribers only hear about the cached system site.

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

/** Gets the cached system site, the snapshot after each load, and then each change. */
export interface SystemSiteSubscriber {
  onSnapshot(system: Snapshot): void;
  onEntry(change: RecordChange): void;
}

/** Called after a site got a new epoch because the database lost commits that were in memory. */
type OnLostCommits = (site: number) => void;

export interface CacheEvents {
  readonly onLost: OnLostCommits;
  readonly onDifferences: OnDifferences;
}

export class SnapshotCache {
  readonly #engine: Engine;
  readonly #resources: readonly Resource[];
  readonly #snapshots = new Map<number, Snapshot>();
  readonly #replacements = new SingleFlight<number, Snapshot>();
  readonly #subscribers: SystemSiteSubscriber[] = [];
  readonly #memory: MemoryBudget;
  readonly #events: CacheEvents;
  /** Dropped because they differ from the database. Copies of them aren't cached either. */
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

  /** Returns the sites whose snapshots haven't been verified on `timeline`, so they may have changes that the database lost. */
  listOfOtherTimelines(timeline: number | undefined): number[] {
    const snapshots = [...this.#snapshots.values()].filter((snapshot) => snapshot.timeline !== timeline);
    return snapshots.map(({ siteId }) => siteId);
  }

  listSites(): number[] {
    return [...this.#snapshots.keys()];
  }

  find(site: number): Snapshot | undefined {
    return this.#snapshots.get(site);
  }

  /** Whether a replacement of the site is in flight. */
  isReplacing(site: number): boolean {
    return this.#replacements.findRunning(site) !== undefined;
  }

  /** Notifies `subscriber` from now on, starting with the system site if it's cached. */
  subscribeToSystemSite(subscriber: SystemSiteSubscriber): void {
    this.#subscribers.push(subscriber);
    const system = this.#snapshots.get(systemSite);
    if (system) subscriber.onSnapshot(system);
  }

  get usage(): CacheUsage {
    const { size: sites } = this.#snapshots;
    return { sites, bytes: this.#memory.usedBytes, loads: this.#loads, evictions: this.#evictions };
  }

  /** Whether there's room for `bytes` beside the sites in use. */
  hasRoomFor(bytes: number): boolean {
    return this.#memory.hasRoomFor(bytes);
  }

  /**
   * Returns `site` at `requiredHead` or later, or from another epoch. Loads it if it isn't cached.
   *
   * For example, if replacement 7 is running when this is called, it may have read the site before `requiredHead` was committed, so we wait for it
   * and decide again. If 8 is running by then, we share its result.
   */
  async getOrLoad(site: number, requiredHead: Head): Promise<Snapshot> {
    let head = requiredHead;
    // How many replacements, of any site, may have started before `head` was read. If it's too high, we only wait for a replacement we could have
    // used.
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
        // Return it even from another epoch, and throw its failure. If every request loaded again, they'd all pile onto a database that hangs or is
        // being restored.
        const shared = await running.promise;
        if (shared.epoch !== head.epoch) return shared;
      } else {
        const reached = await this.#catchUpOrLoad(site, snapshot, head);
        if (reached) return reached;
      }
    }
  }

  /**
   * After a failover, evicts the snapshot unless the database has its last change. If that was lost, the site also gets a new epoch, so that versions
   * and cursors of lost changes are refused.
   * @returns the site's head after that
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
      // Before evicting the snapshot: if this fails, later requests couldn't detect the loss without it.
      headAfter = await this.#engine.replaceEpoch(siteId, epoch);
      this.#events.onLost(siteId);
    }
    if (this.#snapshots.get(siteId) === snapshot) this.evict(siteId);
    return headAfter;
  }

  /**
   * Applies the entries up to `head`, which is in the same epoch. If there are many, or some were pruned, returns undefined: a replacement is started
   * in the background and nobody waits. If that fails, the next request tries again.
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
   * Applies a change. Returns false if earlier ones are missing. If the change doesn't fit the records in memory, also drops the snapshot, so that
   * the site is loaded.
   */
  applyEntry(snapshot: Snapshot, change: RecordChange): boolean {
    const isNew = change.revision > snapshot.revision;
    if (!this.#applyOrDrop(snapshot, change)) return false;
    // A request may still be updating a snapshot that's no longer cached, which doesn't concern subscribers.
    if (isNew && snapshot === this.#snapshots.get(systemSite))
      for (const subscriber of this.#subscribers) subscriber.onEntry(change);
    return true;
  }

  /**
   * Applies the changes of one transaction, in order. If there are many, they're applied to a copy in the background, which then takes the snapshot's
   * place. Does nothing if earlier changes are missing or a replacement is in flight; requests will catch up.
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

  /** Drops a snapshot that differs from the database: evicts the site, so that the next request loads it, and reports the differences. */
  drop(snapshot: Snapshot, differences: readonly SnapshotDifference[]): void {
    const { siteId, epoch, revision } = snapshot;
    this.#dropped.add(snapshot);
    if (this.#snapshots.get(siteId)?.epoch === epoch) this.evict(siteId);
    this.#events.onDifferences({ site: siteId, revision, differences });
  }

  /** Marks `snapshot` as just used, and evicts others if we're over budget. */
  touch(snapshot: Snapshot): void {
    // If it was evicted while a request waited, its bytes would be counted and never released.
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

  /** Does nothing if a replacement is already in flight. If this one fails, the next request tries again. */
  #startInBackground(site: number, replace: () => Promise<Snapshot>): undefined {
    if (!this.isReplacing(site)) replace().catch(() => {});
  }

  /**
   * Brings the site to `head`, provided that no replacement is in flight.
   * @param snapshot the cached one, if it has the epoch of `head`
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

  /** Reads and applies the entries up to `head`. Returns undefined if some were pruned, or the epoch or timeline has changed. */
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

  /** Caches the result of `make` and returns what's cached. No replacement of the site may be in flight. */
  #replaceBy(make: () => Promise<Snapshot>, site: number, head: Head): Promise<Snapshot> {
    return this.#replacements.run(site, async () => requireAtLeast(this.#cacheIfNewer(await make()), head));
  }

  /** Applies many entries to a copy, yielding to the event loop in between. If some were pruned, reads the site instead. */
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

  /** Applies to a copy the changes we already have. */
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

  /** Caches `snapshot` unless the cached one is of the same lineage and at least as new. Returns the cached one. */
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

/** Waits for a replacement, whatever its outcome. @throws ProblemError if the database didn't respond */
async function waitForEnd(replacement: Promise<Snapshot>): Promise<void> {
  try {
    await replacement;
  } catch (error) {
    if (error instanceof ProblemError) throw error;
  }
}

/** The engine has checked this for its rows too. @throws ProblemError `unavailable` */
function requireAtLeast(snapshot: Snapshot, head: Head): Snapshot {
  requireHeadAtLeast(snapshot, head);
  return snapshot;
}

/** A step of this size takes some milliseconds. */
const maxEntriesPerRead = 500;

/** Whether `snapshot` lacks more entries than one step applies. Never true for the system site, which requests always wait for. */
function isFarBehind({ siteId, revision }: Snapshot, head: Head): boolean {
  return head.revision - revision > maxEntriesPerRead && siteId !== systemSite;
}

/** Never reads past `head`, where a transaction may be incomplete. */
function nextReadLimit(head: Head, revision: number): number {
  return Math.min(maxEntriesPerRead, head.revision - revision);
}

// After a failover, the promoted database may lack a site's last commits, and have others with the same revisions. Every promotion of a standby
// starts a new timeline. Before a snapshot is used on a new one, we compare its last change with the stored entry of the same revision, by the
// digests in their feed cursors. `verifyTimeline` then keeps or evicts the snapshot.

interface Comparison {
  readonly head: Head;
  /**
   * `same`: the database has the snapshot's last change. `lost`: it has a different one at that revision, or none. `unknown`: the entry was pruned,
   * the snapshot doesn't know its last change, or the epoch differs.
   */
  readonly finding: "same" | "lost" | "unknown";
}

async function compareLastChange(engine: Pick<Engine, "readJournalPage">, snapshot: Snapshot): Promise<Comparison> {
  const { siteId, revision, epoch, last } = snapshot;
  const { head, floor, entries } = await engine.readJournalPage(siteId, Math.max(0, revision - 1), 1);
  const [entry] = entries;
  if (head.epoch !== epoch) return { head, finding: "unknown" };
  if (revision === 0) return { head, finding: "same" };
  if (head.revision < revision) return { head, finding: "lost" };
  if (!last || floor >= revision || entry?.revision !== revision) return { head, finding: "unknown" };
  // If `last` also has the time and actor, they're compared too.
  const isSame = toCursor(epoch, entry) === toCursor(epoch, { ...entry, ...last });
  return { head, finding: isSame ? "same" : "lost" };
}
