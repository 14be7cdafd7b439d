// `storefront export`

import { Command } from "commander";
import type { Resource } from "../model/resource.ts";
import { writeFile } from "../operator/files/atomic-file.ts";
import { isStandardOutput } from "../operator/files/standard-streams.ts";
import { type FileFormat, formatOf, isTsv } from "../operator/import/file-rows.ts";
import { exportRecords } from "../operator/records/export-records.ts";
import { formatOption, requireFormat, withDelimiterOption } from "./shared/csv-options.ts";
import { recordInLog, withSite } from "./shared/database.ts";
import { fileArgument, resourceArgument, type SiteOptions, withSiteOption } from "./shared/options.ts";
import { printAll } from "./shared/output.ts";
import { UsageError } from "./shared/usage-error.ts";

interface ExportFlags extends SiteOptions {
  readonly format?: FileFormat;
  readonly delimiter?: string;
}

export function exportCommand(): Command {
  const command = withSiteOption(new Command("export"))
    .description("export all records of a resource to a file that `import` can read")
    .addArgument(resourceArgument())
    .addArgument(fileArgument("[file]", "file to write (default: standard output)"))
    .addOption(formatOption("by file extension, else csv"));
  return withDelimiterOption(command, "default: comma, or tab for a .tsv file").action(
    async (resource: Resource, file: string | undefined, options: ExportFlags) => {
      const format = options.format ?? (options.json ? "json" : (formatOf(file ?? "") ?? "csv"));
      const { delimiter = isTsv(file ?? "") ? "\t" : undefined } = options;
      requireFormat("CSV files", ["csv"], format, { delimiter: options.delimiter });
      const isFile = file !== undefined && !isStandardOutput(file);
      if (format === "xlsx" && !isFile && process.stdout.isTTY)
        throw new UsageError("a workbook can't be shown in a terminal; add a file name");
      await withSite(options, async (engine, site) => {
        const content = exportRecords(engine, site.ID, resource, format, { delimiter, isFile });
        if (isFile) await writeFile(file, content);
        else await printAll(content);
        await recordInLog(engine, { kind: "export", site: site.ID, resource: resource.path }, file);
      });
    },
  );
}
