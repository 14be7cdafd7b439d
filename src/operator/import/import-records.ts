// Imports records: matches each row with a record, and stores the rows in batches, or all of them in one transaction (`atomic`).
//
// An example: `import brands towns.csv --match Name`, into a site with the brands 1 "Acme" and 2 "Best".
//
//   Name,Address.Town
//   Acme,Oslo            The match value is "Acme", and its match the brand 1: the row becomes an update of brand 1.
//   Cube,Bergen          No brand is named "Cube": the row becomes a create.
//
// Before the batch with both rows is committed, a client renames brand 1 to "Former". Both rows are upserts (store/writes/record-match.ts), and validated
// as changes and as new brands. So the transaction creates both.
//
// With `removeMissing`, the records that the file lacks are deleted after its rows (missing-from-file.ts), as part of the same run.
//
// Without `atomic`, batches are committed while the file is read. With it, the rows are spooled to a temporary file until all are known to be valid, and
// then committed together. A dry run does the same, and stores nothing (`DryRunEngine`).
//
// Invariants:
// - If the database was restored since the rows were matched (`ifSystemEpoch`), the engine rejects all further rows. If another machine has taken over
//   the database, the import ends.
// - Two rows with the same match value are never in one batch, so that the second row finds the record of the first. With `atomic`, the second row is
//   rejected.
// - A rejected row does not stop the others, except with `atomic`. After an interruption, the summary counts exactly the rows that were stored.
// - An import by ID keeps the IDs of its rows in memory. Otherwise, the memory does not grow with the number of rows, because spooled rows and match values
//   are in temporary files. The caller supplies the rows. For JSON and XML, the command line first reads the whole file (`readRowsOfCompleteFile` in file-rows.ts).

import { InternedTexts } from "../../lib/bytes.ts";
import { createYielder, yieldBetween } from "../../lib/yielding.ts";
import {
  type AcceptedOutcome,
  type Intent,
  type Outcome,
  operatorActor,
  type RejectedOutcome,
} from "../../model/change.ts";
import type { Engine, EngineCommits } from "../../model/engine.ts";
import {
  ErrorBudget,
  type ErrorLimits,
  type FieldError,
  fault,
  invalidRecordError,
  noMoreHints,
  ProblemError,
  RetryableError,
} from "../../model/errors.ts";
import { isJsonObject, wrongTypeFault } from "../../model/field.ts";
import type { Head } from "../../model/head.ts";
import type { Resource } from "../../model/resource.ts";
import { systemSite } from "../../model/system-site.ts";
import { DryRunEngine } from "../../store/writes/dry-run-engine.ts";
import {
  severalMatchesError,
  toReading,
  toUpsertValues,
  validateAs,
  validationProblem,
} from "../../store/writes/record-match.ts";
import { ValueIndex } from "../../store/writes/value-index.ts";
import { type FileRange, SpoolFile } from "../files/spool-file.ts";
import { type RevisionRange, requireSameMachine, revisionsOf } from "../journal/journal-entries.ts";
import { PendingBatch } from "../records/pending-batch.ts";
import type { NumberedRow, RowSource } from "./file-rows.ts";
import { idGivenError, type Matcher, type RowInput, readMatcher } from "./matcher.ts";
import { MissingFromFile, type MissingSummary, type RemovalOptions } from "./missing-from-file.ts";

export interface ImportOptions {
  /** The field by which rows are matched with records; by default, rows are matched by ID. */
  readonly match?: string | undefined;
  /** Store all rows or none. */
  readonly atomic?: boolean | undefined;
  /** Report the outcomes, and store nothing. */
  readonly dryRun?: boolean | undefined;
  /** Remove the records that the file lacks. */
  readonly removeMissing?: RemovalOptions | undefined;
  /** Stops the import after the rows that are being stored. `rows` must throw the reason of this signal, too. */
  readonly signal?: AbortSignal | undefined;
  /** Called for each row that is rejected; the import waits for it. */
  readonly onRejected?: ((row: NumberedRow, fieldErrors: readonly FieldError[]) => Promise<void>) | undefined;
  /** Called for each row that is stored, or in a dry run would be; the import waits for it. */
  readonly onAccepted?: ((row: NumberedRow, outcome: AcceptedOutcome) => void | Promise<void>) | undefined;
  /** Maximum field errors that the summary lists; by default 10,000. */
  readonly maxFieldErrors?: number | undefined;
  /** Called before each commit, with the revision of the site before the import. All journal entries of this import come after it. */
  readonly onBeforeCommit?: ((revision: number) => void) | undefined;
  readonly now: () => number;
}

