// `storefront restore-record`

import { Command } from "commander";
import { ProblemError } from "../model/errors.ts";
import { toDeclaredJson } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { restoreRecord } from "../operator/journal/restore-record.ts";
import { withSite } from "./shared/database.ts";
import { parseId, parseRevision, resourceArgument, type SiteOptions, withSiteOption } from "./shared/options.ts";
import { printMessage, printResult } from "./shared/output.ts";

interface RestoreFlags extends SiteOptions {
  readonly revision?: string;
}

export function restoreRecordCommand(): Command {
  return withSiteOption(new Command("restore-record"))
    .description("restore an earlier version of a record; a deleted record comes back with its ID")
    .addArgument(resourceArgument())
    .argument("<id>", "ID of the record", parseId)
    .option("--revision <number>", "restore the record as it was at this revision (default: before its last change)")
    .action(async (resource: Resource, id: number, options: RestoreFlags) => {
      const revision = options.revision === undefined ? undefined : parseRevision("--revision", options.revision);
      const outcome = await withSite(options, (engine, site) =>
        restoreRecord(engine, site.ID, resource, id, revision, Date.now()),
      );
      if (outcome.kind === "rejected") throw new ProblemError("not-found", `there is no ${resource.singular} ${id}`);
      const restored = toDeclaredJson(resource, outcome.body);
      printResult(options, JSON.parse(restored), [restored]);
      printMessage(
        outcome.kind === "unchanged"
          ? "nothing changed: the record already has this content"
          : `restored the ${resource.singular} ${id}`,
      );
    });
}
