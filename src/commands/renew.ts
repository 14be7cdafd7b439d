// `storefront renew`

import { Command } from "commander";
import { withEngine } from "./shared/database.ts";
import { type CommonOptions, withCommonOptions } from "./shared/options.ts";
import { formatCount, printMessage, printResult } from "./shared/output.ts";

export function renewCommand(): Command {
  return withCommonOptions(new Command("renew"))
    .description("give every site a new epoch; run it after restoring the database without `restore`")
    .addHelpText(
      "after",
      "\nEarlier ETags and cursors of all sites become invalid. Clients have to read the records again.",
    )
    .action(async (options: CommonOptions) => {
      const sites = await withEngine(options, (engine) => engine.replaceEpochs());
      printResult(options, { sites }, []);
      printMessage(`gave ${formatCount(sites, "site")} a new epoch`);
    });
}
