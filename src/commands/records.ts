import { createReadStream, createWriteStream, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { SingleBar } from "cli-progress";
import { Command, Option } from "commander";
import { messageOf, Refusal } from "../model/errors.ts";
import { exportRecords } from "../operator/export.ts";
import { type ImportSummary, importRecords } from "../operator/import.ts";
import { type FileFormat, fileFormats, readRows } from "../operator/rows.ts";
import { findSite } from "../operator/sites.ts";
import { type CommonOptions, findResource, print, tell, withCommonOptions, withEngine } from "./common.ts";

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
    .requiredOption("--site <name>", "the website")
    .argument("<resource>", "brands, orderstatuses or locations")
    .argument("<file>", "the file, or - for standard input")
    .addOption(new Option("--format <format>", "when the file's name does not tell").choices(fileFormats))
    .option(
      "--match <field>",
      "update the record with the same value in this field, such as Name, in place of the same ID",
    )
    .option("--dry-run", "only tell what would happen")
    .option("--atomic", "all rows or none: one fault, and nothing is stored")
    .addHelpText(
      "after",
      "\nCSV columns are field names such as Name or Address.Town. A row with an ID updates that record,\nor makes it under that ID. Fields without a column keep their value.",
    )
    .action(async (resourceName: string, file: string, options: ImportFlags) => {
      const resource = findResource(resourceName);
      const format = options.format ?? formatOf(file) ?? "csv";
      const progress = openProgress(file);
      const summary = await withEngine(options, async (engine) => {
        const site = await findSite(engine, options.site);
        const rows = readRows(resource, progress.watch(openInput(file)), format);
        return importRecords(engine, site.ID, resource, rows, { ...options, now: Date.now });
      }).finally(progress.stop);
      report(options, summary);
    });
}

function exportCommand(): Command {
  return withCommonOptions(new Command("export"))
    .description("write every record to a file that `import` reads back without a change")
    .requiredOption("--site <name>", "the website")
    .argument("<resource>", "brands, orderstatuses or locations")
    .argument("[file]", "the file; standard output when not given")
    .addOption(new Option("--format <format>", "when the file's name does not tell (default csv)").choices(fileFormats))
    .action(async (resourceName: string, file: string | undefined, options: ExportFlags) => {
      const resource = findResource(resourceName);
      const format = options.format ?? (options.json ? "json" : (formatOf(file ?? "") ?? "csv"));
      await withEngine(options, async (engine) => {
        const site = await findSite(engine, options.site);
        const text = exportRecords(engine, site.ID, resource, format);
        if (file === undefined || file === "-") await printAll(text);
        else await writeFile(file, text);
      });
    });
}

function report(options: ImportFlags, summary: ImportSummary): void {
  const { rows, created, updated, unchanged, rejected, faults } = summary;
  for (const { row, field, detail } of faults) tell(`row ${row}: ${field ? `${field}: ` : ""}${detail}`);
  const would = options.dryRun ? "would be " : "";
  const line = `${rows} rows: ${created} ${would}created, ${updated} ${would}updated, ${unchanged} unchanged, ${rejected} rejected`;
  print(options, summary, [line]);
  if (rejected === 0) return;
  process.exitCode = 1;
  if (options.atomic) tell("nothing was stored, because not every row is good (--atomic)");
}

function formatOf(file: string): FileFormat | undefined {
  return fileFormats.find((format) => file.toLowerCase().endsWith(`.${format}`));
}

function openInput(file: string): AsyncIterable<Uint8Array> {
  if (file === "-") return process.stdin;
  if (!existsSync(file)) throw new Refusal("not-found", `there is no file ${file}`);
  if (!statSync(file).isFile()) throw new Refusal("bad-request", `${file} is no file`);
  return createReadStream(file, { highWaterMark: 256 * 1024 });
}

/** A bar on a terminal, by bytes read; nothing elsewhere. */
function openProgress(file: string) {
  const total = file !== "-" && existsSync(file) ? statSync(file).size : 0;
  const bar =
    process.stderr.isTTY && total > 1_000_000
      ? new SingleBar({ clearOnComplete: true, stream: process.stderr })
      : undefined;
  bar?.start(total, 0);
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

/** Writes beside the file and then takes its place, so that a failure leaves no half of one. */
async function writeFile(file: string, text: AsyncIterable<string>): Promise<void> {
  const part = `${file}.part`;
  try {
    await pipeline(Readable.from(text), createWriteStream(part));
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    if (error instanceof Refusal) throw error;
    throw new Refusal("unavailable", `cannot write ${file}: ${messageOf(error)}`, { cause: error });
  }
}

/** Prints everything; whoever reads may stop early, as `head` does. */
async function printAll(text: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(text), process.stdout, { end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
  }
}