/** A field error, and the number of its row. */
type RowFieldError = FieldError & { readonly row: number };

/** The result of an import or a dry run, as numbers of rows. */
export interface ImportSummary {
  readonly rows: number;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Rows that were rejected. */
  readonly rejected: number;
  /** Whether the import was stopped before the last row. */
  readonly interrupted: boolean;
  /** The journal entries of this import; undefined if it changed nothing. */
  readonly revisions: RevisionRange | undefined;
  /** The field errors of rejected rows, at most 10,000. The name is part of the output of `--json`. */
  readonly faults: readonly RowFieldError[];
  /** The number of errors that aren't in `faults`; undefined for none. */
  readonly moreFaults?: number | undefined;
  /** The records that the file lacks; undefined if they were not searched. */
  readonly missing?: MissingSummary | undefined;
}

/** Field errors that a summary lists. Nobody reads more, and a file can have millions. */
const maxListed = 10_000;

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
  const { atomic, dryRun, signal, removeMissing, now } = options;
  const counts = { rows: 0, created: 0, updated: 0, unchanged: 0, rejected: 0 };
  const summary: WritableSummary = { ...counts, interrupted: false, revisions: undefined, faults: [] };
  try {
    using opened = new DisposableStack();
    const use = <T extends { close(): void }>(one: T): T => opened.adopt(one, () => one.close());
    const [systemHead] = (await engine.readHeads([systemSite])) as [Head];
    const { head, total, textField, matcher } = await readMatcher(engine, site, resource, options.match);
    use(matcher);
    const common = { engine, site, resource, systemHead };
    const missing =
      removeMissing && use(new MissingFromFile({ ...common, textField, head, total, options: removeMissing, now }));
    const target = dryRun ? use(new DryRunEngine(engine, site)) : engine;
    const parts = { ...common, target, startRevision: head.revision, matcher, missing, summary, options };
    await use(new Import(parts)).importAll(rows);
  } catch (error) {
    if (signal?.aborted && error === signal.reason) summary.interrupted = true;
    else throw dryRun || atomic ? error : withImported(error, summary);
  }
  if (atomic && (summary.rejected > 0 || summary.interrupted)) resetStored(summary);
  return summary;
}

/** A summary whose numbers change as rows are counted. */
type WritableSummary = { -readonly [Member in keyof ImportSummary]: ImportSummary[Member] } & {
  readonly faults: RowFieldError[];
};

/** Sets the counts of stored rows to zero, because the transaction has stored nothing. */
function resetStored(summary: WritableSummary): void {
  Object.assign(summary, { created: 0, updated: 0, unchanged: 0, revisions: undefined });
}

interface ImportParts {
  readonly engine: Engine;
  /** What rows are committed to: the engine, or in a dry run one that stores nothing. */
  readonly target: EngineCommits;
  readonly site: number;
  readonly resource: Resource;
  /** The head of the system site when the rows were matched. The site itself can be without an epoch before its first change. */
  readonly systemHead: Head;
  /** The revision of the site before the import. */
  readonly startRevision: number;
  readonly matcher: Matcher;
  /** Finds and removes the records that the file lacks; undefined if they are kept. */
  readonly missing: MissingFromFile | undefined;
  readonly summary: WritableSummary;
  readonly options: ImportOptions;
}

/** A row, and the intent that was made of it. */
interface ReadRow {
  readonly intent: Intent;
  /** Returns the row. It is needed again only if it is rejected or reported. */
  row(): NumberedRow;
  /** The values of the row; undefined if no later row can match its record. */
  readonly input?: RowInput | undefined;
}

/** A write of the one transaction: a row, or the removal of a record that the file lacks. */
type AtomicWrite = ReadRow | { readonly intent: Intent };

/** Maximum attempts to store rows, if others change more records in between than a transaction can follow. */
const maxAttempts = 5;

/** Maximum characters of the file in a batch: a row can have 1 MiB, and several copies of it are in memory. */
const maxLength = 4 << 20;

