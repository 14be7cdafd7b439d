// Counts the outcomes of rows, and lists the field errors of rejected rows.

import type { InternedTexts } from "../../lib/bytes.ts";
import type { Intent, Outcome, RejectedOutcome } from "../../model/change.ts";
import { type FieldError, ProblemError } from "../../model/errors.ts";
import type { RevisionRange } from "../journal/journal-entries.ts";

/** A field error, and the number of its row. */
interface RowFieldError {
  readonly row: number;
  readonly field: string;
  readonly detail: string;
}

/** The outcome of a row that was not rejected. */
export type AcceptedOutcome = Exclude<Outcome, RejectedOutcome>;

/** The result of an import or a dry run, as numbers of rows. */
export interface ImportSummary {
  rows: number;
  created: number;
  updated: number;
  unchanged: number;
  /** Rows that were rejected. */
  rejected: number;
  /** Whether the import was stopped before the last row. */
  interrupted: boolean;
  /** The journal entries of this import; undefined if it changed nothing. */
  revisions: RevisionRange | undefined;
  /** The field errors of rejected rows. The name is part of the output of `--json`. */
  faults: RowFieldError[];
}

export function emptySummary(): ImportSummary {
  return {
    rows: 0,
    created: 0,
    updated: 0,
    unchanged: 0,
    rejected: 0,
    interrupted: false,
    revisions: undefined,
    faults: [],
  };
}

/** Counts the outcome of a row that was not rejected. */
export function countOutcome(summary: ImportSummary, intent: Intent, outcome: Outcome): void {
  if (outcome.kind === "unchanged") summary.unchanged++;
  else if (intent.operation === "create") summary.created++;
  else summary.updated++;
}

/** Counts a rejected row, and lists its field errors: at most `maxFieldErrors` of all rows. @param texts copies the texts that are listed */
export function countRejected(
  summary: ImportSummary,
  row: number,
  fieldErrors: readonly FieldError[],
  texts: InternedTexts,
  maxFieldErrors = Number.POSITIVE_INFINITY,
): void {
  summary.rejected++;
  for (const { field, detail } of fieldErrors) {
    if (summary.faults.length >= maxFieldErrors) return;
    // Copy the texts: a text that quotes the row would keep in memory all the text that was read together with the row.
    summary.faults.push({ row, field: texts.copy(field), detail: texts.copy(detail) });
  }
}

/** Adds to the error of a failed import how many records were stored before. */
export function withImported(error: unknown, { created, updated }: ImportSummary): unknown {
  if (!(error instanceof ProblemError) || created + updated === 0) return error;
  const stored = `${created} records were created and ${updated} updated before`;
  return new ProblemError(error.code, `${error.message}; ${stored}`, { fieldErrors: error.fieldErrors, cause: error });
}
