// The commands `import` and `export`.

import { statSync } from "node:fs";
import { Command, Option } from "commander";
import type { Engine } from "../model/engine.ts";
import type { Resource } from "../model/resource.ts";
import { exportRecords } from "../operator/import/export-records.ts";
import { type FileFormat, fileFormats, formatOf, readRowsOfCompleteFile } from "../operator/import/file-rows.ts";
import { importRecords } from "../operator/import/import-records.ts";
import type { ImportSummary } from "../operator/import/import-summary.ts";
import { getMatchField } from "../operator/import/matcher.ts";
import { openRejectedRowsFile } from "../operator/import/rejected-rows.ts";
import { isStandardOutput, writeFile } from "../operator/output.ts";
import { getSite } from "../operator/sites.ts";
import {
  asUsageError,
  fileArgument,
  printAll,
  printMessage,
  resourceArgument,
  type SiteOptions,
  withEngine,
  withSiteOption,
} from "./common.ts";
import { type CsvFlags, openInput, readCsvFlags, withCsvOptions } from "./csv-options.ts";
import { runInterruptible, waitUntilAborted } from "./interrupt.ts";
import { printUndo, printUndoable, type UndoOf, undoLine, undoOf } from "./undo.ts";

interface ImportFlags extends SiteOptions, CsvFlags {
  readonly format?: FileFormat;
  readonly match?: string;
  readonly dryRun?: true;
  readonly atomic?: true;
}

interface ExportFlags extends SiteOptions {
  readonly format?: FileFormat;
}

export function recordCommands(): Command[] {
  return [importCommand(), exportCommand()];
}

function importCommand(): Command {
  return withCsvOptions(withSiteOption(new Command("import")))
    .description("create records from a file, and update those that exist")
    .addArgument(resourceArgument())
    .addArgument(fileArgument("<file>", "file to read, or - for standard input"))
    .addOption(formatOption())
    .option("--match <field>", "find the record to update by this field, such as Name (default: ID)")
    .option("--dry-run", "report what would change, and change nothing")
    .option("--atomic", "store nothing if any row is refused (default: store the other rows)")
    .addHelpText(
      "after",
      `
The first line of a CSV file names the columns: ID, and fields such as Name or Address.Town. JSON and XML files
have the form that \`export\` writes. A row with an ID updates that record, or creates it with that ID; a row
without an ID creates a record. With --match, the ID is ignored. Fields that a row does not have keep their value.`,
    )
    .action(runImport);
}

const undoIfStored = "if the rows were stored nevertheless, this takes them back";
const undoStored = "to take back what was stored";

async function runImport(resource: Resource, file: string, options: ImportFlags): Promise<void> {
  asUsageError(() => getMatchField(resource, options.match));
  const format = options.format ?? formatOf(file) ?? "csv";
  let skipped = 0;
  const csv = { ...(await readCsvFlags(resource, file, format, options)), onSkipped: () => void skipped++ };
  const rejects = options.rejects === undefined ? undefined : openRejectedRowsFile(options.rejects);
  const progress = await openProgress(file);
  let undo: string | undefined;
  const printUndoLine = () => {
    if (undo) printMessage(`${options.atomic ? undoIfStored : undoStored}: ${undo}`);
  };
  const work = async (engine: Engine, run: string, signal: AbortSignal) => {
    const site = await getSite(engine, options.site);
    const bytes = waitUntilAborted(progress.watch(openInput(file)), signal);
    const rows = readRowsOfCompleteFile(resource, bytes, format, csv);
    const onBeforeCommit = (revision: number) => {
      undo = undoLine(options, revision, run);
    };
    const how = { ...options, signal, onBeforeCommit, onRejected: rejects?.add, now: Date.now };
    const summary = await importRecords(engine, site.ID, resource, rows, how);
    return { ...summary, skipped, ...undoOf(options, summary.revisions, run) };
  };
  const storing = runInterruptible(
    (signal) => withEngine(options, (engine, run) => work(engine, run, signal)),
    printUndoLine,
  ).finally(progress.stop);
  const summary = await storing.catch(async (error) => {
    printUndoLine();
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

function exportCommand(): Command {
  return withSiteOption(new Command("export"))
    .description("write all records of a resource to a file that `import` can read")
    .addArgument(resourceArgument())
    .addArgument(fileArgument("[file]", "file to write (default: standard output)"))
    .addOption(formatOption())
    .action(async (resource: Resource, file: string | undefined, options: ExportFlags) => {
      const format = options.format ?? (options.json ? "json" : (formatOf(file ?? "") ?? "csv"));
      await withEngine(options, async (engine) => {
        const site = await getSite(engine, options.site);
        const text = exportRecords(engine, site.ID, resource, format);
        if (file === undefined || isStandardOutput(file)) await printAll(text);
        else await writeFile(file, text);
      });
    });
}

function report(options: ImportFlags, summary: ImportSummary & UndoOf & { skipped: number }): void {
  const { rows, created, updated, unchanged, rejected, skipped, interrupted, faults } = summary;
  for (const { row, field, detail } of faults) printMessage(`row ${row}: ${field ? `${field}: ` : ""}${detail}`);
  const would = options.dryRun ? "would be " : "";
  const line = `${rows} rows: ${created} ${would}created, ${updated} ${would}updated, ${unchanged} unchanged, ${rejected} rejected`;
  const omitted = skipped > 0 ? `; ${skipped} more skipped by the mapping` : "";
  printUndoable(options, summary, [line + omitted]);
  if (rejected > 0 && options.rejects !== undefined) {
    const hint = options.dryRun || options.atomic ? "" : ": correct them, and import that file with the same options";
    printMessage(`the refused rows are in ${options.rejects}${hint}`);
  }
  printUndo(summary);
  if (rejected === 0 && !interrupted) return;
  process.exitCode = 1;
  if (interrupted)
    printMessage(
      `interrupted: ${options.atomic ? "nothing was stored" : "the rows not counted above were not stored"}`,
    );
  else if (options.atomic) printMessage("nothing was stored, because a row was refused (--atomic)");
}

function formatOption(): Option {
  return new Option("--format <format>", "format of the file (default: by its extension, else csv)").choices(
    fileFormats,
  );
}

/** Opens the progress of an import, in bytes read: a bar if stderr is a terminal and the file is larger than 1 MB, otherwise nothing. */
async function openProgress(file: string) {
  const total = file === "-" ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  const bar = process.stderr.isTTY && total > 1_000_000 ? await startBar(total) : undefined;
  return {
    async *watch(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of bytes) {
        yield chunk;
        bar?.increment(chunk.length);
      }
    },
    stop: () => bar?.stop(),
  };
}

async function startBar(total: number) {
  const { SingleBar } = await import("cli-progress");
  const format = "importing [{bar}] {percentage}%, {eta_formatted} left";
  const bar = new SingleBar({ format, clearOnComplete: true, stream: process.stderr });
  bar.start(total, 0);
  return bar;
}
