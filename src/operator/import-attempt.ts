// A check or a run of an import, with what became of each row in a file, and the refused rows in another.

import type { Engine } from "../model/engine.ts";
import { type Fault, Refusal } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { importRecords } from "./import.ts";
import { type ImportedRows, toImported } from "./import-rows.ts";
import type { AcceptedOutcome } from "./import-summary.ts";
import { openRejects } from "./rejects.ts";
import type { RevisionRange } from "./revisions.ts";
import { type CsvOptions, type FileFormat, type NumberedRow, readRows } from "./rows.ts";

interface Attempt {
  readonly engine: Engine;
  readonly site: number;
  readonly resource: Resource;
  /** The rows of the file that are not left out. */
  readonly source: AsyncIterable<NumberedRow>;
  readonly match: string | undefined;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Where what became of each row goes, and where the refused rows go. */
  readonly rows: ImportedRows;
  readonly rejectsPath: string;
  /** Called with the journal entries, also when the attempt fails afterwards; then those of others may be among them. */
  readonly onRevisions: (range: RevisionRange | undefined) => void;
}

/** @returns whether it was stopped @throws Refusal */
export async function attemptImport(attempt: Attempt): Promise<boolean> {
  const { engine, site, resource, source, rows, dryRun, signal, match, now, onRevisions } = attempt;
  const rejects = openRejects(attempt.rejectsPath);
  const onRejected = async (row: NumberedRow, faults: readonly Fault[]) => {
    await rows.add({ row: row.number, kind: "refused", id: null, before: null, after: null, faults });
    await rejects.add(row, faults);
  };
  const onAccepted = (row: NumberedRow, outcome: AcceptedOutcome) => rows.add(toImported(row, outcome, dryRun));
  let start: number | undefined;
  const onStore = (revision: number) => {
    start = revision;
  };
  let isStored = false;
  try {
    const how = { match, dryRun, signal, onAccepted, onRejected, onStore, maxFaults: 0, now };
    const { revisions, interrupted } = await importRecords(engine, site, resource, source, how);
    isStored = true;
    onRevisions(revisions);
    await rows.flush();
    await rejects.close();
    return interrupted;
  } catch (error) {
    if (start !== undefined && !isStored) onRevisions(await revisionsSince(engine, site, start));
    await rejects.abandon();
    await rows.flush().catch(() => {});
    throw error;
  }
}

/** Rows of a file. */
const maxRows = 300_000;

export interface JobOptions extends Omit<CsvOptions, "onSkipped"> {
  readonly format: FileFormat;
  readonly match?: string | undefined;
}

interface RowsOptions extends JobOptions {
  /** The numbers of rows to leave out. */
  readonly leftOut: ReadonlySet<number> | undefined;
  readonly onSkipped: () => void;
}

/** The rows of a file without those that are left out. @throws Refusal */
export async function* chosenRows(
  bytes: AsyncIterable<Uint8Array>,
  resource: Resource,
  { format, leftOut, ...options }: RowsOptions,
): AsyncGenerator<NumberedRow> {
  let rows = 0;
  for await (const row of readRows(resource, bytes, format, options)) {
    if (++rows > maxRows) throw new Refusal("too-large", `the file has more than ${maxRows} rows`);
    if (leftOut?.has(row.number)) options.onSkipped();
    else yield row;
  }
}

/** Undefined when there are none. */
async function revisionsSince(engine: Engine, site: number, start: number): Promise<RevisionRange | undefined> {
  const [head] = await engine.heads([site]);
  return head && head.revision > start ? { first: start + 1, last: head.revision } : undefined;
}
