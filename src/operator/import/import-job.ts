// An import that is checked first and then run. Its progress can be read meanwhile.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../model/engine.ts";
import { type Fault, Refusal } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import type { RevisionRange } from "../history.ts";
import { type CsvOptions, type FileFormat, type NumberedRow, readRows } from "./file-rows.ts";
import { importRecords } from "./import-records.ts";
import { ImportedRows, type RowKind, toImported } from "./import-report.ts";
import type { AcceptedOutcome } from "./import-summary.ts";
import { openRejects } from "./rejected-rows.ts";
import { Upload } from "./upload.ts";

/** What was chosen of the rows that were checked. */
interface Choice {
  /** The numbers of rows that are left out. */
  readonly rows: readonly number[];
  /** Kinds of rows that are left out. */
  readonly kinds: readonly RowKind[];
}

/** What became of a check or a run. `failed` means that it ended with an error; rows may have been stored before. */
type JobState = "new" | "checking" | "checked" | "running" | "done" | "failed";

export class ImportJob {
  readonly resource: Resource;
  readonly upload: Upload;
  readonly #folder: string;
  readonly #onError: (error: unknown) => void;
  #state: JobState = "new";
  #options: JobOptions | undefined;
  #rows: ImportedRows | undefined;
  #abort = new AbortController();
  #work: Promise<void> = Promise.resolve();
  #read = 0;
  #skipped = 0;
  #attempt = 0;
  #error: Refusal | undefined;
  #revisions: RevisionRange | undefined;
  #isInterrupted = false;
  readonly #onRead = (bytes: number) => {
    this.#read += bytes;
  };
  readonly #onSkipped = () => void this.#skipped++;

  /**
   * @param folder that does not exist; it is removed with the job
   * @param onError is called with an error that is no Refusal
   */
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

  /** Whether a check or a run is in progress. */
  get isBusy(): boolean {
    return this.#state === "checking" || this.#state === "running";
  }

  /** Its progress and its result. */
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
      /** Whether there are refused rows, which can be had as a file. */
      hasRejects: !this.isBusy && (this.#rows?.counts.refused ?? 0) > 0,
    };
  }

  /** Starts the dry run. @throws Refusal `conflict` */
  check(engine: Engine, site: number, options: JobOptions, now: () => number): void {
    if (this.isBusy || this.#state === "done" || this.#revisions) throw wrongMoment(this.#state);
    this.#options = options;
    this.#start("checking", (signal) => this.#import(engine, site, { options, now, signal, leftOut: undefined }));
  }

  /** Starts to store the rows that were checked. @throws Refusal `conflict` */
  run(engine: Engine, site: number, choice: Choice, now: () => number): void {
    const options = this.#options;
    if (this.#state !== "checked" || !options) throw wrongMoment(this.#state);
    const leftOut = new Set(choice.rows);
    for (const number of this.#rows?.numbers(choice.kinds) ?? []) leftOut.add(number);
    this.#start("running", (signal) => this.#import(engine, site, { options, now, signal, leftOut }));
  }

  /** Stops what is in progress; rows that are being stored are stored. */
  stop(): void {
    this.#abort.abort(new Error("stopped"));
  }

  /** Rows of the last check, or of the run. @throws Refusal `conflict` while it is in progress */
  async page(kind: RowKind, offset: number, limit: number) {
    if (!this.#rows || this.isBusy) throw wrongMoment(this.#state);
    return { rows: await this.#rows.page(kind, offset, limit), total: this.#rows.counts[kind] };
  }

  /** The file with the refused rows, and its format. @throws Refusal `not-found` */
  get rejects(): { readonly path: string; readonly format: FileFormat } {
    if (!this.progress.hasRejects || !this.#options) throw new Refusal("not-found", "there are no refused rows");
    return { path: this.#pathOf("refused"), format: this.#options.format };
  }

  /** Stops what is in progress, and removes the files. */
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
        // A check that was stopped says nothing about the rest of the rows.
        this.#state = state === "checking" && this.#isInterrupted ? "new" : after;
      },
      (error) => {
        if (!(error instanceof Refusal)) this.#onError(error);
        this.#error = error instanceof Refusal ? error : new Refusal("internal", "the import failed", { cause: error });
        this.#state = "failed";
      },
    );
  }

  async #import(engine: Engine, site: number, { options, now, signal, leftOut }: JobAttempt): Promise<void> {
    const dryRun = leftOut === undefined;
    this.#isInterrupted = await attemptImport({
      engine,
      site,
      resource: this.resource,
      source: chosenRows(this.upload.read(this.#onRead), this.resource, {
        ...options,
        leftOut,
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

  async #newRows(): Promise<ImportedRows> {
    const [before, path] = [this.#rows, this.#pathOf(`rows-${++this.#attempt}`)];
    this.#rows = undefined;
    this.#rows = await ImportedRows.open(path);
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
  /** Rows to leave out; undefined for a dry run. */
  readonly leftOut: ReadonlySet<number> | undefined;
}

function wrongMoment(state: JobState): Refusal {
  return new Refusal("conflict", `this is not possible for an import that is ${state}`);
}

// A check or a run of an import, with what became of each row in a file, and the refused rows in another.

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
async function attemptImport(attempt: Attempt): Promise<boolean> {
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
async function* chosenRows(
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
