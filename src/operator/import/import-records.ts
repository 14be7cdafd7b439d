// Imports records: matches each row with a record, and stores the rows in batches or in a single transaction (`atomic`).
//
// Take `import brands towns.csv --match Name`, into a site with the brands 1 "Acme" and 2 "Best":
//
//   Name,Address.Town
//   Acme,Oslo            matches brand 1, so it becomes an update
//   Cube,Bergen          matches nothing, so it becomes a create
//
// Say a client renames brand 1 to "Former" before the batch is committed. Both rows are upserts (store/writes/record-match.ts), validated both as
// changes and as new brands, so the transaction then creates both.
//
// With `removeMissing`, the records that aren't in the file are deleted after its rows are stored, in the same run (missing-from-file.ts).
//
// Without `atomic`, batches are committed while the file is being read. With it, rows are spooled to a temporary file until all are known to be valid,
// and then committed together. A dry run does all this too, but stores nothing (`DryRunEngine`).
//
// Invariants:
// - If the database has been restored since rows were matched, the engine rejects all further rows (`ifSystemEpoch`). If another machine has taken over
//   the database, the import ends.
// - Two rows with the same match value are never in one batch, so that the second finds the first one's record. With `atomic`, the second is rejected.
// - If two rows are for the same record and differ, the later one wins, and its warning names the first.
// - A rejected row doesn't stop the others, except with `atomic`. If the import is interrupted, its summary counts exactly the rows that were stored.
// - Memory doesn't grow with the number of rows, because spooled rows and match values are in temporary files. The exception: matching by ID keeps the
//   IDs in memory.

import { copyText, InternedTexts } from "../../lib/bytes.ts";
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
  resolveMatch,
  severalMatchesError,
  toUpsertValues,
  validateAs,
  validationProblem,
} from "../../store/writes/record-match.ts";
import { type FileRange, SpoolFile } from "../files/spool-file.ts";
import { type RevisionRange, requireSameMachine, revisionsOf } from "../journal/journal-entries.ts";
import { PendingBatch } from "../records/pending-batch.ts";
import type { NumberedRow, RowSource, RowWarning } from "./file-rows.ts";
import { idGivenError, type Matcher, type RowInput, readMatcher } from "./matcher.ts";
import { MissingFromFile, type MissingSummary, type RemovalOptions } from "./missing-from-file.ts";
import { type RepairableValues, RepairableValuesCollector } from "./repairable-values.ts";

export interface ImportOptions {
  /** The field to match rows by, instead of the ID. */
  readonly match?: string | undefined;
  /** Store all rows or none. */
  readonly atomic?: boolean | undefined;
  /** Only report the outcomes. */
  readonly dryRun?: boolean | undefined;
  /** Remove records that aren't in the file. */
  readonly removeMissing?: RemovalOptions | undefined;
  /** Stops the import after the rows that are being stored. `rows` must throw this signal's reason, too. */
  readonly signal?: AbortSignal | undefined;
  /** The import waits for it. */
  readonly onRejected?: ((row: NumberedRow, fieldErrors: readonly FieldError[]) => Promise<void>) | undefined;
  /** Called for each row that's stored, or in a dry run would be. The import waits for it. */
  readonly onAccepted?: ((row: NumberedRow, outcome: AcceptedOutcome) => void | Promise<void>) | undefined;
  /** How many field errors the summary lists, and how many warnings; by default 10,000. */
  readonly maxListed?: number | undefined;
  /** Called before each commit, with the site's revision before the import, which is lower than any the import writes. */
  readonly onBeforeCommit?: ((revision: number) => void) | undefined;
  readonly now: () => number;
}

type RowFieldError = FieldError & { readonly row: number };
type ImportWarning = RowWarning & { readonly row: number };

/** Part of the `--json` output. The counts are rows. */
export interface ImportSummary {
  readonly rows: number;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly rejected: number;
  /** Whether the import was stopped before the last row. */
  readonly interrupted: boolean;
  /** What the import wrote; undefined if nothing. */
  readonly revisions: RevisionRange | undefined;
  /** The first errors in rejected rows. */
  readonly faults: readonly RowFieldError[];
  /** How many errors aren't in `faults`; undefined if none. */
  readonly moreFaults?: number | undefined;
  /** The first things that may surprise people, by row. */
  readonly warnings: readonly ImportWarning[];
  readonly moreWarnings?: number | undefined;
  /** Text in a table's cells that a mapping could turn into valid values. */
  readonly values: readonly RepairableValues[];
  /** The records that aren't in the file; undefined without `removeMissing`. */
  readonly missing?: MissingSummary | undefined;
}

