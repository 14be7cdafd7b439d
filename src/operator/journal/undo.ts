// Undoes changes: deletes the records they created, and restores those they updated or deleted.

import { yieldBetween } from "../../lib/yielding.ts";
import { type Intent, type JournalEntry, type Outcome, operatorActor } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { toKeyText } from "../../model/record-key.ts";
import { toUndoIntent } from "../../store/writes/undo-plan.ts";
import {
  epochChangedError,
  type RevisionRange,
  readEntries,
  requireSameMachine,
  revisionsOf,
} from "./journal-entries.ts";
import { RecordsToUndo, type RecordToUndo, type UndoRange } from "./records-to-undo.ts";

export interface UndoOptions {
  /** Also undo records that have changed again outside the range. Those later changes are then lost, whoever made them. */
  readonly force?: boolean | undefined;
  /** Only report what would change. */
  readonly dryRun?: boolean | undefined;
  /** Stops the undo before its next transaction. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each transaction, with a revision that's lower than any this undo writes. */
  readonly onBeforeCommit?: ((revision: number) => void) | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A skipped record, and why. */
interface SkippedRecord {
  readonly resource: string;
  readonly id: number;
  /** The later change outside the range that would be lost; undefined if it was pruned. */
  readonly changed: { readonly revision: number; readonly actor: string } | undefined;
}

export interface UndoSummary {
  deleted: number;
  restored: number;
  /** Records that were already back in their earlier state. */
  unchanged: number;
  /** Records that have changed again outside the range. `skipped` has the first 50,000. */
  skippedCount: number;
  readonly skipped: SkippedRecord[];
  /** All records with changes in the range. The counts above add up to this, unless the undo was stopped. */
  records: number;
  /** Whether the undo was stopped. Running it again completes it. */
  interrupted: boolean;
  /** What this undo wrote; undefined if nothing. */
  revisions: RevisionRange | undefined;
}

/** Intents per batch. A transaction has several batches. */
const batchSize = 500;

/** An undo of up to this many records is one transaction. It makes other writers wait for about a second. */
const maxRecordsInOneTransaction = 50_000;

/** Records per transaction of a larger undo. */
const recordsPerTransaction = 5000;

/** Skipped records that are listed. */
const maxListed = 50_000;

/** Journal entries per read. */
const pageSize = 1000;

/**
 * Undoes the changes in `range`, and journals that like any other change. A record that changes during the undo counts as changed later.
 * @throws ProblemError `not-found` if the range has no changes, or some were pruned; `conflict` if the site was restored or removed, or another machine
 *   has taken over the database
 */
export async function undo(engine: Engine, site: number, range: UndoRange, options: UndoOptions): Promise<UndoSummary> {
  const [head] = (await engine.readHeads([site])) as [Head];
  const records = new RecordsToUndo(range);
  try {
    await readRecordsToUndo(engine, site, head, range, records, options.signal);
    return await new Undo(engine, site, head, options).undoAll(records);
  } finally {
    records.close();
  }
}

/** @throws ProblemError `not-found` like `undo`, `conflict` if the site has another epoch */
async function readRecordsToUndo(
  engine: Engine,
  site: number,
  { epoch }: Head,
  range: UndoRange,
  records: RecordsToUndo,
  signal: AbortSignal | undefined,
): Promise<void> {
  for await (const entry of readEntries(engine, site, { since: range.since, epoch })) {
    if (signal?.aborted) return;
    records.add(entry);
  }
  if (records.size === 0) throw noChangesError(range);
}

class Undo {
  readonly #engine: Engine;
  readonly #site: number;
  readonly #head: Head;
  readonly #options: UndoOptions;
  readonly #summary: UndoSummary = {
    deleted: 0,
    restored: 0,
    unchanged: 0,
    skippedCount: 0,
    skipped: [],
    records: 0,
    interrupted: false,
    revisions: undefined,
  };
  /** Records that have changed since `#head`, so that their intents were rejected. */
  readonly #rejectedRecords = new Map<string, Pick<SkippedRecord, "resource" | "id">>();

  constructor(engine: Engine, site: number, head: Head, options: UndoOptions) {
    this.#engine = engine;
    this.#site = site;
    this.#head = head;
    this.#options = options;
  }

