// The records of one resource of a site: the current version (collection-version.ts), and changes that aren't in it yet.
//
// A write only adds a pending change, so it doesn't wait for new blocks. When a list, page or selection needs the records, all pending changes are
// put into blocks, in slices, which makes the next version. If there are many, this starts without a request. A look-up by ID sees every change right
// away: it searches the pending changes, then those being put into blocks, then the version.
//
// Invariants:
// - Only one version is made at a time. A request that needs later changes waits for it, then for the next.
// - If making a version fails, for example because memory is exhausted, its changes are pending again and the current version stays.
// - A version never changes, so a long computation can read one while more changes arrive.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { type Steps, slices } from "../../lib/slices.ts";
import { WorkLimiter } from "../../lib/work-limiter.ts";
import type { RecordRow } from "../../model/engine.ts";
import { toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import type { Block } from "./block.ts";
import { type Changed, recordsAfter, withChanges } from "./block-list.ts";
import { CollectionVersion } from "./collection-version.ts";
import type { MemoryRecord } from "./memory-record.ts";
import { Selections } from "./selections.ts";

/** This many pending changes, or this share of the records if that's more. Beyond that, new blocks are made without waiting for a request. */
const maxPendingChanges = 1024;
const pendingShare = 1 / 4;

/** Maximum pending changes for reading part of the collection without new blocks, because the time grows with their number. */
const maxPendingInPart = 1024;

/** Part of a collection at one moment. Later changes don't affect it. */
export interface CollectionPart {
  /** Number of records in the whole collection. */
  readonly count: number;
  /** Revision of the last change in the whole collection. */
  readonly revision: number;
  /** In ID order. */
  readonly records: readonly MemoryRecord[];
}

export class Collection {
  readonly resource: Resource;
  /** Limits long computations on these records. Each collection has its own. */
  readonly limiter = new WorkLimiter();
  readonly selections = new Selections(this.limiter);
  /** The blocks, without the changes in `#changesInNext` and `#pendingChanges`. */
  #version: CollectionVersion;
  /** Changes after `#version` that `#next` will have. */
  #changesInNext: Changed = new Map();
  /** Changes after those in `#changesInNext`. */
  #pendingChanges = new Map<number, MemoryRecord | undefined>();
  /** Estimated size of the changes in `#changesInNext` and `#pendingChanges`. */
  #pendingBytes = 0;
  /** The next version, while it's being made in slices. */
  #next: Promise<CollectionVersion> | undefined;
  #revision: number;

  /** @param revision of the resource's last change */
  constructor(resource: Resource, blocks: readonly Block[] = [], revision = 0) {
    this.resource = resource;
    this.#version = new CollectionVersion(blocks, revision, 0);
    this.#revision = revision;
  }

  /** Returns the record as of the latest change. */
  find(id: number): MemoryRecord | undefined {
    if (this.#pendingChanges.has(id)) return this.#pendingChanges.get(id);
    if (this.#changesInNext.has(id)) return this.#changesInNext.get(id);
    return this.#version.find(id);
  }

  /** Yields all records as of the latest change, in no particular order. */
  *[Symbol.iterator](): Generator<MemoryRecord> {
    const changed = new Map([...this.#changesInNext, ...this.#pendingChanges]);
    for (const block of this.#version.blocks) {
      for (const record of block.records()) if (!changed.has(record.id)) yield record;
    }
    for (const record of changed.values()) if (record) yield record;
  }

  /** Resolves once few changes are pending, so that `partAfter` is fast. */
  async settle(): Promise<void> {
    if (this.#pendingChanges.size + this.#changesInNext.size > maxPendingInPart) await this.version();
  }

  /**
   * Returns the first `limit` records with an ID above `after`, as of the latest change. Takes time proportional to `limit` plus the pending changes.
   */
  partAfter(after: number, limit: number): CollectionPart {
    const changed = new Map([...this.#changesInNext, ...this.#pendingChanges]);
    let count = this.#version.size;
    const records: MemoryRecord[] = [];
    for (const [id, record] of changed) {
      count += Number(record !== undefined) - Number(this.#version.find(id) !== undefined);
      if (record && id > after) records.push(record);
    }
    let unchanged = 0;
    for (const record of recordsAfter(this.#version.blocks, after)) {
      if (changed.has(record.id)) continue;
      records.push(record);
      if (++unchanged === limit) break;
    }
    return { count, revision: this.#revision, records: records.sort((a, b) => a.id - b.id).slice(0, limit) };
  }

  /** Adds a change: the record's row after it, possibly written by another version of the program. */
  set({ id, revision, body }: Omit<RecordRow, "resource">): void {
    this.#put(id, revision, body);
    if (this.#pendingChanges.size > Math.max(maxPendingChanges, this.#version.size * pendingShare))
      this.#createNextEarly();
  }

  /** Returns the records with all changes so far. If many are pending, they're put into blocks in slices. */
  version(): MaybePromise<CollectionVersion> {
    if (this.#pendingChanges.size === 0) return this.#next ?? this.#version;
    // The version being made may lack the latest changes.
    return this.#next ? this.#next.then(() => this.version()) : this.#createNext();
  }

  /** Returns an independent collection with the same records. The blocks are shared, changes that aren't in blocks yet are copied. */
  copy(): Collection {
    const copy = new Collection(this.resource, this.#version.blocks, this.#version.revision);
    copy.#pendingChanges = new Map([...this.#changesInNext, ...this.#pendingChanges]);
    copy.#pendingBytes = this.#pendingBytes;
    copy.#revision = this.#revision;
    return copy;
  }

  estimateBytes(): number {
    return 1500 + this.#version.estimateBytes() + this.#pendingBytes + this.selections.estimateBytes();
  }

  #put(id: number, revision: number, stored: string | null): void {
    const json = stored === null ? null : toDeclaredJson(this.resource, stored);
    this.#pendingChanges.set(id, json === null ? undefined : { id, revision, json });
    this.#pendingBytes += 150 + (json?.length ?? 0);
    this.#revision = Math.max(this.#revision, revision);
  }

  #createNextEarly(): void {
    if (this.#next) return;
    // No request is waiting for the blocks. If this fails, the next list tries again and reports it.
    try {
      Promise.resolve(this.#createNext()).catch(() => {});
    } catch {}
  }

  #createNext(): MaybePromise<CollectionVersion> {
    const made = slices.run(this.#createVersion());
    if (!(made instanceof Promise)) return made;
    this.#next = made.finally(() => (this.#next = undefined));
    return this.#next;
  }

  *#createVersion(): Steps<CollectionVersion> {
    const changed = this.#pendingChanges;
    const [revision, bytes] = [this.#revision, this.#pendingBytes];
    this.#changesInNext = changed;
    this.#pendingChanges = new Map();
    let blocks: readonly Block[];
    try {
      blocks = yield* withChanges(this.resource, this.#version.blocks, changed);
    } catch (error) {
      // For example, memory is exhausted. Put the changes back for the next request to try again.
      this.#pendingChanges = new Map([...changed, ...this.#pendingChanges]);
      this.#changesInNext = new Map();
      throw error;
    }
    const { number } = this.#version;
    this.selections.markChanged(number, new Set(changed.keys()));
    this.#version = new CollectionVersion(blocks, revision, number + 1);
    this.#changesInNext = new Map();
    this.#pendingBytes -= bytes;
    return this.#version;
  }
}
