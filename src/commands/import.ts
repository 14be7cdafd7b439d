// The command `import`.

import { statSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import type { Engine } from "../model/engine.ts";
import type { Resource } from "../model/resource.ts";
import { type FileFormat, formatOf, type NumberedRow, readRowsOfCompleteFile } from "../operator/import/file-rows.ts";
import { type ImportOptions, type ImportSummary, importRecords } from "../operator/import/import-records.ts";
import { getMatchField } from "../operator/import/matcher.ts";
import { type MissingSummary, toMissingNumbers } from "../operator/import/missing-from-file.ts";
import { openRejectedRowsFile } from "../operator/import/rejected-rows.ts";
import type { SiteRecord } from "../system/system-records.ts";
import { type CsvFlags, formatOption, readCsvFlags, withCsvOptions } from "./shared/csv-options.ts";
import { withSite } from "./shared/database.ts";
import { openInput } from "./shared/input-file.ts";
import { runInterruptible, waitUntilAborted } from "./shared/interrupt.ts";
import { fileArgument, resourceArgument, type SiteOptions, withSiteOption } from "./shared/options.ts";
import { formatCount, printMessage } from "./shared/output.ts";
import { type Progress, withByteProgress, withProgress } from "./shared/progress.ts";
import { printUndo, printUndoable, type UndoOf, undoLine, undoOf } from "./shared/undo-line.ts";
import { asUsageError, UsageError } from "./shared/usage-error.ts";

interface ImportFlags extends SiteOptions, CsvFlags {
  readonly format?: FileFormat;
  readonly match?: string;
  readonly dryRun?: true;
  readonly atomic?: true;
  readonly removeMissing?: true;
  readonly allowRemovals?: number;
}

export function importCommand(): Command {
  return withCsvOptions(withSiteOption(new Command("import")))
    .description("create records from a file, and update those that exist")
    .addArgument(resourceArgument())
    .addArgument(fileArgument("<file>", "file to read, or - for standard input"))
    .addOption(formatOption())
    .option("--match <field>", "find the record to update by this field, such as Name (default: ID)")
    .option("--dry-run", "report what would change, and change nothing")
    .option("--atomic", "store nothing if any row is rejected (default: store the other rows)")
    .option("--remove-missing", "afterwards remove the records that the file lacks; try it with --dry-run first")
    .addOption(
      new Option(
        "--allow-removals <number>",
        "remove at most so many records (default: half of those that the site has)",
      ).argParser(parseCount),
    )
    .addHelpText(
      "after",
      `
The first line of a CSV file names the columns: ID, and fields such as Name or Address.Town. JSON and XML files
have the form that \`export\` writes. A row with an ID updates that record, or creates it with that ID; a row
without an ID creates a record. With --match, the ID is ignored. Fields that a row does not have keep their value.`,
    )
    .action(runImport);
}

/** Parses a number of records. @throws InvalidArgumentError */
function parseCount(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("must be a whole number");
}

async function runImport(resource: Resource, file: string, options: ImportFlags): Promise<void> {
  if (options.allowRemovals !== undefined && !options.removeMissing)
    throw new UsageError("--allow-removals needs --remove-missing");
  const input = await prepareInput(resource, file, options);
  const rejects = options.rejects === undefined ? undefined : openRejectedRowsFile(options.rejects);
  const summary = await importRows(resource, input, options, rejects?.add).catch(async (error) => {
    await rejects?.closeAfterFailure();
    throw error;
  });
  const [closed] = await Promise.allSettled([rejects?.close()]);
  const isWritten = closed.status === "fulfilled";
  report(resource, options, { ...summary, skipped: input.skipped }, isWritten ? options.rejects : undefined);
  if (!isWritten) throw closed.reason;
}

// The input.

interface ImportInput {
  /** The number of rows that the mapping has skipped so far. */
  skipped: number;
  /** Reads the rows, and shows how much of the file was read. @throws the reason of `signal` when it is aborted */
  readRows(progress: Progress, signal: AbortSignal): AsyncIterable<NumberedRow>;
}

/** Checks the options of the input, before the database is opened. */
async function prepareInput(resource: Resource, file: string, options: ImportFlags): Promise<ImportInput> {
  asUsageError(() => getMatchField(resource, options.match));
  const format = options.format ?? formatOf(file) ?? "csv";
  const csv = { ...(await readCsvFlags(resource, file, format, options)), onSkipped: () => void input.skipped++ };
  const size = file === "-" ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  const input: ImportInput = {
    skipped: 0,
    readRows(progress, signal) {
      const bytes = waitUntilAborted(withByteProgress(openInput(file), "importing", progress, size), signal);
      return readRowsOfCompleteFile(resource, bytes, format, csv);
    },
  };
  return input;
}

// The import.

/** Maximum records that the report names. */
const maxNamed = 5;

/** The result of an import, with the names of the first records that the file lacks. */
type ImportResult = ImportSummary & UndoOf & { readonly missingNames: readonly string[] };

/** Imports the rows. If this ends without a summary, prints how to undo what may have been stored. */
async function importRows(
  resource: Resource,
  input: ImportInput,
  options: ImportFlags,
  onRejected: ImportOptions["onRejected"],
): Promise<ImportResult> {
  let undo: string | undefined;
  const missingNames: string[] = [];
  const onMissing = (id: number, body: string) => {
    if (missingNames.length < maxNamed) missingNames.push(`${id} ${JSON.stringify(JSON.parse(body).Name)}`);
  };
  const work = async (engine: Engine, site: SiteRecord, run: string, signal: AbortSignal, progress: Progress) => {
    const onBeforeCommit = (revision: number) => {
      undo = undoLine(options, revision, run);
    };
    const removeMissing = options.removeMissing && { maxRemovals: options.allowRemovals, onMissing };
    const how = { ...options, removeMissing, signal, onBeforeCommit, onRejected, now: Date.now };
    const summary = await importRecords(engine, site.ID, resource, input.readRows(progress, signal), how);
    return { ...summary, ...undoOf(options, summary.revisions, run), missingNames };
  };
  const printPossibleUndo = () => {
    const stored = options.atomic
      ? "if the rows were stored nevertheless, this undoes them"
      : "to undo what was stored";
    if (undo) printMessage(`${stored}: ${undo}`);
  };
  try {
    return await withProgress((progress) =>
      runInterruptible(
        (signal) => withSite(options, (engine, site, run) => work(engine, site, run, signal, progress)),
        printPossibleUndo,
      ),
    );
  } catch (error) {
    printPossibleUndo();
    throw error;
  }
}

// The report.

/** @param rejects the file with the rejected rows, if it was written */
function report(
  resource: Resource,
  options: ImportFlags,
  { missingNames, missing, ...summary }: ImportResult & { skipped: number },
  rejects?: string,
): void {
  const { rows, created, updated, unchanged, rejected, skipped, interrupted, faults, moreFaults } = summary;
  for (const { row, field, detail } of faults) printMessage(`row ${row}: ${field ? `${field}: ` : ""}${detail}`);
  if (moreFaults !== undefined)
    printMessage(
      `${formatCount(moreFaults, "more error")}; ${rejects ?? "--rejects <file>"} lists the errors of all rejected rows`,
    );
  const would = options.dryRun ? "would be " : "";
  const line = `${formatCount(rows, "row")}: ${created} ${would}created, ${updated} ${would}updated, ${unchanged} unchanged, ${rejected} rejected`;
  const omitted = skipped > 0 ? `; ${skipped} more skipped by the mapping` : "";
  const removals = missing ? [removalLine(resource, missing, would, missingNames)] : [];
  printUndoable(options, { ...summary, missing: missing && toMissingNumbers(missing) }, [line + omitted, ...removals]);
  if (rejected > 0 && rejects !== undefined) {
    const hint = options.dryRun || options.atomic ? "" : ": correct them, and import that file with the same options";
    printMessage(`the rejected rows are in ${rejects}${hint}`);
  }
  printUndo(summary);
  if (missing) printKept(resource, missing, options.dryRun === true);
  if (rejected === 0 && !interrupted) return;
  process.exitCode = 1;
  if (interrupted)
    printMessage(
      `interrupted: ${options.atomic ? "nothing was stored" : "the rows not counted above were not stored"}`,
    );
  else if (options.atomic) printMessage("nothing was stored, because a row was rejected (--atomic)");
}

/** Returns the line about the records that the file lacks. @param would "would be " for a dry run */
function removalLine(
  { singular, plural }: Resource,
  { count, total, removed, obstacle }: MissingSummary,
  would: string,
  names: readonly string[],
): string {
  const some = names.length === 0 ? "" : `: ${names.join(", ")}${count > names.length ? ", ..." : ""}`;
  const all = formatCount(total, singular, plural);
  if (obstacle !== undefined) return `the file lacks ${count} of ${all}${some}`;
  return `${would ? count : removed} of ${all} ${would}removed, because the file lacks them${some}`;
}

/** Prints which records are kept although the file lacks them. Without a dry run, an obstacle is a failure. */
function printKept({ singular, plural }: Resource, { changed, obstacle }: MissingSummary, isDryRun: boolean): void {
  if (changed > 0)
    printMessage(`${formatCount(changed, singular, plural)} kept, because others created or changed them meanwhile`);
  if (obstacle === undefined) return;
  printMessage(`nothing ${isDryRun ? "would be" : "was"} removed: ${obstacle}`);
  process.exitCode = 1;
}