/** Nobody reads more errors than this, and a file can have millions. */
const maxListed = 10_000;

/**
 * Updates each row's record, or creates it. An invalid row doesn't stop the others, except with `atomic`, when nothing is stored.
 * @throws ProblemError if the rows can't be read or the database can't be written. The message says how much had been stored by then
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
  const summary: WritableSummary = {
    ...counts,
    interrupted: false,
    revisions: undefined,
    faults: [],
    warnings: [],
    values: [],
  };
  const values = new RepairableValuesCollector(resource);
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
    const parts = { ...common, target, startRevision: head.revision, matcher, missing, summary, values, options };
    await use(new Import(parts)).importAll(rows);
  } catch (error) {
    if (signal?.aborted && error === signal.reason) summary.interrupted = true;
    else throw dryRun || atomic ? error : withImported(error, summary);
  }
  if (atomic && (summary.rejected > 0 || summary.interrupted)) resetStored(summary);
  summary.warnings.sort((one, other) => one.row - other.row);
  summary.values = values.values;
  return summary;
}

type WritableSummary = { -readonly [Member in keyof ImportSummary]: ImportSummary[Member] } & {
  readonly faults: RowFieldError[];
  readonly warnings: ImportWarning[];
};

/** For a transaction that has stored nothing. */
function resetStored(summary: WritableSummary): void {
  Object.assign(summary, { created: 0, updated: 0, unchanged: 0, revisions: undefined });
}

interface ImportParts {
  readonly engine: Engine;
  /** Where rows are committed: the engine, or in a dry run one that stores nothing. */
  readonly target: EngineCommits;
  readonly site: number;
  readonly resource: Resource;
  /** The system site's head when rows were matched. The site itself may not have an epoch before its first change. */
  readonly systemHead: Head;
  /** The site's revision before the import. */
  readonly startRevision: number;
  readonly matcher: Matcher;
  /** Undefined if records that aren't in the file are kept. */
  readonly missing: MissingFromFile | undefined;
  readonly summary: WritableSummary;
  readonly values: RepairableValuesCollector;
  readonly options: ImportOptions;
}

interface ReadRow {
  readonly intent: Intent;
  readonly number: number;
  /** The number of the first row for the same record; undefined if that's this one. */
  readonly first: number | undefined;
  /** Only needed again if the row is rejected or reported. */
  row(): NumberedRow;
  /** The row's values; undefined if no later row can match its record. */
  readonly input?: RowInput | undefined;
}

type SpooledWrite = Pick<ReadRow, "intent" | "number" | "first">;

/** A row, or the removal of a record that isn't in the file. */
type AtomicWrite = ReadRow | { readonly intent: Intent };

/** For when others change more records in between than a transaction can follow. */
const maxAttempts = 5;

/** Characters per batch. A row can have 1 MiB, and there are several copies of it in memory. */
const maxLength = 4 << 20;

class Import {
  readonly #parts: ImportParts;
  /** Rows that are neither committed nor spooled yet. */
  readonly #pending = new PendingBatch<ReadRow>(maxLength);
  /** Match values of pending rows, except with `atomic`. */
  readonly #pendingValues = new Set<string>();
  /** An atomic import's rows, until all are known to be valid. About 130 bytes per row. */
  readonly #spool = new SpoolFile();
  readonly #spooled: { readonly rows: FileRange; readonly writes: FileRange }[] = [];
  readonly #errors = new ErrorBudget(noMoreHints);
  readonly #errorTexts = new InternedTexts();

  constructor(parts: ImportParts) {
    this.#parts = parts;
  }

