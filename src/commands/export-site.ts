// `storefront export-site`

import { Command } from "commander";
import { isStandardOutput } from "../operator/files/standard-streams.ts";
import { exportSite } from "../operator/site-files/export-site.ts";
import { recordInLog, withEngine } from "./shared/database.ts";
import { type CommonOptions, fileArgument, withCommonOptions } from "./shared/options.ts";
import { formatCount, printMessage, printResult } from "./shared/output.ts";

export function exportSiteCommand(): Command {
  return withCommonOptions(new Command("export-site"))
    .description("export a site with its keys, webhooks, records and history to a file; servers can keep running")
    .argument("<name>", "name of the site, see `site list`")
    .addArgument(fileArgument("<file>", "file to write, such as garden.site, or - for standard output"))
    .action(async (name: string, file: string, options: CommonOptions) => {
      const { site, ...counts } = await withEngine(options, async (engine) => {
        const exported = await exportSite(engine, name, file, Date.now());
        await recordInLog(engine, { kind: "export-site", site: exported.site.ID }, file);
        return exported;
      });
      if (!isStandardOutput(file)) printResult(options, { file, site: site.Name, ...counts }, []);
      const where = isStandardOutput(file) ? "standard output" : file;
      printMessage(`exported the site ${site.Name} to ${where}: ${formatSiteCounts(counts)}`);
    });
}

/** What a site file contains. */
interface SiteCounts {
  readonly keys: number;
  readonly webhooks: number;
  readonly records: number;
  readonly changes: number;
}

/** `2 keys, 1 webhook, 350 records, 402 changes` */
export function formatSiteCounts({ keys, webhooks, records, changes }: SiteCounts): string {
  const all = [
    formatCount(keys, "key"),
    formatCount(webhooks, "webhook"),
    formatCount(records, "record"),
    formatCount(changes, "change"),
  ];
  return all.join(", ");
}