/** Imports the rows of one file, batch by batch. */
class Import {
  readonly #parts: ImportParts;
  /** The rows that are neither committed nor spooled yet. */
  readonly #pending = new PendingBatch<ReadRow>(maxLength);
  /** The match values of the pending rows, by the numbers of the rows; undefined if rows are matched by ID. */
  readonly #pendingValues: ValueIndex | undefined;
  /** The rows of an atomic import, until all of them are known to be valid: about 130 bytes per row. */
  readonly #spool = new SpoolFile();
  readonly #spooled: { readonly rows: FileRange; readonly intents: FileRange }[] = [];
  readonly #errors = new ErrorBudget(noMoreHints);
  readonly #errorTexts = new InternedTexts();

  constructor(parts: ImportParts) {
    this.#parts = parts;
    this.#pendingValues = parts.options.match === undefined ? undefined : new ValueIndex();
  }

  async importAll(rows: AsyncIterable<NumberedRow>): Promise<void> {
    const { options, summary, missing } = this.#parts;
    const yieldIfDue = createYielder();
    for await (const row of rows) {
      options.signal?.throwIfAborted();
      // Rows in memory never yield to the event loop, but signals and the requests of others arrive only between two ticks.
      await yieldIfDue();
      missing?.addRow(row);
      if (row.isExcluded) continue;
      summary.rows++;
      try {
        await this.#addRow(row);
      } catch (error) {
        if (!(error instanceof ProblemError) || error.code !== "invalid-record") throw error;
        await this.#reject(row, error.fieldErrors);
      }
      if (this.#pending.isFull) await (options.atomic ? this.#spoolPending() : this.#commitPending());
    }
    if (!options.atomic) {
      await this.#commitPending();
      await this.#removeMissing();
    } else if (summary.rejected === 0) {
      this.#spoolPending();
      await this.#findMissing();
      await this.#commitSpooled();
    }
  }

  close(): void {
    this.#pendingValues?.close();
    this.#spool.close();
  }

  /** @throws ProblemError `invalid-record` */
  async #addRow(row: NumberedRow): Promise<void> {
    const { matcher, summary, options } = this.#parts;
    const input = parseInput(row.decoded);
    const value = matcher.matchValueOf(input);
    if (value !== undefined && this.#pendingValues?.find(value, 1).length) {
      // The row would match the record of an earlier row that is not stored yet.
      if (options.atomic)
        throw invalidRecordError([
          { field: options.match ?? "", ...fault("duplicate-value", "an earlier row has the same value (--atomic)") },
        ]);
      await this.#commitPending();
    }
    const intent = this.#toIntent(row, input);
    this.#pending.add({ intent, row: () => row, input }, lengthOf(row.source));
    if (value !== undefined) this.#pendingValues?.set(summary.rows, value);
    matcher.trackRow(input, intent.id);
  }

