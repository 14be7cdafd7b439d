// An import of the console: a dry run first, and then the import itself. Its progress can be read while it runs.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../model/engine.ts";
import { type FieldError, ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import type { RevisionRange } from "../journal/journal-entries.ts";
import { type CsvOptions, type FileFormat, type NumberedRow, readRows } from "./file-rows.ts";
import { importRecords } from "./import-records.ts";
import { ImportReport, type RowKind, toReportRow } from "./import-report.ts";
import type { AcceptedOutcome } from "./import-summary.ts";
import { openRejectedRowsFile } from "./rejected-rows.ts";
import { Upload } from "./upload.ts";

/** The rows of the dry run that the operator has excluded. */
interface RowExclusions {
  /** The numbers of excluded rows. */
  readonly rows: readonly number[];
  /** Kinds of rows that are excluded. */
  readonly kinds: readonly RowKind[];
}

/** The state of a job. `failed`: the dry run or the import ended with an error; rows may have been stored before. */
type JobState = "new" | "checking" | "checked" | "running" | "done" | "failed";

/** One import of the console. All its files are in one folder. */
export class ImportJob {
  readonly resource: Resource;
  readonly upload: Upload;
  readonly #folder: string;
  readonly #onError: (error: unknown) => void;
  #state: JobState = "new";
  #options: JobOptions | undefined;
  #rows: ImportReport | undefined;
  #abort = new AbortController();
  #work: Promise<void> = Promise.resolve();
  #read = 0;
  #skipped = 0;
  #attempt = 0;
  #error: ProblemError | undefined;
  #revisions: RevisionRange | undefined;
  #isInterrupted = false;
  readonly #onRead = (bytes: number) => {
    this.#read += bytes;
  };
  readonly #onSkipped = () => void this.#skipped++;

  /** @param folder a path that does not exist; the folder is removed with the job @param onError called with an error that is not a ProblemError */
  constructor(folder: string, resource: Resource, onError: (error: unknown) => void) {
    this.#onError = onError;
    mkdirSync(folder, { mode: 0o700 });
    this.#folder = folder;
    this.resource = resource;
    this.upload = new Upload(join(folder, "upload"));
  }

  get state(): JobState {
    return this.#state;
  }

  /** Whether a dry run or an import is in progress. */
  get isBusy(): boolean {
    return this.#state === "checking" || this.#state === "running";
  }

  /** The progress and the result. */
  get progress() {
    return {
      state: this.#state,
      size: this.upload.size,
      read: this.#read,
      rows: this.#rows?.length ?? 0,
      counts: this.#rows?.counts,
      skipped: this.#skipped,
      isInterrupted: this.#isInterrupted,
      error: this.#error,
      revisions: this.#revisions,
      /** Whether rows were rejected. They are then available as a file (`rejects`). */
      hasRejects: !this.isBusy && (this.#rows?.counts.refused ?? 0) > 0,
    };
  }

  /** Starts the dry run. @throws ProblemError `conflict` while the job is busy, or after rows were stored */
  check(engine: Engine, site: number, options: JobOptions, now: () => number): void {
    if (this.isBusy || this.#state === "done" || this.#revisions) throw wrongStateError(this.#state);
    this.#options = options;
    this.#start("checking", (signal) => this.#import(engine, site, { options, now, signal, excludedRows: undefined }));
  }

  /** Starts to store the rows of the dry run. @param choice the excluded rows @throws ProblemError `conflict` unless a dry run is complete */
  run(engine: Engine, site: number, choice: RowExclusions, now: () => number): void {
    const options = this.#options;
    if (this.#state !== "checked" || !options) throw wrongStateError(this.#state);
    const excludedRows = new Set(choice.rows);
    for (const number of this.#rows?.numbers(choice.kinds) ?? []) excludedRows.add(number);
    this.#start("running", (signal) => this.#import(engine, site, { options, now, signal, excludedRows }));
  }

  /** Stops the dry run or the import in progress. Rows that are being committed are still stored. */
  stop(): void {
    this.#abort.abort(new Error("stopped"));
  }

  /** Returns rows of the last dry run, or of the import. @throws ProblemError `conflict` while it is in progress */
  async page(kind: RowKind, offset: number, limit: number) {
    if (!this.#rows || this.isBusy) throw wrongStateError(this.#state);
    return { rows: await this.#rows.page(kind, offset, limit), total: this.#rows.counts[kind] };
  }

  /** The file of the rejected rows, and its format. @throws ProblemError `not-found` */
  get rejects(): { readonly path: string; readonly format: FileFormat } {
    if (!this.progress.hasRejects || !this.#options) throw new ProblemError("not-found", "there are no rejected rows");
    return { path: this.#pathOf("refused"), format: this.#options.format };
  }

  /** Stops the dry run or the import in progress, and removes the files. */
  async remove(): Promise<void> {
    this.stop();
    await this.#work;
    await this.#rows?.close();
    this.#rows = undefined;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #start(state: "checking" | "running", work: (signal: AbortSignal) => Promise<void>): void {
    this.#state = state;
    this.#abort = new AbortController();
    [this.#read, this.#skipped, this.#isInterrupted, this.#error] = [0, 0, false, undefined];
    const after = state === "checking" ? "checked" : "done";
    this.#work = work(this.#abort.signal).then(
      () => {
        // A dry run that was stopped has not checked the other rows.
        this.#state = state === "checking" && this.#isInterrupted ? "new" : after;
      },
      (error) => {
        if (!(error instanceof ProblemError)) this.#onError(error);
        this.#error =
          error instanceof ProblemError ? error : new ProblemError("internal", "the import failed", { cause: error });
        this.#state = "failed";
      },
    );
  }

  async #import(engine: Engine, site: number, { options, now, signal, excludedRows }: JobAttempt): Promise<void> {
    const dryRun = excludedRows === undefined;
    this.#isInterrupted = await executeImport({
      engine,
      site,
      resource: this.resource,
      source: readSelectedRows(this.upload.read(this.#onRead), this.resource, {
        ...options,
        excludedRows,
        onSkipped: this.#onSkipped,
      }),
      match: options.match,
      dryRun,
      signal,
      now,
      rows: await this.#newRows(),
      rejectsPath: this.#pathOf("refused"),
      onRevisions: (range) => {
        this.#revisions = range;
      },
    });
    if (!dryRun) this.upload.remove();
  }

  async #newRows(): Promise<ImportReport> {
    const [before, path] = [this.#rows, this.#pathOf(`rows-${++this.#attempt}`)];
    this.#rows = undefined;
    this.#rows = await ImportReport.open(path);
    await before?.close();
    rmSync(this.#pathOf(`rows-${this.#attempt - 1}`), { force: true });
    return this.#rows;
  }

  #pathOf(name: string): string {
    return join(this.#folder, name);
  }
}

interface JobAttempt {
  readonly options: JobOptions;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** The numbers of excluded rows; undefined for a dry run. */
  readonly excludedRows: ReadonlySet<number> | undefined;
}

function wrongStateError(state: JobState): ProblemError {
  return new ProblemError("conflict", `this is not possible for an import that is ${state}`);
}

// Executes a dry run or an import. Writes the outcome of each row to the report, and the rejected rows to a file.

interface ExecuteImportOptions {
  readonly engine: Engine;
  readonly site: number;
  readonly resource: Resource;
  /** The rows of the file that are not excluded. */
  readonly source: AsyncIterable<NumberedRow>;
  readonly match: string | undefined;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** The report, to which the outcome of each row is added. */
  readonly rows: ImportReport;
  /** The path of the file for rejected rows. */
  readonly rejectsPath: string;
  /** Called with the journal entries, even if the import fails after storing rows. In that case, entries of others can be among them. */
  readonly onRevisions: (range: RevisionRange | undefined) => void;
}

/** Returns whether the import was stopped. @throws ProblemError */
async function executeImport(attempt: ExecuteImportOptions): Promise<boolean> {
  const { engine, site, resource, source, rows, dryRun, signal, match, now, onRevisions } = attempt;
  const rejects = openRejectedRowsFile(attempt.rejectsPath);
  const onRejected = async (row: NumberedRow, fieldErrors: readonly FieldError[]) => {
    await rows.add({ row: row.number, kind: "refused", id: null, before: null, after: null, faults: fieldErrors });
    await rejects.add(row, fieldErrors);
  };
  const onAccepted = (row: NumberedRow, outcome: AcceptedOutcome) => rows.add(toReportRow(row, outcome, dryRun));
  let start: number | undefined;
  const onBeforeCommit = (revision: number) => {
    start = revision;
  };
  let isStored = false;
  try {
    const how = { match, dryRun, signal, onAccepted, onRejected, onBeforeCommit, maxFieldErrors: 0, now };
    const { revisions, interrupted } = await importRecords(engine, site, resource, source, how);
    isStored = true;
    onRevisions(revisions);
    await rows.flush();
    await rejects.close();
    return interrupted;
  } catch (error) {
    if (start !== undefined && !isStored) onRevisions(await revisionsSince(engine, site, start));
    await rejects.closeAfterFailure();
    await rows.flush().catch(() => {});
    throw error;
  }
}

/** Maximum rows of a file. */
const maxRows = 300_000;

export interface JobOptions extends Omit<CsvOptions, "onSkipped"> {
  readonly format: FileFormat;
  readonly match?: string | undefined;
}

interface RowsOptions extends JobOptions {
  /** The numbers of excluded rows. */
  readonly excludedRows: ReadonlySet<number> | undefined;
  readonly onSkipped: () => void;
}

/** Reads the rows of a file that are not excluded. @throws ProblemError */
async function* readSelectedRows(
  bytes: AsyncIterable<Uint8Array>,
  resource: Resource,
  { format, excludedRows, ...options }: RowsOptions,
): AsyncGenerator<NumberedRow> {
  let rows = 0;
  for await (const row of readRows(resource, bytes, format, options)) {
    if (++rows > maxRows) throw new ProblemError("too-large", `the file has more than ${maxRows} rows`);
    if (excludedRows?.has(row.number)) options.onSkipped();
    else yield row;
  }
}

/** Returns the range of the entries after `start`; undefined if the journal has none. */
async function revisionsSince(engine: Engine, site: number, start: number): Promise<RevisionRange | undefined> {
  const [head] = await engine.readHeads([site]);
  return head && head.revision > start ? { first: start + 1, last: head.revision } : undefined;
}
