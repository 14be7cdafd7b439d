// The command `renew`.

import { Command } from "commander";
import { withEngine } from "./shared/database.ts";
import { type CommonOptions, withCommonOptions } from "./shared/options.ts";
import { formatCount, printMessage, printResult } from "./shared/output.ts";

export function renewCommand(): Command {
  return withCommonOptions(new Command("renew"))
    .description("give every site a new epoch, after the database was restored by other means than `restore`")
    .addHelpText(
      "after",
      "\nNo earlier ETag is accepted any more, for any site: a client that sends one has to read the record again.",
    )
    .action(async (options: CommonOptions) => {
      const sites = await withEngine(options, (engine) => engine.replaceEpochs());
      printResult(options, { sites }, []);
      printMessage(`gave ${formatCount(sites, "site")} a new epoch`);
    });
}
