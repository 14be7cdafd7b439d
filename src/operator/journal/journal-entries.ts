// Reads, follows and selects the entries of a site's journal, names the entries that a run wrote, and notices when decisions by earlier reads no longer hold.

import { createYielder } from "../../lib/yielding.ts";
import type { JournalEntry, Outcome } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";
import { readRevisionBefore } from "../../store/changes/journal-pruning.ts";

/** Entries per read of the journal. A read takes SQLite some milliseconds. */
const pageSize = 500;

/** Milliseconds between two checks for new entries. */
const pollIntervalMs = 250;

interface JournalRange {
  /** Only entries after this revision; by default, all entries in the journal. */
  readonly since?: number | undefined;
  /** Only entries up to and including this revision. */
  readonly until?: number | undefined;
  /** The epoch that the site must have. */
  readonly epoch?: string | undefined;
}

/**
 * Reads the entries of a site's journal, in order.
 * @throws ProblemError `not-found` if entries after `since` were pruned, `conflict` if the site has another epoch
 */
export async function* readEntries(
  engine: Engine,
  site: number,
  { since, until = Number.POSITIVE_INFINITY, epoch }: JournalRange = {},
): AsyncGenerator<JournalEntry> {
  let revision = since ?? 0;
  let isFirst = since === undefined;
  const yieldIfDue = createYielder();
  while (true) {
    await yieldIfDue();
    const { head, floor, entries } = await engine.readJournalPage(site, revision, pageSize);
    if (epoch !== undefined && head.epoch !== epoch) throw epochChangedError();
    if (floor > revision && !isFirst) throw entriesPrunedError(floor);
    for (const entry of entries) {
      if (entry.revision > until) return;
      yield entry;
    }
    if (entries.length < pageSize) return;
    revision = entries.at(-1)?.revision ?? revision;
    isFirst = false;
  }
}

/**
 * Yields the entries after the revision `since`, or after the present head if it is undefined; then each new entry, until the site is removed.
 * If the epoch changes, all entries of the new epoch follow.
 * @param onNewEpoch called before the entries of a new epoch
 */
export async function* followEntries(
  engine: Engine,
  site: number,
  since: number | undefined,
  onNewEpoch: () => void,
): AsyncGenerator<JournalEntry> {
  let [head] = await engine.readHeads([site]);
  let revision = since ?? head?.revision;
  while (true) {
    for await (const entry of readEntries(engine, site, { since: revision })) {
      yield entry;
      revision = entry.revision;
    }
    await Bun.sleep(pollIntervalMs);
    const [now] = await engine.readHeads([site]);
    if (head?.epoch && !now?.epoch) return;
    if (head?.epoch && now?.epoch !== head.epoch) {
      onNewEpoch();
      revision = undefined;
    }
    head = now;
  }
}

/** An entry, named by its revision, or the first entry at or after a time in milliseconds since 1970. */
export type JournalPoint = { readonly revision: number } | { readonly at: number };

/** Returns the revision of the last entry before `point`. */
export async function resolveRevision(engine: Engine, site: number, point: JournalPoint): Promise<number> {
  return "at" in point ? readRevisionBefore(engine, site, point.at) : Math.max(0, point.revision - 1);
}

/** Selects entries of a journal. An undefined member selects all entries. */
export interface EntryFilter {
  /** The name of a resource. */
  readonly resource?: string | undefined;
  readonly id?: number | undefined;
  readonly operation?: JournalEntry["operation"] | undefined;
  /** An actor, or the name of a person: `anna` selects `console:anna` and `operator:anna`. */
  readonly actor?: string | undefined;
  readonly run?: string | undefined;
}

export function isSelected(entry: JournalEntry, { resource, id, operation, actor, run }: EntryFilter): boolean {
  return (
    (resource === undefined || entry.resource === resource) &&
    (id === undefined || entry.id === id) &&
    (operation === undefined || entry.operation === operation) &&
    (actor === undefined || isMadeBy(entry, actor)) &&
    (run === undefined || entry.run === run)
  );
}

/** Yields the selected entries. Yields to the event loop, because few of many entries may be selected. */
export async function* selectEntries(
  entries: AsyncIterable<JournalEntry>,
  filter: EntryFilter,
): AsyncGenerator<JournalEntry> {
  const yieldIfDue = createYielder();
  for await (const entry of entries) {
    if (isSelected(entry, filter)) yield entry;
    else await yieldIfDue();
  }
}

function isMadeBy({ actor }: JournalEntry, name: string): boolean {
  return actor === name || actor === `console:${name}` || actor === `operator:${name}`;
}

/** Creates the error for a site that was restored, renewed or removed while a command worked on it. @param done what the command had done before */
export function epochChangedError(done = "nothing was changed"): ProblemError {
  return new ProblemError("conflict", `the site was restored, renewed or removed at the same time; ${done}`);
}

/**
 * Requires that no other machine has taken over the database since `head` was read. That machine may lack the last changes, and have other changes with
 * the same revisions, so that conditions of a write would hold by chance. Costs a query, unless no other machine can take over.
 * @throws ProblemError `conflict`
 */
export async function requireSameMachine(engine: Pick<Engine, "readHeads">, { timeline }: Head): Promise<void> {
  if (timeline === undefined) return;
  const [present] = await engine.readHeads([systemSite]);
  if (present?.timeline === timeline) return;
  throw new ProblemError(
    "conflict",
    "another machine has taken over the database, and may lack its last changes: start again",
  );
}

/** Creates the error for entries that were pruned. @param floor the revision before the first entry in the journal */
export function entriesPrunedError(floor: number): ProblemError {
  return new ProblemError("not-found", `the journal begins with revision ${floor + 1}: older entries were pruned`);
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
