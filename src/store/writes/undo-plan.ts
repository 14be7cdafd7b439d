// Plans the undo of one run of a client: a batch request, or another undo. The ID of the run says which revisions its changes may have, so only these
// entries of the journal are read. A record that anybody has changed after the run is left alone, and listed.
//
// An example: the run `k3J9aZ0q-18-3` may have the revisions 18 to 20. It has three entries in the journal.
//
//   18  creates brand 30          The brand still has revision 18. The plan deletes it.
//   19  updates brand 7           The brand still has revision 19. The plan restores the record before entry 19.
//   20  updates order status 3    The order status has revision 25 by now. The plan skips it.
//
// Each change of a plan has a condition: the record still has the version that the run gave it. So a plan that is outdated cannot undo anything else.
// The command `undo` makes its changes with the same functions (operator/journal/undo.ts).

import { createYielder, readInChunks } from "../../lib/yielding.ts";
import { type Intent, type JournalEntry, versionOf } from "../../model/change.ts";
import type { Engine, RecordRow } from "../../model/engine.ts";
import { OutdatedError, ProblemError } from "../../model/errors.ts";
import { copyHead, type Head } from "../../model/head.ts";
import { maxBatchOperations } from "../../model/limits.ts";
import { type RecordKey, toKeyText } from "../../model/record-key.ts";
import { parseRun } from "../../model/run.ts";
import { requireHeadAtLeast } from "../database/required-head.ts";

/** A record that is to have its earlier state again. */
export interface UndoneRecord {
  readonly resource: string;
  readonly id: number;
  /** The record before the changes, as JSON text; null if it did not exist. */
  readonly before: string | null;
  /** The revision of its last change. */
  readonly last: number;
}

/** A record that stays as it is, because it was changed later. */
export interface LaterChangedRecord {
  readonly resource: string;
  readonly id: number;
  /** The revision of its last change. */
  readonly revision: number;
}

/** The undo of a run, before it is stored. Each record of the run is in it once. */
export interface UndoPlan {
  /** The epoch of the site. */
  readonly epoch: string;
  /** The records to change, in the order of their first changes. */
  readonly records: readonly UndoneRecord[];
  /** The number of records that have their earlier state already. */
  readonly unchanged: number;
  readonly skipped: readonly LaterChangedRecord[];
}

/** The site of a run, and its head that the caller knows. */
type SiteHead = Head & { readonly siteId: number };

type PlanReads = Pick<Engine, "readJournalPage" | "readRows">;

/** Entries, or rows, per read. A read takes SQLite a few milliseconds. */
const readSize = 500;

/**
 * Returns the maximum number of changes of a run.
 * @throws ProblemError `not-found` if `run` is not the ID of a run of a client; `forbidden` for the ID of a run of an operator
 */
export function sizeOfRun(run: string): number {
  const { first, last } = revisionsOfRun(run);
  return last - first + 1;
}

/**
 * Plans the undo of a run: reads its entries and the present rows of its records. Yields to the event loop in between.
 * @param site with the head that the caller knows
 * @param mayUndo returns whether the caller may undo the changes of an actor
 * @throws ProblemError `not-found` if the run does not exist, `forbidden` if it is of another actor, `gone` if entries were pruned; `unavailable` if the
 *   database is behind `site`
 * @throws OutdatedError if the site has another epoch
 */
export async function planUndo(
  engine: PlanReads,
  site: SiteHead,
  run: string,
  mayUndo: (actor: string) => boolean,
): Promise<UndoPlan> {
  const known = presentHead(site);
  const changed = await readChangedRecords(engine, known, run, mayUndo);
  const records: UndoneRecord[] = [];
  const skipped: LaterChangedRecord[] = [];
  await readInChunks(changed, readSize, async (chunk) => {
    const rows = await readPresentRows(engine, known, chunk);
    for (const [index, record] of chunk.entries()) {
      const { revision, body } = rows[index] as PresentRow;
      if (body === record.before) continue;
      if (revision === record.last) records.push(record);
      else skipped.push({ resource: record.resource, id: record.id, revision });
    }
    return [];
  });
  return { epoch: known.epoch, records, unchanged: changed.length - records.length - skipped.length, skipped };
}

/** Members of an intent that do not depend on the record. */
type CommonMembers = Pick<Intent, "site" | "actor" | "at" | "ifSystemEpoch" | "authorizedBy" | "isOptional">;

/**
 * Returns the intent that gives a record its earlier state.
 * @param epoch the epoch of the site
 * @param isForced whether to do this also if the record has changed after its `last` change
 */
