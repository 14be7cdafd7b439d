// The history of a site as operators read it: the latest change first. The changes of one run can be grouped as one entry.

import { createYielder } from "../../lib/yielding.ts";
import type { JournalEntry } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { type EntryFilter, isSelected } from "./journal-entries.ts";

interface HistoryQuery extends EntryFilter {
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
  /** The number of changes, by operation. */
  readonly counts: Partial<Record<JournalEntry["operation"], number>>;
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

/** Reads a page of the history. It scans at most 10,000 journal entries, so a page can be short although there are more. */
export async function readHistory(
  engine: Pick<Engine, "readJournalPage" | "readHeads">,
  site: number,
  query: HistoryQuery,
): Promise<HistoryPage> {
  const [head] = await engine.readHeads([site]);
  const entries: HistoryEntry[] = [];
  let before = Math.min(query.before ?? Number.POSITIVE_INFINITY, (head?.revision ?? 0) + 1);
  let floor = 0;
  const yieldIfDue = createYielder();
  for (let scanned = 0; before > floor + 1 && scanned < maxScannedEntries; scanned += entriesPerRead) {
    await yieldIfDue();
    const since = Math.max(0, before - 1 - entriesPerRead);
    const page = await engine.readJournalPage(site, since, before - 1 - since);
    floor = page.floor;
    for (const change of page.entries.toReversed()) {
      if (change.revision >= before) continue;
      // If the last entry of a full page is a run, further changes of this run still belong to that entry.
      if (!add(entries, change, query)) return { entries, next: change.revision + 1, begins: floor + 1 };
      before = change.revision;
    }
    before = Math.min(before, since + 1);
  }
  return { entries, next: before > floor + 1 ? before : undefined, begins: floor + 1 };
}

/** Adds a change to the page. Returns false if the page is full and the change does not belong to its last entry. */
function add(entries: HistoryEntry[], change: JournalEntry, { limit, isGrouped, ...filter }: HistoryQuery): boolean {
  if (!isSelected(change, filter)) return true;
  const { run, actor, at, revision, operation, resource } = change;
  const last = entries.at(-1);
  if (last && isGrouped && run !== null && last.run === run) {
    last.first = revision;
    last.counts[operation] = (last.counts[operation] ?? 0) + 1;
    if (!last.resources.includes(resource)) last.resources.push(resource);
    return true;
  }
  if (entries.length >= limit) return false;
  entries.push({
    run,
    actor,
    at,
    first: revision,
    last: revision,
    counts: { [operation]: 1 },
    resources: [resource],
    change,
  });
  return true;
}
