// Counts the outcomes of rows, and creates the errors of rejected rows.

import type { InternedTexts } from "../../lib/bytes.ts";
import type { Intent, Outcome, RejectedOutcome } from "../../model/change.ts";
import { type FieldError, invalidRecordError, ProblemError } from "../../model/errors.ts";
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

/** Creates the error for a row with an ID that the engine has given to a new record since the import began. */
export function idGivenError(id: number | undefined): FieldError {
  const howToKeepIds = "by others or for an earlier row without an ID; put rows with IDs first, and import again";
  return { field: "", detail: `the ID ${id} was given to a new record during the import, ${howToKeepIds}` };
}

/** Creates the error for a row from the rejection of its intent. */
export function rejectionFieldError({ rejectionReason }: RejectedOutcome, { id, ifFound }: Intent): FieldError {
  if (rejectionReason === "found-otherwise")
    return { field: ifFound?.keys.join(".") ?? "", detail: "other writers keep moving this value to other records" };
  if (rejectionReason === "other-epoch")
    return { field: "", detail: "the site was restored or removed during the import" };
  if (rejectionReason === "id-exists") return idGivenError(id);
  const deleted = `the record ${id} was deleted`;
  return {
    field: "",
    detail:
      rejectionReason === "id-used" ? `${deleted}; restore it with restore-record` : `${deleted} during the import`,
  };
}

/** Creates the error for a row that would match the record of an earlier row which is not stored yet. */
export function repeatedValueError(field = ""): ProblemError {
  return invalidRecordError([{ field, detail: "an earlier row has the same value (--atomic)" }]);
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
export function withStored(error: unknown, { created, updated }: ImportSummary): unknown {
  if (!(error instanceof ProblemError) || created + updated === 0) return error;
  const stored = `${created} records were created and ${updated} updated before`;
  return new ProblemError(error.code, `${error.message}; ${stored}`, { fieldErrors: error.fieldErrors, cause: error });
}
