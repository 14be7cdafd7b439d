import { inSlices, type Steps } from "../../lib/event-loop.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { WorkLimiter } from "../../lib/work-limiter.ts";
import type { RecordRow } from "../../model/engine.ts";
import { toDeclared } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import type { Block } from "./block.ts";
import { type Changed, withChanges } from "./block-list.ts";
import { Version } from "./collection-version.ts";
import { Selections } from "./selections.ts";
import type { MemoryRecord } from "./snapshot.ts";

/** Changes that may wait for the next list: this many, and a share of the records. With more, blocks are made without being asked for. */
const mostWaiting = 1024;
const waitingShare = 1 / 4;

/** The records of one resource of one site. */
export class Collection {
  readonly resource: Resource;
  /** For long work on the records. */
  readonly limiter = new WorkLimiter();
  readonly selections = new Selections(this.limiter);
  /** The blocks, as of some changes ago. */
  #version: Version;
  /** What has changed since `#version`, as far as blocks are being made of it. */
  #applying: Changed = new Map();
  /** What has changed since then. */
  #waiting = new Map<number, MemoryRecord | undefined>();
  #waitingBytes = 0;
  /** The version that is being made. */
  #next: Promise<Version> | undefined;
  #revision: number;

  /** @param revision the site's at the last change to any of the records in `blocks` */
  constructor(resource: Resource, blocks: readonly Block[] = [], revision = 0) {
    this.resource = resource;
    this.#version = new Version(blocks, revision, 0);
    this.#revision = revision;
  }

  /** The record with this ID, with every change so far. */
  get(id: number): MemoryRecord | undefined {
    if (this.#waiting.has(id)) return this.#waiting.get(id);
    if (this.#applying.has(id)) return this.#applying.get(id);
    return this.#version.get(id);
  }

  /** Every record with every change so far, in no order. */
  *[Symbol.iterator](): Generator<MemoryRecord> {
    const changed = new Map([...this.#applying, ...this.#waiting]);
    for (const block of this.#version.blocks) {
      for (const record of block.records()) if (!changed.has(record.id)) yield record;
    }
    for (const record of changed.values()) if (record) yield record;
  }

  /** Stores the row of a change, whichever version of the program wrote it. */
  set({ id, revision, body }: Omit<RecordRow, "resource">): void {
    this.#put(id, revision, body);
    if (this.#waiting.size > Math.max(mostWaiting, this.#version.size * waitingShare)) this.#catchUp();
  }

  /** The records with every change so far. Long lists of changes are applied in slices. */
  version(): MaybePromise<Version> {
    if (this.#waiting.size === 0) return this.#next ?? this.#version;
    // The version that is being made may lack the latest changes.
    return this.#next ? this.#next.then(() => this.version()) : this.#applyAll();
  }

  /** A collection with the same records, which changes by itself. Copies every change that is not part of the present version. */
  copy(): Collection {
    const copy = new Collection(this.resource, this.#version.blocks, this.#version.revision);
    copy.#waiting = new Map([...this.#applying, ...this.#waiting]);
    copy.#waitingBytes = this.#waitingBytes;
    copy.#revision = this.#revision;
    return copy;
  }

  /** About how many bytes it takes. */
  memoryUse(): number {
    return 1500 + this.#version.memoryUse() + this.#waitingBytes + this.selections.memoryUse();
  }

  #put(id: number, revision: number, stored: string | null): void {
    const json = stored === null ? null : toDeclared(this.resource, stored);
    this.#waiting.set(id, json === null ? undefined : { id, revision, json });
    this.#waitingBytes += 150 + (json?.length ?? 0);
    this.#revision = Math.max(this.#revision, revision);
  }

  #catchUp(): void {
    if (this.#next) return;
    // No request waits for it. The next list tries again and reports the failure.
    try {
      Promise.resolve(this.#applyAll()).catch(() => {});
    } catch {}
  }

  #applyAll(): MaybePromise<Version> {
    const made = inSlices(this.#apply());
    if (!(made instanceof Promise)) return made;
    this.#next = made.finally(() => (this.#next = undefined));
    return this.#next;
  }

  *#apply(): Steps<Version> {
    const changed = this.#waiting;
    const [revision, bytes] = [this.#revision, this.#waitingBytes];
    this.#applying = changed;
    this.#waiting = new Map();
    let blocks: readonly Block[];
    try {
      blocks = yield* withChanges(this.resource, this.#version.blocks, changed);
    } catch (error) {
      // As when memory is exhausted: the next request tries again.
      this.#waiting = new Map([...changed, ...this.#waiting]);
      this.#applying = new Map();
      throw error;
    }
    const { number } = this.#version;
    this.selections.noteChanged(number, new Set(changed.keys()));
    this.#version = new Version(blocks, revision, number + 1);
    this.#applying = new Map();
    this.#waitingBytes -= bytes;
    return this.#version;
  }
}
