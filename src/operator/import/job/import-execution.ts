// Executes a dry run or an import of the console: writes the outcome of each row to the report, and the rejected rows to a file.

import type { AcceptedOutcome } from "../../../model/change.ts";
import type { Engine } from "../../../model/engine.ts";
import type { FieldError } from "../../../model/errors.ts";
import type { Resource } from "../../../model/resource.ts";
import type { RevisionRange } from "../../journal/journal-entries.ts";
import type { NumberedRow } from "../file-rows.ts";
import { importRecords } from "../import-records.ts";
import type { ImportSummary } from "../import-summary.ts";
import type { MissingOptions } from "../missing-records.ts";
import { openRejectedRowsFile } from "../rejected-rows.ts";
import { type ImportReport, toRejectedEntry, toReportRow } from "./import-report.ts";

interface ExecuteImportOptions {
  readonly engine: Engine;
  readonly site: number;
  readonly resource: Resource;
  /** The rows of the file. */
  readonly rows: AsyncIterable<NumberedRow>;
  readonly match: string | undefined;
  /** Remove the records that the file lacks. */
  readonly removeMissing: Omit<MissingOptions, "onMissing"> | undefined;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** The report, to which the outcome of each row is added. */
  readonly report: ImportReport;
  /** The path of the file for rejected rows. */
  readonly rejectsPath: string;
  /** Called with the journal entries, even if the import fails after storing rows. In that case, entries of others can be among them. */
  readonly onRevisions: (range: RevisionRange | undefined) => void;
}

/** Returns whether the import was stopped, and the records that the file lacks. @throws ProblemError */
export async function executeImport(
  options: ExecuteImportOptions,
): Promise<Pick<ImportSummary, "interrupted" | "missing">> {
  const { engine, site, resource, rows, report, dryRun, signal, match, now, onRevisions } = options;
  const rejects = openRejectedRowsFile(options.rejectsPath);
  const onRejected = async (row: NumberedRow, fieldErrors: readonly FieldError[]) => {
    await report.add(toRejectedEntry(resource, row, fieldErrors));
    await rejects.add(row, fieldErrors);
  };
  const onAccepted = (row: NumberedRow, outcome: AcceptedOutcome) => report.add(toReportRow(row, outcome, dryRun));
  const onMissing = async (id: number, body: string) => {
    const before = dryRun ? JSON.parse(body) : null;
    await report.add({ row: 0, kind: "missing", id, before, after: null, faults: [] });
  };
  const removeMissing = options.removeMissing && { ...options.removeMissing, onMissing };
  let start: number | undefined;
  const onBeforeCommit = (revision: number) => {
    start = revision;
  };
  let isStored = false;
  try {
    const reports = { onAccepted, onRejected, onBeforeCommit, maxFieldErrors: 0 };
    const importOptions = { match, dryRun, removeMissing, signal, now, ...reports };
    const { revisions, interrupted, missing } = await importRecords(engine, site, resource, rows, importOptions);
    isStored = true;
    onRevisions(revisions);
    await report.flush();
    await rejects.close();
    return { interrupted, missing };
  } catch (error) {
    if (start !== undefined && !isStored) onRevisions(await revisionsSince(engine, site, start));
    await rejects.closeAfterFailure();
    await report.flush().catch(() => {});
    throw error;
  }
}

/** Returns the range of the entries after `start`; undefined if the journal has none. */
async function revisionsSince(engine: Engine, site: number, start: number): Promise<RevisionRange | undefined> {
  const [head] = await engine.readHeads([site]);
  return head && head.revision > start ? { first: start + 1, last: head.revision } : undefined;
}
