// How the records of a site are stored in memory.
//
// A `Snapshot` has the records of a site as of a revision: all entries of the journal up to that revision, applied in order. For each resource
// it has a `Collection`. A collection stores its records in blocks of up to 128 records with neighbouring IDs. A block holds the bytes of its
// part of the JSON list. Other encodings and the texts of fields are derived from a block on first use, and stored in the block.
//
// Blocks never change. A change is pending in the collection until a request needs a list, a page or a selection. Then new blocks replace the
// blocks with changed records. The result is a new `CollectionVersion`: the blocks of one moment, with the lists and pages that were made from
// them. A list consists of the bytes of its blocks. So after a write, the new list shares all parts but one with the list before.
//
// Work that grows with the number of records runs in slices (`lib/slices.ts`). It reads one version, which stays unchanged while the
// collection receives further changes.

import type { RecordChange } from "../../model/change.ts";
import type { Head } from "../../model/head.ts";
import type { Resource } from "../../model/resource.ts";
import { Collection, type CollectionPart } from "./collection.ts";
import type { MemoryRecord } from "./memory-record.ts";

/** The records of a site in memory, as of `revision`. */
export class Snapshot {
  readonly siteId: number;
  readonly epoch: string;
  revision: number;
  /** The last timeline on which this snapshot was found equal to the database (`Head.timeline`). */
  timeline: number | undefined;
  /**
   * The commit generation of `SiteViews` when this snapshot was last found up to date; -1 before. It is here, because every request reads it, and a map in
   * `SiteViews` would be one more look-up.
   */
  checkedGeneration = -1;
  readonly #resources: readonly Resource[];
  readonly #collections: Map<string, Collection>;
  #last: RecordChange | undefined;

  /**
   * @param collections of the resources that have records, by name
   * @param last the change with the number `revision`, if it is known
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

  /** Returns a record; undefined if it does not exist. */
  lookUpRecord(resource: Resource, id: number): MemoryRecord | undefined {
    return this.collection(resource).find(id);
  }

  /** The change with the number `revision`; undefined if unknown. */
  get last(): RecordChange | undefined {
    return this.#last;
  }

  /** Whether this snapshot has the revision, epoch and timeline of `head`. */
  isAt(head: Head): boolean {
    return this.revision === head.revision && this.epoch === head.epoch && this.timeline === head.timeline;
  }

  /**
   * Applies the next change, and skips a change that was applied before. Returns false, and changes nothing, if changes before it are missing, or if it
   * does not fit the records in memory (`fits`).
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

  /**
   * Whether the next change can follow on the records in memory: a created record does not exist before, and an updated or deleted record does.
   * Otherwise a change was lost or applied twice.
   */
  fits({ resource, id, operation }: RecordChange): boolean {
    const collection = this.#named(resource);
    return !collection || (operation === "create") === (collection.find(id) === undefined);
  }

  /** Resolves when `partAfter` takes little time. */
  async settle({ name }: Resource): Promise<void> {
    await this.#collections.get(name)?.settle();
  }

  /** Returns the first `limit` records of a resource with an ID above `after`, as of this moment. */
  partAfter({ name }: Resource, after: number, limit: number): CollectionPart {
    return this.#collections.get(name)?.partAfter(after, limit) ?? { count: 0, revision: 0, records: [] };
  }

  /** Returns a snapshot with the same records. Later changes of one of the two do not affect the other. */
  async copy(): Promise<Snapshot> {
    // Put the pending changes into blocks, which the copy shares. `Collection.copy` copies changes that are still pending one by one.
    for (const collection of this.#collections.values()) await collection.version();
    const collections = new Map([...this.#collections].map(([name, collection]) => [name, collection.copy()]));
    return new Snapshot(this.siteId, this, this.#resources, collections, this.#last);
  }

  /** Estimates its memory, in bytes. */
  estimateBytes(): number {
    let use = 1500 + (this.#last?.body.length ?? 0);
    for (const collection of this.#collections.values()) use += collection.estimateBytes();
    return use;
  }

  #named(resource: string): Collection | undefined {
    return this.#collections.get(resource) ?? this.#make(resource);
  }

  /** Creates a collection on first use, because most sites have records of few resources. Returns undefined for an unknown resource. */
  #make(name: string): Collection | undefined {
    const resource = this.#resources.find((one) => one.name === name);
    if (!resource) return undefined;
    const collection = new Collection(resource);
    this.#collections.set(name, collection);
    return collection;
  }
}
