// The history of a site as operators read it: the latest change first. The changes of one run can be grouped as one entry.

import { createYielder } from "../../lib/yielding.ts";
import type { JournalEntry } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { type EntryFilter, isSelected } from "./journal-entries.ts";

interface HistoryQuery extends EntryFilter {
  /** Only changes after this revision; by default, all. */
  readonly since?: number | undefined;
  /** Only changes before this revision; undefined for the latest changes. */
  readonly before: number | undefined;
  /** Maximum number of entries to return. */
  readonly limit: number;
  /** Whether the changes of one run are one entry. */
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
  /** The number of selected changes, by operation. */
  readonly counts: Partial<Record<JournalEntry["operation"], number>>;
  /** The number of changes of the run from `first` to `last` that the filter does not select. An undo of the entry undoes them too. */
  others: number;
  /** The names of the resources. */
  readonly resources: string[];
  /** The last change, with the record before and after it. */
  readonly change: JournalEntry;
}

interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  /** The next page ends before this revision; undefined if the journal has no earlier entries. */
  readonly next: number | undefined;
  /** The first revision in the journal. */
  readonly begins: number;
}

/** Maximum journal entries that one page scans, and entries per read. */
const maxScannedEntries = 10_000;
const entriesPerRead = 250;

/**
 * Reads a page of the history. It scans at most 10,000 journal entries, so a page can be short although there are more. It yields to the event loop
 * between reads of 250 entries.
 */
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
      // If the last entry of a full page is a run, further changes of this run still belong to that entry.
      if (!list.add(change)) return { entries, next: change.revision + 1, begins: floor + 1 };
      before = change.revision;
    }
    before = Math.min(before, from + 1);
  }
  return { entries, next: hasMore() ? before : undefined, begins: floor + 1 };
}

/** The entries of a page. */
class EntryList {
  readonly entries: HistoryEntry[] = [];
  readonly #limit: number;
  readonly #isGrouped: boolean;
  readonly #filter: EntryFilter;
  /** The number of changes of the last entry's run, before its first change, that the filter does not select. */
  #others = 0;

  constructor(limit: number, isGrouped: boolean, filter: EntryFilter) {
    this.#limit = limit;
    this.#isGrouped = isGrouped;
    this.#filter = filter;
  }

  /** Adds a change, if the filter selects it. Returns false if the page is full and the change does not belong to its last entry. */
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
