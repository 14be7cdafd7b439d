// Counts the outcomes of rows, and lists the field errors of rejected rows.

import { InternedTexts } from "../../lib/bytes.ts";
import type { AcceptedOutcome, Outcome } from "../../model/change.ts";
import { type FieldError, ProblemError } from "../../model/errors.ts";
import { type RevisionRange, revisionsOf } from "../journal/journal-entries.ts";
import type { MissingSummary } from "./missing-from-file.ts";

/** A field error, and the number of its row. */
interface RowFieldError {
  readonly row: number;
  readonly field: string;
  readonly detail: string;
}

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

/** Counts the rows of one import. Only this class changes the summary. */
export class RowCounter {
  readonly #summary: { -readonly [Member in keyof ImportSummary]: ImportSummary[Member] };
  readonly #faults: RowFieldError[] = [];
  readonly #maxFieldErrors: number;
  readonly #errorTexts = new InternedTexts();

  /** @param maxFieldErrors maximum field errors that the summary lists */
  constructor(maxFieldErrors = maxListed) {
    this.#maxFieldErrors = maxFieldErrors;
    const rowCounts = { rows: 0, created: 0, updated: 0, unchanged: 0, rejected: 0 };
    this.#summary = { ...rowCounts, interrupted: false, revisions: undefined, faults: this.#faults };
  }

  /** The numbers so far. The object changes as rows are counted. */
  get summary(): ImportSummary {
    return this.#summary;
  }

  /** Whether each row that was read is stored, or has the values already. */
  get areAllStored(): boolean {
    const { rows, created, updated, unchanged } = this.#summary;
    return created + updated + unchanged === rows;
  }

  countRead(): void {
    this.#summary.rows++;
  }

  /** Counts the outcome of a row that was not rejected. */
  countOutcome(outcome: AcceptedOutcome): void {
    if (outcome.kind === "unchanged") this.#summary.unchanged++;
    else if (outcome.operation === "create") this.#summary.created++;
    else this.#summary.updated++;
  }

  /** Counts a rejected row, and lists its field errors within the maximum. */
  countRejected(row: number, fieldErrors: readonly FieldError[]): void {
    this.#summary.rejected++;
    const listed = fieldErrors.slice(0, this.#maxFieldErrors - this.#faults.length);
    for (const { field, detail } of listed) {
      // Copy the texts: a text that quotes the row would keep in memory all the text that was read together with the row.
      this.#faults.push({ row, field: this.#errorTexts.copy(field), detail: this.#errorTexts.copy(detail) });
    }
    const more = fieldErrors.length - listed.length;
    if (more > 0) this.#summary.moreFaults = (this.#summary.moreFaults ?? 0) + more;
  }

  /** Adds the journal entries of a transaction. */
  addRevisions(outcomes: readonly Outcome[]): void {
    this.#summary.revisions = revisionsOf(outcomes, this.#summary.revisions);
  }

  setMissing(missing: MissingSummary): void {
    this.#summary.missing = missing;
  }

  markInterrupted(): void {
    this.#summary.interrupted = true;
  }

  /** Returns the summary of an import that stores all rows or none: none if a row was rejected, or if the import was interrupted. */
  summaryOfAllOrNone(): ImportSummary {
    if (this.#summary.rejected > 0 || this.#summary.interrupted) this.resetStored();
    return this.#summary;
  }

  /** Sets the counts of stored rows to zero, because the transaction has stored nothing. */
  resetStored(): void {
    Object.assign(this.#summary, { created: 0, updated: 0, unchanged: 0, revisions: undefined });
  }
}

/** Adds to the error of a failed import how many records were stored before. */
export function withImported(error: unknown, { created, updated, missing }: ImportSummary): unknown {
  const removed = missing?.removed ?? 0;
  if (!(error instanceof ProblemError) || created + updated + removed === 0) return error;
  const stored = `${created} records were created and ${updated} updated before${removed > 0 ? `, and ${removed} removed` : ""}`;
  return new ProblemError(error.code, `${error.message}; ${stored}`, { fieldErrors: error.fieldErrors, cause: error });
}
