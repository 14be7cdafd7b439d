// Reads a site's history the way operators do: latest change first, and optionally with all changes of a run as one entry.

import { createYielder } from "../../lib/yielding.ts";
import type { JournalEntry } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { type EntryFilter, isSelected } from "./journal-entries.ts";

interface HistoryQuery extends EntryFilter {
  /** Only changes after this revision. */
  readonly since?: number | undefined;
  /** Only changes before this revision; undefined to start with the latest. */
  readonly before: number | undefined;
  readonly limit: number;
  /** Whether to group the changes of a run. */
  readonly isGrouped: boolean;
}

/** The changes of one run, or a single change. */
export interface HistoryEntry {
  readonly run: string | null;
  readonly actor: string;
  /** Time of the last change, in milliseconds since 1970. */
  readonly at: number;
  first: number;
  readonly last: number;
  /** Selected changes by operation. */
  readonly counts: Partial<Record<JournalEntry["operation"], number>>;
  /** How many more changes the run made between `first` and `last` that the filter hides. Undoing the entry undoes them too. */
  others: number;
  /** Resource names. */
  readonly resources: string[];
  /** The last change, with the record before and after it. */
  readonly change: JournalEntry;
}

interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  /** `before` for the next page; undefined if this is the last one. */
  readonly next: number | undefined;
  /** The first revision that the journal still has. */
  readonly begins: number;
}

/** Journal entries that one page scans at most, and how many it reads at a time. */
const maxScannedEntries = 10_000;
const entriesPerRead = 250;

/** Scans at most 10,000 journal entries, so a page can be short even if it isn't the last. Yields to the event loop every 250 entries. */
export async function readHistory(
  engine: Pick<Engine, "readJournalPage" | "readHeads">,
  site: number,
  { limit, isGrouped, since = 0, before: end, ...filter }: HistoryQuery,
): Promise<HistoryPage> {
  const [head] = await engine.readHeads([site]);
  const list = new EntryList(limit, isGrouped, filter);
  const { entries } = list;
  let before = Math.min(end ?? Number.POSITIVE_INFINITY, (head?.revision ?? 0) + 1);
  let { floor } = await engine.readJournalPage(site, 0, 1);
  const hasMore = () => before > Math.max(floor, since) + 1;
  const yieldIfDue = createYielder();
  for (let scanned = 0; hasMore() && scanned < maxScannedEntries; scanned += entriesPerRead) {
    await yieldIfDue();
    const from = Math.max(since, before - 1 - entriesPerRead);
    const page = await engine.readJournalPage(site, from, before - 1 - from);
    floor = page.floor;
    for (const change of page.entries.toReversed()) {
      if (change.revision >= before) continue;
      // Even a full page still takes further changes of its last run.
      if (!list.add(change)) return { entries, next: change.revision + 1, begins: floor + 1 };
      before = change.revision;
    }
    before = Math.min(before, from + 1);
  }
  return { entries, next: hasMore() ? before : undefined, begins: floor + 1 };
}

class EntryList {
  readonly entries: HistoryEntry[] = [];
  readonly #limit: number;
  readonly #isGrouped: boolean;
  readonly #filter: EntryFilter;
  /** Changes of the last entry's run that the filter hides, and that come before its first selected change so far. */
  #others = 0;

  constructor(limit: number, isGrouped: boolean, filter: EntryFilter) {
    this.#limit = limit;
    this.#isGrouped = isGrouped;
    this.#filter = filter;
  }

  /** @returns false if the page is full, and the change doesn't belong to its last entry */
  add(change: JournalEntry): boolean {
    const last = this.entries.at(-1);
    const isOfLast = this.#isGrouped && change.run !== null && last?.run === change.run;
    const isSelectedChange = isSelected(change, this.#filter);
    if (last && isOfLast && isSelectedChange) this.#extend(last, change);
    else if (isOfLast) this.#others++;
    else if (isSelectedChange) {
      if (this.entries.length >= this.#limit) return false;
      this.entries.push(toEntry(change));
      this.#others = 0;
    }
    return true;
  }

  #extend(entry: HistoryEntry, { revision, operation, resource }: JournalEntry): void {
    entry.first = revision;
    entry.counts[operation] = (entry.counts[operation] ?? 0) + 1;
    if (!entry.resources.includes(resource)) entry.resources.push(resource);
    entry.others += this.#others;
    this.#others = 0;
  }
}

function toEntry(change: JournalEntry): HistoryEntry {
  const { run, actor, at, revision, operation, resource } = change;
  const counts = { [operation]: 1 };
  return { run, actor, at, first: revision, last: revision, counts, others: 0, resources: [resource], change };
}
