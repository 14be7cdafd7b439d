// `storefront delete`

import { Command } from "commander";
import { toDeclaredJson } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { deleteRecords } from "../operator/records/records.ts";
import { withSite } from "./shared/database.ts";
import { parseId, resourceArgument, type SiteOptions, withSiteOption } from "./shared/options.ts";
import { formatCount, printMessage } from "./shared/output.ts";
import { printUndo, printUndoable, undoOf } from "./shared/undo-line.ts";

export function deleteCommand(): Command {
  return withSiteOption(new Command("delete"))
    .description("delete records, either all of them or none")
    .addArgument(resourceArgument())
    .argument("<id...>", "IDs of the records to delete", (text, before: number[] | undefined) => [
      ...(before ?? []),
      parseId(text),
    ])
    .addHelpText("after", "\nPrints the records it deletes.")
    .action(async (resource: Resource, ids: number[], options: SiteOptions) => {
      const { records, revisions, run } = await withSite(options, async (engine, site, run) => ({
        run,
        ...(await deleteRecords(engine, site.ID, resource, ids, Date.now())),
      }));
      const shown = records.map((record) => toDeclaredJson(resource, record));
      const back = undoOf(options, revisions, run);
      printUndoable(options, { deleted: shown.map((text) => JSON.parse(text)), ...back }, shown);
      printMessage(`deleted ${formatCount(records.length, resource.singular, resource.plural)}`);
      printUndo(back);
    });
}
