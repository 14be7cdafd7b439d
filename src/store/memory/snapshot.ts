// How a site's records are kept in memory.
//
// A `Snapshot` has the records of a site as of a revision, with all journal entries up to it applied in order. It has one `Collection` per resource,
// which keeps its records in blocks of up to 128 with neighbouring IDs. A block holds the bytes of its part of the JSON list. Other encodings and the
// texts of fields are derived from it on first use, and kept in the block.
//
// Blocks never change. A change is pending in the collection until a request needs a list, a page or a selection. New blocks then replace those with
// changed records, which makes a new `CollectionVersion`: the blocks as of one moment, with the lists and pages made from them. A list consists of
// the bytes of its blocks, so after a write, the new list shares all parts but one with the old.
//
// Work that grows with the number of records runs in slices (`lib/slices.ts`). It reads a version, which stays the same while the collection receives
// more changes.

import type { RecordChange } from "../../model/change.ts";
import type { Head } from "../../model/head.ts";
import type { Resource } from "../../model/resource.ts";
import { Collection, type CollectionPart } from "./collection.ts";
import type { MemoryRecord } from "./memory-record.ts";

export class Snapshot {
  readonly siteId: number;
  readonly epoch: string;
  revision: number;
  /** The last timeline on which this was found to match the database (`Head.timeline`). */
  timeline: number | undefined;
  /**
   * The commit generation of `SiteViews` when this was last found up to date; -1 before that. Kept here because every request reads it, and a map in
   * `SiteViews` would cost another look-up.
   */
  checkedGeneration = -1;
  readonly #resources: readonly Resource[];
  readonly #collections: Map<string, Collection>;
  #last: RecordChange | undefined;

  /**
   * @param collections of the resources that have records, by name
   * @param last change number `revision`, if known
   */
  constructor(
    site: number,
    { revision, epoch, timeline }: Head,
    resources: readonly Resource[],
    collections: Map<string, Collection>,
    last?: RecordChange,
  ) {
    this.siteId = site;
    this.epoch = epoch;
    this.revision = revision;
    this.timeline = timeline;
    this.#last = last;
    this.#resources = resources;
    this.#collections = collections;
  }

  collection(resource: Resource): Collection {
    return this.#named(resource.name) as Collection;
  }

  lookUpRecord(resource: Resource, id: number): MemoryRecord | undefined {
    return this.collection(resource).find(id);
  }

  /** Change number `revision`, if known. */
  get last(): RecordChange | undefined {
    return this.#last;
  }

  isAt(head: Head): boolean {
    return this.revision === head.revision && this.epoch === head.epoch && this.timeline === head.timeline;
  }

  /**
   * Applies the next change; one that was already applied is skipped. Returns false, and changes nothing, if earlier changes are missing or it
   * doesn't fit the records in memory (`fits`).
   */
  apply(change: RecordChange): boolean {
    if (change.revision <= this.revision) return true;
    if (change.revision !== this.revision + 1 || !this.fits(change)) return false;
    this.revision = change.revision;
    this.#last = change;
    const { id, revision, operation } = change;
    const body = operation === "delete" ? null : change.body;
    this.#named(change.resource)?.set({ id, revision, body });
    return true;
  }

  /** Whether a created record doesn't exist yet, or an updated or deleted one does. If not, a change was lost or applied twice. */
  fits({ resource, id, operation }: RecordChange): boolean {
    const collection = this.#named(resource);
    return !collection || (operation === "create") === (collection.find(id) === undefined);
  }

  /** Resolves once `partAfter` is fast. */
  async settle({ name }: Resource): Promise<void> {
    await this.#collections.get(name)?.settle();
  }

  /** Returns the first `limit` records of a resource with an ID above `after`, as of now. */
  partAfter({ name }: Resource, after: number, limit: number): CollectionPart {
    return this.#collections.get(name)?.partAfter(after, limit) ?? { count: 0, revision: 0, records: [] };
  }

  /** Returns a snapshot with the same records. Changing either doesn't affect the other. */
  async copy(): Promise<Snapshot> {
    // First put pending changes into blocks, which are shared. `Collection.copy` would copy them one by one.
    for (const collection of this.#collections.values()) await collection.version();
    const collections = new Map([...this.#collections].map(([name, collection]) => [name, collection.copy()]));
    return new Snapshot(this.siteId, this, this.#resources, collections, this.#last);
  }

  estimateBytes(): number {
    let use = 1500 + (this.#last?.body.length ?? 0);
    for (const collection of this.#collections.values()) use += collection.estimateBytes();
    return use;
  }

  #named(resource: string): Collection | undefined {
    return this.#collections.get(resource) ?? this.#make(resource);
  }

  /** Most sites only have records of a few resources, so collections are created on first use. Returns undefined for an unknown resource. */
  #make(name: string): Collection | undefined {
    const resource = this.#resources.find((one) => one.name === name);
    if (!resource) return undefined;
    const collection = new Collection(resource);
    this.#collections.set(name, collection);
    return collection;
  }
}
