// The feed: the changes of a site after a cursor, page by page, for the endpoint and for webhooks (contract section 10).
//
// A cursor has a revision and the digest of the entry with that revision (store/database/cursor.ts). The entry is read in the same query as the
// entries after it, and its digest is compared. So a page never continues from an entry that was pruned, restored or lost in a failover.

import { yieldToEventLoop } from "../../lib/yielding.ts";
import type { Change, FeedChange, JournalEntry, JournalPage } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { OutdatedError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { parseRun } from "../../model/run.ts";
import {
  cursorGoneError,
  cursorWithoutEntry,
  firstCursor,
  parseCursor,
  requireCursorInJournal,
  toCursor,
} from "../database/cursor.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";

/** Maximum entries that one page scans. */
const maxScannedEntries = 10_000;
/** Maximum entries in one read. It takes 2 ms if all of them are updates of the longest records. */
const maxEntriesPerFeedRead = 250;

export interface FeedQuery {
  /** The cursor after which the page begins; undefined for the first change. */
  readonly since: string | undefined;
  /** Maximum changes in the page, counted before `isCollapsed` is applied; at least 1. */
  readonly limit: number;
  /** The names of the resources to return changes of. */
  readonly resources: ReadonlySet<string>;
  /** Whether to return only the last of several changes to one record in the page. */
  readonly isCollapsed: boolean;
  /** The last revision to scan; by default the last revision of the site. */
  readonly until?: number;
  /** The last head of the site that the caller knows. */
  readonly requiredHead?: Head;
}

export interface FeedPage {
  /** In order. */
  readonly changes: readonly FeedChange[];
  /** The cursor after the last entry that the page has scanned. */
  readonly next: string;
  /** Whether the site has changes after `next`. */
  readonly hasMore: boolean;
  /** The head of the site when the last entries of the page were read. */
  readonly head: Head;
}

export type JournalReads = Pick<Engine, "readJournalPage">;

/**
 * Reads a page. It scans at most 10,000 entries, so a page may be empty although there are more changes. Yields to the event loop after every 250
 * entries.
 * @throws ProblemError `gone` if the reader has to start again, `bad-request` if `since` is not a cursor, `unavailable` if the database is behind
 *   the last head that the caller knows
 */
export async function readFeedPage(engine: JournalReads, site: number, query: FeedQuery): Promise<FeedPage> {
  const { since, requiredHead } = query;
  const cursor = parseCursor(since);
  // Read the cursor's own entry in the same query as the entries after it, so that a prune or restore cannot happen in between.
  const own = cursor.revision === 0 ? 0 : 1;
  let page = await engine.readJournalPage(
    site,
    cursor.revision - own,
    Math.min(query.limit, maxEntriesPerFeedRead) + own,
  );
  requireHeadAtLeast(page.head, requiredHead);
  requireCursorInJournal(page, cursor);
  const { epoch, timeline } = page.head;
  const gathered = new FeedPageBuilder(query, epoch, since ?? firstCursor, cursor.revision);
  let head = page.head;
  while (gathered.add(page)) {
    await yieldToEventLoop();
    page = await engine.readJournalPage(
      site,
      gathered.revision,
      Math.min(maxEntriesPerFeedRead, gathered.remainingEntries),
    );
    // A prune, restore or failover happened while the page was read. Return the entries that were read so far; the next request gets `gone`.
    if (page.head.epoch !== epoch || page.head.timeline !== timeline || page.floor > gathered.revision) break;
    head = page.head;
  }
  return { changes: gathered.changes, next: gathered.next, hasMore: gathered.revision < head.revision, head };
}

/**
 * Returns the cursor after the change `revision` in `epoch`.
 * @throws ProblemError `gone` if changes after `revision` were pruned, `unavailable` if the site is behind `revision`
 * @throws OutdatedError if the site has another epoch
 */
export async function readCursorAt(engine: JournalReads, site: number, { revision, epoch }: Head): Promise<string> {
  if (revision === 0) return firstCursor;
  const { head, floor, entries } = await engine.readJournalPage(site, revision - 1, 1);
  if (head.epoch !== epoch) throw new OutdatedError("epoch");
  requireHeadAtLeast(head, { revision, epoch });
  const [entry] = entries;
  if (entry?.revision === revision) return toCursor(epoch, entry);
  if (floor === revision) return cursorWithoutEntry({ revision, epoch });
  throw cursorGoneError(`change ${revision} is no longer kept`);
}

/**
 * Finds out whether a site that still has `epoch` has lost the entry that a cursor names. A pruned entry, or another epoch, is not a loss.
 * @throws ProblemError `gone` or `bad-request` if `text` is not a cursor
 */
export async function detectCursorEntryLoss(
  engine: JournalReads,
  site: number,
  text: string,
  epoch: string,
): Promise<boolean> {
  const cursor = parseCursor(text);
  if (cursor.revision === 0) return false;
  const page = await engine.readJournalPage(site, cursor.revision - 1, 1);
  if (page.head.epoch !== epoch || cursor.revision <= page.floor) return false;
  try {
    requireCursorInJournal(page, cursor);
    return false;
  } catch {
    return true;
  }
}

/** Builds a page: scans entries, and collects the changes to return. */
class FeedPageBuilder {
  readonly #query: FeedQuery;
  readonly #epoch: string;
  /** The scanned changes of the requested resources. */
  readonly #matching: FeedChange[] = [];
  readonly #since: string;
  #last: Change | undefined;
  #revision: number;
  #scanned = 0;

  constructor(query: FeedQuery, epoch: string, since: string, revision: number) {
    this.#query = query;
    this.#epoch = epoch;
    this.#since = since;
    this.#revision = revision;
  }

  /** The last revision that was scanned. */
  get revision(): number {
    return this.#revision;
  }

  /** Number of entries that the page may still scan. */
  get remainingEntries(): number {
    return maxScannedEntries - this.#scanned;
  }

  get next(): string {
    return this.#last ? toCursor(this.#epoch, this.#last) : this.#since;
  }

  get changes(): FeedChange[] {
    return this.#query.isCollapsed ? latestPerRecord(this.#matching) : this.#matching;
  }

  /** Scans the entries of one read. Returns whether the page needs another read. @throws Error if an entry is missing */
  add({ head, entries }: JournalPage): boolean {
    const { until = head.revision, limit, resources } = this.#query;
    for (const entry of entries) {
      if (entry.revision <= this.#revision) continue;
      if (this.#isFull(limit) || this.#revision >= until) return false;
      if (entry.revision !== this.#revision + 1) throw new Error(`the journal lacks entry ${this.#revision + 1}`);
      this.#last = entry;
      this.#revision = entry.revision;
      this.#scanned++;
      if (resources.has(entry.resource)) this.#matching.push(this.#toFeedChange(entry));
    }
    return !this.#isFull(limit) && this.#revision < Math.min(until, head.revision);
  }

  #toFeedChange(change: JournalEntry): FeedChange {
    const epoch = this.#epoch;
    return { cursor: toCursor(epoch, change), epoch, change, run: requestRunOf(change) };
  }

  #isFull(limit: number): boolean {
    return this.#matching.length >= limit || this.remainingEntries === 0;
  }
}

/** Returns the run of an entry if a batch request or an undo of a key has made it. The runs of operators are not for clients. */
function requestRunOf({ run }: JournalEntry): string | undefined {
  return run !== null && parseRun(run) ? run : undefined;
}

/** Returns the last change to each record, in the order of these changes. */
function latestPerRecord(changes: readonly FeedChange[]): FeedChange[] {
  const last = new Map<string, FeedChange>();
  for (const one of changes) {
    const record = `${one.change.resource} ${one.change.id}`;
    last.delete(record);
    last.set(record, one);
  }
  return [...last.values()];
}
