// The records that an undo is about: what they were before the changes in a range, and what they are now.

import type { JournalEntry } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { journal } from "./history.ts";

/** Which changes to take back. */
export interface UndoRange {
  /** Those after this revision, */
  readonly since: number;
  /** up to and including this one (default: the last one), */
  readonly until?: number | undefined;
  /** and of this run only. */
  readonly run?: string | undefined;
}

/** Records that one undo changes at most: all of them in one transaction, for which other writers wait about a second. */
const maxUndone = 50_000;

/** A record with changes in the range. */
interface UndoneRecord {
  readonly resource: string;
  readonly id: number;
  /** The first change in the range. */
  readonly first: number;
  /** What it was before that change: a JSON text, or null if it did not exist; undefined if the journal does not say. */
  before: string | null | undefined;
  /** What it is now. */
  now: string | null;
  /** The revision of its last change. */
  last: number;
  /** The last change by others after the first one in the range. */
  other: JournalEntry | undefined;
}

/** By resource and ID. */
export type UndoneRecords = ReadonlyMap<string, UndoneRecord>;

/**
 * The records with changes in `range`, at most `maxUndone`.
 * @throws Refusal `not-found` when there are none or some entries were pruned, `bad-request` when there are too many, `conflict` when the
 * site has another history than `head`
 */
export async function findRecords(engine: Engine, site: number, head: Head, range: UndoRange): Promise<UndoneRecords> {
  const records = new Map<string, UndoneRecord>();
  for await (const entry of journal(engine, site, range.since, head.epoch)) note(records, entry, range);
  if (records.size === 0) throw nothingToUndo(range);
  if ([...records.values()].some(({ before }) => before === undefined)) await findBefore(engine, site, head, records);
  return records;
}

/** Takes an entry after the beginning of the range into account. */
function note(records: Map<string, UndoneRecord>, entry: JournalEntry, { until, run }: UndoRange): void {
  const { resource, id, revision, operation, body } = entry;
  const isInRange = revision <= (until ?? revision) && (run === undefined || entry.run === run);
  const key = keyOf(entry);
  const known = records.get(key);
  if (!known && !isInRange) return;
  const now = operation === "delete" ? null : body;
  if (!known) {
    if (records.size === maxUndone) throw tooMany();
    records.set(key, {
      resource,
      id,
      first: revision,
      before: stateBefore(entry),
      now,
      last: revision,
      other: undefined,
    });
    return;
  }
  known.now = now;
  known.last = revision;
  if (!isInRange) known.other = entry;
}

function stateBefore({ operation, body, before }: JournalEntry): string | null | undefined {
  if (operation === "create") return null;
  return operation === "delete" ? body : (before ?? undefined);
}

/** Finds the states that are not in the entries themselves, which an older program wrote: the entries before have them. */
async function findBefore(engine: Engine, site: number, { epoch }: Head, records: UndoneRecords): Promise<void> {
  const wanted = new Map([...records].filter(([, { before }]) => before === undefined));
  const end = Math.max(...[...wanted.values()].map(({ first }) => first));
  for await (const entry of journal(engine, site, undefined, epoch)) {
    if (entry.revision >= end) return;
    const record = wanted.get(keyOf(entry));
    if (record && entry.revision < record.first) record.before = entry.operation === "delete" ? null : entry.body;
  }
}

/** The key of a record in `UndoneRecords`. */
export function keyOf({ resource, id }: { readonly resource: string; readonly id?: number | undefined }): string {
  return `${resource}/${id}`;
}

function nothingToUndo({ since, until, run }: UndoRange): Refusal {
  const end = until === undefined ? "" : ` up to ${until}`;
  return new Refusal(
    "not-found",
    `there are no changes after revision ${since}${end}${run ? ` of the run ${run}` : ""}`,
  );
}

function tooMany(): Refusal {
  return new Refusal(
    "bad-request",
    `the range has changes to more than ${maxUndone} records; take them back in portions, the latest first: add --until, and a later --since`,
  );
}
