// Imports records: matches each row with a record, and stores the rows in batches, or all of them in one transaction (`atomic`).
//
// A row becomes an intent. Batches of up to 500 intents are committed while the file is read. With `atomic`, rows are spooled to a temporary file
// until all are known to be valid, and then committed together (atomic-import.ts). A dry run does the same without storing anything (`DryRunEngine`).
//
// Invariants:
// - Rows are matched as of one revision. If the row now matches another record, or none (`ifStillMatched`), because others changed the site, the engine
//   rejects the intent, and the row is matched again, up to five times in all. If the database was restored (`ifSystemEpoch`), the engine rejects all
//   further rows. If another machine has taken over the database, the import ends.
// - Two rows with the same match value are never in one batch, so that the second row finds the record of the first. With `atomic`, the second row is
//   rejected.
// - A rejected row does not stop the others, except with `atomic`. After an interruption, the summary counts exactly the rows that were stored.
// - An import by ID keeps the IDs of its rows in memory. Otherwise, the memory does not grow with the number of rows, because spooled rows and match values
//   are in temporary files. The caller supplies the rows. For JSON and XML, the command line first reads the whole file (`readRowsOfCompleteFile` in file-rows.ts).

import { createYielder } from "../../lib/yielding.ts";
import { operatorActor } from "../../model/change.ts";
import type { Engine } from "../../model/engine.ts";
import type { Head } from "../../model/head.ts";
import type { Resource } from "../../model/resource.ts";
import { systemSite } from "../../model/system-site.ts";
import { DryRunEngine } from "../../store/writes/dry-run-engine.ts";
import { ValueIndex } from "../../store/writes/value-index.ts";
import { revisionsOf } from "../journal/journal-entries.ts";
import { commitSpooledRows } from "./atomic-import.ts";
import type { NumberedRow, RowSource } from "./file-rows.ts";
import { ImportContext, type ImportOptions, isMatchChanged, maxMatches } from "./import-context.ts";
import { type ImportSummary, RowCounter, withImported } from "./import-summary.ts";
import { readMatcher } from "./matcher.ts";
import { parseInput, toChange } from "./row-change.ts";
import { repeatedValueError } from "./row-errors.ts";
import { type PendingRow, SpooledRows } from "./spooled-rows.ts";

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
  const counter = new RowCounter(options.maxFieldErrors);
  let pendingValues: ValueIndex | undefined;
  let dryRunEngine: DryRunEngine | undefined;
  try {
    if (match !== undefined) pendingValues = new ValueIndex();
    if (dryRun) dryRunEngine = new DryRunEngine(engine, site);
    const context = new ImportContext({
      site,
      resource,
      matcher,
      engine: dryRunEngine ?? engine,
      heads: engine,
      options,
      counter,
      systemHead: system,
      startRevision: head.revision,
    });
    await new RowImporter(context, spooled, pendingValues).importAll(rows);
  } catch (error) {
    if (signal?.aborted && error === signal.reason) counter.markInterrupted();
    else throw dryRun || atomic ? error : withImported(error, counter.summary);
  } finally {
    matcher.close();
    pendingValues?.close();
    dryRunEngine?.close();
    spooled.close();
  }
  return atomic ? counter.summaryOfAllOrNone() : counter.summary;
}

/** Imports the rows of one file, batch by batch. */
class RowImporter {
  readonly #context: ImportContext;
  readonly #spooled: SpooledRows;
  readonly #pending = new PendingRows();
  /** The match values of the pending rows, by the numbers of the rows; undefined if rows are matched by ID. */
  readonly #pendingValues: ValueIndex | undefined;

  constructor(context: ImportContext, spooled: SpooledRows, pendingValues: ValueIndex | undefined) {
    this.#context = context;
    this.#spooled = spooled;
    this.#pendingValues = pendingValues;
  }

  async importAll(rows: AsyncIterable<NumberedRow>): Promise<void> {
    const { options, counter } = this.#context;
    const yieldIfDue = createYielder();
    for await (const row of rows) {
      options.signal?.throwIfAborted();
      counter.countRead();
      // Rows in memory never yield to the event loop, but signals and the requests of others arrive only between two ticks.
      await yieldIfDue();
      await this.#context.runOrReject(row, () => this.#addRow(row));
      if (this.#pending.isFull) await (options.atomic ? this.#spoolPending() : this.#commitPending());
    }
    if (!options.atomic) await this.#commitPending();
    else if (counter.summary.rejected === 0) {
      this.#spoolPending();
      await commitSpooledRows(this.#context, this.#spooled);
    }
  }

  /** @throws ProblemError `invalid-record` */
  async #addRow(row: NumberedRow): Promise<void> {
    const { site, resource, matcher, options, counter } = this.#context;
    const input = parseInput(row.decoded);
    const value = matcher.matchValueOf(input);
    if (value !== undefined && this.#pendingValues?.find(value, 1).length) {
      if (options.atomic) throw repeatedValueError(options.match);
      await this.#commitPending();
    }
    const match = matcher.match(input);
    const change = toChange(resource, match, input, row.decoded.fieldErrors);
    const intent = { ...change, site, actor: operatorActor, at: options.now() };
    this.#pending.add({ row: () => row, input, intent }, row.source);
    if (value !== undefined) this.#pendingValues?.set(counter.summary.rows, value);
    matcher.trackRow(input, match.id);
  }

  async #commitPending(): Promise<void> {
    const { engine, matcher, options } = this.#context;
    let batch = this.#pending.take();
    this.#pendingValues?.clear();
    this.#context.notifyBeforeCommit();
    for (let attempts = 1; batch.length > 0; attempts++) {
      const mayRepeat = attempts < maxMatches;
      await this.#context.requireSameMachine();
      const outcomes = await engine.commit(this.#context.intentsOf(batch));
      const again = mayRepeat ? batch.filter((_, index) => isMatchChanged(outcomes[index])) : [];
      await this.#context.handleOutcomes(batch, outcomes, mayRepeat);
      if (!options.dryRun) await matcher.advancePast(revisionsOf(outcomes));
      batch = await this.#matchAllAgain(again);
    }
  }

  /** Matches rows again after others have changed their matches. Rejects the rows that cannot be matched any more. */
  async #matchAllAgain(batch: readonly PendingRow[]): Promise<readonly PendingRow[]> {
    if (batch.length > 0) await this.#context.matcher.catchUp();
    const matched: PendingRow[] = [];
    for (const pending of batch)
      await this.#context.runOrReject(pending.row(), () => void matched.push(this.#context.matchAgain(pending)));
    return matched;
  }

  /** Spools the pending rows until all rows are known to be valid. Their match values stay in `#pendingValues`. */
  #spoolPending(): void {
    this.#spooled.add(this.#pending.take());
  }
}

/** Maximum rows of a batch. */
const maxRows = 500;

/** Maximum characters of the file in a batch: a row can have 1 MiB, and several copies of it are in memory. */
const maxLength = 4 << 20;

/** The rows that are neither committed nor spooled yet. They become the next batch. */
class PendingRows {
  #rows: PendingRow[] = [];
  #length = 0;

  /** Whether the rows have reached the maximum of a batch, in rows or in characters. */
  get isFull(): boolean {
    return this.#rows.length >= maxRows || this.#length >= maxLength;
  }

  /** @param source the row as it is in the file */
  add(row: PendingRow, source: RowSource): void {
    this.#rows.push(row);
    this.#length += lengthOf(source);
  }

  /** Returns the rows, and removes them. */
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
