import type { Change } from "../model/change.ts";
import type { Head, SiteContents } from "../model/engine.ts";
import type { Resource } from "../model/resource.ts";
import { versionOf } from "../model/write.ts";
import { Collection } from "./collection.ts";
import { Tally } from "./tally.ts";

/** A site in memory: the fold of its journal up to `revision`. */
export class Snapshot {
  readonly site: number;
  readonly epoch: string;
  revision: number;
  /** The store's generation at which this was last seen to be as new as the store. */
  checked = -1;
  /** A count that grows with time, to find the least recently used. */
  lastUsed = 0;
  /** About how much memory it takes, with all that is kept of its lists. */
  readonly tally: Tally;
  readonly #resources: readonly Resource[];
  readonly #collections = new Map<string, Collection>();

  /** @param memory what it counts in */
  constructor(site: number, contents: SiteContents, resources: readonly Resource[], memory?: Tally) {
    this.site = site;
    this.epoch = contents.head.epoch;
    this.revision = contents.head.revision;
    this.tally = new Tally(memory);
    this.tally.add(1500);
    this.#resources = resources;
    for (const { resource, id, revision, body } of contents.rows) this.#named(resource)?.put(id, revision, body);
    for (const collection of this.#collections.values()) collection.settle();
  }

  collection(resource: Resource): Collection {
    return this.#named(resource.name) as Collection;
  }

  /** Whether this is what `head` stands for. */
  isAt(head: Head): boolean {
    return this.revision === head.revision && this.epoch === head.epoch;
  }

  /** Applies the next change. One that is known already is passed over; false when others are missing before it. */
  apply(change: Change): boolean {
    if (change.revision <= this.revision) return true;
    if (change.revision !== this.revision + 1) return false;
    this.revision = change.revision;
    const body = change.operation === "delete" ? null : change.body;
    this.#named(change.resource)?.set(change.id, change.revision, body);
    return true;
  }

  /** What tells the state at `revision` from every other state of a record or list of this site. */
  version(revision: number): string {
    return versionOf(this.epoch, revision);
  }

  #named(resource: string): Collection | undefined {
    return this.#collections.get(resource) ?? this.#make(resource);
  }

  /** Collections are made when they are first needed: most sites have records of few resources. */
  #make(name: string): Collection | undefined {
    const resource = this.#resources.find((one) => one.name === name);
    if (!resource) return undefined;
    const collection = new Collection(resource, this.tally);
    this.#collections.set(name, collection);
    return collection;
  }
}
