// The feed: a site's changes after a cursor, page by page, for the endpoint and for webhooks (contract section 10).
//
// A cursor combines a revision with the digest of that entry (store/database/cursor.ts). The entry is read and compared in the same query as those
// after it, so a page never continues from one that was pruned, restored or lost in a failover.

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

/** Maximum entries scanned for one page. */
const maxScannedEntries = 10_000;
/** One read takes 2 ms if all of its entries are updates of the longest records. */
const maxEntriesPerFeedRead = 250;

export interface FeedQuery {
  /** Start after this cursor; undefined for the first change. */
  readonly since: string | undefined;
  /** Maximum changes in the page before collapsing; at least 1. */
  readonly limit: number;
  /** The names of the resources whose changes to return. */
  readonly resources: ReadonlySet<string>;
  /** Whether to return only each record's last change in the page. */
  readonly isCollapsed: boolean;
  /** Last revision to scan; default: the site's last. */
  readonly until?: number;
  /** The latest head of the site that the caller knows. */
  readonly requiredHead?: Head;
}

export interface FeedPage {
  readonly changes: readonly FeedChange[];
  /** Cursor after the last entry scanned. */
  readonly next: string;
  /** Whether there are changes after `next`. */
  readonly hasMore: boolean;
  /** The site's head when the page's last entries were read. */
  readonly head: Head;
}

export type JournalReads = Pick<Engine, "readJournalPage">;

/**
 * Reads a page. It scans up to 10,000 entries, so it may be empty although there are more changes. Yields to the event loop after every 250.
 * @throws ProblemError `gone` if the reader has to start over, `bad-request` if `since` isn't a cursor, `unavailable` if the database is behind
 * `requiredHead`
 */
export async function readFeedPage(engine: JournalReads, site: number, query: FeedQuery): Promise<FeedPage> {
  const { since, requiredHead } = query;
  const cursor = parseCursor(since);
  // Read the cursor's entry along with those after it, so that there can't be a prune or restore in between.
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
    // There was a prune, restore or failover while we read the page. Return what we have; the next request gets `gone`.
    if (page.head.epoch !== epoch || page.head.timeline !== timeline || page.floor > gathered.revision) break;
    head = page.head;
  }
  return { changes: gathered.changes, next: gathered.next, hasMore: gathered.revision < head.revision, head };
}

/**
 * Returns the cursor after change `revision` in `epoch`.
 * @throws ProblemError `gone` if changes after `revision` were pruned, `unavailable` if the site is behind `revision`
 * @throws OutdatedError if the epoch has changed
 */
export async function readCursorAt(engine: JournalReads, site: number, { revision, epoch }: Head): Promise<string> {
  if (revision === 0) return firstCursor;
  const { head, floor, entries } = await engine.readJournalPage(site, revision - 1, 1);
  if (head.epoch !== epoch) throw new OutdatedError("epoch");
  requireHeadAtLeast(head, { revision, epoch });
  const [entry] = entries;
  if (entry?.revision === revision) return toCursor(epoch, entry);
  if (floor === revision) return cursorWithoutEntry({ revision, epoch });
  throw cursorGoneError(`change ${revision} has been pruned`);
}

/**
 * Whether a site that's still in `epoch` has lost the entry of a cursor. If the entry was pruned or the epoch has changed, it isn't lost.
 * @throws ProblemError `gone` or `bad-request` if `text` isn't a cursor
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

class FeedPageBuilder {
  readonly #query: FeedQuery;
  readonly #epoch: string;
  /** Scanned changes to the requested resources. */
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

  /** The last revision scanned. */
  get revision(): number {
    return this.#revision;
  }

  /** How many more entries the page may scan. */
  get remainingEntries(): number {
    return maxScannedEntries - this.#scanned;
  }

  get next(): string {
    return this.#last ? toCursor(this.#epoch, this.#last) : this.#since;
  }

  get changes(): FeedChange[] {
    return this.#query.isCollapsed ? latestPerRecord(this.#matching) : this.#matching;
  }

  /** Scans the entries of one read. Returns whether to read more. @throws Error if an entry is missing */
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

/** Returns the run if it was a key's batch request or undo. Operators' runs are none of the clients' business. */
function requestRunOf({ run }: JournalEntry): string | undefined {
  return run !== null && parseRun(run) ? run : undefined;
}

/** Keeps only the last change to each record, in the order of those changes. */
function latestPerRecord(changes: readonly FeedChange[]): FeedChange[] {
  const last = new Map<string, FeedChange>();
  for (const one of changes) {
    const record = `${one.change.resource} ${one.change.id}`;
    last.delete(record);
    last.set(record, one);
  }
  return [...last.values()];
}
