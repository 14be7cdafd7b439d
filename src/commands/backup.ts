// The command `backup`.

import { Command, InvalidArgumentError } from "commander";
import { backUp } from "../operator/backup/backup.ts";
import { backupPath, deleteOldBackups, isFolder } from "../operator/backup/backup-folder.ts";
import { isStandardOutput } from "../operator/files/standard-streams.ts";
import { withEngine } from "./shared/database.ts";
import { type CommonOptions, fileArgument, withCommonOptions } from "./shared/options.ts";
import { printMessage, printResult } from "./shared/output.ts";
import { withProgress, withRowProgress } from "./shared/progress.ts";
import { UsageError } from "./shared/usage-error.ts";

interface BackupFlags extends CommonOptions {
  readonly keep?: number;
}

export function backupCommand(): Command {
  return withCommonOptions(new Command("backup"))
    .description("write the whole database to a file; servers may keep running")
    .addArgument(
      fileArgument("<file>", "file to write, a folder for storefront-<time>.backup in it, or - for standard output"),
    )
    .option("--keep <number>", "in a folder, keep this many backups and delete the older ones afterwards", parseKeep)
    .action(async (target: string, options: BackupFlags) => {
      const now = Date.now();
      const inFolder = isFolder(target);
      if (options.keep !== undefined && !inFolder)
        throw new UsageError(`--keep needs an existing folder, and ${target} is not a folder`);
      const file = inFolder ? backupPath(target, now) : target;
      const { rows, timeNotSavedReason } = await withProgress((progress) =>
        withEngine(options, (engine) => backUp(withRowProgress(engine, progress), file, now)),
      );
      const deleted = options.keep === undefined ? [] : deleteOldBackups(target, options.keep, file);
      if (!isStandardOutput(file)) printResult(options, { file, rows, deleted }, []);
      printMessage(`wrote ${rows} rows to ${isStandardOutput(file) ? "standard output" : file}`);
      for (const old of deleted) printMessage(`deleted ${old}`);
      if (timeNotSavedReason)
        printMessage(`the time of this backup could not be saved for the metrics: ${timeNotSavedReason}`);
    });
}

function parseKeep(text: string): number {
  if (/^[1-9][0-9]{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It is a whole number from 1 to 99999.");
}
