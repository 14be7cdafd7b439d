// The history of a site as an operator reads it: the latest first, with all changes of one command or action as one entry.

import { createPace } from "../lib/pace.ts";
import type { JournalEntry } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";

interface HistoryQuery {
  /** Only changes before this revision; undefined for the latest. */
  readonly before: number | undefined;
  /** Entries that are returned at most. */
  readonly limit: number;
  /** The name of a resource. */
  readonly resource?: string | undefined;
  readonly id?: number | undefined;
  readonly actor?: string | undefined;
  readonly run?: string | undefined;
  /** Whether the changes of one run are one entry. */
  readonly isGrouped: boolean;
}

/** Changes of one run, or a single change. */
export interface HistoryEntry {
  readonly run: string | null;
  readonly actor: string;
  /** The time of the last change, in milliseconds since 1970. */
  readonly at: number;
  first: number;
  readonly last: number;
  /** How many changes there are, by operation. */
  readonly counts: Partial<Record<JournalEntry["operation"], number>>;
  /** The names of the resources. */
  readonly resources: string[];
  /** The last change, with the record before and after it. */
  readonly change: JournalEntry;
}

interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  /** Continue before this revision; undefined when the journal has no earlier entries. */
  readonly next: number | undefined;
  /** The first revision that the journal still has. */
  readonly begins: number;
}

/** Entries of the journal that one page looks at, and that are read at once. */
const maxLooked = 10_000;
const portion = 250;

/** A page of the history. It looks at no more than 10,000 changes, so it may be short although there are more. */
export async function readHistory(
  engine: Pick<Engine, "journal" | "heads">,
  site: number,
  query: HistoryQuery,
): Promise<HistoryPage> {
  const [head] = await engine.heads([site]);
  const entries: HistoryEntry[] = [];
  let before = Math.min(query.before ?? Number.POSITIVE_INFINITY, (head?.revision ?? 0) + 1);
  let floor = 0;
  const pace = createPace();
  for (let looked = 0; before > floor + 1 && looked < maxLooked; looked += portion) {
    await pace();
    const since = Math.max(0, before - 1 - portion);
    const page = await engine.journal(site, since, before - 1 - since);
    floor = page.floor;
    for (const change of page.entries.toReversed()) {
      if (change.revision >= before) continue;
      // The changes of a run that is the last entry of a full page still belong to that entry.
      if (!add(entries, change, query)) return { entries, next: change.revision + 1, begins: floor + 1 };
      before = change.revision;
    }
    before = Math.min(before, since + 1);
  }
  return { entries, next: before > floor + 1 ? before : undefined, begins: floor + 1 };
}

/** Returns false when the page is full and the change does not belong to it. */
function add(entries: HistoryEntry[], change: JournalEntry, { limit, isGrouped, ...wanted }: HistoryQuery): boolean {
  if (!isWanted(change, wanted)) return true;
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

function isWanted(change: JournalEntry, { resource, id, actor, run }: Partial<HistoryQuery>): boolean {
  return (
    (resource === undefined || change.resource === resource) &&
    (id === undefined || change.id === id) &&
    (actor === undefined || change.actor === actor) &&
    (run === undefined || change.run === run)
  );
}
