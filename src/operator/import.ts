import type { MaybePromise } from "../lib/maybe-promise.ts";
import { OwnTexts, withOwnMemory } from "../lib/own-memory.ts";
import { createPace } from "../lib/pace.ts";
import { operatorActor } from "../model/change.ts";
import type { Engine, Head } from "../model/engine.ts";
import { type Fault, Refusal } from "../model/errors.ts";
import type { Intent, Outcome } from "../model/intent.ts";
import type { Resource } from "../model/resource.ts";
import { systemSite } from "../model/system-site.ts";
import {
  type AcceptedOutcome,
  countOutcome,
  countRejected,
  emptySummary,
  type ImportSummary,
  repeatedKey,
  storeFault,
  withProgress,
} from "./import-summary.ts";
import { type Matcher, readMatcher } from "./matcher.ts";
import { revisionsOf } from "./revisions.ts";
import { RowBatch } from "./row-batch.ts";
import { readInput, toIntent } from "./row-intent.ts";
import type { NumberedRow } from "./rows.ts";
import { type CommitEngine, simulatedEngine } from "./simulated-engine.ts";
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
  const target = dryRun ? await simulatedEngine(engine, site, system.epoch) : engine;
  const spooled = new SpooledRows();
  const run = new ImportRun({ site, resource, matcher, engine: target, spooled, options }, system.epoch, head.revision);
  const { summary } = run;
  try {
    await run.addAll(rows);
  } catch (error) {
    if (signal?.aborted && error === signal.reason) summary.interrupted = true;
    else throw dryRun || atomic ? error : withProgress(error, summary);
  } finally {
    spooled.close();
  }
  const isNothingStored = atomic && (summary.rejected > 0 || summary.interrupted);
  return isNothingStored ? { ...summary, created: 0, updated: 0, unchanged: 0, revisions: undefined } : summary;
}

interface ImportContext {
  readonly site: number;
  readonly resource: Resource;
  readonly matcher: Matcher;
  readonly engine: CommitEngine;
  readonly spooled: SpooledRows;
  readonly options: ImportOptions;
}

/** The rows of one import, stored batch by batch. */
class ImportRun {
  readonly summary = emptySummary();
  readonly #context: ImportContext;
  readonly #pending = new RowBatch();
  /** The values by which the pending rows are matched. */
  #pendingKeys = new Set<string>();
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
    const { atomic, signal } = this.#context.options;
    const pace = createPace();
    for await (const row of rows) {
      signal?.throwIfAborted();
      this.summary.rows++;
      // Rows in memory need no turn of the event loop, but signals and the requests of others arrive only between two turns.
      await pace();
      try {
        await this.#add(row);
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== "invalid-record") throw error;
        await this.#reject(row, error.faults);
      }
      if (this.#pending.isFull) await (atomic ? this.#spool() : this.#store());
    }
    if (!atomic) await this.#store();
    else if (this.summary.rejected === 0) await this.#storeTogether();
  }

  /** @throws Refusal `invalid-record` */
  async #add(row: NumberedRow): Promise<void> {
    const { site, resource, matcher, options } = this.#context;
    const input = readInput(row.decoded);
    const key = matcher.keyOf(input);
    if (key !== undefined && this.#pendingKeys.has(key)) {
      if (options.atomic) throw repeatedKey(options.match);
      await this.#store();
    }
    const match = matcher.find(input);
    const intent = toIntent(resource, match, input, row.decoded.faults);
    const signed = { ...intent, site, actor: operatorActor, at: options.now() };
    this.#pending.add({ row: () => row, input, intent: signed }, row.source);
    if (key !== undefined) this.#pendingKeys.add(withOwnMemory(key));
    matcher.note(input, match.id);
  }

  async #store(): Promise<void> {
    const batch = this.#pending.take();
    this.#pendingKeys = new Set();
    this.#noteStore();
    if (batch.length > 0) await this.#countOutcomes(batch, await this.#context.engine.commit(this.#intentsOf(batch)));
  }

  /** Keeps the pending rows until all rows are known to be valid. Their keys stay. */
  #spool(): void {
    this.#context.spooled.add(this.#pending.take());
  }

  async #storeTogether(): Promise<void> {
    this.#spool();
    const sent: (readonly PendingRow[])[] = [];
    const batches = function* (this: ImportRun) {
      for (const batch of this.#context.spooled.batches()) {
        this.#context.options.signal?.throwIfAborted();
        sent.push(batch);
        yield this.#intentsOf(batch);
      }
    };
    await this.#context.engine.commitTogether(batches.call(this), async (outcomes) => {
      await this.#countOutcomes(sent.shift() ?? [], outcomes);
      const { rows, created, updated, unchanged } = this.summary;
      // Before that, a fault leaves nothing.
      if (created + updated + unchanged === rows) this.#noteStore();
    });
  }

  #noteStore(): void {
    const { dryRun, onStore } = this.#context.options;
    if (!dryRun) onStore?.(this.#start);
  }

  #intentsOf(batch: readonly PendingRow[]): readonly Intent[] {
    return batch.map(({ intent }) => ({ ...intent, ifSystemEpoch: this.#systemEpoch }));
  }

  async #countOutcomes(batch: readonly PendingRow[], outcomes: readonly Outcome[]): Promise<void> {
    if (!this.#context.options.dryRun) this.summary.revisions = revisionsOf(outcomes, this.summary.revisions);
    for (const [index, outcome] of outcomes.entries()) {
      const { row, input, intent } = batch[index] as PendingRow;
      if (outcome.kind === "refused") await this.#reject(row(), [storeFault(outcome, intent)]);
      else {
        countOutcome(this.summary, intent, outcome);
        await this.#context.options.onAccepted?.(row(), outcome);
      }
      if (outcome.kind === "done" && input) this.#context.matcher.note(input, outcome.id);
    }
  }

  async #reject(row: NumberedRow, faults: readonly Fault[]): Promise<void> {
    countRejected(this.summary, row.number, faults, this.#faultTexts, this.#context.options.maxFaults);
    await this.#context.options.onRejected?.(row, faults);
  }
}
