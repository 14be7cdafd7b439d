// `storefront import`

import { statSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import { type CsvMapping, withLookups } from "../formats/csv-mapping.ts";
import { recognizedBytes } from "../formats/workbook/file-kinds.ts";
import type { Engine } from "../model/engine.ts";
import { alternatives, ProblemError } from "../model/errors.ts";
import type { Resource } from "../model/resource.ts";
import { StoredBytes } from "../operator/files/spool-file.ts";
import { describeColumns } from "../operator/import/column-guess.ts";
import {
  type FileContent,
  type FileFormat,
  guessEncoding,
  type NumberedRow,
  openTable,
  readRowsOfCompleteFile,
  readTableRows,
  recognizeFormat,
} from "../operator/import/file-rows.ts";
import { type ImportOptions, type ImportSummary, importRecords } from "../operator/import/import-records.ts";
import { getMatchField } from "../operator/import/matcher.ts";
import { type MissingSummary, toMissingNumbers } from "../operator/import/missing-from-file.ts";
import type { Table, TableOptions } from "../operator/import/open-table.ts";
import { openRejectedRowsFile } from "../operator/import/rejected-rows.ts";
import { describeRows } from "../operator/journal/events.ts";
import type { SiteRecord } from "../system/system-records.ts";
import {
  formatOption,
  readTableFlags,
  requireOneStandardInput,
  saveMapping,
  type TableFlags,
  withTableOptions,
} from "./shared/csv-options.ts";
import { recordInLog, withSite } from "./shared/database.ts";
import { openInput } from "./shared/input-file.ts";
import { runInterruptible, waitUntilAborted } from "./shared/interrupt.ts";
import { fileArgument, resourceArgument, type SiteOptions, withSiteOption } from "./shared/options.ts";
import { formatCount, printMessage, toTable } from "./shared/output.ts";
import { countBytes, type Progress, withProgress } from "./shared/progress.ts";
import { printUndo, printUndoable, type UndoOf, undoLine, undoOf } from "./shared/undo-line.ts";
import { asUsageError, UsageError } from "./shared/usage-error.ts";

interface ImportFlags extends SiteOptions, TableFlags {
  readonly format?: FileFormat;
  readonly match?: string;
  readonly dryRun?: true;
  readonly atomic?: true;
  readonly removeMissing?: true;
  readonly allowRemovals?: number;
}

export function importCommand(): Command {
  return withTableOptions(withSiteOption(new Command("import")))
    .description("create and update records from a file")
    .addArgument(resourceArgument())
    .addArgument(fileArgument("<file>", "file to read, or - for standard input"))
    .addOption(formatOption("recognized by its first bytes"))
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
A row of a CSV file or workbook names the columns: ID, and fields such as Name or Address.Town. For other names,
use --guess or --map. JSON and XML files have the form that \`export\` writes. A row with an ID updates that
record, or creates it with that ID; a row without an ID creates a record. With --match, IDs are ignored. Fields
missing from a row keep their value.`,
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
  using opened = new DisposableStack();
  const { input, rejects, summary } = await withProgress(async (progress) => {
    const input = await prepareInput(resource, file, options, progress, opened);
    const rejects = options.rejects === undefined ? undefined : openRejectedRowsFile(options.rejects);
    const summary = await importRows(resource, file, input, options, progress, rejects?.add).catch(async (error) => {
      await rejects?.closeAfterFailure();
      throw error;
    });
    return { input, rejects, summary };
  });
  const [closed] = await Promise.allSettled([rejects?.close()]);
  const isWritten = closed.status === "fulfilled";
  report(resource, options, { ...summary, skipped: input.skipped }, isWritten ? options.rejects : undefined);
  if (!isWritten) throw closed.reason;
  const { saveMap } = options;
  if (saveMap !== undefined && input.mapping) await saveMapping(saveMap, withLookups(input.mapping, summary.values));
  printValues(summary.values, input.mapping, saveMap);
}

// The input.

interface ImportInput {
  /** Rows that the mapping has skipped so far. */
  skipped: number;
  /** How the columns of a CSV file or workbook become fields. */
  readonly mapping: CsvMapping | undefined;
  /** @throws the signal's reason once it's aborted */
  readRows(signal: AbortSignal): AsyncIterable<NumberedRow>;
}

/**
 * Checks the options and finds the header before the database is opened. CSV is read as it arrives. Everything else, and CSV whose encoding has to be
 * guessed, is read more than once, so it's copied to a temporary file.
 * @param opened closes it
 */
async function prepareInput(
  resource: Resource,
  file: string,
  options: ImportFlags,
  progress: Progress,
  opened: DisposableStack,
): Promise<ImportInput> {
  asUsageError(() => getMatchField(resource, options.match));
  requireOneStandardInput(file, options.map);
  const stop = new AbortController();
  const { start, bytes } = await readStart(waitUntilAborted(openInput(file), stop.signal));
  const format = recognizeFormat(start, file, options.format);
  const flags = await readTableFlags(resource, file, format, options);
  const size = file === "-" ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  const isStream = format === "csv" && !options.guess;
  const isTable = format === "csv" || format === "xlsx";
  const onRead = countBytes("importing", progress, isStream || format === "xlsx" ? size : 2 * size);
  const content = isStream ? withCount(bytes, onRead) : await StoredBytes.copy(bytes, onRead);
  if (content instanceof StoredBytes) opened.defer(() => content.close());
  const mapped = isTable ? await openMappedTable(resource, content, format, flags, options.guess) : undefined;
  const input: ImportInput = {
    skipped: 0,
    mapping: mapped && (mapped.mapping ?? plainMapping(mapped.table)),
    readRows(signal) {
      signal.addEventListener("abort", () => stop.abort(signal.reason));
      if (!mapped) return readRowsOfCompleteFile(resource, content, format);
      return readTableRows(resource, mapped.table, { mapping: mapped.mapping, onSkipped: () => void input.skipped++ });
    },
  };
  return input;
}

/** Enough to recognize the format. A stream may pause after them. */
const minStart = 16;

/** @returns the start of the file, and all of it */
async function readStart(source: AsyncIterable<Uint8Array>) {
  const chunks = source[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  const isBlank = () => start.toString("latin1").trim() === "";
  while (start.length < minStart || (start.length < recognizedBytes && isBlank())) {
    const { value, done } = await chunks.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  const bytes = async function* () {
    yield start;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  return { start, bytes: bytes() };
}

async function* withCount(chunks: AsyncIterable<Uint8Array>, onRead: (bytes: number) => void) {
  for await (const chunk of chunks) {
    yield chunk;
    onRead(chunk.length);
  }
}

/** Opens a table, with the mapping that was given or guessed, and prints what else was guessed. */
async function openMappedTable(
  resource: Resource,
  content: FileContent,
  format: "csv" | "xlsx",
  given: TableOptions,
  isGuessed = false,
) {
  const isStored = content instanceof StoredBytes;
  const encoding = given.encoding ?? (isStored && format === "csv" ? await guessEncoding(content) : undefined);
  if (encoding === "windows-1252" && given.encoding === undefined)
    printMessage("the file isn't UTF-8, so it's read as windows-1252; for another encoding, add --encoding");
  const table = await openTable(resource, content, format, { ...given, encoding });
  const { header, top, sheets } = table;
  const others = (sheets?.filled ?? []).filter((name) => name !== sheets?.read);
  if (others.length > 0)
    printMessage(
      `reading the sheet \`${sheets?.read}\`; for ${alternatives(others.map((name) => `\`${name}\``))}, add --sheet`,
    );
  if (given.headerRow === undefined && header.number !== top[0]?.number)
    printMessage(`row ${header.number} names the columns; for another one, add --header-row`);
  return { table, mapping: isGuessed ? guessMapping(resource, table) : given.mapping };
}

/** Prints the guesses. @throws ProblemError `bad-request` if there are none */
function guessMapping(resource: Resource, table: Table): CsvMapping {
  const columns = describeColumns(resource, table);
  const mapped = columns.filter(({ field }) => field !== undefined);
  const left = columns.filter(({ field, name, samples }) => {
    const hasContent = [name, ...samples].some((cell) => cell.trim() !== "");
    return field === undefined && hasContent && !name.startsWith("#");
  });
  const names = (some: typeof columns) => some.map(({ key }) => key).join(", ");
  if (mapped.length === 0)
    throw new ProblemError("bad-request", `no column looks like a field: ${names(columns)}; map them with --map`);
  // Rows with IDs update these records, so say so even if the column is just called that.
  for (const { key, field, isGuessed } of mapped)
    if (isGuessed || field === "ID") printMessage(`guessed: ${key} is ${field}`);
  if (left.length > 0) printMessage(`not imported: ${names(left)}`);
  return { sources: mapped.map(({ key, field = "" }) => ({ field, column: key })), skip: [] };
}

/** For columns that are named after fields. */
function plainMapping({ header }: Table): CsvMapping {
  const names = header.cells.filter((name) => name.trim() !== "" && !name.startsWith("#"));
  return { sources: names.map((name) => ({ field: name, column: name })), skip: [] };
}

// The import.

/** How many missing records the report names. */
const maxNamed = 5;

/** `missingNames` has the first `maxNamed` records that aren't in the file. */
type ImportResult = ImportSummary & UndoOf & { readonly missingNames: readonly string[] };

/** Imports the rows. If that fails or is stopped, prints how to undo what may have been stored. */
async function importRows(
  resource: Resource,
  file: string,
  input: ImportInput,
  options: ImportFlags,
  progress: Progress,
  onRejected: ImportOptions["onRejected"],
): Promise<ImportResult> {
  let undo: string | undefined;
  const missingNames: string[] = [];
  const onMissing = (id: number, body: string) => {
    if (missingNames.length < maxNamed) missingNames.push(`${id} ${JSON.stringify(JSON.parse(body).Name)}`);
  };
  const work = async (engine: Engine, site: SiteRecord, run: string, signal: AbortSignal) => {
    const onBeforeCommit = (revision: number) => {
      undo = undoLine(options, revision, run);
    };
    const removeMissing = options.removeMissing && { maxRemovals: options.allowRemovals, onMissing };
    const how = { ...options, removeMissing, signal, onBeforeCommit, onRejected, now: Date.now };
    const event = { kind: "import", site: site.ID, resource: resource.path } as const;
    const summary = await importRecords(engine, site.ID, resource, input.readRows(signal), how).catch(async (error) => {
      if (!options.dryRun) await recordInLog(engine, { ...event, detail: "failed" }, file);
      throw error;
    });
    const rows = describeRows(summary, summary.missing?.removed);
    if (!options.dryRun)
      await recordInLog(engine, { ...event, detail: summary.interrupted ? "stopped" : "", rows }, file);
    return { ...summary, ...undoOf(options, summary.revisions, run), missingNames };
  };
  const printPossibleUndo = () => {
    const stored = options.atomic ? "in case the rows were stored, undo them with" : "to undo what was stored";
    if (undo) printMessage(`${stored}: ${undo}`);
  };
  try {
    return await runInterruptible(
      (signal) => withSite(options, (engine, site, run) => work(engine, site, run, signal)),
      printPossibleUndo,
    );
  } catch (error) {
    progress.stop();
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
  const { warnings, moreWarnings = 0 } = summary;
  for (const { row, column, field = column, detail } of warnings)
    printMessage(`warning: row ${row}: ${field ? `${field}: ` : ""}${detail}`);
  if (moreWarnings > 0) printMessage(`and ${formatCount(moreWarnings, "more warning")}`);
  for (const { row, field, detail } of faults) printMessage(`row ${row}: ${field ? `${field}: ` : ""}${detail}`);
  if (moreFaults !== undefined)
    printMessage(
      `and ${formatCount(moreFaults, "more error")}; see ${rejects ?? "--rejects <file>"} for all rejected rows and their errors`,
    );
  const would = options.dryRun ? "would be " : "";
  const line = `${formatCount(rows, "row")}: ${created} ${would}created, ${updated} ${would}updated, ${unchanged} unchanged, ${rejected} rejected`;
  const warned = warnings.length > 0 ? `, ${formatCount(warnings.length + moreWarnings, "warning")}` : "";
  const omitted = skipped > 0 ? `; ${skipped} more skipped by the mapping` : "";
  const removals = missing ? [removalLine(resource, missing, would, missingNames)] : [];
  printUndoable(options, { ...summary, missing: missing && toMissingNumbers(missing) }, [
    line + warned + omitted,
    ...removals,
  ]);
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

/** How many values of a column the report shows. */
const maxShown = 20;

/** Prints which values in the file aren't valid, but could be replaced with a lookup. @param saved the file with the mapping, if it was saved */
function printValues(
  values: ImportSummary["values"],
  mapping: CsvMapping | undefined,
  saved: string | undefined,
): void {
  for (const { field, contents, moreRows = 0 } of values) {
    const column = mapping?.sources.find((source) => source.field === field)?.column ?? field;
    const shown = contents.slice(0, maxShown);
    const rows = shown.map(({ content, rows, suggestion = "" }) => [JSON.stringify(content), String(rows), suggestion]);
    printMessage(`not valid in ${field}${column === field ? "" : `, from the column ${column}`}:`);
    for (const line of toTable(["value", "rows", "suggestion"], rows)) printMessage(`  ${line}`);
    const others = contents.slice(maxShown).reduce((sum, { rows }) => sum + rows, moreRows);
    if (others > 0) printMessage(`  and other values in ${formatCount(others, "row")}`);
  }
  if (values.length === 0) return;
  const isComplete = values.every(({ contents }) => contents.every(({ suggestion }) => suggestion !== undefined));
  const advice = isComplete ? "" : "replace null there with the right values, then ";
  if (saved === undefined) printMessage("to replace these values, put them into a mapping with --save-map <file>");
  else printMessage(`${saved} has the suggestions; ${advice}import with --map ${saved}`);
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
