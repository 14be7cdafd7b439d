// The sites in memory: each as new as the store when a request asks, and together within a budget.

import type { Change } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { after, type Maybe } from "../model/maybe.ts";
import type { Resource } from "../model/resource.ts";
import { Snapshot } from "./snapshot.ts";

/** The site that holds the records of sites and keys. */
export const systemSite = 0;

/** Follows the system site: told when it is loaded anew, and of each change after that. */
export interface Follower {
  reset(system: Snapshot): void;
  change(change: Change): void;
}

export class Snapshots {
  readonly #engine: Engine;
  readonly #resources: readonly Resource[];
  /** Most bytes of snapshots to keep. */
  readonly #budget: number;
  readonly #loaded = new Map<number, Snapshot>();
  readonly #loading = new Map<number, Promise<Snapshot>>();
  readonly #followers: Follower[] = [];
  #generation = 0;
  #clock = 0;

  constructor(engine: Engine, resources: readonly Resource[], budget: number) {
    this.#engine = engine;
    this.#resources = resources;
    this.#budget = budget;
  }

  follow(follower: Follower): void {
    this.#followers.push(follower);
  }

  /**
   * The snapshot of `site`, as new as the store was when this was called; that of the system site is then as new.
   * @throws Refusal `unavailable` when the store cannot be asked
   */
  fresh(site: number): Maybe<Snapshot> {
    if (!this.#engine.unchanged?.()) this.#generation++;
    const wanted = this.#loaded.get(site);
    if (wanted?.checked === this.#generation && this.#loaded.get(systemSite)?.checked === this.#generation) {
      wanted.lastUsed = ++this.#clock;
      return wanted;
    }
    const sites = site === systemSite ? [systemSite] : [systemSite, site];
    const generation = this.#generation;
    return after(this.#engine.heads(sites), (heads) => this.#catchUp(sites, heads, generation));
  }

  /**
   * Folds a change that this process has just committed into the snapshot of its site, if that is in memory and still of
   * the history in which the change made `version`: another process may have restored the site meanwhile.
   */
  apply(site: number, change: Change, version: string): void {
    const snapshot = this.#loaded.get(site);
    if (snapshot?.version(change.revision) === version) this.#fold(snapshot, change);
  }

  /** How many sites are in memory, and about how many bytes they take. */
  get size(): { sites: number; bytes: number } {
    let bytes = 0;
    for (const snapshot of this.#loaded.values()) bytes += snapshot.bytes;
    return { sites: this.#loaded.size, bytes };
  }

  #catchUp(sites: readonly number[], heads: readonly Head[], generation: number): Maybe<Snapshot> {
    let done: Maybe<Snapshot | undefined>;
    sites.forEach((site, index) => {
      const head = heads[index] as Head;
      done = after(done, () =>
        after(this.#at(site, head), (snapshot) => {
          snapshot.checked = generation;
          snapshot.lastUsed = ++this.#clock;
          return snapshot;
        }),
      );
    });
    return done as Maybe<Snapshot>;
  }

  /** The snapshot of `site` at `head` or later. */
  #at(site: number, head: Head): Maybe<Snapshot> {
    const snapshot = this.#loaded.get(site);
    if (!snapshot) return this.#load(site);
    if (snapshot.isAt(head)) return snapshot;
    if (snapshot.epoch !== head.epoch) return this.#load(site);
    if (snapshot.revision > head.revision) return snapshot;
    return after(this.#engine.since(site, snapshot.revision, { epoch: snapshot.epoch }), (changes) => {
      if (!changes?.every((change) => this.#fold(snapshot, change))) return this.#load(site);
      return snapshot;
    });
  }

  #load(site: number): Maybe<Snapshot> {
    const underWay = this.#loading.get(site);
    if (underWay) return underWay;
    const loaded = after(this.#engine.load(site), (contents) => {
      const snapshot = new Snapshot(site, contents, this.#resources);
      this.#loaded.set(site, snapshot);
      if (site === systemSite) for (const follower of this.#followers) follower.reset(snapshot);
      this.#evict(site);
      return snapshot;
    });
    if (!(loaded instanceof Promise)) return loaded;
    const promise = loaded.finally(() => this.#loading.delete(site));
    this.#loading.set(site, promise);
    return promise;
  }

  #fold(snapshot: Snapshot, change: Change): boolean {
    const isNew = change.revision > snapshot.revision;
    if (!snapshot.apply(change)) return false;
    if (isNew && snapshot.site === systemSite) for (const follower of this.#followers) follower.change(change);
    return true;
  }

  /** Drops the least recently used until the budget holds; never the system site, nor `spared`. */
  #evict(spared: number): void {
    let { bytes } = this.size;
    while (bytes > this.#budget) {
      const least = this.#leastRecentlyUsed(spared);
      if (!least) return;
      bytes -= least.bytes;
      this.#loaded.delete(least.site);
    }
  }

  #leastRecentlyUsed(spared: number): Snapshot | undefined {
    let least: Snapshot | undefined;
    for (const snapshot of this.#loaded.values()) {
      if (snapshot.site === systemSite || snapshot.site === spared) continue;
      if (!least || snapshot.lastUsed < least.lastUsed) least = snapshot;
    }
    return least;
  }
}
