import { Command } from "commander";
import { backUp, type Restored, restore, verifyBackup } from "../operator/backup.ts";
import { type CopyProgress, copyDatabase } from "../operator/copy.ts";
import { isStandardInput, isStandardOutput } from "../operator/standard-streams.ts";
import {
  type CommonOptions,
  counted,
  printMessage,
  printResult,
  withCommonOptions,
  withEngine,
  withNewEngine,
} from "./common.ts";

export function databaseCommands(): Command[] {
  return [backupCommand(), restoreCommand(), renewCommand(), copyCommand(), checkCommand()];
}

function backupCommand(): Command {
  return withCommonOptions(new Command("backup"))
    .description("write the whole database to a file; servers may keep running")
    .argument("<file>", "file to write, such as storefront-2026-01-31.backup, or - for standard output")
    .action(async (file: string, options: CommonOptions) => {
      const { rows, notNoted } = await withEngine(options, (engine) => backUp(engine, file, Date.now()));
      if (!isStandardOutput(file)) printResult(options, { file, rows }, []);
      printMessage(`wrote ${rows} rows to ${isStandardOutput(file) ? "standard output" : file}`);
      if (notNoted) printMessage(`the time of this backup could not be stored, for the metrics: ${notNoted}`);
    });
}

function restoreCommand(): Command {
  return withCommonOptions(new Command("restore"))
    .description("replace the whole database with a backup; servers may keep running")
    .argument("<file>", "backup to read, or - for standard input")
    .addHelpText(
      "after",
      "\nThe present content, up to the last change, is saved as <file>.before-<time> (with -, as restore.before-<time>).",
    )
    .action(async (file: string, options: CommonOptions) => {
      const now = Date.now();
      const base = isStandardInput(file) ? "restore" : file;
      const keep = `${base}.before-${new Date(now).toISOString().replaceAll(":", "-")}`;
      await verifyBackup(file);
      const restored = await withNewEngine(options, (engine) => restore(engine, file, keep, now));
      printResult(options, { file, ...restored }, []);
      printMessage([`restored ${restored.rows} rows from ${file}`, ...consequences(restored)].join("; "));
    });
}

/** What happened to the previous content. */
function consequences({ kept, discarded, otherHistories }: Restored): string[] {
  if (kept.length === 0) return [];
  const lost = `${counted(discarded, "change")} made since the backup ${discarded === 1 ? "is" : "are"}`;
  const uncounted = `the changes of ${counted(otherHistories, "site")} cannot be counted, because their history is not that of the backup`;
  return [
    ...(otherHistories === 0 || discarded > 0 ? [`${lost} discarded`] : []),
    ...(otherHistories > 0 ? [uncounted] : []),
    `the previous content is in ${kept.join(" and ")}`,
  ];
}

function renewCommand(): Command {
  return withCommonOptions(new Command("renew"))
    .description("start new histories, after the database was restored by other means than `restore`")
    .addHelpText(
      "after",
      "\nNo ETag from before is accepted, for any website: a client that has one reads the record again.",
    )
    .action(async (options: CommonOptions) => {
      const sites = await withEngine(options, async (engine) => engine.renew());
      printResult(options, { sites }, []);
      printMessage(`started new histories for ${counted(sites, "site")}`);
    });
}

interface CopyFlags extends CommonOptions {
  readonly from: string;
  readonly to: string;
}

function copyCommand(): Command {
  return new Command("copy")
    .description("copy the whole database to an empty one, also of another kind; servers may keep running")
    .requiredOption("--from <url>", "database to copy, as for --database")
    .requiredOption("--to <url>", "database to copy to; it must be empty")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nChanges made to the source while the copy runs are not copied: stop the servers, or stop writing.",
    )
    .action(async ({ from, to, ...options }: CopyFlags) => {
      const progress = await openCopyProgress();
      const rows = await withEngine({ database: from }, (source) =>
        withNewEngine({ database: to }, (target) => copyDatabase(source, target, progress.show)),
      ).finally(progress.stop);
      printResult(options, { rows }, []);
      printMessage(`copied ${rows} rows; both databases have the same content`);
    });
}

/** Progress: a bar on a terminal, otherwise nothing. Writing the copy is its first half, reading it back the second. */
async function openCopyProgress() {
  const bar = process.stderr.isTTY ? await makeBar() : undefined;
  return {
    show({ step, rows, total }: CopyProgress): void {
      if (!bar || total === undefined) return;
      if (!bar.isActive) bar.start(total * 2, 0, { step });
      bar.update(step === "comparing" ? total + rows : rows, { step });
    },
    stop: () => bar?.stop(),
  };
}

async function makeBar() {
  const { SingleBar } = await import("cli-progress");
  return new SingleBar({
    format: "{step} [{bar}] {percentage}%, {eta_formatted} left",
    clearOnComplete: true,
    stream: process.stderr,
  });
}

function checkCommand(): Command {
  return withCommonOptions(new Command("check"))
    .description("check the whole database for faults: the file, the records and their journal")
    .action(async (options: CommonOptions) => {
      const faults = await withEngine(options, async (engine) => engine.check());
      printResult(options, { faults }, faults);
      printMessage(faults.length === 0 ? "no faults found" : `faults found: ${faults.length}`);
      if (faults.length > 0) process.exitCode = 1;
    });
}