export function toUndoIntent(record: UndoneRecord, epoch: string, common: CommonMembers, isForced = false): Intent {
  const { resource, id, before, last } = record;
  const ifVersion = isForced ? undefined : [versionOf(epoch, last)];
  const operation = before === null ? "delete" : "restore";
  return { ...common, resource, id, operation, valuesJson: before ?? "{}", ifEpoch: epoch, ifVersion };
}

/** Returns the record before the change of an entry, as JSON text; null if it did not exist. */
export function stateBefore({ operation, body, before }: JournalEntry): string | null {
  return operation === "delete" ? body : before;
}

/** Returns the records that a run has changed, each with its state before the run. */
async function readChangedRecords(
  engine: PlanReads,
  site: SiteHead,
  run: string,
  mayUndo: (actor: string) => boolean,
): Promise<readonly UndoneRecord[]> {
  const changed = new Map<string, UndoneRecord>();
  for await (const entry of readEntriesOfRun(engine, site, run)) {
    if (!mayUndo(entry.actor))
      throw new ProblemError("forbidden", "the run was made by another key or by the operator");
    const { resource, id, revision: last } = entry;
    const key = toKeyText(entry);
    const known = changed.get(key);
    changed.set(key, { resource, id, before: known ? known.before : stateBefore(entry), last });
  }
  return [...changed.values()];
}

/** Yields the entries of a run: the entry with its first revision, and those after it that have the same run. */
async function* readEntriesOfRun(engine: PlanReads, site: SiteHead, run: string): AsyncGenerator<JournalEntry> {
  const { first, last } = revisionsOfRun(run);
  const yieldIfDue = createYielder();
  for (let revision = first - 1; revision < last; revision = Math.min(revision + readSize, last)) {
    await yieldIfDue();
    const page = await engine.readJournalPage(site.siteId, revision, Math.min(readSize, last - revision));
    requireSameHistory(page.head, site);
    const isPruned = page.floor > revision;
    const own = page.entries.filter((entry) => entry.run === run && entry.revision <= last);
    // The owner of the first entries that are left decides whether the caller may know that the run was there.
    yield* isPruned ? own.slice(0, 1) : own;
    if (isPruned) throw prunedError(run);
    if (revision === first - 1 && own[0]?.revision !== first) throw unknownRunError(run);
    if (own.length < readSize) return;
  }
}

type PresentRow = Pick<RecordRow, "revision" | "body">;

/** Returns the present row of each record, in the order of the records. */
async function readPresentRows(
  engine: Pick<Engine, "readRows">,
  site: SiteHead,
  records: readonly RecordKey[],
): Promise<PresentRow[]> {
  const keys = records.map(({ resource, id }) => ({ resource, id }));
  const { head, rows } = await engine.readRows(site.siteId, keys);
  requireSameHistory(head, site);
  const found = new Map<string, PresentRow>(rows.map((row) => [toKeyText(row), row]));
  return keys.map((key) => found.get(toKeyText(key)) ?? { revision: 0, body: null });
}

/** Returns a copy. The caller has the head of a snapshot, which advances while the database is read. */
function presentHead(site: SiteHead): SiteHead {
  return { siteId: site.siteId, ...copyHead(site) };
}

function requireSameHistory(head: Head, site: SiteHead): void {
  requireHeadAtLeast(head, site);
  if (head.epoch !== site.epoch || head.timeline !== site.timeline) throw new OutdatedError("epoch");
}

/** The runs of commands and of the console have this form, which does not say where their changes are. */
const operatorRun = /^[0-9A-Za-z]{8}$/;

/** @throws ProblemError as `sizeOfRun` does */
function revisionsOfRun(run: string): { first: number; last: number } {
  const revisions = parseRun(run);
  if (revisions && revisions.last - revisions.first < maxBatchOperations) return revisions;
  if (!operatorRun.test(run)) throw unknownRunError(run);
  throw new ProblemError(
    "forbidden",
    `\`${run}\` has the form of a run of the operator: only the operator can undo it`,
  );
}

function unknownRunError(run: string): ProblemError {
  return new ProblemError(
    "not-found",
    `there is no run \`${run.slice(0, 60)}\`; a run is the \`Run\` of a batch or of an undo`,
  );
}

function prunedError(run: string): ProblemError {
  const detail = `the changes of the run \`${run}\` are no longer kept in the journal, or not all of them, so it cannot be undone`;
  return new ProblemError("gone", detail);
}
