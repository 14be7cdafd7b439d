// Reads single records and pages of a site that isn't in memory, and decides when the site is worth loading.
//
// `UncachedSite` is the view of such a site at a required head. It passes that head to the engine, which throws `unavailable` if the database is
// behind. `SiteLoadPolicy` adds up the cost of reads, and has the site loaded once they've cost as much as a load.
//
// Invariants:
// - Reads only return data from the view's epoch. If the site has a new one, they throw `OutdatedError` and the request starts over.
// - Before a look-up returns a record, the system site in memory catches up to that moment, so that the caller can check the key as of then.

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

/** In ID order, as of one moment. */
interface RecordPage {
  readonly records: readonly MemoryRecord[];
  /** Number of records of the resource. */
  readonly total: number;
  /** Revision of the resource's last change. */
  readonly revision: number;
}

export interface UncachedRead {
  readonly site: number;
  /** Expressed as the number of records that a load would read in the same time. */
  readonly cost: number;
  /** Number of records of the site. */
  readonly size: number;
  /** JSON length of one of its records, if any was read. */
  readonly recordChars: number | undefined;
}

export interface UncachedSiteOptions {
  readonly engine: Pick<Engine, "readRecord" | "readPage">;
  /** Catches the system site's snapshot up to `head` or later. @throws OutdatedError if its epoch has changed */
  readonly catchUpSystemSite: (head: Head) => Promise<void>;
  /** Whether the site is in memory by now. */
  readonly isCached: (site: number) => boolean;
  /** Starts a few page reads per tick, and likewise resumes requests whose site was loaded. Thousands can arrive during one load. */
  readonly queue: FairQueue<number>;
  /** Loads the site at `head` or later. */
  readonly loadSnapshot: (site: number, head: Head) => Promise<Snapshot>;
  readonly onRead: (read: UncachedRead) => void;
}

/** For a larger offset, loading the site in slices blocks other requests for less time than reading the page would. */
const maxPageOffset = 5000;

/** How much more a look-up costs in the database than in memory, in records that a load would read in the same time. */
const lookUpCostInRecords = 10;

/** Reads from the database, at the head that the request requires or later. */
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
   * Looks up a record. If there is one, the system site in memory catches up to the moment of the read before this returns.
   * @throws OutdatedError if the epoch of the site or the system site has changed
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
   * Returns undefined if the offset is too large, or if the site was loaded while the read was queued. The caller then loads the site.
   * @param isWanted whether the client is still waiting
   * @throws OutdatedError if the epoch has changed; AbandonedWorkError if the client is gone
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

  /** @throws OutdatedError if the epoch has changed */
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

  /** Skips deleted records, and those left over from a removed site. */
  #toRecord(resource: Resource, { id, revision, body }: RecordRow): MemoryRecord | undefined {
    if (body === null || this.epoch === removedEpoch) return undefined;
    return { id, revision, json: toDeclaredJson(resource, body) };
  }
}

/** Maximum sites counted; then counting starts over. */
const maxSites = 10_000;
/** A record in memory takes an estimated `textMemoryFactor` bytes per character of its JSON, plus `recordOverheadBytes`. */
const recordOverheadBytes = 30;
const textMemoryFactor = 1.2;

/** Decides to load an uncached site once its reads have cost as much as a load. */
export class SiteLoadPolicy {
  readonly #costs = new Map<number, number>();

  /** @returns the site's estimated memory in bytes if it's worth loading, otherwise undefined */
  addReadCost({ site, cost, size, recordChars }: UncachedRead): number | undefined {
    const total = (this.#costs.get(site) ?? 0) + cost;
    if (this.#costs.size >= maxSites) this.#costs.clear();
    this.#costs.set(site, total);
    if (total < size || (recordChars === undefined && size > 0)) return undefined;
    return size * (textMemoryFactor * (recordChars ?? 0) + recordOverheadBytes);
  }

  /** Called when the site is being loaded, or there's no room for it. */
  resetSite(site: number): void {
    this.#costs.delete(site);
  }
}
