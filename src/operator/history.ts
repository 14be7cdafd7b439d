// Reads the journal of a site: its entries in order, its history for operators, and the earlier states of a record.

import { createYielder } from "../lib/event-loop.ts";
import { type JournalEntry, type Outcome, operatorActor } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { ProblemError } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";

/** Entries per read of the journal. A read takes SQLite some milliseconds. */
const pageSize = 500;

/**
 * Reads the entries of a site's journal, in order.
 * @param since only the entries after this revision; undefined for all entries in the journal
 * @param epoch the epoch that the site must have
 * @throws ProblemError `not-found` if entries after `since` were pruned, `conflict` if the site has another epoch
 */
export async function* readEntries(
  engine: Engine,
  site: number,
  since?: number,
  epoch?: string,
): AsyncGenerator<JournalEntry> {
  let revision = since ?? 0;
  let isFirst = since === undefined;
  const yieldIfDue = createYielder();
  while (true) {
    await yieldIfDue();
    const { head, floor, entries } = await engine.readJournalPage(site, revision, pageSize);
    if (epoch !== undefined && head.epoch !== epoch) throw epochChangedError();
    if (floor > revision && !isFirst) throw entriesPrunedError(floor);
    yield* entries;
    if (entries.length < pageSize) return;
    revision = entries.at(-1)?.revision ?? revision;
    isFirst = false;
  }
}

/** Creates the error for a site that was restored or removed while a command worked on it. @param done what the command had done before */
export function epochChangedError(done = "nothing was changed"): ProblemError {
  return new ProblemError("conflict", `the site was restored or removed at the same time; ${done}`);
}

/** Creates the error for entries that were pruned. @param floor the revision before the first entry in the journal */
function entriesPrunedError(floor: number): ProblemError {
  return new ProblemError("not-found", `the journal begins with revision ${floor + 1}: older entries were pruned`);
}

/**
 * Restores the state of a record at `revision`, or by default its state before its last change. A deleted record gets its old ID back.
 * @throws ProblemError `not-found` if the journal does not contain that state, `conflict` if the site was restored or removed at the same time
 */
export async function restoreRecord(
  engine: Engine,
  site: number,
  resource: Resource,
  id: number,
  revision: number | undefined,
  at: number,
): Promise<Outcome> {
  const { head, floor } = await engine.readJournalPage(site, 0, 1);
  if (revision !== undefined && revision < floor) throw entriesPrunedError(floor);
  const entries = await findEntries(readEntries(engine, site, floor, head.epoch), resource, id, revision);
  const name = `${resource.singular} ${id}`;
  const text = revision === undefined ? stateBefore(entries, name) : stateAt(entries, name, revision);
  if (text === undefined) throw notInJournalError(name, floor, revision);
  const common = { site, resource: resource.name, id, actor: operatorActor, at };
  const [outcome] = await engine.commit([{ ...common, operation: "restore", valuesJson: text, ifEpoch: head.epoch }]);
  if (outcome?.kind === "rejected" && outcome.rejectionReason === "other-epoch") throw epochChangedError();
  return outcome as Outcome;
}

/** Entries of one record: the last one up to a revision, and the next one after it. */
interface RecordEntries {
  readonly last: JournalEntry | undefined;
  readonly next: JournalEntry | undefined;
}

async function findEntries(
  entries: AsyncIterable<JournalEntry>,
  resource: Resource,
  id: number,
  revision = Number.POSITIVE_INFINITY,
): Promise<RecordEntries> {
  let last: JournalEntry | undefined;
  for await (const entry of entries) {
    if (entry.resource !== resource.name || entry.id !== id) continue;
    if (entry.revision > revision) return { last, next: entry };
    last = entry;
  }
  return { last, next: undefined };
}

/** Returns the record before its last change; undefined if the journal does not contain it. */
function stateBefore({ last }: RecordEntries, name: string): string | undefined {
  if (last?.operation === "create")
    throw new ProblemError("not-found", `the ${name} has not changed since it was created`);
  return last && requireBefore(last);
}

/**
 * Returns the record before the update or delete of an entry.
 * @throws ProblemError `not-found` if the entry lacks it, because a program older than commit 271c903 wrote the entry
 */
export function requireBefore({ revision, operation, body, before }: JournalEntry): string {
  if (operation === "delete") return body;
  if (before !== null) return before;
  const detail = `entry ${revision} of the journal lacks the record before the change, because a program from before the first release wrote it; restore-record with --revision restores an earlier state`;
  throw new ProblemError("not-found", detail);
}

/** Returns the record at a revision; undefined if the journal does not contain it. */
function stateAt({ last, next }: RecordEntries, name: string, revision: number): string | undefined {
  if (last?.operation === "delete")
    throw new ProblemError(
      "not-found",
      `the ${name} did not exist at revision ${revision}: it was deleted at ${last.revision}`,
    );
  if (last) return last.body;
  return next && next.operation !== "create" ? requireBefore(next) : undefined;
}

function notInJournalError(name: string, floor: number, revision: number | undefined): ProblemError {
  const range = [
    ...(floor > 0 ? [` from revision ${floor + 1}, where it begins,`] : []),
    ...(revision === undefined ? [] : [` up to revision ${revision}`]),
  ];
  return new ProblemError("not-found", `the journal has no ${name}${range.join("").replace(/,$/, "")}`);
}

// The history of a site as operators read it: the latest change first. The changes of one run can be grouped as one entry.

interface HistoryQuery {
  /** Only changes before this revision; undefined for the latest changes. */
  readonly before: number | undefined;
  /** Maximum number of entries to return. */
  readonly limit: number;
  /** The name of a resource. */
  readonly resource?: string | undefined;
  readonly id?: number | undefined;
  readonly actor?: string | undefined;
  readonly run?: string | undefined;
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
const maxLooked = 10_000;
const entriesPerPage = 250;

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
  for (let looked = 0; before > floor + 1 && looked < maxLooked; looked += entriesPerPage) {
    await yieldIfDue();
    const since = Math.max(0, before - 1 - entriesPerPage);
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

/** The first and last journal entry of a run. Entries of other runs may be between them. */
export interface RevisionRange {
  readonly first: number;
  readonly last: number;
}

/** Returns the range of the entries that a commit wrote, extended by `before`; undefined if it wrote none and `before` is undefined. */
export function revisionsOf(outcomes: readonly Outcome[], before?: RevisionRange): RevisionRange | undefined {
  let range = before;
  for (const outcome of outcomes) {
    if (outcome.kind !== "done") continue;
    const { revision } = outcome.change;
    range = { first: range?.first ?? revision, last: revision };
  }
  return range;
}
