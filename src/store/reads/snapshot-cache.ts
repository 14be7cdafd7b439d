import { nextTurn } from "../../lib/event-loop.ts";
import { after, type MaybePromise } from "../../lib/maybe-promise.ts";
import type { RecordChange } from "../../model/change.ts";
import type { Engine, Head, SiteContents } from "../../model/engine.ts";
import { systemSite } from "../../model/limits.ts";
import type { Resource } from "../../model/resource.ts";
import { toCursor } from "../database/cursor.ts";
import { requireReached } from "../database/site-state.ts";
import { makeSnapshot } from "../memory/site-loader.ts";
import type { Snapshot } from "../memory/snapshot.ts";
import { MemoryBudget, type MemorySize } from "./memory-budget.ts";

/** Follows the system site: gets its snapshot when it is loaded anew, and each change after that. */
export interface Follower {
  reset(system: Snapshot): void;
  change(change: RecordChange): void;
}

/** Called when a site has lost commits that were in memory, and has a new history for that reason. */
export type OnLostCommits = (site: number) => void;

/** The sites in memory, together within a budget: loads them, brings them up to date, and drops them. */
export class LoadedSites {
  readonly #engine: Engine;
  readonly #resources: readonly Resource[];
  readonly #snapshots = new Map<number, Snapshot>();
  /** The snapshots that are being made, by site. */
  readonly #loading = new OneAtATime<number, Snapshot>();
  readonly #followers: Follower[] = [];
  readonly #memory: MemoryBudget;
  readonly #onLost: OnLostCommits;
  #loads = 0;
  #evictions = 0;

  /** @param budget in bytes */
  constructor(engine: Engine, resources: readonly Resource[], budget: number, onLost: OnLostCommits) {
    this.#engine = engine;
    this.#onLost = onLost;
    this.#resources = resources;
    this.#memory = new MemoryBudget(budget);
  }

