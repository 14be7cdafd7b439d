// How a site's records are kept in memory. A site is a `Snapshot`: the fold of its journal up to a revision, with a `Collection` of
// records for each resource. A collection keeps its records in blocks of up to 128 neighbours, as the bytes that they have in
// a JSON list; other encodings and the texts of fields are derived from a block when they are first asked for, and kept with it.
// Blocks never change. A change waits in the collection until a list, a page or a selection is asked for; then the blocks that it
// touches are replaced, which makes a new `Version` of the collection: the blocks at one moment, and the lists and pages made of
// them. A list is the bytes of its blocks, so after a write it shares all parts but one with the list before. Work that grows
// with the number of records runs in slices (`lib/event-loop.ts`) on a version that stays as it is, while changes go on.

import type { RecordChange } from "../../model/change.ts";
import type { Head } from "../../model/engine.ts";
import type { Resource } from "../../model/resource.ts";
import { Collection } from "./collection.ts";

/** A site in memory: the fold of its journal up to `revision`. */
export class Snapshot {
  readonly site: number;
  readonly epoch: string;
  revision: number;
  /** The timeline on which this was found to be what is stored (`Head.timeline`). */
  timeline: number | undefined;
  /** The value of the generation of `Snapshots` when this was last found to be as new as the store. */
  checked = -1;
  readonly #resources: readonly Resource[];
  readonly #collections: Map<string, Collection>;
  #last: RecordChange | undefined;

  /**
   * @param collections of the resources that have records, by name
   * @param last the change `revision`, if it is known
   */
  constructor(
    site: number,
    { revision, epoch, timeline }: Head,
    resources: readonly Resource[],
    collections: Map<string, Collection>,
    last?: RecordChange,
  ) {
    this.site = site;
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

  /** The last change that it has, if that is known. */
  get last(): RecordChange | undefined {
    return this.#last;
  }

  /** Whether this is the state at `head`. */
  isAt(head: Head): boolean {
    return this.revision === head.revision && this.epoch === head.epoch && this.timeline === head.timeline;
  }

  /** Applies the next change. One that is known already is skipped; false when others are missing before it. */
  apply(change: RecordChange): boolean {
    if (change.revision <= this.revision) return true;
    if (change.revision !== this.revision + 1) return false;
    this.revision = change.revision;
    this.#last = change;
    const { id, revision, operation } = change;
    const body = operation === "delete" ? null : change.body;
    this.#named(change.resource)?.set({ id, revision, body });
    return true;
  }

  /** A snapshot of the same state, which changes by itself. */
  async copy(): Promise<Snapshot> {
    // What is not part of a version then is little.
    for (const collection of this.#collections.values()) await collection.version();
    const collections = new Map([...this.#collections].map(([name, collection]) => [name, collection.copy()]));
    return new Snapshot(this.site, this, this.#resources, collections, this.#last);
  }

  /** About how many bytes it takes. */
  memoryUse(): number {
    let use = 1500 + (this.#last?.body.length ?? 0);
    for (const collection of this.#collections.values()) use += collection.memoryUse();
    return use;
  }

  #named(resource: string): Collection | undefined {
    return this.#collections.get(resource) ?? this.#make(resource);
  }

  /** Collections are made when they are first needed: most sites have records of few resources. */
  #make(name: string): Collection | undefined {
    const resource = this.#resources.find((one) => one.name === name);
    if (!resource) return undefined;
    const collection = new Collection(resource);
    this.#collections.set(name, collection);
    return collection;
  }
}

/** A record in memory. */
export interface MemoryRecord {
  readonly id: number;
  /** The site's revision at its last change. */
  readonly revision: number;
  /** The record as it is declared, as JSON text. */
  readonly json: string;
}
