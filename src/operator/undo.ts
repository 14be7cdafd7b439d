// Takes changes back: what was created is deleted, what was updated or deleted gets its earlier contents.

import { type JournalEntry, operatorActor } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { type Intent, type Outcome, versionOf } from "../model/intent.ts";
import { journal, otherHistory } from "./history.ts";
import { type RevisionRange, revisionsOf } from "./revisions.ts";

/** Which changes to take back. */
interface UndoRange {
  /** Those after this revision, */
  readonly since: number;
  /** up to and including this one (default: the last one), */
  readonly until?: number | undefined;
  /** and of this run only. */
  readonly run?: string | undefined;
}

export interface UndoOptions {
  /** Take back the changes to records that others have changed later, too: later changes are lost. */
  readonly force?: boolean | undefined;
  /** Report what would happen, and change nothing. */
  readonly dryRun?: boolean | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A record that was left as it is, and why. */
interface LeftRecord {
  readonly resource: string;
  readonly id: number;
  /** The change by another that would have been lost; undefined if the earlier contents were pruned. */
  readonly changed: { readonly revision: number; readonly actor: string } | undefined;
}

export interface UndoSummary {
  /** Records that the range had created and that are deleted now. */
  deleted: number;
  /** Records that have their earlier contents again. */
  restored: number;
  /** Records that already are as they were. */
  unchanged: number;
  readonly left: LeftRecord[];
  /** The journal entries of this undo; undefined if it changed nothing. */
  revisions: RevisionRange | undefined;
}

/** Records that one undo changes at most: all of them in one transaction, for which other writers wait. */
const maxUndone = 100_000;

/** How often it begins again when others change the same records at the same time. */
const maxAttempts = 5;

/**
 * Takes back the changes in `range`, in one transaction, which is journaled like any other.
 * @throws Refusal `not-found` when there are no such changes or some were pruned, `conflict` when the site was restored
 * or removed or others change these records all the time, `bad-request` when there are more than `maxUndone`
 */
export async function undo(engine: Engine, site: number, range: UndoRange, options: UndoOptions): Promise<UndoSummary> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const [head] = (await engine.heads([site])) as [Head];
    const records = await findRecords(engine, site, head, range);
    const { summary, intents } = plan(site, head, records, options);
    const outcomes = options.dryRun || intents.length === 0 ? [] : await engine.commit(intents, true);
    if (outcomes.some(isOtherHistory)) throw otherHistory();
    if (outcomes.every(({ kind }) => kind !== "refused")) return { ...summary, revisions: revisionsOf(outcomes) };
  }
  throw new Refusal("conflict", "others change these records all the time; nothing was changed, try again");
}

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

type Records = ReadonlyMap<string, UndoneRecord>;

async function findRecords(engine: Engine, site: number, head: Head, range: UndoRange): Promise<Records> {
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
async function findBefore(engine: Engine, site: number, { epoch }: Head, records: Records): Promise<void> {
  const wanted = new Map([...records].filter(([, { before }]) => before === undefined));
  const end = Math.max(...[...wanted.values()].map(({ first }) => first));
  for await (const entry of journal(engine, site, undefined, epoch)) {
    if (entry.revision >= end) return;
    const record = wanted.get(keyOf(entry));
    if (record && entry.revision < record.first) record.before = entry.operation === "delete" ? null : entry.body;
  }
}

function plan(site: number, { epoch }: Head, records: Records, { force, at }: UndoOptions) {
  const summary: UndoSummary = { deleted: 0, restored: 0, unchanged: 0, left: [], revisions: undefined };
  const intents: Intent[] = [];
  for (const { resource, id, before, now, last, other } of records.values()) {
    if (before === now) summary.unchanged++;
    else if (before === undefined) summary.left.push({ resource, id, changed: undefined });
    else if (other && !force)
      summary.left.push({ resource, id, changed: { revision: other.revision, actor: other.actor } });
    else {
      const operation = before === null ? "delete" : "restore";
      const common = {
        site,
        resource,
        id,
        actor: operatorActor,
        at,
        ifEpoch: epoch,
        ifVersion: [versionOf(epoch, last)],
      };
      intents.push({ ...common, operation, text: before ?? "{}" });
      if (before === null) summary.deleted++;
      else summary.restored++;
    }
  }
  return { summary, intents };
}

function keyOf({ resource, id }: JournalEntry): string {
  return `${resource}/${id}`;
}

function isOtherHistory(outcome: Outcome): boolean {
  return outcome.kind === "refused" && outcome.why === "other-history";
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
