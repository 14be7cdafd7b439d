import { after, type MaybePromise } from "../../lib/maybe-promise.ts";
import type { Engine, Head, RecordCounts, RecordRow } from "../../model/engine.ts";
import { OtherHistory } from "../../model/errors.ts";
import { toDeclared } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { removedEpoch } from "../database/site-state.ts";
import type { MemoryRecord, Snapshot } from "../memory/snapshot.ts";

/** Records of a resource in ID order, as of one moment. */
interface ColdPage {
  readonly records: readonly MemoryRecord[];
  /** Number of records of the resource. */
  readonly total: number;
  /** The revision of the last change to any record of the resource. */
  readonly revision: number;
}

/** One read of an uncached site. */
export interface ColdRead {
  readonly site: number;
  /** The cost of the read. Unit: records that a load would read in the same time. */
  readonly cost: number;
  /** Number of records of the site; undefined if unknown. */
  readonly size: number | undefined;
  /** Characters of the JSON of one record; undefined if no record was read. */
  readonly recordBytes: number | undefined;
}

export interface ColdSiteOptions {
  readonly engine: Pick<Engine, "readRecord" | "readPage">;
  /** Catches the system site in memory up to `head` or later. @throws EpochChangedError if it has another epoch */
  readonly bringUpSystem: (head: Head) => MaybePromise<void>;
  /** Loads the site at `head` or later. */
  readonly load: (site: number, head: Head) => MaybePromise<Snapshot>;
  /** Called after each read. */
  readonly noteRead: (read: ColdRead) => void;
}

/**
 * Maximum `offset` of a page that is read from the database. With a larger offset, loading the site in slices blocks other requests for less
 * time.
 */
const maxOffset = 5000;

/** Additional cost of a look-up in the database, compared with one in memory. Unit: records that a load would read in the same time. */
const recordCost = 10;

/** Reads single records and pages of a site from the database, at the head that the request requires or later. */
export class ColdSite {
  readonly site: number;
  readonly #head: Head;
  readonly #options: ColdSiteOptions;

  constructor(site: number, head: Head, options: ColdSiteOptions) {
    this.site = site;
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
   * @throws EpochChangedError if the site or the system site has another epoch by now
   */
  record(resource: Resource, id: number): MaybePromise<MemoryRecord | undefined> {
    const read = this.#options.engine.readRecord(this.site, resource.name, id, this.#head);
    return after(read, ({ head, counts, row, system }) => {
      this.#requireHistory(head);
      const record = row && this.#toRecord(resource, row);
      this.#noteRead(recordCost, counts, record);
      return record && after(this.#options.bringUpSystem(system), () => record);
    });
  }

  /**
   * Returns a page; undefined if the number of records is unknown or the offset is too large. Then the caller loads the site.
   * @throws EpochChangedError if the site has another epoch by now
   */
  page(resource: Resource, page: { limit: number; offset: number }): MaybePromise<ColdPage | undefined> {
    if (page.offset > maxOffset) return undefined;
    const read = this.#options.engine.readPage(this.site, resource.name, page, this.#head);
    return after(read, ({ head, counts, rows }) => {
      this.#requireHistory(head);
      if (!counts) return undefined;
      const records = rows.flatMap((row) => this.#toRecord(resource, row) ?? []);
      this.#noteRead(recordCost + rows.length + page.offset / 10, counts, records[0]);
      const { count: total = 0, revision = 0 } = counts[resource.name] ?? {};
      return { records, total, revision };
    });
  }

  /** Loads the site and returns its snapshot. @throws EpochChangedError if the site has another epoch by now */
  load(): MaybePromise<Snapshot> {
    return after(this.#options.load(this.site, this.#head), (snapshot) => {
      this.#requireHistory(snapshot);
      return snapshot;
    });
  }

  #requireHistory({ epoch }: { readonly epoch: string }): void {
    if (epoch !== this.epoch) throw new OtherHistory();
  }

  #noteRead(cost: number, counts: RecordCounts | undefined, record: MemoryRecord | undefined): void {
    const size = counts && Object.values(counts).reduce((sum, { count }) => sum + count, 0);
    this.#options.noteRead({ site: this.site, cost, size, recordBytes: record?.json.length });
  }

  /** Returns undefined for the row of a deleted record, and for a row of a removed site that is not deleted yet. */
  #toRecord(resource: Resource, { id, revision, body }: RecordRow): MemoryRecord | undefined {
    if (body === null || this.epoch === removedEpoch) return undefined;
    return { id, revision, json: toDeclared(resource, body) };
  }
}

/** Maximum sites whose reads are counted; at the maximum, counting starts from zero. */
const maxSites = 10_000;
/** The assumed number of records of a site for which the number is unknown. */
const assumedSize = 10_000;
/** A record in memory is estimated at `textMemoryFactor` bytes per character of its JSON, and `recordOverheadBytes`. */
const recordOverhead = 30;
const textShare = 1.2;

/** Decides when to load an uncached site: when its reads have cost as much as a load. */
export class ColdReads {
  readonly #costs = new Map<number, number>();

  /**
   * Adds the cost of a read.
   * @returns the estimated memory of the site in bytes, if the site is worth loading; otherwise undefined
   */
  note({ site, cost, size = assumedSize, recordBytes }: ColdRead): number | undefined {
    const total = (this.#costs.get(site) ?? 0) + cost;
    if (this.#costs.size >= maxSites) this.#costs.clear();
    this.#costs.set(site, total);
    if (total < size || (recordBytes === undefined && size > 0)) return undefined;
    return size * (textShare * (recordBytes ?? 0) + recordOverhead);
  }

  /** Resets the cost of a site to zero, because the site is being loaded, or the budget has no room for it. */
  forget(site: number): void {
    this.#costs.delete(site);
  }
}
