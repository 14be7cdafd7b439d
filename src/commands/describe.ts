// `storefront describe`

import { Command } from "commander";
import { formatYaml } from "../formats/yaml.ts";
import { describeSites } from "../operator/sites/sites-file.ts";
import { ownUrl } from "./health.ts";
import { toConfig, withEngine } from "./shared/database.ts";
import { type CommonOptions, withCommonOptions } from "./shared/options.ts";
import { printResult } from "./shared/output.ts";

export function describeCommand(): Command {
  return withCommonOptions(new Command("describe"))
    .description("print sites with their keys and webhooks as a YAML file for `apply`")
    .argument("[names...]", "names of the sites, see `site list` (default: all)")
    .addHelpText("after", "\nThe file contains webhook URLs, but no keys, secrets, records or operators.")
    .action(async (names: readonly string[], options: CommonOptions) => {
      const sites = await withEngine(options, (engine) => describeSites(engine, names, Date.now()));
      const schema = `# yaml-language-server: $schema=${ownUrl(toConfig())}/schemas/sites.json`;
      printResult(options, { sites }, options.json ? [] : [schema, formatYaml({ sites })]);
    });
}
