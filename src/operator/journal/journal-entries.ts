// Reads, follows and filters a site's journal, and detects when what a command has read may no longer be true.

import { createYielder } from "../../lib/yielding.ts";
import type { JournalEntry, Outcome } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";
import { readRevisionBefore } from "../../store/changes/journal-pruning.ts";
import { toShownEvent } from "./events.ts";

/** Entries per read, which takes SQLite a few milliseconds. */
const pageSize = 500;

const pollIntervalMs = 250;

interface JournalRange {
  /** Only entries after this revision; by default, all that haven't been pruned. */
  readonly since?: number | undefined;
  /** Only entries up to and including this revision. */
  readonly until?: number | undefined;
  /** The epoch the site must have. */
  readonly epoch?: string | undefined;
}

/** @throws ProblemError `not-found` if entries after `since` were pruned, `conflict` if the site has another epoch */
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
 * Yields the entries after `since`, and keeps going with new ones until the site is removed. If its epoch changes, continues with all entries of the
 * new one.
 * @param since a revision; undefined for new entries only
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

/** The entry with a revision, or the first entry at or after a time in milliseconds since 1970. */
export type JournalPoint = { readonly revision: number } | { readonly at: number };

/** The revision of the last entry before `point`. */
export async function resolveRevision(engine: Engine, site: number, point: JournalPoint): Promise<number> {
  return "at" in point ? readRevisionBefore(engine, site, point.at) : Math.max(0, point.revision - 1);
}

export interface EntryFilter {
  /** A resource's name. */
  readonly resource?: string | undefined;
  readonly id?: number | undefined;
  readonly operation?: JournalEntry["operation"] | undefined;
  /** An actor, or a person's name: `anna` selects `console:anna` and `operator:anna`. */
  readonly actor?: string | undefined;
  readonly run?: string | undefined;
  /** What else must be true of an entry. */
  readonly condition?: ((entry: JournalEntry) => boolean) | undefined;
}

export function isSelected(entry: JournalEntry, filter: EntryFilter): boolean {
  const { resource, id, operation, actor, run, condition } = filter;
  return (
    (resource === undefined || entry.resource === resource) &&
    (id === undefined || entry.id === id) &&
    (operation === undefined || entry.operation === operation) &&
    (actor === undefined || isMadeBy(entry, actor)) &&
    (run === undefined || entry.run === run) &&
    (condition === undefined || condition(entry))
  );
}

/** Events as they're shown. Also yields to the event loop, because a filter may skip many entries. */
export async function* selectEntries(
  entries: AsyncIterable<JournalEntry>,
  filter: EntryFilter,
): AsyncGenerator<JournalEntry> {
  const yieldIfDue = createYielder();
  for await (const entry of entries) {
    if (isSelected(entry, filter)) yield toShownEvent(entry);
    else await yieldIfDue();
  }
}

function isMadeBy({ actor }: JournalEntry, name: string): boolean {
  return actor === name || actor === `console:${name}` || actor === `operator:${name}`;
}

/** For a site that was restored, renewed or removed while a command was working on it. @param done what had been stored by then */
export function epochChangedError(done = "nothing was changed"): ProblemError {
  return new ProblemError("conflict", `the site was restored, renewed or removed in the meantime; ${done}`);
}

/**
 * Fails if another machine has taken over the database since `head` was read. It may have lost the latest changes and reused their revision numbers,
 * so a write's conditions could be met by accident. Costs a query, except where no other machine can take over.
 * @throws ProblemError `conflict`
 */
export async function requireSameMachine(engine: Pick<Engine, "readHeads">, { timeline }: Head): Promise<void> {
  if (timeline === undefined) return;
  const [present] = await engine.readHeads([systemSite]);
  if (present?.timeline === timeline) return;
  throw new ProblemError(
    "conflict",
    "the database has failed over to another machine, and may have lost its last changes; start again",
  );
}

/** @param floor the revision before the first entry that's left */
export function entriesPrunedError(floor: number): ProblemError {
  return new ProblemError("not-found", `the journal starts at revision ${floor + 1}; older entries have been pruned`);
}

/** A run's first and last revision. There may be others in between. */
export interface RevisionRange {
  readonly first: number;
  readonly last: number;
}

/** What a commit wrote, in addition to `before`; undefined if nothing. */
export function revisionsOf(outcomes: readonly Outcome[], before?: RevisionRange): RevisionRange | undefined {
  let range = before;
  for (const outcome of outcomes) {
    if (outcome.kind !== "done") continue;
    const { revision } = outcome.change;
    range = { first: range?.first ?? revision, last: revision };
  }
  return range;
}