  async importAll(rows: AsyncIterable<NumberedRow>): Promise<void> {
    const { options, summary, missing } = this.#parts;
    const yieldIfDue = createYielder();
    const addRows = async () => {
      for await (const row of rows) {
        options.signal?.throwIfAborted();
        // If the rows are in memory, nothing else yields to the event loop, and signals and other requests would have to wait.
        await yieldIfDue();
        missing?.addRow(row);
        if (row.isExcluded) continue;
        summary.rows++;
        this.#addWarnings(row.number, row.warnings);
        try {
          await this.#addRow(row);
        } catch (error) {
          if (!(error instanceof ProblemError) || error.code !== "invalid-record") throw error;
          await this.#reject(row, error.fieldErrors);
        }
        if (this.#pending.isFull) await (options.atomic ? this.#spoolPending() : this.#commitPending());
      }
    };
    await addRows().catch(async (error) => {
      // All rows before another header are stored, so that it's enough to import the rest.
      if (!options.atomic && error instanceof ProblemError && summary.rows > 0) await this.#commitPending();
      throw error;
    });
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
    this.#spool.close();
  }

  /** @throws ProblemError `invalid-record` */
  async #addRow(row: NumberedRow): Promise<void> {
    const { matcher, options } = this.#parts;
    const input = parseInput(row.decoded);
    const value = matcher.matchValueOf(input);
    // The row would match the record of an earlier row, which isn't stored yet.
    if (value !== undefined && this.#pendingValues.has(value)) await this.#commitPending();
    const intent = this.#toIntent(row, input);
    const { number } = row;
    const first = matcher.firstRowOf(input, number);
    if (value !== undefined && options.atomic && first !== undefined) {
      const detail = `row ${first} has the same value, which --atomic doesn't allow`;
      throw invalidRecordError([{ field: options.match ?? "", ...fault("duplicate-value", detail) }]);
    }
    this.#pending.add({ intent, number, first, row: () => row, input }, lengthOf(row.source));
    if (value !== undefined && !options.atomic) this.#pendingValues.add(value);
    matcher.trackRow(input, intent.id);
  }

  /** @throws ProblemError `invalid-record`, also if the row would be rejected as things are now */
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
    const resolved = resolveMatch(intent, match, match.found);
    if ("rejectionReason" in resolved)
      this.#errors.run((limits) => {
        throw invalidRecordError(rejectionFieldErrors(resolved, intent, resource, row, limits), limits);
      });
    return intent;
  }

  async #commitPending(): Promise<void> {
    const { matcher, target, options } = this.#parts;
    let rows = this.#pending.take();
    this.#pendingValues.clear();
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
    if (attempt === maxAttempts) throw new RetryableError("other writers are changing too many records");
    await this.#parts.matcher.catchUp();
  }

  #spoolPending(): void {
    const batch = this.#pending.take();
    if (batch.length === 0) return;
    const rows = this.#spool.add(batch.map(({ row }) => row()));
    const writes = batch.map(({ intent, number, first }): SpooledWrite => ({ intent, number, first }));
    this.#spooled.push({ rows, writes: this.#spool.add(writes) });
  }

  async #commitSpooled(): Promise<void> {
    const { matcher, summary, options, missing } = this.#parts;
    // A lot of time may have passed since the rows were read.
    if (!options.dryRun) await matcher.catchUp();
    const { length } = summary.warnings;
    const { moreWarnings } = summary;
    for (let attempt = 1; await this.#tryCommitSpooled(); attempt++) {
      resetStored(summary);
      summary.warnings.length = length;
      summary.moreWarnings = moreWarnings;
      missing?.resetOutcomes();
      await this.#catchUp(attempt);
    }
  }

  /** @returns true if matches were outdated, so that nothing was stored */
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
    for (const { rows, writes } of this.#spooled) {
      options.signal?.throwIfAborted();
      yield this.#spool.read<SpooledWrite[]>(writes).map(({ intent, ...numbers }, index) => ({
        ...numbers,
        intent: matcher.matchAgain(intent),
        row: () => this.#spool.read<NumberedRow[]>(rows)[index] as NumberedRow,
      }));
    }
    if (options.dryRun || !missing?.mayRemove) return;
    for (const batch of missing.batches()) yield batch.map((intent) => ({ intent }));
  }

  /** A dry run reports them. @throws ProblemError `conflict` if they can't be removed in the same transaction */
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

  async #onResult({ intent, number, first, row, input }: ReadRow, outcome: Outcome): Promise<void> {
    const { matcher, resource, summary, options, missing } = this.#parts;
    if (outcome.kind === "rejected") return this.#reject(row(), rejectionFieldErrors(outcome, intent, resource, row()));
    if (outcome.kind === "unchanged") summary.unchanged++;
    else if (outcome.operation === "create") summary.created++;
    else summary.updated++;
    if (!options.dryRun) summary.revisions = revisionsOf([outcome], summary.revisions);
    // If nothing changed, the two rows don't contradict each other.
    const warnings = first !== undefined && outcome.kind === "done" ? [sameRecordWarning(first, options.match)] : [];
    this.#addWarnings(number, warnings);
    await options.onAccepted?.(withWarnings(row(), warnings), outcome);
    if (!options.dryRun) missing?.addStored(outcome.id);
    if (input && outcome.kind === "done") matcher.trackRow(input, outcome.id);
    const { rows, created, updated, unchanged } = summary;
    // Once all rows are valid, they may be stored. Until then, an error leaves nothing behind.
    if (options.atomic && created + updated + unchanged === rows) this.#notifyBeforeCommit();
  }

  async #reject(row: NumberedRow, fieldErrors: readonly FieldError[]): Promise<void> {
    const { summary, values, options } = this.#parts;
    summary.rejected++;
    values.add(row, fieldErrors);
    const listed = fieldErrors.slice(0, this.#maxListed - summary.faults.length);
    for (const { field, detail, ...code } of listed) {
      // Copied, because a string that quotes the row would keep the whole chunk of the file in memory.
      const [ownField, ownDetail] = [this.#errorTexts.copy(field), this.#errorTexts.copy(detail)];
      summary.faults.push({ row: row.number, field: ownField, ...code, detail: ownDetail });
    }
    const more = fieldErrors.length - listed.length;
    if (more > 0) summary.moreFaults = (summary.moreFaults ?? 0) + more;
    await options.onRejected?.(row, fieldErrors);
  }

  #addWarnings(row: number, warnings: readonly RowWarning[] = []): void {
    const { summary } = this.#parts;
    const listed = warnings.slice(0, this.#maxListed - summary.warnings.length);
    for (const { detail, ...place } of listed) summary.warnings.push({ row, ...place, detail: copyText(detail) });
    const more = warnings.length - listed.length;
    if (more > 0) summary.moreWarnings = (summary.moreWarnings ?? 0) + more;
  }

  get #maxListed(): number {
    return this.#parts.options.maxListed ?? maxListed;
  }

  #notifyBeforeCommit(): void {
    const { options, startRevision } = this.#parts;
    if (!options.dryRun) options.onBeforeCommit?.(startRevision);
  }

  /** @throws ProblemError `conflict` if another machine has taken over the database since rows were matched */
  async #requireSameMachine(): Promise<void> {
    const { engine, systemHead, options } = this.#parts;
    if (!options.dryRun) await requireSameMachine(engine, systemHead);
  }
}

