import { Command } from "commander";
import { backUp, type Restored, restore, verifyBackup } from "../operator/backup.ts";
import { type CopyProgress, copyDatabase } from "../operator/copy.ts";
import { isStandardInput, isStandardOutput } from "../operator/standard-streams.ts";
import {
  type CommonOptions,
  printMessage,
  printResult,
  withCommonOptions,
  withEngine,
  withNewEngine,
} from "./common.ts";

export function databaseCommands(): Command[] {
  return [backupCommand(), restoreCommand(), copyCommand(), checkCommand()];
}

function backupCommand(): Command {
  return withCommonOptions(new Command("backup"))
    .description("write the whole database to a file, while servers run on it")
    .argument("<file>", "the file, such as storefront-2026-01-31.backup, or - for standard output")
    .action(async (file: string, options: CommonOptions) => {
      const rows = await withEngine(options, (engine) => backUp(engine, file, Date.now()));
      if (!isStandardOutput(file)) printResult(options, { file, rows }, []);
      printMessage(`wrote ${rows} rows to ${isStandardOutput(file) ? "standard output" : file}`);
    });
}

function restoreCommand(): Command {
  return withCommonOptions(new Command("restore"))
    .description("replace the whole database by a backup, also while servers run on it")
    .argument("<file>", "the backup, or - for standard input")
    .addHelpText(
      "after",
      "\nWhat was there before is kept beside the file (with -, in the current folder), up to the last change.",
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

/** What a restore means for what was there before. */
function consequences({ kept, discarded, otherHistories }: Restored): string[] {
  if (kept.length === 0) return [];
  const counted =
    discarded === 1 ? "1 change made since the backup is" : `${discarded} changes made since the backup are`;
  const uncounted = `the changes of ${otherHistories === 1 ? "1 site" : `${otherHistories} sites`} cannot be counted, since their history is not that of the backup`;
  return [
    ...(otherHistories === 0 || discarded > 0 ? [`${counted} discarded`] : []),
    ...(otherHistories > 0 ? [uncounted] : []),
    `what was there before is in ${kept.join(" and ")}`,
  ];
}

interface CopyFlags extends CommonOptions {
  readonly from: string;
  readonly to: string;
}

function copyCommand(): Command {
  return new Command("copy")
    .description("copy the whole database into an empty one, of the same kind or another, while servers run on it")
    .requiredOption("--from <url>", "the database to copy")
    .requiredOption("--to <url>", "an empty database")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nWhat servers write to the source meanwhile is not copied: let them only read, or stop them.",
    )
    .action(async ({ from, to, ...options }: CopyFlags) => {
      const progress = await openCopyProgress();
      const rows = await withEngine({ database: from }, (source) =>
        withNewEngine({ database: to }, (target) => copyDatabase(source, target, progress.show)),
      ).finally(progress.stop);
      printResult(options, { rows }, []);
      printMessage(`copied ${rows} rows; both databases hold the same`);
    });
}

/** A bar on a terminal; nothing elsewhere. It is full when the copy was written and read back. */
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
    .description("verify the whole database: the file, the records and their journal")
    .action(async (options: CommonOptions) => {
      const faults = await withEngine(options, async (engine) => engine.check());
      printResult(options, { faults }, faults);
      printMessage(faults.length === 0 ? "everything is in order" : `${faults.length} faults`);
      if (faults.length > 0) process.exitCode = 1;
    });
}
