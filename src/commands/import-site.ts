// The command `import-site`.

import { Command } from "commander";
import { importSite, type RestrictedKey } from "../operator/site-files/import-site.ts";
import { toSiteInfo } from "../operator/sites/sites.ts";
import { formatSiteCounts } from "./export-site.ts";
import { toConfig, withNewEngine } from "./shared/database.ts";
import { runInterruptible } from "./shared/interrupt.ts";
import { type CommonOptions, fileArgument, withCommonOptions } from "./shared/options.ts";
import { printMessage, printResult } from "./shared/output.ts";

interface ImportSiteOptions extends CommonOptions {
  readonly name?: string;
  readonly withoutKeys?: true;
}

export function importSiteCommand(): Command {
  return withCommonOptions(new Command("import-site"))
    .description("create a site from a file of export-site; servers may keep running")
    .addArgument(fileArgument("<file>", "file of export-site, or - for standard input"))
    .option("--name <name>", "name of the new site (default: the name in the file)")
    .option("--without-keys", "leave out the keys")
    .addHelpText(
      "after",
      "\nHostnames and keys that another site has, and webhooks whose URLs are not allowed here, are left out and listed.\nWebhooks are paused until `webhook resume`.\nIf the import fails or is stopped, nothing of it is kept.",
    )
    .action(async (file: string, options: ImportSiteOptions) => {
      const { name, withoutKeys } = options;
      const { webhookAllow } = toConfig();
      const imported = await withNewEngine(options, (engine) =>
        runInterruptible(
          (signal) => importSite(engine, file, { name, withoutKeys, webhookAllow, signal, now: Date.now }),
          () => printMessage("a command that runs in a minute or later removes what is left of the site"),
        ),
      );
      const { site, keys, webhooks, records, changes, ...others } = imported;
      const counts = { keys, webhooks, records, changes };
      const { takenHostnames, takenKeys, takenDefault, restrictedKeys, omittedWebhooks } = others;
      printResult(options, { ...toSiteInfo(site, [site]), ...counts, ...others }, [`${site.ID}`]);
      printMessage(`imported the site ${site.Name} (ID ${site.ID}): ${formatSiteCounts(counts)}`);
      for (const host of takenHostnames) printMessage(`left out the hostname ${host}: another site has it`);
      for (const key of takenKeys) printMessage(`left out the key ${key}: the database has it already`);
      for (const key of restrictedKeys) printMessage(toRestrictedKey(key));
      for (const { url, reason } of omittedWebhooks) printMessage(`left out the webhook ${url}: ${reason}`);
      for (const { url, change } of others.restrictedWebhooks)
        printMessage(
          change === "changed"
            ? `the webhook ${url} keeps the URL that it was given here`
            : `the webhook ${url} has a new secret, because the one in the file was rotated here: get another with \`webhook rotate\``,
        );
      if (others.staysSuspended) printMessage(`it stays suspended: end that with \`site set ${site.Name} --resume\``);
      if (counts.webhooks > 0)
        printMessage(`its webhooks are paused: \`webhook list --site ${site.Name}\`, then \`webhook resume\``);
      if (takenDefault) printMessage("it is not the default site: there is one already");
    });
}

function toRestrictedKey({ name, change }: RestrictedKey): string {
  return change === "revoked"
    ? `the key ${name} stays revoked, as it was in this database`
    : `the key ${name} keeps the narrower rights that it had in this database`;
}
