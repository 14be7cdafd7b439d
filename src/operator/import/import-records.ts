// Imports records: matches each row with a record, and stores the rows in batches, or all of them in one transaction (`atomic`).
//
// A row becomes an intent. Batches of up to 500 intents are committed while the file is read. With `atomic`, rows are spooled to a temporary file
// until all are known to be valid, and then committed together. A dry run does the same on a copy of the site.
//
// Invariants:
// - Rows are matched as of one revision. If others have moved the match value of a row to another record (`ifFound`), the engine rejects the intent,
//   and the row is matched again, up to five times in all. If the database was restored (`ifSystemEpoch`), the engine rejects all further rows.
// - Two rows with the same match value are never in one batch, so that the second row finds the record of the first. With `atomic`, the second row is
//   rejected.
// - A rejected row does not stop the others, except with `atomic`. After an interruption, the summary counts exactly the rows that were stored.
// - The memory does not grow with the size of the rows: spooled rows and match values are in temporary files. An import by ID has only the
//   IDs in memory.

import { InternedTexts } from "../../lib/bytes.ts";
import { createYielder } from "../../lib/event-loop.ts";
import { type Intent, type Outcome, operatorActor } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { type FieldError, invalidRecordError, ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { parseNewRecord, parseRecordChanges } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { systemSite } from "../../model/system-site.ts";
import { ValueIndex } from "../../store/writes/value-index.ts";
import { revisionsOf } from "../journal/journal-entries.ts";
import { type CommitEngine, DryRunEngine } from "./dry-run-engine.ts";
import type { NumberedRow, RowSource } from "./file-rows.ts";
import {
  type AcceptedOutcome,
  countOutcome,
  countRejected,
  emptySummary,
  type ImportSummary,
  rejectionFieldError,
  repeatedValueError,
  withStored,
} from "./import-summary.ts";
import { type Match, type Matcher, type RowInput, readMatcher } from "./matcher.ts";
import { type PendingRow, SpooledRows } from "./spooled-rows.ts";

export interface ImportOptions {
  /** The field by which rows are matched with records; by default, rows are matched by ID. */
  readonly match?: string | undefined;
  /** Report the outcomes, and store nothing. */
  readonly dryRun?: boolean | undefined;
  /** Store all rows or none. */
  readonly atomic?: boolean | undefined;
  /** Stops the import after the rows that are being stored. `rows` must throw the reason of this signal, too. */
  readonly signal?: AbortSignal | undefined;
  /** Called for each row that is rejected; the import waits for it. */
  readonly onRejected?: ((row: NumberedRow, fieldErrors: readonly FieldError[]) => Promise<void>) | undefined;
  /** Called for each row that is stored, or in a dry run would be; the import waits for it. */
  readonly onAccepted?: ((row: NumberedRow, outcome: AcceptedOutcome) => void | Promise<void>) | undefined;
  /** Maximum field errors that the summary lists; by default all. */
  readonly maxFieldErrors?: number | undefined;
  /** Called before each commit, with the revision of the site before the import. All journal entries of this import come after it. */
  readonly onBeforeCommit?: ((revision: number) => void) | undefined;
  readonly now: () => number;
}

/**
 * Creates a record from each row, or updates the record that the row matches. A field error in a row does not stop the others, except with `atomic`:
 * then nothing is stored.
 * @throws ProblemError if the rows cannot be read or the database cannot be written. Its message says how much was stored before.
 */
export async function importRecords(
  engine: Engine,
  site: number,
  resource: Resource,
  rows: AsyncIterable<NumberedRow>,
  options: ImportOptions,
): Promise<ImportSummary> {
  const { atomic, dryRun, match, signal } = options;
  const [system] = (await engine.readHeads([systemSite])) as [Head];
  const { head, matcher } = await readMatcher(engine, site, resource, match);
  const spooled = new SpooledRows();
  const summary = emptySummary();
  const pendingValues = match === undefined ? undefined : new ValueIndex();
  let dryRunEngine: DryRunEngine | undefined;
  try {
    if (dryRun) dryRunEngine = await DryRunEngine.open(engine, site, system.epoch);
    const context = {
      site,
      resource,
      matcher,
      pendingValues,
      engine: dryRunEngine ?? engine,
      spooled,
      options,
      summary,
    };
    await new RowImporter(context, system.epoch, head.revision).importAll(rows);
  } catch (error) {
    if (signal?.aborted && error === signal.reason) summary.interrupted = true;
    else throw dryRun || atomic ? error : withStored(error, summary);
  } finally {
    matcher.close();
    pendingValues?.close();
    dryRunEngine?.close();
    spooled.close();
  }
  const isNothingStored = atomic && (summary.rejected > 0 || summary.interrupted);
  return isNothingStored ? { ...summary, created: 0, updated: 0, unchanged: 0, revisions: undefined } : summary;
}

interface ImportContext {
  readonly site: number;
  readonly resource: Resource;
  readonly matcher: Matcher;
  /** The match values of the pending rows, by the numbers of the rows; undefined if rows are matched by ID. */
  readonly pendingValues: ValueIndex | undefined;
  readonly engine: CommitEngine;
  readonly spooled: SpooledRows;
  readonly options: ImportOptions;
  readonly summary: ImportSummary;
}

/** Maximum times that a row is matched, if others move its match value to another record before the row is stored. */
const maxMatches = 5;

/** Imports the rows of one file, batch by batch. */
class RowImporter {
  readonly #context: ImportContext;
  readonly #pending = new RowBatch();
  readonly #errorTexts = new InternedTexts();
  /** The epoch of the system site when the rows were matched. The site itself can be without an epoch before its first change. */
  readonly #systemEpoch: string;
  /** The revision of the site before the import. */
  readonly #start: number;

  constructor(context: ImportContext, systemEpoch: string, start: number) {
    this.#context = context;
    this.#systemEpoch = systemEpoch;
    this.#start = start;
  }

  async importAll(rows: AsyncIterable<NumberedRow>): Promise<void> {
    const { options, summary } = this.#context;
    const yieldIfDue = createYielder();
    for await (const row of rows) {
      options.signal?.throwIfAborted();
      summary.rows++;
      // Rows in memory never yield to the event loop, but signals and the requests of others arrive only between two ticks.
      await yieldIfDue();
      await this.#unlessRejected(row, () => this.#addRow(row));
      if (this.#pending.isFull) await (options.atomic ? this.#spoolPending() : this.#commitPending());
    }
    if (!options.atomic) await this.#commitPending();
    else if (summary.rejected === 0) await this.#commitSpooled();
  }

  /** @throws ProblemError `invalid-record` */
  async #addRow(row: NumberedRow): Promise<void> {
    const { site, resource, matcher, pendingValues, options, summary } = this.#context;
    const input = parseInput(row.decoded);
    const value = matcher.matchValueOf(input);
    if (value !== undefined && pendingValues?.find(value, 1).length) {
      if (options.atomic) throw repeatedValueError(options.match);
      await this.#commitPending();
    }
    const match = matcher.match(input);
    const change = toChange(resource, match, input, row.decoded.fieldErrors);
    const intent = { ...change, site, actor: operatorActor, at: options.now() };
    this.#pending.add({ row: () => row, input, intent }, row.source);
    if (value !== undefined) pendingValues?.set(summary.rows, value);
    matcher.trackRow(input, match.id);
  }

  async #commitPending(): Promise<void> {
    const { engine, matcher, pendingValues, options } = this.#context;
    let batch = this.#pending.take();
    pendingValues?.clear();
    this.#notifyBeforeCommit();
    for (let left = maxMatches - 1; batch.length > 0; left--) {
      const outcomes = await engine.commit(this.#intentsOf(batch));
      const again = left > 0 ? batch.filter((_, index) => isFoundOtherwise(outcomes[index])) : [];
      await this.#countOutcomes(batch, outcomes, left > 0);
      if (!options.dryRun) await matcher.passOver(revisionsOf(outcomes));
      batch = await this.#matchAll(again);
    }
  }

  /** Matches rows again after others have changed their matches. Rejects the rows that cannot be matched any more. */
  async #matchAll(batch: readonly PendingRow[]): Promise<readonly PendingRow[]> {
    if (batch.length > 0) await this.#context.matcher.catchUp();
    const matched: PendingRow[] = [];
    for (const pending of batch)
      await this.#unlessRejected(pending.row(), () => void matched.push(this.#matchAgain(pending)));
    return matched;
  }

  /** Returns the row with an intent for the record that it matches now. @throws ProblemError `invalid-record` */
  #matchAgain(pending: PendingRow): PendingRow {
    const { intent } = pending;
    if (!intent.ifFound) return pending;
    const match = this.#context.matcher.matchAgain(intent.ifFound);
    const { kind: operation, id, ifFound } = match;
    if (operation === intent.operation && id === intent.id) return { ...pending, intent: { ...intent, ifFound } };
    const { decoded } = pending.row();
    const changed = toChange(this.#context.resource, match, parseInput(decoded), decoded.fieldErrors);
    return { ...pending, intent: { ...intent, ...changed } };
  }

  /** Spools the pending rows until all rows are known to be valid. Their match values stay in `pendingValues`. */
  #spoolPending(): void {
    this.#context.spooled.add(this.#pending.take());
  }

  async #commitSpooled(): Promise<void> {
    this.#spoolPending();
    const { matcher, options, summary } = this.#context;
    for (let left = maxMatches - 1; ; left--) {
      // The rows were matched while the file was read, which may have taken long.
      if (!options.dryRun) await matcher.catchUp();
      if (await this.#tryAtomically(left > 0)) return;
      Object.assign(summary, { created: 0, updated: 0, unchanged: 0, revisions: undefined });
    }
  }

  /** Commits all rows in one transaction. Returns false if others have changed the match of a row, and `mayRepeat`. */
  async #tryAtomically(mayRepeat: boolean): Promise<boolean> {
    const { engine, spooled, options, summary } = this.#context;
    const sent: (readonly PendingRow[])[] = [];
    let unmatched: { readonly row: NumberedRow; readonly error: unknown } | undefined;
    const batches = function* (this: RowImporter) {
      for (const batch of spooled.batches()) {
        options.signal?.throwIfAborted();
        const matched = batch.map((pending) => {
          try {
            return this.#matchAgain(pending);
          } catch (error) {
            unmatched = { row: pending.row(), error };
            throw error;
          }
        });
        sent.push(matched);
        yield this.#intentsOf(matched);
      }
    };
    let hasMovedMatch = false;
    const storing = engine.commitAtomically(batches.call(this), async (outcomes) => {
      hasMovedMatch = mayRepeat && outcomes.some(isFoundOtherwise);
      await this.#countOutcomes(sent.shift() ?? [], outcomes, mayRepeat);
      const { rows, created, updated, unchanged } = summary;
      // All rows are valid now. Before this point, an error leaves nothing stored.
      if (created + updated + unchanged === rows) this.#notifyBeforeCommit();
    });
    await storing.catch(async (error) => {
      if (!unmatched) throw error;
      const { row, error: reason } = unmatched;
      await this.#unlessRejected(row, () => Promise.reject(reason));
    });
    return !hasMovedMatch;
  }

  #notifyBeforeCommit(): void {
    const { dryRun, onBeforeCommit } = this.#context.options;
    if (!dryRun) onBeforeCommit?.(this.#start);
  }

  #intentsOf(batch: readonly PendingRow[]): readonly Intent[] {
    // A dry run uses a copy as of one moment, in which nobody changes a match.
    const none = this.#context.options.dryRun ? { ifFound: undefined } : {};
    return batch.map(({ intent }) => ({ ...intent, ...none, ifSystemEpoch: this.#systemEpoch }));
  }

  /** @param mayRepeat whether rows with a changed match are matched again, so that they do not count yet */
  async #countOutcomes(batch: readonly PendingRow[], outcomes: readonly Outcome[], mayRepeat: boolean): Promise<void> {
    const { matcher, options, summary } = this.#context;
    if (!options.dryRun) summary.revisions = revisionsOf(outcomes, summary.revisions);
    for (const [index, outcome] of outcomes.entries()) {
      const { row, input, intent } = batch[index] as PendingRow;
      if (mayRepeat && isFoundOtherwise(outcome)) continue;
      if (outcome.kind === "rejected") await this.#rejectRow(row(), [rejectionFieldError(outcome, intent)]);
      else {
        countOutcome(summary, intent, outcome);
        await options.onAccepted?.(row(), outcome);
      }
      if (outcome.kind === "done" && input) matcher.trackRow(input, outcome.id);
    }
  }

  /** Rejects the row if `work` throws its field errors. */
  async #unlessRejected(row: NumberedRow, work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "invalid-record") throw error;
      await this.#rejectRow(row, error.fieldErrors);
    }
  }

  async #rejectRow(row: NumberedRow, fieldErrors: readonly FieldError[]): Promise<void> {
    const { options, summary } = this.#context;
    countRejected(summary, row.number, fieldErrors, this.#errorTexts, options.maxFieldErrors);
    await options.onRejected?.(row, fieldErrors);
  }
}

