// The command `export`.

import { Command } from "commander";
import type { Resource } from "../model/resource.ts";
import { writeFile } from "../operator/atomic-file.ts";
import { exportRecords } from "../operator/export-records.ts";
import { type FileFormat, formatOf } from "../operator/import/file-rows.ts";
import { getSite } from "../operator/sites/sites.ts";
import { isStandardOutput } from "../operator/standard-streams.ts";
import { formatOption } from "./shared/csv-options.ts";
import { withEngine } from "./shared/database.ts";
import { fileArgument, resourceArgument, type SiteOptions, withSiteOption } from "./shared/options.ts";
import { printAll } from "./shared/output.ts";

interface ExportFlags extends SiteOptions {
  readonly format?: FileFormat;
}

export function exportCommand(): Command {
  return withSiteOption(new Command("export"))
    .description("write all records of a resource to a file that `import` can read")
    .addArgument(resourceArgument())
    .addArgument(fileArgument("[file]", "file to write (default: standard output)"))
    .addOption(formatOption())
    .action(async (resource: Resource, file: string | undefined, options: ExportFlags) => {
      const format = options.format ?? (options.json ? "json" : (formatOf(file ?? "") ?? "csv"));
      await withEngine(options, async (engine) => {
        const site = await getSite(engine, options.site);
        const text = exportRecords(engine, site.ID, resource, format);
        if (file === undefined || isStandardOutput(file)) await printAll(text);
        else await writeFile(file, text);
      });
    });
}