  async undoAll(records: RecordsToUndo): Promise<UndoSummary> {
    this.#summary.records = records.size;
    const transactionSize = records.size > maxRecordsInOneTransaction ? recordsPerTransaction : records.size;
    let intents: Intent[] = [];
    for await (const record of yieldBetween(records.records())) {
      if (this.#isStopped()) break;
      const intent = this.#toIntent(record);
      if (intent) intents.push(intent);
      if (intents.length < transactionSize) continue;
      await this.#store(intents);
      intents = [];
    }
    if (!this.#isStopped()) await this.#store(intents);
    if (this.#rejectedRecords.size > 0) this.#addSkipped(await this.#findLaterChanges());
    return this.#summary;
  }

  #isStopped(): boolean {
    this.#summary.interrupted ||= this.#options.signal?.aborted ?? false;
    return this.#summary.interrupted;
  }

  /** Returns undefined if there's nothing to change, after counting the record. */
  #toIntent(record: RecordToUndo): Intent | undefined {
    const { resource, id, isSame, other } = record;
    const { force, at } = this.#options;
    if (isSame) this.#summary.unchanged++;
    else if (other && !force) this.#addSkipped([{ resource, id, changed: other }]);
    else {
      const common = { site: this.#site, actor: operatorActor, at, isOptional: true };
      return toUndoIntent(record, this.#head.epoch, common, force);
    }
    return undefined;
  }

  #addSkipped(records: readonly SkippedRecord[]): void {
    const { skipped } = this.#summary;
    for (const record of records.slice(0, maxListed - skipped.length)) skipped.push(record);
    this.#summary.skippedCount += records.length;
  }

  /** Commits one transaction and counts its outcomes. */
  async #store(intents: readonly Intent[]): Promise<void> {
    if (intents.length === 0) return;
    const outcomes = this.#options.dryRun ? [] : await this.#commit(intents);
    if (outcomes.some(hasOtherEpoch)) throw epochChangedError(formatUndone(this.#summary));
    const summary = this.#summary;
    intents.forEach((intent, index) => {
      const kind = outcomes[index]?.kind ?? "done";
      if (kind === "done" && intent.operation === "delete") summary.deleted++;
      else if (kind === "done") summary.restored++;
      // With `force`, the only rejected intents are those that delete a record someone has just deleted.
      else if (kind === "unchanged" || this.#options.force) summary.unchanged++;
      else this.#addRejected(intent);
    });
    summary.revisions = revisionsOf(outcomes, summary.revisions);
  }

  #addRejected({ resource, id }: Intent): void {
    if (this.#rejectedRecords.size < maxListed)
      this.#rejectedRecords.set(toKeyText({ resource, id }), { resource, id: id as number });
    else this.#summary.skippedCount++;
  }

  /** If the epoch has changed, the outcomes end with the first rejection for it. */
  async #commit(intents: readonly Intent[]): Promise<Outcome[]> {
    const batches = function* () {
      for (let from = 0; from < intents.length; from += batchSize) yield intents.slice(from, from + batchSize);
    };
    const all: Outcome[] = [];
    this.#options.onBeforeCommit?.(this.#head.revision);
    try {
      await requireSameMachine(this.#engine, this.#head);
      await this.#engine.commitAtomically(batches(), (outcomes) => void all.push(...outcomes));
    } catch (error) {
      throw withUndone(error, this.#summary);
    }
    return all;
  }

  /** The records whose intents were rejected, each with its last change since the head. */
  async #findLaterChanges(): Promise<SkippedRecord[]> {
    const changed = new Map<string, SkippedRecord["changed"]>();
    for (let from: number | undefined = this.#head.revision; from !== undefined; ) {
      // Even if the epoch has changed by now, because the undo is committed and its summary must be complete.
      const { entries }: { entries: readonly JournalEntry[] } = await this.#engine.readJournalPage(
        this.#site,
        from,
        pageSize,
      );
      for (const entry of entries) {
        const { revision, actor } = entry;
        if (this.#rejectedRecords.has(toKeyText(entry))) changed.set(toKeyText(entry), { revision, actor });
      }
      from = entries.at(-1)?.revision;
    }
    return Array.from(this.#rejectedRecords, ([key, record]) => ({ ...record, changed: changed.get(key) }));
  }
}

/** Adds what earlier transactions have stored to the error of a failed one. */
function withUndone(error: unknown, summary: UndoSummary): unknown {
  const stored = formatUndone(summary);
  if (!(error instanceof ProblemError) || stored === undefined) return error;
  return new ProblemError(error.code, `${error.message}; ${stored}; run the same undo again to do the rest`, {
    cause: error,
  });
}

/** What's been stored so far; undefined if nothing. */
function formatUndone({ deleted, restored, records }: UndoSummary): string | undefined {
  if (deleted + restored === 0) return undefined;
  return `by then, ${deleted} of ${records} records had been deleted and ${restored} restored`;
}

function noChangesError({ since, until, run }: UndoRange): ProblemError {
  const end = until === undefined ? "" : ` up to ${until}`;
  return new ProblemError(
    "not-found",
    `nothing to undo: ${run ? `the run ${run} made no changes` : "there are no changes"} after revision ${since}${end}`,
  );
}

function hasOtherEpoch(outcome: Outcome): boolean {
  return outcome.kind === "rejected" && outcome.rejectionReason === "other-epoch";
}
