// `storefront copy`

import { Command } from "commander";
import { type CopyProgress, copyDatabase } from "../operator/backup/copy.ts";
import { recordInLog, withEngine, withNewEngine } from "./shared/database.ts";
import type { CommonOptions } from "./shared/options.ts";
import { printMessage, printResult } from "./shared/output.ts";
import { withProgress } from "./shared/progress.ts";

interface CopyFlags extends CommonOptions {
  readonly from: string;
  readonly to: string;
}

export function copyCommand(): Command {
  return new Command("copy")
    .description("copy the whole database to an empty one, such as from SQLite to PostgreSQL; servers can keep running")
    .requiredOption("--from <url>", "database to copy, in the form --database takes")
    .requiredOption("--to <url>", "empty database to copy to")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nChanges made to the source during the copy aren't copied. To miss none, stop the servers or all writes first.",
    )
    .action(async ({ from, to, ...options }: CopyFlags) => {
      const rows = await withProgress(({ show }) =>
        withEngine({ database: from }, (source) =>
          withNewEngine({ database: to }, async (target) => {
            const copied = await copyDatabase(source, target, (at: CopyProgress) => show(at.step, at.rows, at.total));
            for (const engine of [source, target]) await recordInLog(engine, { kind: "copy" });
            return copied;
          }),
        ),
      );
      printResult(options, { rows }, []);
      printMessage(`copied ${rows} rows and verified that both databases match`);
    });
}