/** @param first the first row for the same record */
function sameRecordWarning(first: number, match = "ID"): RowWarning {
  const detail = `row ${first} has the same value, so this row changes its record again; leave one of them out, or if they're different records, match by another field`;
  return { field: match, detail };
}

function withWarnings(row: NumberedRow, warnings: readonly RowWarning[]): NumberedRow {
  return warnings.length === 0 ? row : { ...row, warnings: [...(row.warnings ?? []), ...warnings] };
}

/** @throws ProblemError `invalid-record` if the row couldn't be decoded or isn't an object */
function parseInput({ input, fieldErrors }: NumberedRow["decoded"]): RowInput {
  if (fieldErrors.some(({ field }) => field === "")) throw invalidRecordError(fieldErrors);
  if (isJsonObject(input)) return input;
  throw invalidRecordError([{ field: "", ...wrongTypeFault("object", input) }]);
}

/** In characters. A table's row includes its header, which is spooled with each row. */
function lengthOf(source: RowSource): number {
  if (!("cells" in source)) return source.text.length;
  const cells = [source.table.header, source.cells].flat();
  return cells.reduce((sum, cell) => sum + cell.length + 1, 0);
}

function isOutdated(outcome: Outcome): boolean {
  return outcome.kind === "rejected" && outcome.rejectionReason === "match-outdated";
}

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
        ? `the record ${id} was deleted earlier; bring it back with \`restore-record\``
        : `the record ${id} was deleted during the import`;
  return [{ field: "", code: rejectionReason === "other-epoch" ? "conflict" : "not-found", detail }];
}

/** Adds how much had been stored to the error of a failed import. */
function withImported(error: unknown, { created, updated, missing }: ImportSummary): unknown {
  const removed = missing?.removed ?? 0;
  if (!(error instanceof ProblemError) || created + updated + removed === 0) return error;
  const stored = `by then, ${created} records had been created and ${updated} updated${removed > 0 ? `, and ${removed} removed` : ""}`;
  return new ProblemError(error.code, `${error.message}; ${stored}`, { fieldErrors: error.fieldErrors, cause: error });
}
