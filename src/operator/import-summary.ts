import { Refusal } from "../model/errors.ts";
import type { Intent, Outcome, Refused } from "../model/intent.ts";

/** A fault and the number of its row. */
interface RowFault {
  readonly row: number;
  readonly field: string;
  readonly detail: string;
}

export interface ImportSummary {
  rows: number;
  created: number;
  updated: number;
  unchanged: number;
  /** Rows that have a fault. */
  rejected: number;
  /** Whether it was stopped before the last row. */
  interrupted: boolean;
  faults: RowFault[];
}

export function emptySummary(): ImportSummary {
  return { rows: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, interrupted: false, faults: [] };
}

/** Counts the outcome of a row. */
export function countOutcome(summary: ImportSummary, row: number, intent: Intent, outcome: Outcome): void {
  if (outcome.kind === "refused") reject(summary, row, new Refusal("conflict", toMessage(outcome.why, intent.id)));
  else if (outcome.kind === "unchanged") summary.unchanged++;
  else if (intent.operation === "create") summary.created++;
  else summary.updated++;
}

function toMessage(why: Refused["why"], id: number | undefined): string {
  if (why === "other-history") return "the site was restored or removed during the import";
  return why === "id-used"
    ? `the record ${id} was deleted; restore it with restore-record`
    : `the record ${id} was deleted during the import`;
}

/** Counts a row that was refused, and lists its faults. */
export function reject(summary: ImportSummary, row: number, refusal: Refusal): void {
  summary.rejected++;
  const faults = refusal.faults.length > 0 ? refusal.faults : [{ field: "", detail: refusal.message }];
  for (const { field, detail } of faults) summary.faults.push({ row, field, detail });
}

/** The error of an import that failed, with what was stored before. */
export function withProgress(error: unknown, { created, updated }: ImportSummary): unknown {
  if (!(error instanceof Refusal) || created + updated === 0) return error;
  const stored = `${created} records were created and ${updated} updated before`;
  return new Refusal(error.code, `${error.message}; ${stored}`, { faults: error.faults, cause: error });
}
