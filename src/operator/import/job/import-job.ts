// An import in the console: first a preview of the file and a dry run, then the import itself. Its progress can be read while it runs.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../../model/engine.ts";
import { ProblemError } from "../../../model/errors.ts";
import type { Head } from "../../../model/head.ts";
import type { Resource } from "../../../model/resource.ts";
import { type AuditEvent, describeRows } from "../../journal/events.ts";
import type { RevisionRange } from "../../journal/journal-entries.ts";
import { describeColumns, maxColumns } from "../column-guess.ts";
import { type FileFormat, guessEncoding, type NumberedRow, openTable, readRows } from "../file-rows.ts";
import { importRecords } from "../import-records.ts";
import type { MissingSummary } from "../missing-from-file.ts";
import type { TableOptions } from "../open-table.ts";
import { openRejectedRowsFile } from "../rejected-rows.ts";
import type { RepairableValues } from "../repairable-values.ts";
import {
  type EntryKind,
  ImportReport,
  type RowKind,
  toMissingEntry,
  toRejectedEntry,
  toReportRow,
} from "./import-report.ts";
import { Upload } from "./upload.ts";

/** What the operator has chosen after the dry run. */
interface RunChoice {
  /** Excluded rows, by number. */
  readonly rows: readonly number[];
  /** Excluded kinds of rows. */
  readonly kinds: readonly RowKind[];
  /** How many records the operator has confirmed to remove; undefined to remove none. */
  readonly removals: number | undefined;
}

export interface JobOptions extends TableOptions {
  readonly match?: string | undefined;
  /** Also find the records that aren't in the file. */
  readonly findMissing?: boolean | undefined;
}

const previewedRows = 10;
/** In characters. */
const maxCellLength = 200;

const maxRows = 300_000;

/** `failed`: the dry run or the import ended with an error. Some rows may have been stored. */
type JobState = "new" | "checking" | "checked" | "running" | "done" | "failed";

/** Keeps all its files in one folder. */
export class ImportJob {
  readonly resource: Resource;
  readonly upload: Upload;
  readonly #folder: string;
  readonly #onError: (error: unknown) => void;
  #state: JobState = "new";
  #options: JobOptions | undefined;
  #report: ImportReport | undefined;
  #abort = new AbortController();
  #work: Promise<void> = Promise.resolve();
  #read = 0;
  #skipped = 0;
  #reportNumber = 0;
  #error: ProblemError | undefined;
  #revisions: RevisionRange | undefined;
  #isInterrupted = false;
  /** As of the last dry run or import that has looked for missing records. */
  #missing: MissingSummary | undefined;
  /** As of the last dry run or import. */
  #values: readonly RepairableValues[] = [];

  /**
   * @param folder must not exist yet; removed with the job
   * @param name what the operator calls the file
   * @param onError called with an error that isn't a ProblemError
   */
  constructor(folder: string, resource: Resource, name: string, onError: (error: unknown) => void) {
    this.#onError = onError;
    mkdirSync(folder, { mode: 0o700 });
    this.#folder = folder;
    this.resource = resource;
    this.upload = new Upload(join(folder, "upload"), name);
  }

  get state(): JobState {
    return this.#state;
  }

  get isBusy(): boolean {
    return this.#state === "checking" || this.#state === "running";
  }

