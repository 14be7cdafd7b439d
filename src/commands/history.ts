import { Command } from "commander";
import { Refusal } from "../model/errors.ts";
import { toDeclared } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { restoreRecord } from "../operator/history.ts";
import { findSite } from "../operator/sites.ts";
import {
  printMessage,
  printResult,
  readId,
  readRevision,
  resourceArgument,
  type SiteOptions,
  withEngine,
  withSiteOption,
} from "./common.ts";
import { journalCommand } from "./journal.ts";

interface RestoreFlags extends SiteOptions {
  readonly revision?: string;
}

export function historyCommands(): Command[] {
  return [journalCommand(), restoreRecordCommand()];
}

function restoreRecordCommand(): Command {
  return withSiteOption(new Command("restore-record"))
    .description("restore an earlier version of a record; a deleted record gets its old ID back")
    .addArgument(resourceArgument())
    .argument("<id>", "ID of the record", readId)
    .option("--revision <number>", "revision of the journal to restore it from (default: before its last change)")
    .action(async (resource: Resource, id: number, options: RestoreFlags) => {
      const revision = options.revision === undefined ? undefined : readRevision("--revision", options.revision);
      const outcome = await withEngine(options, async (engine) => {
        const site = await findSite(engine, options.site);
        return restoreRecord(engine, site.ID, resource, id, revision, Date.now());
      });
      if (outcome.kind === "refused") throw new Refusal("not-found", `there is no ${resource.singular} ${id}`);
      const restored = toDeclared(resource, outcome.body);
      printResult(options, JSON.parse(restored), [restored]);
      printMessage(
        outcome.kind === "unchanged"
          ? "nothing to restore: the record is the same as now"
          : `restored the ${resource.singular} ${id}`,
      );
    });
}
