// The sites in memory: each as new as the store when a request asks, and together within a budget.

import { after, type MaybePromise } from "../lib/maybe-promise.ts";
import type { Change } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { systemSite } from "../model/system-site.ts";
import { Barrier, type BarrierResult } from "./barrier.ts";
import { Snapshot } from "./memory/snapshot.ts";
import { MemoryBudget } from "./memory-budget.ts";
import { requireReached } from "./since.ts";

/** Most changes to read at once: a store far away has a time limit for each answer. */
const longestStep = 2000;

/** How often a store far away is asked about one request, when it says one thing and gives another. */
const mostQuestions = 3;

/** Follows the system site: told when it is loaded anew, and of each change after that. */
export interface Follower {
  reset(system: Snapshot): void;
  change(change: Change): void;
}

export class Snapshots {
  readonly #engine: Engine;
  readonly #resources: readonly Resource[];
  readonly #loaded = new Map<number, Snapshot>();
  readonly #loading = new Map<number, Promise<Snapshot>>();
  readonly #followers: Follower[] = [];
  /** For an engine that cannot tell by itself that nothing has changed. */
  readonly #barrier: Barrier | undefined;
  readonly #memory: MemoryBudget;
  #generation = 0;

  constructor(engine: Engine, resources: readonly Resource[], budget: number) {
    this.#engine = engine;
    this.#resources = resources;
    this.#memory = new MemoryBudget(budget);
    this.#barrier = engine.unchanged ? undefined : new Barrier(engine);
  }

  follow(follower: Follower): void {
    this.#followers.push(follower);
  }

  /**
   * The snapshot of `site`, as new as the store was when this was called; that of the system site is then as new.
   * @throws Refusal `unavailable` when the store cannot be asked
   */
  fresh(site: number): MaybePromise<Snapshot> {
    if (this.#barrier) return this.#freshBehind(this.#barrier, site);
    if (!this.#engine.unchanged?.()) this.#generation++;
    const wanted = this.#loaded.get(site);
    if (wanted?.checked === this.#generation && this.#loaded.get(systemSite)?.checked === this.#generation) {
      return this.#use(wanted);
    }
    const sites = site === systemSite ? [systemSite] : [systemSite, site];
    const generation = this.#generation;
    return after(this.#engine.heads(sites), (heads) => this.#catchUp(sites, heads, generation));
  }

  async #freshBehind(barrier: Barrier, site: number): Promise<Snapshot> {
    for (let question = 1; question <= mostQuestions; question++) {
      const known = [this.#loaded.get(systemSite), this.#loaded.get(site)].map((snapshot) => snapshot?.revision ?? 0);
      const answer = await barrier.headsOf(site === systemSite ? [systemSite] : [systemSite, site]);
      const system = this.#behind(systemSite, answer, known[0] as number);
      const wanted = site === systemSite ? system : this.#behind(site, answer, known[1] as number);
      const systemSnapshot = system instanceof Promise ? await system : system;
      const snapshot = wanted instanceof Promise ? await wanted : wanted;
      if (isOfHistory(systemSnapshot, answer) && isOfHistory(snapshot, answer)) return this.#use(snapshot);
    }
    throw new Refusal("unavailable", "the store says one history of a site and gives another", { retryAfter: 1 });
  }

  /**
   * The snapshot of `site` as the answer has it or newer; whoever got the same answer shares the way there.
   * @param known the revision that this process knew before it asked
   */
  #behind(site: number, { heads, shared }: BarrierResult, known: number): MaybePromise<Snapshot> {
    const head = heads.get(site) as Head;
    const snapshot = this.#loaded.get(site);
    if (snapshot?.isAt(head)) return snapshot;
    let way = shared.get(site) as Promise<Snapshot> | undefined;
    if (!way) {
      // A store that has gone back lost its last changes, as at a failover to a standby that lagged.
      if (head.revision < known) this.#drop(site);
      way = Promise.resolve(this.#at(site, head));
      way.catch(() => {});
      shared.set(site, way);
    }
    return way;
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
    return { sites: this.#loaded.size, bytes: this.#memory.use };
  }

  #catchUp(sites: readonly number[], heads: readonly Head[], generation: number): MaybePromise<Snapshot> {
    let done: MaybePromise<Snapshot | undefined>;
    sites.forEach((site, index) => {
      const head = heads[index] as Head;
      done = after(done, () =>
        after(this.#at(site, head), (snapshot) => {
          snapshot.checked = generation;
          return snapshot;
        }),
      );
    });
    return after(done, (last) => this.#use(last as Snapshot));
  }

  /** The snapshot of `site` at `head` or later, or of another history. */
  #at(site: number, head: Head): MaybePromise<Snapshot> {
    const snapshot = this.#loaded.get(site);
    if (snapshot?.epoch !== head.epoch) return this.#loadAt(site, head);
    if (snapshot.revision >= head.revision) return snapshot;
    const { revision, epoch } = snapshot;
    return after(this.#engine.since(site, revision, { epoch, limit: longestStep, minHead: head }), (changes) => {
      if (!changes?.every((change) => this.#fold(snapshot, change))) return this.#loadAt(site, head);
      return changes.length < longestStep ? reached(snapshot, head) : this.#at(site, head);
    });
  }

  /** A load that began before `head` was known may be older than it, so it is waited for and not relied on. */
  #loadAt(site: number, head: Head): MaybePromise<Snapshot> {
    const underWay = this.#loading.get(site)?.catch(() => {});
    if (underWay) return underWay.then(() => this.#at(site, head));
    return after(this.#load(site, head), (snapshot) => reached(snapshot, head));
  }

  #load(site: number, head: Head): MaybePromise<Snapshot> {
    const read = after(this.#engine.load(site, head), (contents) => Snapshot.of(site, contents, this.#resources));
    const loaded = after(read, (snapshot) => {
      const current = this.#loaded.get(site);
      // Changes may have come while this was read.
      if (current?.epoch === snapshot.epoch && current.revision >= snapshot.revision) return current;
      this.#drop(site);
      this.#loaded.set(site, snapshot);
      if (site === systemSite) for (const follower of this.#followers) follower.reset(snapshot);
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

  #use(snapshot: Snapshot): Snapshot {
    const dropped = this.#memory.noteUse(snapshot);
    for (const { site } of dropped) this.#drop(site);
    return snapshot;
  }

  #drop(site: number): void {
    const snapshot = this.#loaded.get(site);
    if (!snapshot) return;
    this.#memory.forget(snapshot);
    this.#loaded.delete(site);
  }
}

function isOfHistory({ site, epoch }: Snapshot, { heads }: BarrierResult): boolean {
  return heads.get(site)?.epoch === epoch;
}

/** The snapshot, as new as the store said that its site is; the engine made sure of the same. */
function reached(snapshot: Snapshot, head: Head): Snapshot {
  requireReached(snapshot, head);
  return snapshot;
}