  /**
   * Finds the record of a row, and validates its values.
   * @throws ProblemError `invalid-record`, also if the row would be rejected with the records that are known now
   */
  #toIntent(row: NumberedRow, input: RowInput): Intent {
    const { site, resource, systemHead, matcher, options } = this.#parts;
    const { fieldErrors } = row.decoded;
    const ifSystemEpoch = systemHead.epoch;
    const common = { site, resource: resource.name, actor: operatorActor, at: options.now(), ifSystemEpoch };
    const target = matcher.match(input);
    if (target.operation !== "upsert") {
      const { operation } = target;
      const values = this.#errors.run((limits) => validateAs(operation, resource, input, fieldErrors, limits));
      return { ...common, ...target, valuesJson: JSON.stringify(values) };
    }
    const { valuesJson, newJson } = toUpsertValues(resource, input, fieldErrors);
    const match = { ...target.match, newJson };
    const intent: Intent = { ...common, operation: "upsert", valuesJson, match };
    const reading = toReading(intent, match, match.found);
    if ("rejectionReason" in reading)
      this.#errors.run((limits) => {
        throw invalidRecordError(rejectionFieldErrors(reading, intent, resource, row, limits), limits);
      });
    return intent;
  }

  async #commitPending(): Promise<void> {
    const { matcher, target, options } = this.#parts;
    let rows = this.#pending.take();
    this.#pendingValues?.clear();
    this.#notifyBeforeCommit();
    for (let attempt = 1; rows.length > 0; attempt++) {
      await this.#requireSameMachine();
      const outcomes = await target.commit(rows.map(({ intent }) => intent));
      const outdated: ReadRow[] = [];
      for (const [index, row] of rows.entries()) {
        const outcome = outcomes[index] as Outcome;
        if (isOutdated(outcome)) outdated.push(row);
        else await this.#onResult(row, outcome);
      }
      if (!options.dryRun) await matcher.advancePast(revisionsOf(outcomes));
      if (outdated.length > 0) await this.#catchUp(attempt);
      rows = outdated.map((row) => ({ ...row, intent: matcher.matchAgain(row.intent) }));
    }
  }

  async #catchUp(attempt: number): Promise<void> {
    if (attempt === maxAttempts) throw new RetryableError("other writers change too many records");
    await this.#parts.matcher.catchUp();
  }

  /** Spools the pending rows until all rows are known to be valid. Their match values stay in `#pendingValues`. */
  #spoolPending(): void {
    const batch = this.#pending.take();
    if (batch.length === 0) return;
    const rows = this.#spool.add(batch.map(({ row }) => row()));
    this.#spooled.push({ rows, intents: this.#spool.add(batch.map(({ intent }) => intent)) });
  }

  async #commitSpooled(): Promise<void> {
    const { matcher, summary, options, missing } = this.#parts;
    // Much time may have passed since the rows were read.
    if (!options.dryRun) await matcher.catchUp();
    for (let attempt = 1; await this.#tryCommitSpooled(); attempt++) {
      resetStored(summary);
      missing?.resetOutcomes();
      await this.#catchUp(attempt);
    }
  }

  /** Commits all rows. Returns whether their matches are outdated, so that nothing was stored. */
  async #tryCommitSpooled(): Promise<boolean> {
    const undecided: (readonly AtomicWrite[])[] = [];
    const batches = this.#spooledWrites();
    const intents = function* () {
      for (const batch of batches) {
        undecided.push(batch);
        yield batch.map(({ intent }) => intent);
      }
    };
    let areOutdated = false;
    await this.#requireSameMachine();
    await this.#parts.target.commitAtomically(intents(), async (outcomes) => {
      const batch = undecided.shift() ?? [];
      for (const [index, outcome] of outcomes.entries()) {
        const write = batch[index] as AtomicWrite;
        if (isOutdated(outcome)) areOutdated = true;
        else await ("row" in write ? this.#onResult(write, outcome) : this.#onRemoval(outcome));
      }
    });
    return areOutdated;
  }

  *#spooledWrites(): Generator<readonly AtomicWrite[]> {
    const { matcher, options, missing } = this.#parts;
    for (const { rows, intents } of this.#spooled) {
      options.signal?.throwIfAborted();
      yield this.#spool.read<Intent[]>(intents).map((intent, index) => ({
        intent: matcher.matchAgain(intent),
        row: () => this.#spool.read<NumberedRow[]>(rows)[index] as NumberedRow,
      }));
    }
    if (options.dryRun || !missing?.mayRemove) return;
    for (const batch of missing.batches()) yield batch.map((intent) => ({ intent }));
  }

  /** Finds the records that the file lacks. A dry run reports them. @throws ProblemError `conflict` if they cannot be removed in the same transaction */
  async #findMissing(): Promise<void> {
    const { missing, summary, options } = this.#parts;
    if (!missing) return;
    await missing.find();
    summary.missing = missing.summary;
    const { obstacle } = missing.summary;
    if (options.dryRun) await missing.reportAll();
    else if (options.atomic && obstacle !== undefined)
      throw new ProblemError("conflict", `nothing was stored: ${obstacle}`);
  }

  /** Removes the records that the file lacks, unless there is an obstacle. */
  async #removeMissing(): Promise<void> {
    const { missing, target, options } = this.#parts;
    await this.#findMissing();
    if (!missing?.mayRemove || options.dryRun) return;
    for await (const batch of yieldBetween(missing.batches())) {
      options.signal?.throwIfAborted();
      await this.#requireSameMachine();
      for (const outcome of await target.commit(batch)) await this.#onRemoval(outcome);
    }
  }

  async #onRemoval(outcome: Outcome): Promise<void> {
    const { missing, summary } = this.#parts;
    await missing?.addOutcome(outcome);
    summary.revisions = revisionsOf([outcome], summary.revisions);
    summary.missing = missing?.summary;
  }

  async #onResult({ intent, row, input }: ReadRow, outcome: Outcome): Promise<void> {
    const { matcher, resource, summary, options, missing } = this.#parts;
    if (outcome.kind === "rejected") return this.#reject(row(), rejectionFieldErrors(outcome, intent, resource, row()));
    if (outcome.kind === "unchanged") summary.unchanged++;
    else if (outcome.operation === "create") summary.created++;
    else summary.updated++;
    if (!options.dryRun) summary.revisions = revisionsOf([outcome], summary.revisions);
    await options.onAccepted?.(row(), outcome);
    if (!options.dryRun) missing?.addStored(outcome.id);
    if (input && outcome.kind === "done") matcher.trackRow(input, outcome.id);
    const { rows, created, updated, unchanged } = summary;
    // All rows are valid now. Before this point, an error leaves nothing stored.
    if (options.atomic && created + updated + unchanged === rows) this.#notifyBeforeCommit();
  }

  async #reject(row: NumberedRow, fieldErrors: readonly FieldError[]): Promise<void> {
    const { summary, options } = this.#parts;
    summary.rejected++;
    const listed = fieldErrors.slice(0, (options.maxFieldErrors ?? maxListed) - summary.faults.length);
    for (const { field, detail, ...code } of listed) {
      // Copy the texts: a text that quotes the row would keep in memory all the text that was read together with the row.
      const [ownField, ownDetail] = [this.#errorTexts.copy(field), this.#errorTexts.copy(detail)];
      summary.faults.push({ row: row.number, field: ownField, ...code, detail: ownDetail });
    }
    const more = fieldErrors.length - listed.length;
    if (more > 0) summary.moreFaults = (summary.moreFaults ?? 0) + more;
    await options.onRejected?.(row, fieldErrors);
  }

  /** Tells the caller of the import that rows may be stored from now on. A dry run stores nothing. */
  #notifyBeforeCommit(): void {
    const { options, startRevision } = this.#parts;
    if (!options.dryRun) options.onBeforeCommit?.(startRevision);
  }

  /** @throws ProblemError `conflict` if another machine has taken over the database since the rows were matched */
  async #requireSameMachine(): Promise<void> {
    const { engine, systemHead, options } = this.#parts;
    if (!options.dryRun) await requireSameMachine(engine, systemHead);
  }
}

