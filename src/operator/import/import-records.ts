import { OwnTexts } from "../../lib/bytes.ts";
import { createPace } from "../../lib/event-loop.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { type Intent, type Outcome, operatorActor } from "../../model/change.ts";
import type { Engine, Head } from "../../model/engine.ts";
import { type Fault, invalidRecord, Refusal } from "../../model/errors.ts";
import { systemSite } from "../../model/limits.ts";
import { readNewRecord, readRecord } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { ValueIndex } from "../../store/writes/found-records.ts";
import { revisionsOf } from "../history.ts";
import type { NumberedRow, RowSource } from "./file-rows.ts";
import {
  type AcceptedOutcome,
  type CommitEngine,
  countOutcome,
  countRejected,
  emptySummary,
  type ImportSummary,
  repeatedKey,
  SimulatedEngine,
  storeFault,
  withProgress,
} from "./import-summary.ts";
import { type Match, type Matcher, type RowInput, readMatcher } from "./matcher.ts";
import { type PendingRow, SpooledRows } from "./spooled-rows.ts";

export interface ImportOptions {
  /** The field by which a row finds its record; without it, rows find records by ID. */
  readonly match?: string | undefined;
  /** Report what would happen, and store nothing. */
  readonly dryRun?: boolean | undefined;
  /** Store all rows or none. */
  readonly atomic?: boolean | undefined;
  /** Stops the import after the rows that are being stored. `rows` must throw this signal's reason as well. */
  readonly signal?: AbortSignal | undefined;
  /** Called for each row that is refused; the import waits for it. */
  readonly onRejected?: ((row: NumberedRow, faults: readonly Fault[]) => Promise<void>) | undefined;
  /** Called for each row that is stored, or would be; the import waits for it. */
  readonly onAccepted?: ((row: NumberedRow, outcome: AcceptedOutcome) => MaybePromise<void>) | undefined;
  /** Faults that the summary lists; by default all. */
  readonly maxFaults?: number | undefined;
  /** Called before rows may be stored, with the revision after which all journal entries of this import are. */
  readonly onStore?: ((revision: number) => void) | undefined;
  readonly now: () => number;
}

/**
 * Creates a record from each row, or updates the one that it matches. A fault in a row does not stop the others, except
 * with `atomic`: then nothing is stored.
 * @throws Refusal when the rows cannot be read or the store cannot be written to; its message says how much was stored before
 */
export async function importRecords(
  engine: Engine,
  site: number,
  resource: Resource,
  rows: AsyncIterable<NumberedRow>,
  options: ImportOptions,
): Promise<ImportSummary> {
  const { atomic, dryRun, match, signal } = options;
  const [system] = (await engine.heads([systemSite])) as [Head];
  const { head, matcher } = await readMatcher(engine, site, resource, match);
  const spooled = new SpooledRows();
  const summary = emptySummary();
  const pendingKeys = match === undefined ? undefined : new ValueIndex();
  let simulated: SimulatedEngine | undefined;
  try {
    if (dryRun) simulated = await SimulatedEngine.open(engine, site, system.epoch);
    const context = { site, resource, matcher, pendingKeys, engine: simulated ?? engine, spooled, options, summary };
    await new ImportRun(context, system.epoch, head.revision).addAll(rows);
  } catch (error) {
    if (signal?.aborted && error === signal.reason) summary.interrupted = true;
    else throw dryRun || atomic ? error : withProgress(error, summary);
  } finally {
    matcher.close();
    pendingKeys?.close();
    simulated?.close();
    spooled.close();
  }
  const isNothingStored = atomic && (summary.rejected > 0 || summary.interrupted);
  return isNothingStored ? { ...summary, created: 0, updated: 0, unchanged: 0, revisions: undefined } : summary;
}

interface ImportContext {
  readonly site: number;
  readonly resource: Resource;
  readonly matcher: Matcher;
  /** The values by which the pending rows are matched, by the numbers of the rows; undefined when rows are matched by ID. */
  readonly pendingKeys: ValueIndex | undefined;
  readonly engine: CommitEngine;
  readonly spooled: SpooledRows;
  readonly options: ImportOptions;
  readonly summary: ImportSummary;
}

/** How often rows are matched with records at most, when others change which record has a value before the rows are stored. */
const maxMatches = 5;

/** The rows of one import, stored batch by batch. */
class ImportRun {
  readonly #context: ImportContext;
  readonly #pending = new RowBatch();
  readonly #faultTexts = new OwnTexts();
  /** The epoch of the system site when the rows were matched with records. The site itself may have no history before its first change. */
  readonly #systemEpoch: string;
  /** The revision of the site before the import. */
  readonly #start: number;

