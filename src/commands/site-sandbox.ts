// The command `site sandbox`.

import { Command } from "commander";
import { type MadeSandbox, makeSandbox } from "../operator/sandbox/make-sandbox.ts";
import { toSiteInfo } from "../operator/sites/sites.ts";
import { withEngine } from "./shared/database.ts";
import { runInterruptible } from "./shared/interrupt.ts";
import { type CommonOptions, withCommonOptions } from "./shared/options.ts";
import { formatCount, printMessage, printResult } from "./shared/output.ts";
import { withProgress } from "./shared/progress.ts";
import { commandLine } from "./shared/shell-words.ts";

export function sandboxCommand(): Command {
  return withCommonOptions(new Command("sandbox"))
    .description("make or renew the sandbox of a site: a copy of its records for tests; servers may keep running")
    .argument("<name>", "name of the site, see `site list`")
    .addHelpText(
      "after",
      "\nA key of `key create --sandbox` opens the sandbox at the hostnames of the site.\nTo renew a sandbox is to replace its records and history by a new copy. Its keys and webhooks stay.\nIf the copy fails or is stopped, the sandbox is as before.",
    )
    .action(async (name: string, options: CommonOptions) => {
      const made = await withEngine(options, (engine) =>
        withProgress(({ show }) =>
          runInterruptible(
            (signal) =>
              makeSandbox(engine, name, { signal, now: Date.now, onRecords: (count) => show("copying", count) }),
            () => printMessage("a command that runs in a minute or later removes what is left of the copy"),
          ),
        ),
      );
      const { site, live, leftover, ...counts } = made;
      printMessage(describe(made, options));
      if (leftover !== undefined) printMessage(leftover);
      printResult(options, { ...toSiteInfo(site, [live]), ...counts }, [site.Name]);
    });
}

function describe({ site, live, isNew, records, keys, webhooks }: MadeSandbox, options: CommonOptions): string {
  const copy = `the sandbox ${site.Name} with ${formatCount(records, "record")}`;
  if (!isNew) {
    const kept = `its ${formatCount(keys, "key")} and ${formatCount(webhooks, "webhook")} stay`;
    return `renewed ${copy}: ${kept}; its former records and history are gone, and earlier cursors and ETags are not valid`;
  }
  const create = commandLine(["key", "create", "--site", live.Name, "--sandbox"], options.database);
  return `made ${copy}; to create a key: ${create}`;
}
