// The records of one resource of a site: the current version (collection-version.ts), and the changes that it does not have yet.
//
// A write only adds a pending change, so it does not wait for new blocks. When a list, a page or a selection needs the records, all pending changes
// are put into blocks, in slices, and the result is the next version. If many changes are pending, this starts without a request. A look-up by ID
// sees every change at once, because it searches the pending changes, then the changes that are being put into blocks, then the version.
//
// Invariants:
// - At most one version is being made at a time. A request that needs later changes waits for that version, and then for the next version.
// - If a version cannot be made, for example because memory is exhausted, its changes are pending again. The current version stays.
// - A version never changes. So a long computation can read a version while further changes arrive.

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

/** Maximum pending changes: this number, or this share of the records if that is more. With more, new blocks are made without a request. */
const maxPendingChanges = 1024;
const pendingShare = 1 / 4;

/** Maximum pending changes with which a part of the collection is read without new blocks, because the time grows with their number. */
const maxPendingInPart = 1024;

/** A part of a collection at one moment. Later changes do not affect it. */
export interface CollectionPart {
  /** The number of all records of the collection. */
  readonly count: number;
  /** The revision of the last change to any record of the collection. */
  readonly revision: number;
  /** The first records of the part, in ID order. */
  readonly records: readonly MemoryRecord[];
}

/** The records of one resource of one site. */
export class Collection {
  readonly resource: Resource;
  /** Limits long computations on these records. Every collection has a limiter of its own. */
  readonly limiter = new WorkLimiter();
  readonly selections = new Selections(this.limiter);
  /** The blocks, without the changes in `#changesInNext` and `#pendingChanges`. */
  #version: CollectionVersion;
  /** The changes after `#version` that `#next` will have, by ID; undefined for a deleted record. */
  #changesInNext: Changed = new Map();
  /** The changes after those in `#changesInNext`, by ID; undefined for a deleted record. */
  #pendingChanges = new Map<number, MemoryRecord | undefined>();
  /** Estimated memory of the changes in `#changesInNext` and `#pendingChanges`, in bytes. */
  #pendingBytes = 0;
  /** The next version, while it is being made in slices. */
  #next: Promise<CollectionVersion> | undefined;
  #revision: number;

  /** @param revision the revision of the last change to any record of the resource */
  constructor(resource: Resource, blocks: readonly Block[] = [], revision = 0) {
    this.resource = resource;
    this.#version = new CollectionVersion(blocks, revision, 0);
    this.#revision = revision;
  }

  /** Returns the record with this ID after all changes so far; undefined if none exists. */
  find(id: number): MemoryRecord | undefined {
    if (this.#pendingChanges.has(id)) return this.#pendingChanges.get(id);
    if (this.#changesInNext.has(id)) return this.#changesInNext.get(id);
    return this.#version.find(id);
  }

  /** Yields all records after all changes so far, in no particular order. */
  *[Symbol.iterator](): Generator<MemoryRecord> {
    const changed = new Map([...this.#changesInNext, ...this.#pendingChanges]);
    for (const block of this.#version.blocks) {
      for (const record of block.records()) if (!changed.has(record.id)) yield record;
    }
    for (const record of changed.values()) if (record) yield record;
  }

  /** Resolves when few changes are pending, so that `partAfter` takes little time. */
  async settle(): Promise<void> {
    if (this.#pendingChanges.size + this.#changesInNext.size > maxPendingInPart) await this.version();
  }

  /** Returns the first `limit` records with an ID above `after`, after all changes so far. The time grows with `limit` and the pending changes. */
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

  /** Adds a change, as the row of the record after it. Any program version may have written the row. */
  set({ id, revision, body }: Omit<RecordRow, "resource">): void {
    this.#put(id, revision, body);
    if (this.#pendingChanges.size > Math.max(maxPendingChanges, this.#version.size * pendingShare))
      this.#createNextEarly();
  }

  /** Returns the records with all changes so far. Many pending changes are put into blocks in slices. */
  version(): MaybePromise<CollectionVersion> {
    if (this.#pendingChanges.size === 0) return this.#next ?? this.#version;
    // The version in progress may lack the latest changes: ask again after it.
    return this.#next ? this.#next.then(() => this.version()) : this.#createNext();
  }

  /** Returns an independent collection with the same records. It shares the blocks; changes that are not in blocks yet are copied. */
  copy(): Collection {
    const copy = new Collection(this.resource, this.#version.blocks, this.#version.revision);
    copy.#pendingChanges = new Map([...this.#changesInNext, ...this.#pendingChanges]);
    copy.#pendingBytes = this.#pendingBytes;
    copy.#revision = this.#revision;
    return copy;
  }

  /** Estimates its memory, in bytes. */
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
    // No request waits for the blocks, so a failure is ignored. The next list tries again and reports it.
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
      // For example, memory is exhausted. The changes become pending again, so that the next request tries again.
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
