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
// With `removeMissing`, the records that the file lacks are deleted after its rows (missing-records.ts), as part of the same run.
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

import { createYielder, yieldBetween } from "../../lib/yielding.ts";
import type { Intent, Outcome } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import { RetryableError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import type { Resource } from "../../model/resource.ts";
import { systemSite } from "../../model/system-site.ts";
import { ValueIndex } from "../../store/writes/value-index.ts";
import { revisionsOf } from "../journal/journal-entries.ts";
import { PendingBatch } from "../records/pending-batch.ts";
import type { NumberedRow, RowSource } from "./file-rows.ts";
import { type ImportSummary, withImported } from "./import-summary.ts";
import { ImportTarget } from "./import-target.ts";
import { type Matcher, type RowInput, readMatcher } from "./matcher.ts";
import { type MissingOptions, MissingRecords, obstacleError } from "./missing-records.ts";
import { type PendingRow, parseInput, RowChanges } from "./row-change.ts";
import { repeatedValueError } from "./row-errors.ts";
import { type RowResultOptions, RowResults } from "./row-results.ts";
import { type SpooledRow, SpooledRows } from "./spooled-rows.ts";

export interface ImportOptions extends RowResultOptions {
  /** The field by which rows are matched with records; by default, rows are matched by ID. */
  readonly match?: string | undefined;
  /** Store all rows or none. */
  readonly atomic?: boolean | undefined;
  /** Remove the records that the file lacks. */
  readonly removeMissing?: MissingOptions | undefined;
  /** Stops the import after the rows that are being stored. `rows` must throw the reason of this signal, too. */
  readonly signal?: AbortSignal | undefined;
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
  const { atomic, dryRun, signal } = options;
  const results = new RowResults(resource, options);
  const { counter } = results;
  try {
    await importRows(engine, site, resource, rows, options, results);
  } catch (error) {
    if (signal?.aborted && error === signal.reason) counter.markInterrupted();
    else throw dryRun || atomic ? error : withImported(error, counter.summary);
  }
  return atomic ? counter.summaryOfAllOrNone() : counter.summary;
}

async function importRows(
  engine: Engine,
  site: number,
  resource: Resource,
  rows: AsyncIterable<NumberedRow>,
  options: ImportOptions,
  results: RowResults,
): Promise<void> {
  using opened = new DisposableStack();
  const use = <T extends { close(): void }>(one: T): T => opened.adopt(one, () => one.close());
  const [systemHead] = (await engine.readHeads([systemSite])) as [Head];
  const { head, total, textField, matcher } = await readMatcher(engine, site, resource, options.match);
  use(matcher);
  const target = use(new ImportTarget(engine, site, { ...options, systemHead, startRevision: head.revision }));
  const { now, removeMissing } = options;
  const changes = new RowChanges(matcher, { site, resource, systemEpoch: systemHead.epoch, now });
  const common = { engine, site, resource, textField, head, total, systemEpoch: systemHead.epoch, now };
  const missing = removeMissing && use(new MissingRecords({ ...common, options: removeMissing }));
  await use(new RowImporter({ matcher, changes, target, results, options, missing })).importAll(rows);
}

interface ImporterParts {
  readonly matcher: Matcher;
  readonly changes: RowChanges;
  readonly target: ImportTarget;
  readonly results: RowResults;
  readonly options: ImportOptions;
  /** Finds and removes the records that the file lacks; undefined if they are kept. */
  readonly missing: MissingRecords | undefined;
}

/** A write of the one transaction: a row, or the removal of a record that the file lacks. */
type AtomicWrite = SpooledRow | { readonly intent: Intent };

/** Maximum attempts to store rows, if others change more records in between than a transaction can follow. */
const maxAttempts = 5;

/** Maximum characters of the file in a batch: a row can have 1 MiB, and several copies of it are in memory. */
const maxLength = 4 << 20;

/** Imports the rows of one file, batch by batch. */
class RowImporter {
  readonly #parts: ImporterParts;
  readonly #spooled = new SpooledRows();
  /** The rows that are neither committed nor spooled yet. */
  readonly #pending = new PendingBatch<PendingRow>(maxLength);
  /** The match values of the pending rows, by the numbers of the rows; undefined if rows are matched by ID. */
  readonly #pendingValues: ValueIndex | undefined;

  constructor(parts: ImporterParts) {
    this.#parts = parts;
    this.#pendingValues = parts.options.match === undefined ? undefined : new ValueIndex();
  }

  async importAll(rows: AsyncIterable<NumberedRow>): Promise<void> {
    const { options, results, missing } = this.#parts;
    const yieldIfDue = createYielder();
    for await (const row of rows) {
      options.signal?.throwIfAborted();
      // Rows in memory never yield to the event loop, but signals and the requests of others arrive only between two ticks.
      await yieldIfDue();
      missing?.addRow(row);
      if (row.isExcluded) continue;
      results.counter.countRead();
      await results.runOrReject(row, () => this.#addRow(row));
      if (this.#pending.isFull) await (options.atomic ? this.#spoolPending() : this.#commitPending());
    }
    if (!options.atomic) {
      await this.#commitPending();
      await this.#removeMissing();
    } else if (results.counter.summary.rejected === 0) {
      this.#spoolPending();
      await this.#findMissing();
      await this.#commitSpooled();
    }
  }

  close(): void {
    this.#pendingValues?.close();
    this.#spooled.close();
  }

  /** @throws ProblemError `invalid-record` */
  async #addRow(row: NumberedRow): Promise<void> {
    const { matcher, changes, results, options } = this.#parts;
    const input = parseInput(row.decoded);
    const value = matcher.matchValueOf(input);
    if (value !== undefined && this.#pendingValues?.find(value, 1).length) {
      if (options.atomic) throw repeatedValueError(options.match);
      await this.#commitPending();
    }
    const pending = changes.toPendingRow(row, input);
    this.#pending.add(pending, lengthOf(row.source));
    if (value !== undefined) this.#pendingValues?.set(results.counter.summary.rows, value);
    matcher.trackRow(input, pending.intent.id);
  }

  async #commitPending(): Promise<void> {
    const { matcher, target, options } = this.#parts;
    let rows = this.#pending.take();
    this.#pendingValues?.clear();
    target.notifyBeforeCommit();
    for (let attempt = 1; rows.length > 0; attempt++) {
      const outcomes = await target.commit(rows.map(({ intent }) => intent));
      const outdated: PendingRow[] = [];
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
    this.#spooled.add(this.#pending.take());
  }

  async #commitSpooled(): Promise<void> {
    const { matcher, results, options, missing } = this.#parts;
    // Much time may have passed since the rows were read.
    if (!options.dryRun) await matcher.catchUp();
    for (let attempt = 1; await this.#tryCommitSpooled(); attempt++) {
      results.counter.resetStored();
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
    for (const batch of this.#spooled.batches()) {
      options.signal?.throwIfAborted();
      yield batch.map(({ intent, row }) => ({ intent: matcher.matchAgain(intent), row }));
    }
    if (options.dryRun || !missing?.mayRemove) return;
    for (const batch of missing.batches()) yield batch.map((intent) => ({ intent }));
  }

  /** Finds the records that the file lacks. A dry run reports them. @throws ProblemError `conflict` if they cannot be removed in the same transaction */
  async #findMissing(): Promise<void> {
    const { missing, results, options } = this.#parts;
    if (!missing) return;
    await missing.find();
    const { summary } = missing;
    results.counter.setMissing(summary);
    if (options.dryRun) await missing.reportAll();
    else if (options.atomic && summary.obstacle !== undefined) throw obstacleError(summary.obstacle);
  }

  /** Removes the records that the file lacks, unless there is an obstacle. */
  async #removeMissing(): Promise<void> {
    const { missing, target, options } = this.#parts;
    await this.#findMissing();
    if (!missing?.mayRemove || options.dryRun) return;
    for await (const batch of yieldBetween(missing.batches())) {
      options.signal?.throwIfAborted();
      for (const outcome of await target.commit(batch)) await this.#onRemoval(outcome);
    }
  }

  async #onRemoval(outcome: Outcome): Promise<void> {
    const { missing, results } = this.#parts;
    await missing?.addOutcome(outcome);
    results.counter.addRevisions([outcome]);
    if (missing) results.counter.setMissing(missing.summary);
  }

  /** @param row its `input` is undefined if no later row can match it */
  async #onResult(row: SpooledRow & { readonly input?: RowInput | undefined }, outcome: Outcome): Promise<void> {
    const { matcher, target, results, options, missing } = this.#parts;
    await results.add(row, outcome);
    if ("id" in outcome && !options.dryRun) missing?.addStored(outcome.id);
    if (row.input && outcome.kind === "done") matcher.trackRow(row.input, outcome.id);
    // All rows are valid now. Before this point, an error leaves nothing stored.
    if (options.atomic && results.counter.areAllStored) target.notifyBeforeCommit();
  }
}

function isOutdated(outcome: Outcome): boolean {
  return outcome.kind === "rejected" && outcome.rejectionReason === "match-outdated";
}

/** Returns the characters of a row. A CSV row counts with its header, because the header is spooled with each row. */
function lengthOf(source: RowSource): number {
  if (source.format !== "csv") return source.text.length;
  const cells = [source.table.header, source.cells].flat();
  return cells.reduce((sum, cell) => sum + cell.length + 1, 0);
}
