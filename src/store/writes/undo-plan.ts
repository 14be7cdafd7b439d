// Plans the undo of a client's run: a batch request, or another undo. The run's ID tells which revisions it can have, so we only read those journal
// entries. Records changed by anyone since are left alone and listed.
//
// For example, the run `k3J9aZ0q-18-3` can have revisions 18 to 20, and has three journal entries:
//
//   18  creates brand 30          Still at revision 18: delete it.
//   19  updates brand 7           Still at revision 19: restore the record before entry 19.
//   20  updates order status 3    Now at revision 25: skip it.
//
// Each change in the plan requires that the record still has the run's version, so an outdated plan can't undo anything else. The command `undo` uses
// the same functions (operator/journal/undo.ts).

import { createYielder, readInChunks } from "../../lib/yielding.ts";
import { type Intent, type JournalEntry, versionOf } from "../../model/change.ts";
import type { Engine, RecordRow } from "../../model/engine.ts";
import { OutdatedError, ProblemError } from "../../model/errors.ts";
import { copyHead, type Head } from "../../model/head.ts";
import { maxBatchOperations } from "../../model/limits.ts";
import { type RecordKey, toKeyText } from "../../model/record-key.ts";
import { parseRun } from "../../model/run.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";

/** A record to put back into an earlier state. */
export interface UndoneRecord {
  readonly resource: string;
  readonly id: number;
  /** JSON of the record before the changes; null if it didn't exist. */
  readonly before: string | null;
  /** Revision of the last change to undo. */
  readonly last: number;
}

/** A record that's left alone because it was changed later. */
export interface LaterChangedRecord {
  readonly resource: string;
  readonly id: number;
  /** Revision of its last change. */
  readonly revision: number;
}

/** The undo of a run, before it's stored. Lists each record once. */
export interface UndoPlan {
  readonly epoch: string;
  /** Ordered by their first changes. */
  readonly records: readonly UndoneRecord[];
  /** How many records already are in their earlier state. */
  readonly unchanged: number;
  readonly skipped: readonly LaterChangedRecord[];
}

/** A site and its head, as the caller knows it. */
type SiteHead = Head & { readonly siteId: number };

type PlanReads = Pick<Engine, "readJournalPage" | "readRows">;

/** Entries or rows per read, which takes SQLite a few milliseconds. */
const readSize = 500;

/**
 * Returns the maximum number of changes of a run.
 * @throws ProblemError `not-found` if this isn't a client's run, `forbidden` if it's an operator's
 */
export function sizeOfRun(run: string): number {
  const { first, last } = revisionsOfRun(run);
  return last - first + 1;
}

/**
 * Plans the undo of a run, from its entries and the current rows of its records. Yields to the event loop in between.
 * @param site with the head that the caller knows
 * @param mayUndo whether the caller may undo changes by this actor
 * @throws ProblemError `not-found` if there's no such run, `forbidden` if it's someone else's, `gone` if entries were pruned, `unavailable` if the
 * database is behind `site`
 * @throws OutdatedError if the site's epoch has changed
 */
export async function planUndo(
  engine: PlanReads,
  site: SiteHead,
  run: string,
  mayUndo: (actor: string) => boolean,
): Promise<UndoPlan> {
  // Copied, because a snapshot's head advances while we read the database.
  const known: SiteHead = { siteId: site.siteId, ...copyHead(site) };
  const changed = await readChangedRecords(engine, known, run, mayUndo);
  const records: UndoneRecord[] = [];
  const skipped: LaterChangedRecord[] = [];
  await readInChunks(changed, readSize, async (chunk) => {
    const rows = await readCurrentRows(engine, known, chunk);
    for (const [index, record] of chunk.entries()) {
      const { revision, body } = rows[index] as CurrentRow;
      if (body === record.before) continue;
      if (revision === record.last) records.push(record);
      else skipped.push({ resource: record.resource, id: record.id, revision });
    }
    return [];
  });
  return { epoch: known.epoch, records, unchanged: changed.length - records.length - skipped.length, skipped };
}

type CommonMembers = Pick<Intent, "site" | "actor" | "at" | "ifSystemEpoch" | "authorizedBy" | "isOptional">;