  constructor(context: ImportContext, systemEpoch: string, start: number) {
    this.#context = context;
    this.#systemEpoch = systemEpoch;
    this.#start = start;
  }

  async addAll(rows: AsyncIterable<NumberedRow>): Promise<void> {
    const { options, summary } = this.#context;
    const pace = createPace();
    for await (const row of rows) {
      options.signal?.throwIfAborted();
      summary.rows++;
      // Rows in memory need no turn of the event loop, but signals and the requests of others arrive only between two turns.
      await pace();
      await this.#unlessRejected(row, () => this.#add(row));
      if (this.#pending.isFull) await (options.atomic ? this.#spool() : this.#store());
    }
    if (!options.atomic) await this.#store();
    else if (summary.rejected === 0) await this.#storeTogether();
  }

  /** @throws Refusal `invalid-record` */
  async #add(row: NumberedRow): Promise<void> {
    const { site, matcher, pendingKeys, options, summary } = this.#context;
    const input = readInput(row.decoded);
    const key = matcher.keyOf(input);
    if (key !== undefined && pendingKeys?.find(key, 1).length) {
      if (options.atomic) throw repeatedKey(options.match);
      await this.#store();
    }
    const match = matcher.find(input);
    const intent = toIntent(this.#context.resource, match, input, row.decoded.faults);
    const signed = { ...intent, site, actor: operatorActor, at: options.now() };
    this.#pending.add({ row: () => row, input, intent: signed }, row.source);
    if (key !== undefined) pendingKeys?.set(summary.rows, key);
    matcher.note(input, match.id);
  }

  async #store(): Promise<void> {
    const { engine, matcher, pendingKeys, options } = this.#context;
    let batch = this.#pending.take();
    pendingKeys?.clear();
    this.#noteStore();
    for (let left = maxMatches - 1; batch.length > 0; left--) {
      const outcomes = await engine.commit(this.#intentsOf(batch));
      const again = left > 0 ? batch.filter((_, index) => isFoundOtherwise(outcomes[index])) : [];
      await this.#countOutcomes(batch, outcomes, left > 0);
      if (!options.dryRun) await matcher.passOver(revisionsOf(outcomes));
      batch = await this.#matchAll(again);
    }
  }

  /** Matches rows again, whose matches others have changed. Those that cannot be matched any more are rejected. */
  async #matchAll(batch: readonly PendingRow[]): Promise<readonly PendingRow[]> {
    if (batch.length > 0) await this.#context.matcher.catchUp();
    const matched: PendingRow[] = [];
    for (const pending of batch)
      await this.#unlessRejected(pending.row(), () => void matched.push(this.#matchAgain(pending)));
    return matched;
  }

  /** The row with what it does to the record that it matches by now. @throws Refusal `invalid-record` */
  #matchAgain(pending: PendingRow): PendingRow {
    const { intent } = pending;
    if (!intent.ifFound) return pending;
    const match = this.#context.matcher.findAgain(intent.ifFound);
    const { kind: operation, id, ifFound } = match;
    if (operation === intent.operation && id === intent.id) return { ...pending, intent: { ...intent, ifFound } };
    const { decoded } = pending.row();
    const changed = toIntent(this.#context.resource, match, readInput(decoded), decoded.faults);
    return { ...pending, intent: { ...intent, ...changed } };
  }

