import { after, type MaybePromise } from "../../lib/maybe-promise.ts";
import type { Engine, Head, RecordCounts, RecordRow } from "../../model/engine.ts";
import { OtherHistory } from "../../model/errors.ts";
import { toDeclared } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { removedEpoch } from "../database/site-state.ts";
import type { MemoryRecord, Snapshot } from "../memory/snapshot.ts";

/** Records of a resource in ID order, as they were at one moment. */
interface ColdPage {
  readonly records: readonly MemoryRecord[];
  /** How many records the resource has. */
  readonly total: number;
  /** The site's revision at the last change to any of them. */
  readonly revision: number;
}

/** What was read of a site that is not in memory. */
export interface ColdRead {
  readonly site: number;
  /** What it cost, as the number of records that could have been loaded instead. */
  readonly cost: number;
  /** How many records the site has; undefined where that is not known. */
  readonly size: number | undefined;
  /** The bytes of one of them; undefined where none was read. */
  readonly recordBytes: number | undefined;
}

export interface ColdSiteOptions {
  readonly engine: Pick<Engine, "readRecord" | "readPage">;
  /** Brings the system site in memory to `head` or later. @throws OtherHistory */
  readonly bringUpSystem: (head: Head) => MaybePromise<void>;
  /** Loads the site as of `head` or later. */
  readonly load: (site: number, head: Head) => MaybePromise<Snapshot>;
  /** Called after each read. */
  readonly noteRead: (read: ColdRead) => void;
}

/** Most records to pass over: of more, a page holds up others for longer than loading the site in slices does. */
const maxOffset = 5000;

/** What a look-up costs more than it would in memory, as the number of records that are loaded in that time. */
const recordCost = 10;

/** A site that is not in memory, as it was or newer when a request asked: single records and pages are read from the store. */
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

  /** The record with this ID; undefined where there is none. The system site in memory is then as new as the record. @throws OtherHistory */
  record(resource: Resource, id: number): MaybePromise<MemoryRecord | undefined> {
    const read = this.#options.engine.readRecord(this.site, resource.name, id, this.#head);
    return after(read, ({ head, counts, row, system }) => {
      this.#requireHistory(head);
      const record = row && this.#toRecord(resource, row);
      this.#noteRead(recordCost, counts, record);
      return record && after(this.#options.bringUpSystem(system), () => record);
    });
  }

  /** A page; undefined where the number of records is not known or the page lies too far back: then the site is to be loaded. @throws OtherHistory */
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

  /** Its snapshot. @throws OtherHistory */
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

  /** Undefined for a row of a record that was deleted, or of a site that was removed and of which rows are left. */
  #toRecord(resource: Resource, { id, revision, body }: RecordRow): MemoryRecord | undefined {
    if (body === null || this.epoch === removedEpoch) return undefined;
    return { id, revision, json: toDeclared(resource, body) };
  }
}

/** Maximum sites whose reads are counted; at the maximum, counting starts from zero. */
const maxSites = 10_000;
/** The assumed number of records of a site for which the number is unknown. */
const assumedSize = 10_000;
/** A record takes its text times `textShare` in memory, and `recordOverhead` bytes. */
const recordOverhead = 30;
const textShare = 1.2;

/** Decides when to load a site that is read record by record: once its reads have cost as much as loading it. */
export class ColdReads {
  readonly #costs = new Map<number, number>();

  /**
   * Counts a read.
   * @returns the bytes that the site would take in memory, if it is worth loading; otherwise undefined
   */
  note({ site, cost, size = assumedSize, recordBytes }: ColdRead): number | undefined {
    const total = (this.#costs.get(site) ?? 0) + cost;
    if (this.#costs.size >= maxSites) this.#costs.clear();
    this.#costs.set(site, total);
    if (total < size || (recordBytes === undefined && size > 0)) return undefined;
    return size * (textShare * (recordBytes ?? 0) + recordOverhead);
  }

  /** Starts from zero for a site that is in memory now, or does not fit. */
  forget(site: number): void {
    this.#costs.delete(site);
  }
}