/** Returns the values of a row. @throws ProblemError `invalid-record` if the row could not be decoded or is not an object */
function parseInput({ input, fieldErrors }: NumberedRow["decoded"]): RowInput {
  if (fieldErrors.some(({ field }) => field === "")) throw invalidRecordError(fieldErrors);
  if (isJsonObject(input)) return input;
  throw invalidRecordError([{ field: "", ...wrongTypeFault("object", input) }]);
}

/** Returns the characters of a row. A CSV row counts with its header, because the header is spooled with each row. */
function lengthOf(source: RowSource): number {
  if (source.format !== "csv") return source.text.length;
  const cells = [source.table.header, source.cells].flat();
  return cells.reduce((sum, cell) => sum + cell.length + 1, 0);
}

function isOutdated(outcome: Outcome): boolean {
  return outcome.kind === "rejected" && outcome.rejectionReason === "match-outdated";
}

/** Returns the errors of a row whose intent was rejected. */
function rejectionFieldErrors(
  { rejectionReason, found }: RejectedOutcome,
  { id, match }: Intent,
  resource: Resource,
  { decoded: { input, fieldErrors } }: NumberedRow,
  limits?: ErrorLimits,
): readonly FieldError[] {
  if (found && match) return severalMatchesError(match.keys.join("."), found).fieldErrors;
  if (rejectionReason === "invalid-create" || rejectionReason === "invalid-update") {
    const kind = rejectionReason === "invalid-create" ? "create" : "update";
    return validationProblem(kind, resource, input as RowInput, fieldErrors, limits).fieldErrors;
  }
  if (rejectionReason === "id-exists") return [idGivenError(id)];
  const detail =
    rejectionReason === "other-epoch"
      ? "the site was restored, renewed or removed during the import"
      : rejectionReason === "id-used"
        ? `the record ${id} was deleted; restore it with restore-record`
        : `the record ${id} was deleted during the import`;
  return [{ field: "", code: rejectionReason === "other-epoch" ? "conflict" : "not-found", detail }];
}

/** Adds to the error of a failed import how many records were stored before. */
function withImported(error: unknown, { created, updated, missing }: ImportSummary): unknown {
  const removed = missing?.removed ?? 0;
  if (!(error instanceof ProblemError) || created + updated + removed === 0) return error;
  const stored = `${created} records were created and ${updated} updated before${removed > 0 ? `, and ${removed} removed` : ""}`;
  return new ProblemError(error.code, `${error.message}; ${stored}`, { fieldErrors: error.fieldErrors, cause: error });
}
