import type { OwnTexts } from "../lib/own-memory.ts";
import { type Fault, invalidRecord, Refusal } from "../model/errors.ts";
import type { Intent, Outcome, Refused } from "../model/intent.ts";
import type { RevisionRange } from "./revisions.ts";

/** A fault and the number of its row. */
interface RowFault {
  readonly row: number;
  readonly field: string;
  readonly detail: string;
}

/** The outcome of a row that was not refused. */
export type AcceptedOutcome = Exclude<Outcome, Refused>;

export interface ImportSummary {
  rows: number;
  created: number;
  updated: number;
  unchanged: number;
  /** Rows that have a fault. */
  rejected: number;
  /** Whether it was stopped before the last row. */
  interrupted: boolean;
  /** The journal entries of this import; undefined if there are none. */
  revisions: RevisionRange | undefined;
  faults: RowFault[];
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

/** Counts the outcome of a row that was not refused. */
export function countOutcome(summary: ImportSummary, intent: Intent, outcome: Outcome): void {
  if (outcome.kind === "unchanged") summary.unchanged++;
  else if (intent.operation === "create") summary.created++;
  else summary.updated++;
}

/** The fault of a row whose ID the store gave to a record without one since the import began. */
export function givenId(id: number | undefined): Fault {
  const howToKeepIds = "of others or of an earlier row without an ID; put rows with IDs first, and import again";
  return { field: "", detail: `the ID ${id} was given to a new record meanwhile, ${howToKeepIds}` };
}

/** The fault of a row that the store refused. */
export function storeFault({ why }: Refused, { id, ifFound }: Intent): Fault {
  if (why === "found-otherwise")
    return { field: ifFound?.keys.join(".") ?? "", detail: "others change all the time which record has this value" };
  if (why === "other-history") return { field: "", detail: "the site was restored or removed during the import" };
  if (why === "id-given") return givenId(id);
  const deleted = `the record ${id} was deleted`;
  return {
    field: "",
    detail: why === "id-used" ? `${deleted}; restore it with restore-record` : `${deleted} during the import`,
  };
}

/** The refusal of a row that an earlier one would have matched, had that been stored. */
export function repeatedKey(field = ""): Refusal {
  return invalidRecord([{ field, detail: "an earlier row has the same value (--atomic)" }]);
}

/** Counts a row that was refused, and lists its faults, of all rows at most `maxFaults`. @param texts of the faults that are listed */
export function countRejected(
  summary: ImportSummary,
  row: number,
  faults: readonly Fault[],
  texts: OwnTexts,
  maxFaults = Number.POSITIVE_INFINITY,
): void {
  summary.rejected++;
  for (const { field, detail } of faults) {
    if (summary.faults.length >= maxFaults) return;
    // What is quoted of a row would keep all the text in memory that was read with it.
    summary.faults.push({ row, field: texts.copy(field), detail: texts.copy(detail) });
  }
}

/** The error of an import that failed, with what was stored before. */
export function withProgress(error: unknown, { created, updated }: ImportSummary): unknown {
  if (!(error instanceof Refusal) || created + updated === 0) return error;
  const stored = `${created} records were created and ${updated} updated before`;
  return new Refusal(error.code, `${error.message}; ${stored}`, { faults: error.faults, cause: error });
}