  /** Keeps the pending rows until all rows are known to be valid. Their keys stay. */
  #spool(): void {
    this.#context.spooled.add(this.#pending.take());
  }

  async #storeTogether(): Promise<void> {
    this.#spool();
    const { matcher, options, summary } = this.#context;
    for (let left = maxMatches - 1; ; left--) {
      // The rows were matched while the file was read, which may have taken long.
      if (!options.dryRun) await matcher.catchUp();
      if (await this.#tryTogether(left > 0)) return;
      Object.assign(summary, { created: 0, updated: 0, unchanged: 0, revisions: undefined });
    }
  }

  /** @returns whether that was all: not if others changed the match of a row, and it may be tried again */
  async #tryTogether(mayRepeat: boolean): Promise<boolean> {
    const { engine, spooled, options, summary } = this.#context;
    const sent: (readonly PendingRow[])[] = [];
    let unmatched: { readonly row: NumberedRow; readonly error: unknown } | undefined;
    const batches = function* (this: ImportRun) {
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
    let isOutdated = false;
    const storing = engine.commitTogether(batches.call(this), async (outcomes) => {
      isOutdated = mayRepeat && outcomes.some(isFoundOtherwise);
      await this.#countOutcomes(sent.shift() ?? [], outcomes, mayRepeat);
      const { rows, created, updated, unchanged } = summary;
      // Before that, a fault leaves nothing.
      if (created + updated + unchanged === rows) this.#noteStore();
    });
    await storing.catch(async (error) => {
      if (!unmatched) throw error;
      const { row, error: reason } = unmatched;
      await this.#unlessRejected(row, () => Promise.reject(reason));
    });
    return !isOutdated;
  }

  #noteStore(): void {
    const { dryRun, onStore } = this.#context.options;
    if (!dryRun) onStore?.(this.#start);
  }

  #intentsOf(batch: readonly PendingRow[]): readonly Intent[] {
    // A dry run is about one moment.
    const none = this.#context.options.dryRun ? { ifFound: undefined } : {};
    return batch.map(({ intent }) => ({ ...intent, ...none, ifSystemEpoch: this.#systemEpoch }));
  }

  /** @param mayRepeat whether rows that others' changes concern do not count yet */
  async #countOutcomes(batch: readonly PendingRow[], outcomes: readonly Outcome[], mayRepeat: boolean): Promise<void> {
    const { matcher, options, summary } = this.#context;
    if (!options.dryRun) summary.revisions = revisionsOf(outcomes, summary.revisions);
    for (const [index, outcome] of outcomes.entries()) {
      const { row, input, intent } = batch[index] as PendingRow;
      if (mayRepeat && isFoundOtherwise(outcome)) continue;
      if (outcome.kind === "refused") await this.#reject(row(), [storeFault(outcome, intent)]);
      else {
        countOutcome(summary, intent, outcome);
        await options.onAccepted?.(row(), outcome);
      }
      if (outcome.kind === "done" && input) matcher.note(input, outcome.id);
    }
  }

  /** Rejects the row when `work` throws its faults. */
  async #unlessRejected(row: NumberedRow, work: () => MaybePromise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "invalid-record") throw error;
      await this.#reject(row, error.faults);
    }
  }

  async #reject(row: NumberedRow, faults: readonly Fault[]): Promise<void> {
    const { options, summary } = this.#context;
    countRejected(summary, row.number, faults, this.#faultTexts, options.maxFaults);
    await options.onRejected?.(row, faults);
  }
}

function isFoundOtherwise(outcome: Outcome | undefined): boolean {
  return outcome?.kind === "refused" && outcome.why === "found-otherwise";
}

const maxRows = 500;

/** In characters of the file: rows are as long as 1 MiB, and several copies of these are in memory. */
const maxLength = 4 << 20;

/** Rows that are stored together, or kept until all are. */
class RowBatch {
  #rows: PendingRow[] = [];
  #length = 0;

  /** Whether no more rows are to be added. */
  get isFull(): boolean {
    return this.#rows.length >= maxRows || this.#length >= maxLength;
  }

  /** @param source of the row */
  add(row: PendingRow, source: RowSource): void {
    this.#rows.push(row);
    this.#length += lengthOf(source);
  }

  /** The rows, which are no longer in it. */
  take(): readonly PendingRow[] {
    const rows = this.#rows;
    this.#rows = [];
    this.#length = 0;
    return rows;
  }
}

/** In characters; of a row of CSV with the header, which is written with each row that is kept. */
function lengthOf(source: RowSource): number {
  if (source.format !== "csv") return source.text.length;
  const cells = [source.table.header, source.cells].flat();
  return cells.reduce((sum, cell) => sum + cell.length + 1, 0);
}

// A row of an import as an intent.

/** The values of a row. @throws Refusal `invalid-record` when the row could not be decoded or is not an object */
function readInput({ input, faults }: NumberedRow["decoded"]): RowInput {
  if (faults.some(({ field }) => field === "")) throw invalidRecord(faults);
  if (isObject(input)) return input;
  throw invalidRecord([{ field: "", detail: `must be a record, not ${JSON.stringify(input)?.slice(0, 40)}` }]);
}

function isObject(input: unknown): input is RowInput {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}

/** What a row does to the record that it matches. @throws Refusal `invalid-record` */
function toIntent(resource: Resource, match: Match, { ID: _, ...fields }: RowInput, faults: readonly Fault[]) {
  const values =
    match.kind === "update" ? readRecord(resource, fields, faults).values : readNewRecord(resource, fields, faults);
  const { kind: operation, id, ifFound } = match;
  return { resource: resource.name, operation, id, text: JSON.stringify(values), ifFound };
}
