// Restores an earlier version of a record from the journal.

import { type JournalEntry, type Outcome, operatorActor } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { stateBefore } from "../../store/writes/undo-plan.ts";
import { entriesPrunedError, epochChangedError, readEntries } from "./journal-entries.ts";

/**
 * Restores a record as it was at `revision`, or before its last change. A deleted record comes back with its ID.
 * @throws ProblemError `not-found` if the journal doesn't have that version, `conflict` if the site was restored, renewed or removed in the meantime
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
  const entries = await findEntries(
    readEntries(engine, site, { since: floor, epoch: head.epoch }),
    resource,
    id,
    revision,
  );
  const name = `${resource.singular} ${id}`;
  const text = revision === undefined ? lastStateBefore(entries, name) : stateAt(entries, name, revision);
  if (text === null) throw notInJournalError(name, floor, revision);
  const common = { site, resource: resource.name, id, actor: operatorActor, at };
  const [outcome] = await engine.commit([{ ...common, operation: "restore", valuesJson: text, ifEpoch: head.epoch }]);
  if (outcome?.kind === "rejected" && outcome.rejectionReason === "other-epoch") throw epochChangedError();
  return outcome as Outcome;
}

/** A record's last entry up to a revision, and the next one after it. */
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

/** Null if the journal doesn't have it. */
function lastStateBefore({ last }: RecordEntries, name: string): string | null {
  if (last?.operation === "create")
    throw new ProblemError(
      "not-found",
      `the ${name} hasn't changed since it was created, so there's no earlier version`,
    );
  return last ? stateBefore(last) : null;
}

/** Null if the journal doesn't have it. */
function stateAt({ last, next }: RecordEntries, name: string, revision: number): string | null {
  if (last?.operation === "delete")
    throw new ProblemError(
      "not-found",
      `the ${name} didn't exist at revision ${revision}, because it was deleted at ${last.revision}; choose a lower one`,
    );
  if (last) return last.body;
  return next ? stateBefore(next) : null;
}

function notInJournalError(name: string, floor: number, revision: number | undefined): ProblemError {
  const range = [
    ...(floor > 0 ? [` after revision ${floor}, to which it has been pruned,`] : []),
    ...(revision === undefined ? [] : [` up to revision ${revision}`]),
  ];
  return new ProblemError("not-found", `the journal has no ${name}${range.join("").replace(/,$/, "")}`);
}
