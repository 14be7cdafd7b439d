// `storefront import-site`

import { Command } from "commander";
import { importSite, type RestrictedKey } from "../operator/site-files/import-site.ts";
import { toSiteInfo } from "../operator/sites/sites.ts";
import { formatSiteCounts } from "./export-site.ts";
import { recordInLog, toConfig, withNewEngine } from "./shared/database.ts";
import { runInterruptible } from "./shared/interrupt.ts";
import { type CommonOptions, fileArgument, withCommonOptions } from "./shared/options.ts";
import { printMessage, printResult } from "./shared/output.ts";

interface ImportSiteOptions extends CommonOptions {
  readonly name?: string;
  readonly withoutKeys?: true;
}

export function importSiteCommand(): Command {
  return withCommonOptions(new Command("import-site"))
    .description("create a site from a file written by export-site; servers can keep running")
    .addArgument(fileArgument("<file>", "file written by export-site, or - for standard input"))
    .option("--name <name>", "name of the new site (default: the name in the file)")
    .option("--without-keys", "don't import the keys")
    .addHelpText(
      "after",
      "\nSkips and lists hostnames and keys that another site has, and webhooks whose URLs aren't allowed here.\nWebhooks stay paused until you run `webhook resume`.\nIf the import fails or is stopped, nothing is kept.",
    )
    .action(async (file: string, options: ImportSiteOptions) => {
      const { name, withoutKeys } = options;
      const { webhookAllow } = toConfig();
      const imported = await withNewEngine(options, (engine) =>
        runInterruptible(
          async (signal) => {
            const done = await importSite(engine, file, { name, withoutKeys, webhookAllow, signal, now: Date.now });
            await recordInLog(engine, { kind: "import-site", site: done.site.ID }, file);
            return done;
          },
          () => printMessage("the first command you run after a minute will clean up the partial site"),
        ),
      );
      const { site, keys, webhooks, records, changes, ...others } = imported;
      const counts = { keys, webhooks, records, changes };
      const { takenHostnames, takenKeys, takenDefault, restrictedKeys, omittedWebhooks } = others;
      printResult(options, { ...toSiteInfo(site, [site]), ...counts, ...others }, [`${site.ID}`]);
      printMessage(`imported the site ${site.Name} (ID ${site.ID}): ${formatSiteCounts(counts)}`);
      for (const host of takenHostnames) printMessage(`skipped the hostname ${host}: another site has it`);
      for (const key of takenKeys) printMessage(`skipped the key ${key}: it already exists in this database`);
      for (const key of restrictedKeys) printMessage(toRestrictedKey(key));
      for (const { url, reason } of omittedWebhooks) printMessage(`skipped the webhook ${url}: ${reason}`);
      for (const { url, change } of others.restrictedWebhooks)
        printMessage(
          change === "changed"
            ? `the webhook ${url} keeps this URL, which was set here after the export`
            : `the webhook ${url} needs a new secret, because the one in the file has been rotated here: run \`webhook rotate\``,
        );
      if (others.staysSuspended)
        printMessage(`the site is still suspended; to resume it: \`site set ${site.Name} --resume\``);
      if (counts.webhooks > 0)
        printMessage(
          `its webhooks are paused; find them with \`webhook list --site ${site.Name}\` and run \`webhook resume\``,
        );
      if (takenDefault) printMessage("it isn't the default site here, because there already is one");
    });
}

function toRestrictedKey({ name, change }: RestrictedKey): string {
  return change === "revoked"
    ? `the key ${name} stays revoked, because it was revoked in this database`
    : `the key ${name} keeps the narrower rights it had in this database`;
}
