// The command `import`.

import { statSync } from "node:fs";
import { Command } from "commander";
import type { Engine } from "../model/engine.ts";
import type { Resource } from "../model/resource.ts";
import { type FileFormat, formatOf, readRowsOfCompleteFile } from "../operator/import/file-rows.ts";
import { importRecords } from "../operator/import/import-records.ts";
import type { ImportSummary } from "../operator/import/import-summary.ts";
import { getMatchField } from "../operator/import/matcher.ts";
import { openRejectedRowsFile } from "../operator/import/rejected-rows.ts";
import { getSite } from "../operator/sites/sites.ts";
import { type CsvFlags, formatOption, readCsvFlags, withCsvOptions } from "./shared/csv-options.ts";
import { withEngine } from "./shared/database.ts";
import { openInput } from "./shared/input-file.ts";
import { runInterruptible, waitUntilAborted } from "./shared/interrupt.ts";
import { fileArgument, resourceArgument, type SiteOptions, withSiteOption } from "./shared/options.ts";
import { formatCount, printMessage } from "./shared/output.ts";
import { type Progress, withByteProgress, withProgress } from "./shared/progress.ts";
import { printUndo, printUndoable, type UndoOf, undoLine, undoOf } from "./shared/undo-line.ts";
import { asUsageError } from "./shared/usage-error.ts";

interface ImportFlags extends SiteOptions, CsvFlags {
  readonly format?: FileFormat;
  readonly match?: string;
  readonly dryRun?: true;
  readonly atomic?: true;
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
    .addHelpText(
      "after",
      `
The first line of a CSV file names the columns: ID, and fields such as Name or Address.Town. JSON and XML files
have the form that \`export\` writes. A row with an ID updates that record, or creates it with that ID; a row
without an ID creates a record. With --match, the ID is ignored. Fields that a row does not have keep their value.`,
    )
    .action(runImport);
}

const undoIfStored = "if the rows were stored nevertheless, this undoes them";
const undoStored = "to undo what was stored";

async function runImport(resource: Resource, file: string, options: ImportFlags): Promise<void> {
  asUsageError(() => getMatchField(resource, options.match));
  const format = options.format ?? formatOf(file) ?? "csv";
  let skipped = 0;
  const csv = { ...(await readCsvFlags(resource, file, format, options)), onSkipped: () => void skipped++ };
  const rejects = options.rejects === undefined ? undefined : openRejectedRowsFile(options.rejects);
  const size = file === "-" ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  let lineToUndo: string | undefined;
  const printLineToUndo = () => {
    if (lineToUndo) printMessage(`${options.atomic ? undoIfStored : undoStored}: ${lineToUndo}`);
  };
  const work = async (engine: Engine, run: string, signal: AbortSignal, progress: Progress) => {
    const site = await getSite(engine, options.site);
    const bytes = waitUntilAborted(withByteProgress(openInput(file), "importing", progress, size), signal);
    const rows = readRowsOfCompleteFile(resource, bytes, format, csv);
    const onBeforeCommit = (revision: number) => {
      lineToUndo = undoLine(options, revision, run);
    };
    const how = { ...options, signal, onBeforeCommit, onRejected: rejects?.add, now: Date.now };
    const summary = await importRecords(engine, site.ID, resource, rows, how);
    return { ...summary, skipped, ...undoOf(options, summary.revisions, run) };
  };
  const storing = withProgress((progress) =>
    runInterruptible(
      (signal) => withEngine(options, (engine, run) => work(engine, run, signal, progress)),
      printLineToUndo,
    ),
  );
  const summary = await storing.catch(async (error) => {
    printLineToUndo();
    await rejects?.closeAfterFailure();
    throw error;
  });
  await rejects?.close().catch((error) => {
    const { rejects: _, ...others } = options;
    report(others, summary);
    throw error;
  });
  report(options, summary);
}

function report(options: ImportFlags, summary: ImportSummary & UndoOf & { skipped: number }): void {
  const { rows, created, updated, unchanged, rejected, skipped, interrupted, faults } = summary;
  for (const { row, field, detail } of faults) printMessage(`row ${row}: ${field ? `${field}: ` : ""}${detail}`);
  const would = options.dryRun ? "would be " : "";
  const line = `${formatCount(rows, "row")}: ${created} ${would}created, ${updated} ${would}updated, ${unchanged} unchanged, ${rejected} rejected`;
  const omitted = skipped > 0 ? `; ${skipped} more skipped by the mapping` : "";
  printUndoable(options, summary, [line + omitted]);
  if (rejected > 0 && options.rejects !== undefined) {
    const hint = options.dryRun || options.atomic ? "" : ": correct them, and import that file with the same options";
    printMessage(`the rejected rows are in ${options.rejects}${hint}`);
  }
  printUndo(summary);
  if (rejected === 0 && !interrupted) return;
  process.exitCode = 1;
  if (interrupted)
    printMessage(
      `interrupted: ${options.atomic ? "nothing was stored" : "the rows not counted above were not stored"}`,
    );
  else if (options.atomic) printMessage("nothing was stored, because a row was rejected (--atomic)");
}
