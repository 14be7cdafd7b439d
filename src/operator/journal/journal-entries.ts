// Reads the entries of a site's journal in order, and names the entries that a run wrote.

import { createYielder } from "../../lib/yielding.ts";
import type { JournalEntry, Outcome } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";

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
export function entriesPrunedError(floor: number): ProblemError {
  return new ProblemError("not-found", `the journal begins with revision ${floor + 1}: older entries were pruned`);
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
