import { createReadStream, existsSync, statSync } from "node:fs";
import { Command, Option } from "commander";
import { messageOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";
import { exportRecords } from "../operator/export.ts";
import { type ImportSummary, importRecords } from "../operator/import.ts";
import { findMatchField } from "../operator/matcher.ts";
import { writeFile } from "../operator/output.ts";
import { type FileFormat, fileFormats, readRows } from "../operator/rows.ts";
import { findSite } from "../operator/sites.ts";
import { isStandardOutput } from "../operator/standard-streams.ts";
import {
  asUsageError,
  type CommonOptions,
  findResource,
  printMessage,
  printResult,
  readFileName,
  resourceArgument,
  withCommonOptions,
  withEngine,
} from "./common.ts";
import { interruptible, untilAborted } from "./interrupt.ts";
import { printAll } from "./stdout.ts";

interface ImportFlags extends CommonOptions {
  readonly site: string;
  readonly format?: FileFormat;
  readonly match?: string;
  readonly dryRun?: true;
  readonly atomic?: true;
}

interface ExportFlags extends CommonOptions {
  readonly site: string;
  readonly format?: FileFormat;
}

export function recordCommands(): Command[] {
  return [importCommand(), exportCommand()];
}

function importCommand(): Command {
  return withCommonOptions(new Command("import"))
    .description("make records from a file, or update those that match")
    .requiredOption("--site <name>", "the website, as `site list` names it")
    .addArgument(resourceArgument())
    .argument("<file>", "the file, or - for standard input", readFileName)
    .addOption(new Option("--format <format>", "when the file's name does not tell").choices(fileFormats))
    .option(
      "--match <field>",
      "update the record with the same value in this field, such as Name, in place of the same ID",
    )
    .option("--dry-run", "only tell what would happen")
    .option("--atomic", "all rows or none: one fault, and nothing is stored")
    .addHelpText(
      "after",
      `
The first line of CSV names the columns: ID, and fields such as Name or Address.Town. JSON and XML look as an
export writes them. A row with an ID updates that record, or makes it under that ID; one without makes a new
record; with --match the ID is passed over. Fields that a row does not have keep their value.

  storefront import --site shop brands brands.csv --match Name --dry-run`,
    )
    .action(async (resourceName: string, file: string, options: ImportFlags) => {
      const resource = findResource(resourceName);
      asUsageError(() => findMatchField(resource, options.match));
      const format = options.format ?? formatOf(file) ?? "csv";
      const progress = await openProgress(file);
      const summary = await interruptible((signal) =>
        withEngine(options, async (engine) => {
          const site = await findSite(engine, options.site);
          const bytes = untilAborted(progress.watch(openInput(file)), signal);
          const rows = readRows(resource, bytes, format);
          return importRecords(engine, site.ID, resource, rows, { ...options, signal, now: Date.now });
        }),
      ).finally(progress.stop);
      report(options, summary);
    });
}

function exportCommand(): Command {
  return withCommonOptions(new Command("export"))
    .description("write every record to a file that `import` reads back without a change")
    .requiredOption("--site <name>", "the website, as `site list` names it")
    .addArgument(resourceArgument())
    .argument("[file]", "the file; standard output when not given", readFileName)
    .addOption(new Option("--format <format>", "when the file's name does not tell (default csv)").choices(fileFormats))
    .action(async (resourceName: string, file: string | undefined, options: ExportFlags) => {
      const resource = findResource(resourceName);
      const format = options.format ?? (options.json ? "json" : (formatOf(file ?? "") ?? "csv"));
      await withEngine(options, async (engine) => {
        const site = await findSite(engine, options.site);
        const text = exportRecords(engine, site.ID, resource, format);
        if (file === undefined || isStandardOutput(file)) await printAll(text);
        else await writeFile(file, text);
      });
    });
}

function report(options: ImportFlags, summary: ImportSummary): void {
  const { rows, created, updated, unchanged, rejected, interrupted, faults } = summary;
  for (const { row, field, detail } of faults) printMessage(`row ${row}: ${field ? `${field}: ` : ""}${detail}`);
  const would = options.dryRun ? "would be " : "";
  const line = `${rows} rows: ${created} ${would}created, ${updated} ${would}updated, ${unchanged} unchanged, ${rejected} rejected`;
  printResult(options, summary, [line]);
  if (rejected === 0 && !interrupted) return;
  process.exitCode = 1;
  if (interrupted)
    printMessage(
      `interrupted: ${options.atomic ? "nothing was stored" : "the rows that are not counted above were not stored"}`,
    );
  else if (options.atomic) printMessage("nothing was stored, because not every row is good (--atomic)");
}

function formatOf(file: string): FileFormat | undefined {
  return fileFormats.find((format) => file.toLowerCase().endsWith(`.${format}`));
}

async function* openInput(file: string): AsyncGenerator<Uint8Array> {
  if (file !== "-" && !existsSync(file)) throw new Refusal("not-found", `there is no file ${file}`);
  if (file !== "-" && statSync(file).isDirectory()) throw new Refusal("bad-request", `${file} is a folder`);
  try {
    yield* file === "-" ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 });
  } catch (error) {
    throw new Refusal("unavailable", `cannot read ${file}: ${messageOf(error)}`, { cause: error });
  }
}

/** A bar on a terminal, by bytes read; nothing elsewhere. */
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
