// The feed: the changes of a site after a cursor, page by page, for the endpoint and the webhooks alike (contract section 10).

import { nextTurn } from "../../lib/event-loop.ts";
import type { Change, JournalPage } from "../../model/change.ts";
import type { Engine, Head } from "../../model/engine.ts";
import { OtherHistory } from "../../model/errors.ts";
import { bareCursor, firstCursor, gone, parseCursor, requireCursor, toCursor } from "../database/cursor.ts";
import { requireReached } from "../database/site-state.ts";

/** Entries that one page looks at, at most. */
const maxLooked = 10_000;
/** Entries that are read at once, at most: 2 ms, if all of them are updates of the longest records. */
const maxPortion = 250;

export interface FeedQuery {
  /** The cursor after which the page begins; undefined for the first change. */
  readonly since: string | undefined;
  /** How many changes the page has at most, before `isCollapsed`: from 1. */
  readonly limit: number;
  /** The names of the resources whose changes are wanted. */
  readonly resources: ReadonlySet<string>;
  /** Whether of several changes to one record in the page only the last is wanted. */
  readonly isCollapsed: boolean;
  /** The last revision to look at; by default the last of the site. */
  readonly until?: number;
  /** The last head of the site that the caller knows. */
  readonly minHead?: Head;
}

interface FeedChange {
  /** The position after this change. */
  readonly cursor: string;
  readonly change: Change;
}

export interface FeedPage {
  /** In order. */
  readonly changes: readonly FeedChange[];
  /** The position after everything that the page looked at. */
  readonly next: string;
  /** Whether the site has changes after `next`. */
  readonly isMore: boolean;
  /** The end of the site's journal when the page was read. */
  readonly head: Head;
}

export type JournalReads = Pick<Engine, "journal">;

/**
 * Reads a page. It looks at no more than 10,000 entries, so it may be empty although there are more. The event loop gets a turn
 * after every 250.
 * @throws Refusal `gone` when the reader has to start again, `bad-request` when `since` is no cursor, `unavailable` when the store is behind `minHead`
 */
export async function readFeed(engine: JournalReads, site: number, query: FeedQuery): Promise<FeedPage> {
  const { since, minHead } = query;
  const cursor = parseCursor(since);
  // The entry of the cursor is read with those that follow it, so that nothing can come in between.
  const own = cursor.revision === 0 ? 0 : 1;
  let page = await engine.journal(site, cursor.revision - own, Math.min(query.limit, maxPortion) + own);
  requireReached(page.head, minHead);
  requireCursor(page, cursor);
  const { epoch, timeline } = page.head;
  const gathered = new GatheredChanges(query, epoch, since ?? firstCursor, cursor.revision);
  let head = page.head;
  while (gathered.add(page)) {
    await nextTurn();
    page = await engine.journal(site, gathered.revision, Math.min(maxPortion, gathered.left));
    // Pruning, a restore or a failover has overtaken the page. It ends with what it has, and the next one is refused.
    if (page.head.epoch !== epoch || page.head.timeline !== timeline || page.floor > gathered.revision) break;
    head = page.head;
  }
  return { changes: gathered.changes, next: gathered.next, isMore: gathered.revision < head.revision, head };
}

/** The cursor after the last change of a site. @throws Refusal as `cursorAt` does */
export async function headCursor(engine: Pick<Engine, "heads" | "journal">, site: number): Promise<string> {
  const [head] = await engine.heads([site]);
  return cursorAt(engine, site, head as Head);
}

/**
 * The cursor after the change `revision` of the history `epoch`.
 * @throws Refusal `gone` when the changes after it are not all there, `unavailable` when the site is behind it; OtherHistory
 */
export async function cursorAt(engine: JournalReads, site: number, { revision, epoch }: Head): Promise<string> {
  if (revision === 0) return firstCursor;
  const { head, floor, entries } = await engine.journal(site, revision - 1, 1);
  if (head.epoch !== epoch) throw new OtherHistory();
  requireReached(head, { revision, epoch });
  const [entry] = entries;
  if (entry?.revision === revision) return toCursor(epoch, entry);
  if (floor === revision) return bareCursor({ revision, epoch });
  throw gone(`change ${revision} is no longer kept`);
}

/** Whether the history `epoch` of a site, if that is still its own, lacks the entry that a cursor names, although it was not pruned. */
export async function isMissing(engine: JournalReads, site: number, text: string, epoch: string): Promise<boolean> {
  const cursor = parseCursor(text);
  if (cursor.revision === 0) return false;
  const page = await engine.journal(site, cursor.revision - 1, 1);
  if (page.head.epoch !== epoch || cursor.revision <= page.floor) return false;
  try {
    requireCursor(page, cursor);
    return false;
  } catch {
    return true;
  }
}

/** The entries that a page looked at so far, and those of them that it returns. */
class GatheredChanges {
  readonly #query: FeedQuery;
  readonly #epoch: string;
  readonly #found: FeedChange[] = [];
  readonly #since: string;
  #last: Change | undefined;
  #revision: number;
  #looked = 0;

  constructor(query: FeedQuery, epoch: string, since: string, revision: number) {
    this.#query = query;
    this.#epoch = epoch;
    this.#since = since;
    this.#revision = revision;
  }

  /** The last revision that was looked at. */
  get revision(): number {
    return this.#revision;
  }

  /** How many entries the page may still look at. */
  get left(): number {
    return maxLooked - this.#looked;
  }

  get next(): string {
    return this.#last ? toCursor(this.#epoch, this.#last) : this.#since;
  }

  get changes(): FeedChange[] {
    return this.#query.isCollapsed ? collapsed(this.#found) : this.#found;
  }

  /** Looks at a portion. Returns whether the page takes more, and there are more. @throws Error when an entry is missing */
  add({ head, entries }: JournalPage): boolean {
    const { until = head.revision, limit, resources } = this.#query;
    for (const entry of entries) {
      if (entry.revision <= this.#revision) continue;
      if (this.#isFull(limit) || this.#revision >= until) return false;
      if (entry.revision !== this.#revision + 1) throw new Error(`the journal lacks entry ${this.#revision + 1}`);
      this.#last = entry;
      this.#revision = entry.revision;
      this.#looked++;
      if (resources.has(entry.resource)) this.#found.push({ cursor: toCursor(this.#epoch, entry), change: entry });
    }
    return !this.#isFull(limit) && this.#revision < Math.min(until, head.revision);
  }

  #isFull(limit: number): boolean {
    return this.#found.length >= limit || this.left === 0;
  }
}

/** The last change to each record, in order. */
function collapsed(changes: readonly FeedChange[]): FeedChange[] {
  const last = new Map<string, FeedChange>();
  for (const one of changes) {
    const record = `${one.change.resource} ${one.change.id}`;
    last.delete(record);
    last.set(record, one);
  }
  return [...last.values()];
}
