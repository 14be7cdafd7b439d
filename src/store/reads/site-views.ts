// The sites as clients read them, each as new as the store when the request arrived: from memory, or record by record from the store.

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

/** How often one request queries a remote database at most, when that reports one history of a site and returns another. */
const maxAttempts = 3;

/** How many sites that are not in memory are known to be checked. */
const maxColdSites = 1000;

/** A site as new as the store: its snapshot if it is in memory, otherwise what reads it from the store. */
export type FreshSite = Snapshot | ColdSite;

export class Snapshots {
  readonly #engine: Engine;
  readonly #loaded: LoadedSites;
  /** For an engine without `unchanged`. */
  readonly #sharedHeads: SharedHeads | undefined;
  readonly #coldReads = new ColdReads();
  readonly #coldOptions: ColdSiteOptions;
  /** That of the heads that were read last. */
  #timeline: number | undefined;
  /** Counts the commits that were noticed; `Snapshot.checked` holds the value at the last check. */
  #generation = 0;
  /** Sites that are not in memory, checked since the last commit that was noticed. */
  readonly #coldSites = new Map<number, ColdSite>();

  /** @param budget bytes that the sites in memory may take together */
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
   * `site` as new as the store was when this was called. The snapshot of the system site is then in memory and as new.
   * @throws Refusal `unavailable` when the store does not respond
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
   * Folds a change that this process has just committed into the snapshot of its site, if that is in memory and still of
   * the history of `epoch`: another process may have restored the site meanwhile.
   * @param timeline on which it was committed
   */
  apply(site: number, change: RecordChange, epoch: string, timeline?: number): void {
    const snapshot = this.#loaded.get(site);
    if (snapshot?.epoch === epoch && snapshot.timeline === timeline) this.#loaded.fold(snapshot, change);
  }

  /** The head of the system site as it is in memory; that of no history before it was loaded. `fresh` makes it as new as the store. */
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
      // First the keys, then the records: another request must not find records here that are newer than the keys by which it is checked.
      const freshSystem = system instanceof Promise ? await system : system;
      const wanted = site === systemSite ? freshSystem : this.#bringToHead(site, result, known[1] as number);
      const fresh = wanted instanceof Promise ? await wanted : wanted;
      if (isOfHistory(freshSystem, result) && isOfHistory(fresh, result)) return this.#use(fresh);
    }
    throw new Refusal("unavailable", "the database reported one history of a site and returned another", {
      retryAfter: 1,
    });
  }

  /** When another machine has taken over, verifies all sites in memory, so that other processes, too, no longer accept what is lost. */
  #noteTimeline(timeline: number | undefined): void {
    if (timeline === this.#timeline) return;
    const isFirst = this.#timeline === undefined;
    this.#timeline = timeline;
    if (!isFirst) this.#verifyAll(timeline).catch(() => {});
  }

  /** One after the other. A site that fails is verified when it is used. */
  async #verifyAll(timeline: number | undefined): Promise<void> {
    for (const site of this.#loaded.unverified(timeline)) {
      const snapshot = this.#loaded.get(site);
      // Every request verifies the system site.
      if (snapshot && snapshot.timeline !== timeline && site !== systemSite) await this.#loaded.verify(snapshot);
    }
  }

  /**
   * `site` as the result has it or newer. All requests with the same result share the work.
   * @param known the revision that this process knew before the query
   */
  #bringToHead(site: number, { heads, shared }: QueriedHeads, known: number): MaybePromise<FreshSite> {
    const head = heads.get(site) as Head;
    const snapshot = this.#loaded.get(site);
    if (snapshot?.isAt(head)) return snapshot;
    let loading = shared.get(site) as Promise<FreshSite> | undefined;
    if (!loading) {
      // A store without timelines that has gone back lost its last changes, as at a failover to a standby that lagged.
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
   * `site` at `head` or later, or of another history. The system site is loaded where it is not in memory. While another site takes over many
   * changes, or is loaded because they were pruned, its records come from the store.
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

  /** Loads the site when its reads have cost as much as that, if it fits beside the sites that are in use. No request waits for it. */
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
      // The reads go on without, and count again.
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
