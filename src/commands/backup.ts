// `storefront backup`

import { Command, InvalidArgumentError } from "commander";
import { backUp } from "../operator/backup/backup.ts";
import { backupPath, deleteOldBackups, isFolder } from "../operator/backup/backup-folder.ts";
import { isStandardOutput } from "../operator/files/standard-streams.ts";
import { recordInLog, withEngine } from "./shared/database.ts";
import { type CommonOptions, fileArgument, withCommonOptions } from "./shared/options.ts";
import { printMessage, printResult } from "./shared/output.ts";
import { withProgress, withRowProgress } from "./shared/progress.ts";
import { UsageError } from "./shared/usage-error.ts";

interface BackupFlags extends CommonOptions {
  readonly keep?: number;
}

export function backupCommand(): Command {
  return withCommonOptions(new Command("backup"))
    .description("back up the whole database to a file; servers can keep running")
    .addArgument(
      fileArgument("<file>", "file to write, a folder to create storefront-<time>.backup in, or - for standard output"),
    )
    .option("--keep <number>", "if <file> is a folder, keep this many backups there and delete older ones", parseKeep)
    .action(async (target: string, options: BackupFlags) => {
      const now = Date.now();
      const inFolder = isFolder(target);
      if (options.keep !== undefined && !inFolder)
        throw new UsageError(`--keep only works with a folder, and ${target} isn't one`);
      const file = inFolder ? backupPath(target, now) : target;
      const { rows, timeNotSavedReason } = await withProgress((progress) =>
        withEngine(options, (engine) => {
          // Recorded once the file can be written and before the database is read, so that it's in the backup, and a restore doesn't discard it.
          async function* dump() {
            await recordInLog(engine, { kind: "backup" }, file);
            yield* engine.dump();
          }
          return backUp(withRowProgress({ ...engine, dump }, progress), file, now);
        }),
      );
      const deleted = options.keep === undefined ? [] : deleteOldBackups(target, options.keep, file);
      if (!isStandardOutput(file)) printResult(options, { file, rows, deleted }, []);
      printMessage(`wrote ${rows} rows to ${isStandardOutput(file) ? "standard output" : file}`);
      for (const old of deleted) printMessage(`deleted ${old}`);
      if (timeNotSavedReason)
        printMessage(`couldn't record the time of this backup for the metrics: ${timeNotSavedReason}`);
    });
}

function parseKeep(text: string): number {
  if (/^[1-9][0-9]{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Use a whole number from 1 to 99999.");
}
