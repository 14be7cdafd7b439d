// Reads from the database single records and pages of a site that is not in memory, and decides when the site is worth loading.
//
// `UncachedSite` is the view of such a site at a required head. Every read passes this head to the engine, which throws `unavailable` if the database
// is behind it. `SiteLoadPolicy` adds up the cost of the reads of each site: when they have cost as much as a load, the site is loaded.
//
// Invariants:
// - A read returns data of the epoch of the view only. If the site has another epoch by now, it throws `OutdatedError`, and the request repeats it.
// - Before a look-up returns a record, the system site in memory catches up to the moment of the read. So its caller can check the key as of then.

import type { FairQueue } from "../../lib/fair-queue.ts";
import { AbandonedWorkError } from "../../lib/work-limiter.ts";
import type { Engine, RecordCounts, RecordRow } from "../../model/engine.ts";
import { OutdatedError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { removedEpoch } from "../database/site-state.ts";
import type { MemoryRecord } from "../memory/memory-record.ts";
import type { Snapshot } from "../memory/snapshot.ts";

/** Records of a resource in ID order, as of one moment. */
interface RecordPage {
  readonly records: readonly MemoryRecord[];
  /** Number of records of the resource. */
  readonly total: number;
  /** The revision of the last change to any record of the resource. */
  readonly revision: number;
}

/** One read of an uncached site. */
export interface UncachedRead {
  readonly site: number;
  /** The cost of the read. Unit: records that a load would read in the same time. */
  readonly cost: number;
  /** Number of records of the site. */
  readonly size: number;
  /** Characters of the JSON of one of its records; undefined if no record was read. */
  readonly recordChars: number | undefined;
}

export interface UncachedSiteOptions {
  readonly engine: Pick<Engine, "readRecord" | "readPage">;
  /** Lets the snapshot of the system site catch up to `head` or later. @throws OutdatedError if it has another epoch */
  readonly catchUpSystemSite: (head: Head) => Promise<void>;
  /** Whether the site is in memory by now. */
  readonly isCached: (site: number) => boolean;
  /** Starts the reads of pages, and lets requests continue whose site was loaded, a few per tick: thousands can arrive during one load. */
  readonly queue: FairQueue<number>;
  /** Loads the site at `head` or later. */
  readonly loadSnapshot: (site: number, head: Head) => Promise<Snapshot>;
  /** Called after each read. */
  readonly onRead: (read: UncachedRead) => void;
}

/**
 * Maximum `offset` of a page that is read from the database. With a larger offset, loading the site in slices blocks other requests for less
 * time.
 */
const maxPageOffset = 5000;

/** Additional cost of a look-up in the database, compared with one in memory. Unit: records that a load would read in the same time. */
const lookUpCostInRecords = 10;

/** Reads single records and pages of a site from the database, at the head that the request requires or later. */
export class UncachedSite {
  readonly siteId: number;
  readonly #head: Head;
  readonly #options: UncachedSiteOptions;

  constructor(site: number, head: Head, options: UncachedSiteOptions) {
    this.siteId = site;
    this.#head = head;
    this.#options = options;
  }

  get epoch(): string {
    return this.#head.epoch;
  }

  get revision(): number {
    return this.#head.revision;
  }

  get timeline(): number | undefined {
    return this.#head.timeline;
  }

  /**
   * Returns the record with this ID; undefined if none exists. Before it returns a record, the system site in memory catches up to the moment
   * of the read.
   * @throws OutdatedError if the site or the system site has another epoch by now
   */
  async lookUpRecord(resource: Resource, id: number): Promise<MemoryRecord | undefined> {
    const { engine } = this.#options;
    const { head, counts, row, system } = await engine.readRecord(this.siteId, resource.name, id, this.#head);
    this.#requireSameEpoch(head);
    const record = row && this.#toRecord(resource, row);
    this.#reportRead(lookUpCostInRecords, counts, record);
    if (record) await this.#options.catchUpSystemSite(system);
    return record;
  }

  /**
   * Returns a page; undefined if the offset is too large, or if the site was loaded while the read waited for others. Then the caller loads the site.
   * @param isWanted whether the client still waits
   * @throws OutdatedError if the site has another epoch by now; AbandonedWorkError if the client does not wait any more
   */
  async readRecordPage(
    resource: Resource,
    page: { readonly limit: number; readonly offset: number },
    isWanted: () => boolean,
  ): Promise<RecordPage | undefined> {
    if (page.offset > maxPageOffset) return undefined;
    return this.#options.queue.run(this.siteId, async () => {
      if (!isWanted()) throw new AbandonedWorkError();
      return this.#options.isCached(this.siteId) ? undefined : this.#readPage(resource, page);
    });
  }

  async #readPage(resource: Resource, page: { readonly limit: number; readonly offset: number }): Promise<RecordPage> {
    const { head, counts, rows } = await this.#options.engine.readPage(this.siteId, resource.name, page, this.#head);
    this.#requireSameEpoch(head);
    const records = rows.flatMap((row) => this.#toRecord(resource, row) ?? []);
    this.#reportRead(lookUpCostInRecords + rows.length + page.offset / 10, counts, records[0]);
    const { count: total = 0, revision = 0 } = counts[resource.name] ?? {};
    return { records, total, revision };
  }

  /** Loads the site and returns its snapshot. @throws OutdatedError if the site has another epoch by now */
  async loadSnapshot(): Promise<Snapshot> {
    const { loadSnapshot, queue } = this.#options;
    const snapshot = await loadSnapshot(this.siteId, this.#head);
    await queue.run(this.siteId, async () => {});
    this.#requireSameEpoch(snapshot);
    return snapshot;
  }

  #requireSameEpoch({ epoch }: { readonly epoch: string }): void {
    if (epoch !== this.epoch) throw new OutdatedError("epoch");
  }

  #reportRead(cost: number, counts: RecordCounts, record: MemoryRecord | undefined): void {
    const size = Object.values(counts).reduce((sum, { count }) => sum + count, 0);
    this.#options.onRead({ site: this.siteId, cost, size, recordChars: record?.json.length });
  }

  /** Returns undefined for the row of a deleted record, and for a row of a removed site that is not deleted yet. */
  #toRecord(resource: Resource, { id, revision, body }: RecordRow): MemoryRecord | undefined {
    if (body === null || this.epoch === removedEpoch) return undefined;
    return { id, revision, json: toDeclaredJson(resource, body) };
  }
}

/** Maximum sites whose reads are counted; at the maximum, counting starts from zero. */
const maxSites = 10_000;
/** A record in memory is estimated at `textMemoryFactor` bytes per character of its JSON, and `recordOverheadBytes`. */
const recordOverheadBytes = 30;
const textMemoryFactor = 1.2;

/** Decides when to load an uncached site: when its reads have cost as much as a load. */
export class SiteLoadPolicy {
  readonly #costs = new Map<number, number>();

  /**
   * Adds the cost of a read.
   * @returns the estimated memory of the site in bytes, if the site is worth loading; otherwise undefined
   */
  addReadCost({ site, cost, size, recordChars }: UncachedRead): number | undefined {
    const total = (this.#costs.get(site) ?? 0) + cost;
    if (this.#costs.size >= maxSites) this.#costs.clear();
    this.#costs.set(site, total);
    if (total < size || (recordChars === undefined && size > 0)) return undefined;
    return size * (textMemoryFactor * (recordChars ?? 0) + recordOverheadBytes);
  }

  /** Resets the cost of a site to zero, because the site is being loaded, or the budget has no room for it. */
  resetSite(site: number): void {
    this.#costs.delete(site);
  }
}
