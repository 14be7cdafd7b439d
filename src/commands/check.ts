// `storefront check`

import { Command } from "commander";
import { checkBackup } from "../operator/backup/backup.ts";
import { isFolder, latestBackup } from "../operator/backup/backup-folder.ts";
import { maxListedInconsistencies } from "../store/database/consistency-check.ts";
import { withEngine } from "./shared/database.ts";
import { type CommonOptions, fileArgument, withCommonOptions } from "./shared/options.ts";
import { printMessage, printResult } from "./shared/output.ts";
import { countRows, withProgress, withRowProgress } from "./shared/progress.ts";

export function checkCommand(): Command {
  return withCommonOptions(new Command("check"))
    .description("check the whole database or a backup for damage: the file, the records and their history")
    .addArgument(
      fileArgument("[file]", "check this backup instead, or the latest one in this folder, without restoring it"),
    )
    .action(async (target: string | undefined, options: CommonOptions) => {
      const file = target !== undefined && isFolder(target) ? latestBackup(target) : target;
      const faults = await withProgress((progress) =>
        file === undefined
          ? withEngine(options, async (engine) => withRowProgress(engine, progress).findInconsistencies())
          : checkBackup(
              file,
              countRows((rows) => progress.show("checking", rows)),
            ),
      );
      const where = file === undefined ? "" : ` in ${file}`;
      printResult(options, { faults }, faults);
      const count = faults.length > maxListedInconsistencies ? `more than ${maxListedInconsistencies}` : faults.length;
      printMessage(faults.length === 0 ? `no faults found${where}` : `faults found${where}: ${count}`);
      if (faults.length > 0) process.exitCode = 1;
    });
}