function isFoundOtherwise(outcome: Outcome | undefined): boolean {
  return outcome?.kind === "rejected" && outcome.rejectionReason === "found-otherwise";
}

/** Maximum rows of a batch. */
const maxRows = 500;

/** Maximum characters of the file in a batch: a row can have 1 MiB, and several copies of it are in memory. */
const maxLength = 4 << 20;

/** The rows of one batch, which is committed, or spooled with `atomic`. */
class RowBatch {
  #rows: PendingRow[] = [];
  #length = 0;

  /** Whether the batch has the maximum of rows or characters. */
  get isFull(): boolean {
    return this.#rows.length >= maxRows || this.#length >= maxLength;
  }

  /** @param source the row as it is in the file */
  add(row: PendingRow, source: RowSource): void {
    this.#rows.push(row);
    this.#length += lengthOf(source);
  }

  /** Returns the rows, and empties the batch. */
  take(): readonly PendingRow[] {
    const rows = this.#rows;
    this.#rows = [];
    this.#length = 0;
    return rows;
  }
}

/** Returns the characters of a row. A CSV row counts with its header, because the header is spooled with each row. */
function lengthOf(source: RowSource): number {
  if (source.format !== "csv") return source.text.length;
  const cells = [source.table.header, source.cells].flat();
  return cells.reduce((sum, cell) => sum + cell.length + 1, 0);
}

// Converts a row to the change of a record.

/** Returns the values of a row. @throws ProblemError `invalid-record` if the row could not be decoded or is not an object */
function parseInput({ input, fieldErrors }: NumberedRow["decoded"]): RowInput {
  if (fieldErrors.some(({ field }) => field === "")) throw invalidRecordError(fieldErrors);
  if (isObject(input)) return input;
  throw invalidRecordError([{ field: "", detail: `must be a record, not ${JSON.stringify(input)?.slice(0, 40)}` }]);
}

function isObject(input: unknown): input is RowInput {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}

/** Returns the change of the record that the row matches, as a part of an intent. @throws ProblemError `invalid-record` */
function toChange(
  resource: Resource,
  match: Match,
  { ID: _, ...fields }: RowInput,
  fieldErrors: readonly FieldError[],
) {
  const values =
    match.kind === "update"
      ? parseRecordChanges(resource, fields, fieldErrors).values
      : parseNewRecord(resource, fields, fieldErrors);
  const { kind: operation, id, ifFound } = match;
  return { resource: resource.name, operation, id, valuesJson: JSON.stringify(values), ifFound };
}