/**
 * Returns the intent that puts a record back into its earlier state.
 * @param isForced whether to do so even if the record has changed since `last`
 */
export function toUndoIntent(record: UndoneRecord, epoch: string, common: CommonMembers, isForced = false): Intent {
  const { resource, id, before, last } = record;
  const ifVersion = isForced ? undefined : [versionOf(epoch, last)];
  const operation = before === null ? "delete" : "restore";
  return { ...common, resource, id, operation, valuesJson: before ?? "{}", ifEpoch: epoch, ifVersion };
}

/** Returns the JSON of a record before the entry's change; null if it didn't exist. */
export function stateBefore({ operation, body, before }: JournalEntry): string | null {
  return operation === "delete" ? body : before;
}

/** Returns the records changed by a run, with their states before it. */
async function readChangedRecords(
  engine: PlanReads,
  site: SiteHead,
  run: string,
  mayUndo: (actor: string) => boolean,
): Promise<readonly UndoneRecord[]> {
  const changed = new Map<string, UndoneRecord>();
  for await (const entry of readEntriesOfRun(engine, site, run)) {
    if (!mayUndo(entry.actor)) throw new ProblemError("forbidden", "another key or an operator made this run");
    const { resource, id, revision: last } = entry;
    const key = toKeyText(entry);
    const known = changed.get(key);
    changed.set(key, { resource, id, before: known ? known.before : stateBefore(entry), last });
  }
  return [...changed.values()];
}

async function* readEntriesOfRun(engine: PlanReads, site: SiteHead, run: string): AsyncGenerator<JournalEntry> {
  const { first, last } = revisionsOfRun(run);
  const yieldIfDue = createYielder();
  for (let revision = first - 1; revision < last; revision = Math.min(revision + readSize, last)) {
    await yieldIfDue();
    const page = await engine.readJournalPage(site.siteId, revision, Math.min(readSize, last - revision));
    requireSameHistory(page.head, site);
    const isPruned = page.floor > revision;
    const own = page.entries.filter((entry) => entry.run === run && entry.revision <= last);
    // The actor of the first remaining entry decides whether the caller may know of this run.
    yield* isPruned ? own.slice(0, 1) : own;
    if (isPruned) throw prunedError(run);
    if (revision === first - 1 && own[0]?.revision !== first) throw unknownRunError(run);
    if (own.length < readSize) return;
  }
}

type CurrentRow = Pick<RecordRow, "revision" | "body">;

/** Returns the rows in the order of `records`. */
async function readCurrentRows(
  engine: Pick<Engine, "readRows">,
  site: SiteHead,
  records: readonly RecordKey[],
): Promise<CurrentRow[]> {
  const keys = records.map(({ resource, id }) => ({ resource, id }));
  const { head, rows } = await engine.readRows(site.siteId, keys);
  requireSameHistory(head, site);
  const found = new Map<string, CurrentRow>(rows.map((row) => [toKeyText(row), row]));
  return keys.map((key) => found.get(toKeyText(key)) ?? { revision: 0, body: null });
}

function requireSameHistory(head: Head, site: SiteHead): void {
  requireHeadAtLeast(head, site);
  if (head.epoch !== site.epoch || head.timeline !== site.timeline) throw new OutdatedError("epoch");
}

/** The runs of commands and the console look like this, which doesn't tell where their changes are. */
const operatorRun = /^[0-9A-Za-z]{8}$/;

/** @throws ProblemError like `sizeOfRun` */
function revisionsOfRun(run: string): { first: number; last: number } {
  const revisions = parseRun(run);
  if (revisions && revisions.last - revisions.first < maxBatchOperations) return revisions;
  if (!operatorRun.test(run)) throw unknownRunError(run);
  throw new ProblemError("forbidden", `\`${run}\` looks like an operator's run, which only an operator can undo`);
}

function unknownRunError(run: string): ProblemError {
  return new ProblemError(
    "not-found",
    `no such run: \`${run.slice(0, 60)}\`; use the \`Run\` from the response to a batch or undo`,
  );
}

function prunedError(run: string): ProblemError {
  const detail = `the run \`${run}\` can't be undone, because some or all of its changes have been pruned from the journal`;
  return new ProblemError("gone", detail);
}
