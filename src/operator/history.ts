import { createPace } from "../lib/event-loop.ts";
import { randomText } from "../lib/text.ts";
import { type JournalEntry, type Outcome, operatorActor } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";

/** Entries that are read at once: it takes SQLite some milliseconds. */
const pageSize = 500;

/**
 * The present entries of a site's journal, in order.
 * @param since the revision after which they begin; without it, they begin with the first one that the journal still has
 * @param epoch the history that is meant
 * @throws Refusal `not-found` when entries after `since` were pruned, `conflict` when the site has another history than `epoch`
 */
export async function* journal(
  engine: Engine,
  site: number,
  since?: number,
  epoch?: string,
): AsyncGenerator<JournalEntry> {
  let revision = since ?? 0;
  let isFirst = since === undefined;
  const pace = createPace();
  while (true) {
    await pace();
    const { head, floor, entries } = await engine.journal(site, revision, pageSize);
    if (epoch !== undefined && head.epoch !== epoch) throw otherHistory();
    if (floor > revision && !isFirst) throw pruned(floor);
    yield* entries;
    if (entries.length < pageSize) return;
    revision = entries.at(-1)?.revision ?? revision;
    isFirst = false;
  }
}

/** The refusal when a site was restored or removed while a command worked on its history. */
export function otherHistory(): Refusal {
  return new Refusal("conflict", "the site was restored or removed at the same time; nothing was changed");
}

/** @param floor the revision before the first entry that the journal still has */
function pruned(floor: number): Refusal {
  return new Refusal("not-found", `the journal begins with revision ${floor + 1}: older entries were pruned`);
}

/**
 * Restores a record as it was at `revision`; without one, as it was before its last change. A deleted record gets its old
 * ID back.
 * @throws Refusal `not-found` when the journal has no such state, `conflict` when the site has been restored or removed
 * in the meantime
 */
export async function restoreRecord(
  engine: Engine,
  site: number,
  resource: Resource,
  id: number,
  revision: number | undefined,
  at: number,
): Promise<Outcome> {
  const { head, floor } = await engine.journal(site, 0, 1);
  if (revision !== undefined && revision < floor) throw pruned(floor);
  const entries = await findEntries(journal(engine, site, floor, head.epoch), resource, id, revision);
  const name = `${resource.singular} ${id}`;
  const text = revision === undefined ? stateBefore(entries, name) : stateAt(entries, name, revision);
  if (text === undefined) throw notInJournal(name, floor, revision);
  const common = { site, resource: resource.name, id, actor: operatorActor, at };
  const [outcome] = await engine.commit([{ ...common, operation: "restore", text, ifEpoch: head.epoch }]);
  if (outcome?.kind === "refused" && outcome.why === "other-history") throw otherHistory();
  return outcome as Outcome;
}

/** Entries of one record: the last two up to a revision, and the one after it. */
interface RecordEntries {
  readonly previous: JournalEntry | undefined;
  readonly last: JournalEntry | undefined;
  readonly next: JournalEntry | undefined;
}

async function findEntries(
  entries: AsyncIterable<JournalEntry>,
  resource: Resource,
  id: number,
  revision = Number.POSITIVE_INFINITY,
): Promise<RecordEntries> {
  let previous: JournalEntry | undefined;
  let last: JournalEntry | undefined;
  for await (const entry of entries) {
    if (entry.resource !== resource.name || entry.id !== id) continue;
    if (entry.revision > revision) return { previous, last, next: entry };
    [previous, last] = [last, entry];
  }
  return { previous, last, next: undefined };
}

/** The record before its last change; undefined if the journal does not have it. */
function stateBefore({ previous, last }: RecordEntries, name: string): string | undefined {
  if (last?.operation === "create") throw new Refusal("not-found", `the ${name} has not changed since it was created`);
  return last?.operation === "delete" ? last.body : (last?.before ?? previous?.body);
}

/** The record at a revision; undefined if the journal does not have it. */
function stateAt({ last, next }: RecordEntries, name: string, revision: number): string | undefined {
  if (last?.operation === "delete")
    throw new Refusal(
      "not-found",
      `the ${name} did not exist at revision ${revision}: it was deleted at ${last.revision}`,
    );
  if (last) return last.body;
  return next?.operation === "delete" ? next.body : (next?.before ?? undefined);
}

function notInJournal(name: string, floor: number, revision: number | undefined): Refusal {
  const range = [
    ...(floor > 0 ? [` from revision ${floor + 1}, where it begins,`] : []),
    ...(revision === undefined ? [] : [` up to revision ${revision}`]),
  ];
  return new Refusal("not-found", `the journal has no ${name}${range.join("").replace(/,$/, "")}`);
}

// The history of a site as an operator reads it: the latest first, with all changes of one command or action as one entry.

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

/** The first and the last journal entry of a command. Entries of others may be in between. */
export interface RevisionRange {
  readonly first: number;
  readonly last: number;
}

/** The entries that a commit wrote, and those of `before`; undefined if there are none. */
export function revisionsOf(outcomes: readonly Outcome[], before?: RevisionRange): RevisionRange | undefined {
  let range = before;
  for (const outcome of outcomes) {
    if (outcome.kind !== "done") continue;
    const { revision } = outcome.change;
    range = { first: range?.first ?? revision, last: revision };
  }
  return range;
}

/** Gives every site a new history, after the database was restored by other means. Returns the number of sites. */
export async function startNewHistories(engine: Engine): Promise<number> {
  const sites = await engine.renew();
  // A webhook that an older program added to a site without changes takes any history for its own.
  const unknown = (await engine.webhookStates()).filter(({ epoch }) => epoch === "");
  for (const state of unknown) {
    const { cursor, rewinds, resumes } = state;
    await engine.updateWebhook(state, { cursor, rewinds, resumes }, { epoch: randomText(8) });
  }
  return sites;
}