  /** The sites whose snapshots are not known to be what is stored on `timeline`. */
  unverified(timeline: number | undefined): number[] {
    const snapshots = [...this.#snapshots.values()].filter((snapshot) => snapshot.timeline !== timeline);
    return snapshots.map(({ site }) => site);
  }

  get(site: number): Snapshot | undefined {
    return this.#snapshots.get(site);
  }

  isLoading(site: number): boolean {
    return this.#loading.running(site) !== undefined;
  }

  follow(follower: Follower): void {
    this.#followers.push(follower);
  }

  get size(): MemorySize {
    const { size: sites } = this.#snapshots;
    return { sites, bytes: this.#memory.use, loads: this.#loads, evictions: this.#evictions };
  }

  /** Whether a site of so many bytes fits beside the sites that are in use. */
  hasRoomFor(bytes: number): boolean {
    return this.#memory.hasRoomFor(bytes);
  }

  /**
   * The snapshot of `site` at `head` or later, or of another history; loaded where it is not in memory.
   * @param before how many loads had begun when `head` became known
   */
  load(site: number, head: Head, before = this.#loading.begun): MaybePromise<Snapshot> {
    const snapshot = this.#snapshots.get(site);
    if (snapshot?.epoch !== head.epoch) return this.#loadAnew(site, head, before);
    if (snapshot.timeline !== head.timeline)
      return after(this.verify(snapshot), (now) => this.load(site, now, this.#loading.begun));
    if (snapshot.revision >= head.revision) return snapshot;
    // What is being loaded may be needed because the changes cannot be had.
    return this.isLoading(site) ? this.#loadAnew(site, head, before) : this.bringUp(snapshot, head, before);
  }

  /**
   * Makes sure that a snapshot of another timeline has nothing that is lost, or drops it. Where something is lost, the site gets a new history,
   * so that no version or cursor of what is lost is accepted. Returns the head of the site then.
   */
  async verify(snapshot: Snapshot): Promise<Head> {
    const { site, epoch, revision } = snapshot;
    const { head, finding } = await compareWithStore(this.#engine, snapshot);
    if (finding === "same" && snapshot.revision === revision) {
      snapshot.timeline = head.timeline;
      return head;
    }
    let now = head;
    if (finding === "lost" && this.#engine.renewSite) {
      // Before it is dropped: whoever comes later would not know that something is lost.
      now = await this.#engine.renewSite(site, epoch);
      this.#onLost(site);
    }
    if (this.#snapshots.get(site) === snapshot) this.drop(site);
    return now;
  }

  /** `snapshot` with the changes up to `head` of its history, or the site loaded anew where they cannot be had. @param before as for `load` */
  bringUp(snapshot: Snapshot, head: Head, before = this.#loading.begun): MaybePromise<Snapshot> {
    const { site } = snapshot;
    if (isFarBehind(snapshot, head)) return this.#replace(site, head, before, () => this.#withChanges(snapshot, head));
    return after(this.#withFewChanges(snapshot, head), (done) => done ?? this.#loadInstead(snapshot, head, before));
  }

  /**
   * `snapshot` with the changes up to `head` of its history. Undefined where they are many or cannot be had: then no request waits while they are
   * taken over or the site is loaded. After a failure, the next request begins again.
   */
  catchUp(snapshot: Snapshot, head: Head): MaybePromise<Snapshot | undefined> {
    const { site } = snapshot;
    if (isFarBehind(snapshot, head)) return this.#begin(site, () => this.bringUp(snapshot, head));
    const loadLater = () => this.#loadInstead(snapshot, head, this.#loading.begun);
    return after(this.#withFewChanges(snapshot, head), (done) => done ?? this.#begin(site, loadLater));
  }

  /** Folds a change into `snapshot`; false when others are missing before it. */
  fold(snapshot: Snapshot, change: RecordChange): boolean {
    const isNew = change.revision > snapshot.revision;
    if (!snapshot.apply(change)) return false;
    // A request may still bring up a snapshot whose place another one has taken. The followers follow that one.
    if (isNew && snapshot === this.#snapshots.get(systemSite))
      for (const follower of this.#followers) follower.change(change);
    return true;
  }

  /** Notes that `snapshot` is used now, and drops others where all together exceed the budget. */
  noteUse(snapshot: Snapshot): void {
    // One that was dropped while a request waited would never be dropped again, and its bytes would count forever.
    if (this.#snapshots.get(snapshot.site) !== snapshot) return;
    for (const { site } of this.#memory.noteUse(snapshot)) {
      this.#evictions++;
      this.drop(site);
    }
  }

  drop(site: number): void {
    const snapshot = this.#snapshots.get(site);
    if (!snapshot) return;
    this.#memory.forget(snapshot);
    this.#snapshots.delete(site);
  }

  /** Begins `work` unless the site is already being replaced. */
  #begin(site: number, work: () => MaybePromise<Snapshot>): undefined {
    if (this.isLoading(site)) return;
    const done = work();
    if (done instanceof Promise) done.catch(() => {});
  }

  /** Undefined where changes cannot be had. */
  #withFewChanges(snapshot: Snapshot, head: Head): MaybePromise<Snapshot | undefined> {
    const { site, revision, epoch, timeline } = snapshot;
    if (revision >= head.revision) return snapshot;
    const limit = stepTo(head, revision);
    return after(this.#engine.since(site, revision, { epoch, timeline, limit, minHead: head }), (changes) => {
      if (snapshot.timeline !== timeline) return undefined;
      if (!changes?.every((change) => this.fold(snapshot, change))) return undefined;
      return changes.length < limit ? requireAt(snapshot, head) : this.#withFewChanges(snapshot, head);
    });
  }

  /** Loads the site, unless another snapshot has replaced `snapshot` while its changes were read. */
  #loadInstead(snapshot: Snapshot, head: Head, before: number): MaybePromise<Snapshot> {
    if (this.#snapshots.get(snapshot.site) !== snapshot) return this.load(snapshot.site, head, before);
    return this.#loadAnew(snapshot.site, head, before);
  }

  #loadAnew(site: number, head: Head, before: number): MaybePromise<Snapshot> {
    return this.#replace(site, head, before, () => this.#read(site, head));
  }

  /**
   * Puts what `make` makes in the place of what is in memory. What began before `head` was known may be older, so it is waited for only. A failure
   * or another history of what began later is shared: otherwise each waiting request would try in turn, while a store hangs or is restored.
   */
  #replace(site: number, head: Head, before: number, make: () => MaybePromise<Snapshot>): MaybePromise<Snapshot> {
    const running = this.#loading.running(site);
    if (!running) return this.#loading.run(site, () => after(make(), (made) => requireAt(this.#keep(made), head)));
    const again = () => this.load(site, head, before);
    if (running.number <= before) return running.promise.then(again, again);
    return running.promise.then((made) => (made.epoch === head.epoch ? again() : made));
  }

  /** Many changes are folded into a copy, with turns of the event loop in between: requests see none of them, or all. */
  async #withChanges(snapshot: Snapshot, head: Head): Promise<Snapshot> {
    const { site, epoch, timeline } = snapshot;
    const copy = await snapshot.copy();
    while (copy.revision < head.revision) {
      const limit = stepTo(head, copy.revision);
      const changes = await this.#engine.since(site, copy.revision, { epoch, timeline, limit, minHead: head });
      if (!changes?.every((change) => copy.apply(change))) return this.#read(site, head);
      await nextTurn();
    }
    return copy;
  }

  #read(site: number, head: Head): MaybePromise<Snapshot> {
    this.#loads++;
    return this.#engine.readSite(site, (contents) => this.#make(site, contents), head);
  }

  #make(site: number, contents: SiteContents): MaybePromise<Snapshot> {
    return after(makeSnapshot(site, contents, this.#resources), ({ snapshot, counts }) => {
      // What is not stored now is stored when the site is next loaded.
      if (!contents.counts) this.#engine.noteCounts(site, contents.head, counts).catch(() => {});
      return snapshot;
    });
  }

  /** Keeps what was loaded, unless changes have made what is in memory newer meanwhile. */
  #keep(snapshot: Snapshot): Snapshot {
    const { site } = snapshot;
    const current = this.#snapshots.get(site);
    const isSameHistory = current?.epoch === snapshot.epoch && current.timeline === snapshot.timeline;
    if (isSameHistory && current.revision >= snapshot.revision) return current;
    this.drop(site);
    this.#snapshots.set(site, snapshot);
    // It counts from now on, also if no request comes for it.
    this.noteUse(snapshot);
    if (site === systemSite) for (const follower of this.#followers) follower.reset(snapshot);
    return snapshot;
  }
}

/** The snapshot, as new as the store said that its site is; the engine made sure of the same. */
function requireAt(snapshot: Snapshot, head: Head): Snapshot {
  requireReached(snapshot, head);
  return snapshot;
}

// In what steps a snapshot takes over the changes that it lacks.

/** Changes that are read and folded at once, at most: some milliseconds. */
const maxStep = 500;

/** Whether so many changes are missing in `snapshot` that they take several turns of the event loop. */
function isFarBehind({ site, revision }: Snapshot, head: Head): boolean {
  return head.revision - revision > maxStep && site !== systemSite;
}

/** How many changes after `revision` to read at once. None after `head`: those may be a part of a transaction. */
function stepTo(head: Head, revision: number): number {
  return Math.min(maxStep, head.revision - revision);
}

interface Run<T> {
  /** Counted from 1, in the order in which they began. */
  readonly number: number;
  readonly promise: Promise<T>;
}

/** Work of which only one goes on at a time for each key. */
class OneAtATime<Key, T> {
  readonly #running = new Map<Key, Run<T>>();
  #begun = 0;

  /** The number of the last one that has begun. */
  get begun(): number {
    return this.#begun;
  }

  /** Runs `make`. Nothing else may be running for `key`. */
  run(key: Key, make: () => MaybePromise<T>): MaybePromise<T> {
    const number = ++this.#begun;
    const made = make();
    if (!(made instanceof Promise)) return made;
    const promise = made.finally(() => this.#running.delete(key));
    this.#running.set(key, { number, promise });
    return promise;
  }

  /** What is running for `key`. */
  running(key: Key): Run<T> | undefined {
    return this.#running.get(key);
  }
}

// After a failover, a store may lack the last commits of a site and have others under the same numbers. Before a snapshot is used on a timeline
// on which that was not checked, the last change that it has is compared with the one that is stored, by its mark in the feed.

interface Comparison {
  readonly head: Head;
  /** Whether the store has what the snapshot has, or lost some of it; `unknown` where it no longer has the entry, or has another history. */
  readonly finding: "same" | "lost" | "unknown";
}

/** Compares a snapshot with what is stored now. */
async function compareWithStore(engine: Pick<Engine, "journal">, snapshot: Snapshot): Promise<Comparison> {
  const { site, revision, epoch, last } = snapshot;
  const { head, floor, entries } = await engine.journal(site, Math.max(0, revision - 1), 1);
  const [entry] = entries;
  if (head.epoch !== epoch) return { head, finding: "unknown" };
  if (revision === 0) return { head, finding: "same" };
  if (head.revision < revision) return { head, finding: "lost" };
  if (!last || floor >= revision || entry?.revision !== revision) return { head, finding: "unknown" };
  // Time and author of a change of this process are known, too.
  const isSame = toCursor(epoch, entry) === toCursor(epoch, { ...entry, ...last });
  return { head, finding: isSame ? "same" : "lost" };
}
