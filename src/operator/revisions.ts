import type { Outcome } from "../model/intent.ts";

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
