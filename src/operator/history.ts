import { createPace } from "../lib/pace.ts";
import type { JournalEntry } from "../model/change.ts";
import { operatorActor } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import type { Outcome } from "../model/intent.ts";
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