  /** Includes the result, once there is one. */
  get progress() {
    return {
      state: this.#state,
      size: this.upload.size,
      // Parts of a workbook are read several times.
      read: Math.min(this.#read, this.upload.size),
      rows: this.#report?.length ?? 0,
      counts: this.#report?.counts,
      warned: this.#report?.count("warned") ?? 0,
      values: this.#values,
      skipped: this.#skipped,
      isInterrupted: this.#isInterrupted,
      missing: this.#missing,
      error: this.#error,
      revisions: this.#revisions,
      /** Whether there are rejected rows to download (`rejects`). */
      hasRejects: !this.isBusy && (this.#report?.counts.rejected ?? 0) > 0,
    };
  }

  /** The file's format, and if it's a table, how it's read. @param given what's already known @throws ProblemError `bad-request` if the file can't be read like this */
  async preview(given: TableOptions) {
    const { format } = this.upload;
    if (format === "json" || format === "xml") return { format };
    using opened = new DisposableStack();
    const file = opened.adopt(this.upload.open(), (one) => one.close());
    const encoding = given.encoding ?? (format === "csv" ? await guessEncoding(file) : undefined);
    const table = await openTable(this.resource, file, format, { ...given, encoding });
    const { header, top, sheets, delimiter } = table;
    await table.close();
    return {
      format,
      ...(sheets ? { sheets: sheets.visible, sheet: sheets.read } : { encoding, delimiter }),
      headerRow: header.number,
      rows: top
        .filter(({ number }, index) => index < previewedRows || number === header.number)
        .map(({ number, cells }) => ({
          number,
          cells: cells.slice(0, maxColumns).map((cell) => cell.slice(0, maxCellLength)),
        })),
      columns: describeColumns(this.resource, table),
    };
  }

  /** Starts the dry run. @throws ProblemError `conflict` while the job is busy, or once rows have been stored */
  check(engine: Engine, site: number, options: JobOptions, now: () => number): void {
    if (this.isBusy || this.#state === "done" || this.#revisions) throw wrongStateError(this.#state);
    this.#options = options;
    this.#missing = undefined;
    // No limit, because the operator will confirm how many.
    const removeMissing = options.findMissing ? { maxRemovals: Number.POSITIVE_INFINITY } : undefined;
    const execution = { options, now, excludedRows: undefined, removeMissing };
    this.#start("checking", (signal) => this.#import(engine, site, { ...execution, signal }));
  }

  /**
   * Starts the import of what the dry run has shown.
   * @param onEnd called once it has ended, even if it has failed; mustn't reject
   * @throws ProblemError `conflict` unless a dry run is complete, or if it has found a different number of missing records than `choice.removals`
   */
  run(
    engine: Engine,
    site: number,
    choice: RunChoice,
    now: () => number,
    onEnd: (event: Pick<AuditEvent, "detail" | "rows">) => Promise<void>,
  ): void {
    const options = this.#options;
    if (this.#state !== "checked" || !options) throw wrongStateError(this.#state);
    const removeMissing = choice.removals === undefined ? undefined : this.#toRemovals(choice.removals);
    const excludedRows = new Set(choice.rows);
    for (const number of this.#report?.numbers(choice.kinds) ?? []) excludedRows.add(number);
    this.#missing = undefined;
    const execution = { options, now, excludedRows, removeMissing };
    this.#start("running", async (signal) => {
      let detail = "failed";
      try {
        await this.#import(engine, site, { ...execution, signal });
        detail = this.#isInterrupted ? "stopped" : "";
      } finally {
        const counts = this.#report?.counts ?? { created: 0, updated: 0, rejected: 0 };
        await onEnd({ detail, rows: describeRows(counts, this.#missing?.removed) });
      }
    });
  }

  #toRemovals(removals: number): JobExecution["removeMissing"] {
    const { count, asOf, obstacle } = this.#missing ?? {};
    if (obstacle !== undefined) throw new ProblemError("conflict", `nothing can be removed: ${obstacle}`);
    if (count !== removals || !asOf)
      throw new ProblemError(
        "conflict",
        `the check found ${count ?? 0} records to remove, not ${removals}; review them and try again`,
      );
    return { maxRemovals: count, asOf };
  }

  /** Rows that are being committed are still stored. */
  stop(): void {
    this.#abort.abort(new Error("stopped"));
  }

  /** Rows of the dry run or the import, whichever came last. @throws ProblemError `conflict` while it's in progress */
  async page(kind: EntryKind, offset: number, limit: number) {
    if (!this.#report || this.isBusy) throw wrongStateError(this.#state);
    return { rows: await this.#report.page(kind, offset, limit), total: this.#report.count(kind) };
  }

  /** The file of rejected rows. @throws ProblemError `not-found` */
  get rejects(): { readonly path: string; readonly format: FileFormat } {
    if (!this.progress.hasRejects) throw new ProblemError("not-found", "there are no rejected rows");
    return { path: this.#pathOf("rejected"), format: this.upload.format };
  }

  /** Stops whatever is in progress, and removes the files. */
  async remove(): Promise<void> {
    this.stop();
    await this.#work;
    await this.#report?.close();
    this.#report = undefined;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #start(state: "checking" | "running", work: (signal: AbortSignal) => Promise<void>): void {
    this.#state = state;
    this.#abort = new AbortController();
    [this.#read, this.#skipped, this.#isInterrupted, this.#error] = [0, 0, false, undefined];
    this.#values = [];
    const after = state === "checking" ? "checked" : "done";
    this.#work = work(this.#abort.signal).then(
      () => {
        // A stopped dry run hasn't checked all rows.
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

  async #import(engine: Engine, site: number, execution: JobExecution): Promise<void> {
    const { resource } = this;
    const { options, now, signal, excludedRows, removeMissing } = execution;
    const dryRun = excludedRows === undefined;
    const report = await this.#newReport();
    const rejects = openRejectedRowsFile(this.#pathOf("rejected"));
    let start: number | undefined;
    let isStored = false;
    try {
      const { revisions, interrupted, missing, values } = await importRecords(
        engine,
        site,
        resource,
        this.#readRows(options, excludedRows),
        {
          match: options.match,
          dryRun,
          signal,
          now,
          // They're all in the report.
          maxListed: 0,
          removeMissing: removeMissing && {
            ...removeMissing,
            onMissing: (id, body) => report.add(toMissingEntry(id, dryRun ? body : undefined)),
          },
          onAccepted: (row, outcome) => report.add(toReportRow(row, outcome, dryRun)),
          async onRejected(row, fieldErrors) {
            await report.add(toRejectedEntry(resource, row, fieldErrors));
            await rejects.add(row, fieldErrors);
          },
          onBeforeCommit(revision) {
            start = revision;
          },
        },
      );
      isStored = true;
      this.#revisions = revisions;
      await report.flush();
      await rejects.close();
      this.#isInterrupted = interrupted;
      this.#missing = missing;
      this.#values = values;
    } catch (error) {
      // May include entries that others have written.
      if (start !== undefined && !isStored) this.#revisions = await revisionsSince(engine, site, start);
      await rejects.closeAfterFailure();
      await report.flush().catch(() => {});
      throw error;
    }
    if (!dryRun) this.upload.remove();
  }

  async *#readRows(options: JobOptions, excludedRows: ReadonlySet<number> | undefined): AsyncGenerator<NumberedRow> {
    const onSkipped = () => void this.#skipped++;
    using opened = new DisposableStack();
    const bytes = opened.adopt(
      this.upload.open((count) => {
        this.#read += count;
      }),
      (file) => file.close(),
    );
    let rows = 0;
    for await (const row of readRows(this.resource, bytes, this.upload.format, { ...options, onSkipped })) {
      if (++rows > maxRows) throw new ProblemError("too-large", `the file has more than ${maxRows} rows; split it`);
      const isExcluded = excludedRows?.has(row.number);
      if (isExcluded) onSkipped();
      yield isExcluded ? { ...row, isExcluded } : row;
    }
  }

  async #newReport(): Promise<ImportReport> {
    const [before, path] = [this.#report, this.#pathOf(`rows-${++this.#reportNumber}`)];
    this.#report = undefined;
    this.#report = await ImportReport.open(path);
    await before?.close();
    rmSync(this.#pathOf(`rows-${this.#reportNumber - 1}`), { force: true });
    return this.#report;
  }

  #pathOf(name: string): string {
    return join(this.#folder, name);
  }
}

interface JobExecution {
  readonly options: JobOptions;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** By number; undefined for a dry run. */
  readonly excludedRows: ReadonlySet<number> | undefined;
  readonly removeMissing: { readonly maxRemovals: number; readonly asOf?: Head } | undefined;
}

/** Undefined if nothing has been written since `start`. */
async function revisionsSince(engine: Engine, site: number, start: number): Promise<RevisionRange | undefined> {
  const [head] = await engine.readHeads([site]);
  return head && head.revision > start ? { first: start + 1, last: head.revision } : undefined;
}

function wrongStateError(state: JobState): ProblemError {
  return new ProblemError("conflict", `can't do this while the import is ${state}`);
}
