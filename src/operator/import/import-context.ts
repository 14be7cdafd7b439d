// The context of one import, for both ways of storing rows: import-records.ts commits batches while the file is read, atomic-import.ts all rows at once.

import type { Intent, Outcome } from "../../model/change.ts";
import type { Engine, EngineCommits } from "../../model/engine.ts";
import { type FieldError, ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import type { Resource } from "../../model/resource.ts";
import { requireSameMachine } from "../same-machine.ts";
import type { NumberedRow } from "./file-rows.ts";
import type { AcceptedOutcome, RowCounter } from "./import-summary.ts";
import type { Matcher } from "./matcher.ts";
import { parseInput, toChange } from "./row-change.ts";
import { rejectionFieldError } from "./row-errors.ts";
import type { PendingRow } from "./spooled-rows.ts";

/** Maximum times that a row is matched, if others move its match value to another record before the row is stored. */
export const maxMatches = 5;

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

type ImportParts = Pick<
  ImportContext,
  "site" | "resource" | "matcher" | "engine" | "heads" | "options" | "counter" | "systemHead" | "startRevision"
>;

export class ImportContext {
  readonly site: number;
  readonly resource: Resource;
  readonly matcher: Matcher;
  readonly engine: EngineCommits;
  /** Reads heads of the database, also in a dry run. */
  readonly heads: Pick<Engine, "readHeads">;
  readonly options: ImportOptions;
  readonly counter: RowCounter;
  /** The head of the system site when the rows were matched. The site itself can be without an epoch before its first change. */
  readonly systemHead: Head;
  /** The revision of the site before the import. */
  readonly startRevision: number;

  constructor(parts: ImportParts) {
    this.site = parts.site;
    this.resource = parts.resource;
    this.matcher = parts.matcher;
    this.engine = parts.engine;
    this.heads = parts.heads;
    this.options = parts.options;
    this.counter = parts.counter;
    this.systemHead = parts.systemHead;
    this.startRevision = parts.startRevision;
  }

  /** Returns the intents of a batch, with the conditions under which its rows were matched. */
  intentsOf(batch: readonly PendingRow[]): readonly Intent[] {
    // A dry run uses a copy as of one moment, in which nobody changes a match.
    const none = this.options.dryRun ? { ifStillMatched: undefined } : {};
    return batch.map(({ intent }) => ({ ...intent, ...none, ifSystemEpoch: this.systemHead.epoch }));
  }

  /** Returns the row with an intent for the record that it matches now. @throws ProblemError `invalid-record` */
  matchAgain(pending: PendingRow): PendingRow {
    const { intent } = pending;
    if (!intent.ifStillMatched) return pending;
    const match = this.matcher.matchAgain(intent.ifStillMatched);
    const { kind: operation, id, ifStillMatched } = match;
    if (operation === intent.operation && id === intent.id)
      return { ...pending, intent: { ...intent, ifStillMatched } };
    const { decoded } = pending.row();
    const changed = toChange(this.resource, match, parseInput(decoded), decoded.fieldErrors);
    return { ...pending, intent: { ...intent, ...changed } };
  }

  /** Call this before each commit. @throws ProblemError `conflict` if another machine has taken over the database since the rows were matched */
  async requireSameMachine(): Promise<void> {
    if (!this.options.dryRun) await requireSameMachine(this.heads, this.systemHead);
  }

  /** Tells the caller that rows may be stored from now on. A dry run stores nothing. */
  notifyBeforeCommit(): void {
    if (!this.options.dryRun) this.options.onBeforeCommit?.(this.startRevision);
  }

  /**
   * Counts the outcomes of a batch, reports its rejected and accepted rows, and tracks the stored rows.
   * @param mayRepeat whether rows with a changed match are matched again, so that they do not count yet
   */
  async handleOutcomes(batch: readonly PendingRow[], outcomes: readonly Outcome[], mayRepeat: boolean): Promise<void> {
    const { matcher, options, counter } = this;
    if (!options.dryRun) counter.addRevisions(outcomes);
    for (const [index, outcome] of outcomes.entries()) {
      const { row, input, intent } = batch[index] as PendingRow;
      if (mayRepeat && isMatchChanged(outcome)) continue;
      if (outcome.kind === "rejected") await this.#rejectRow(row(), [rejectionFieldError(outcome, intent)]);
      else {
        counter.countOutcome(intent, outcome);
        await options.onAccepted?.(row(), outcome);
      }
      if (outcome.kind === "done" && input) matcher.trackRow(input, outcome.id);
    }
  }

  /** Rejects the row if `work` throws its field errors. @throws any other error of `work` */
  async runOrReject(row: NumberedRow, work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await this.rejectOrThrow(row, error);
    }
  }

  /** Rejects the row because of its field errors. @throws `error` itself if it is another error */
  async rejectOrThrow(row: NumberedRow, error: unknown): Promise<void> {
    if (!(error instanceof ProblemError) || error.code !== "invalid-record") throw error;
    await this.#rejectRow(row, error.fieldErrors);
  }

  async #rejectRow(row: NumberedRow, fieldErrors: readonly FieldError[]): Promise<void> {
    this.counter.countRejected(row.number, fieldErrors);
    await this.options.onRejected?.(row, fieldErrors);
  }
}

/** Whether an intent was rejected because others have moved the match value of its row to another record. */
export function isMatchChanged(outcome: Outcome | undefined): boolean {
  return outcome?.kind === "rejected" && outcome.rejectionReason === "match-changed";
}
