// `storefront import`

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
    .description("create and update records from a file")
    .addArgument(resourceArgument())
    .addArgument(fileArgument("<file>", "file to read, or - for standard input"))
    .addOption(formatOption())
    .option("--match <field>", "match existing records by this field, such as Name (default: ID)")
    .option("--dry-run", "show what would change, but change nothing")
    .option("--atomic", "store nothing if any row is rejected (default: store the valid rows)")
    .option("--remove-missing", "also delete the records that aren't in the file; try it with --dry-run first")
    .addOption(
      new Option(
        "--allow-removals <number>",
        "remove at most this many records (default: half of the site's)",
      ).argParser(parseCount),
    )
    .addHelpText(
      "after",
      `
The first line of a CSV file names the columns: ID, and fields such as Name or Address.Town. JSON and XML files
have the form that \`export\` writes. A row with an ID updates that record, or creates it with that ID; a row
without an ID creates a record. With --match, IDs are ignored. Fields missing from a row keep their value.`,
    )
    .action(runImport);
}

/** @throws InvalidArgumentError */
function parseCount(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Use a whole number, such as 100.");
}

async function runImport(resource: Resource, file: string, options: ImportFlags): Promise<void> {
  if (options.allowRemovals !== undefined && !options.removeMissing)
    throw new UsageError("--allow-removals only works with --remove-missing");
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
  /** Rows that the mapping has skipped so far. */
  skipped: number;
  /** @throws the signal's reason once it's aborted */
  readRows(progress: Progress, signal: AbortSignal): AsyncIterable<NumberedRow>;
}

/** Checks the options before the database is opened. */
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

/** How many missing records the report names. */
const maxNamed = 5;

/** `missingNames` has the first `maxNamed` records that aren't in the file. */
type ImportResult = ImportSummary & UndoOf & { readonly missingNames: readonly string[] };

/** Imports the rows. If that fails or is stopped, prints how to undo what may have been stored. */
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
    const stored = options.atomic ? "in case the rows were stored, undo them with" : "to undo what was stored";
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

/** @param rejects the file of rejected rows, if one was written */
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
      `and ${formatCount(moreFaults, "more error")}; see ${rejects ?? "--rejects <file>"} for all rejected rows and their errors`,
    );
  const would = options.dryRun ? "would be " : "";
  const line = `${formatCount(rows, "row")}: ${created} ${would}created, ${updated} ${would}updated, ${unchanged} unchanged, ${rejected} rejected`;
  const omitted = skipped > 0 ? `; ${skipped} more skipped by the mapping` : "";
  const removals = missing ? [removalLine(resource, missing, would, missingNames)] : [];
  printUndoable(options, { ...summary, missing: missing && toMissingNumbers(missing) }, [line + omitted, ...removals]);
  if (rejected > 0 && rejects !== undefined) {
    const hint = options.dryRun || options.atomic ? "" : "; fix them, then import that file with the same options";
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
  else if (options.atomic) printMessage("nothing was stored, because a row was rejected and --atomic is set");
}

/** Describes the records that aren't in the file. @param would "would be " for a dry run */
function removalLine(
  { singular, plural }: Resource,
  { count, total, removed, obstacle }: MissingSummary,
  would: string,
  names: readonly string[],
): string {
  const some = names.length === 0 ? "" : `: ${names.join(", ")}${count > names.length ? ", ..." : ""}`;
  const all = formatCount(total, singular, plural);
  if (obstacle !== undefined) return `${count} of ${all} ${count === 1 ? "isn't" : "aren't"} in the file${some}`;
  const gone = would ? count : removed;
  return `${gone} of ${all} ${would}removed, because ${gone === 1 ? "it isn't" : "they aren't"} in the file${some}`;
}

/** Says which records stay although they aren't in the file. Except in a dry run, the command has then failed. */
function printKept({ singular, plural }: Resource, { changed, obstacle }: MissingSummary, isDryRun: boolean): void {
  if (changed > 0)
    printMessage(
      `kept ${formatCount(changed, singular, plural)} that someone else created or changed during the import`,
    );
  if (obstacle === undefined) return;
  printMessage(`nothing ${isDryRun ? "would be" : "was"} removed: ${obstacle}`);
  process.exitCode = 1;
}
