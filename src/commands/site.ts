import { Command } from "commander";
import { Refusal } from "../model/errors.ts";
import { addSite, findSite, listSites, removeSite, type SiteRecord, setSite } from "../operator/sites.ts";
import {
  type CommonOptions,
  printMessage,
  printResult,
  toTable,
  UsageError,
  withCommonOptions,
  withEngine,
  withNewEngine,
} from "./common.ts";

interface SiteOptions extends CommonOptions {
  readonly name?: string;
  readonly hostname?: string[];
  readonly default?: boolean;
  readonly yes?: true;
}

const header = ["ID", "NAME", "HOSTNAMES", "DEFAULT"];

export function siteCommand(): Command {
  const site = new Command("site").description("manage websites: each has its own hostnames, keys and records");
  for (const command of [addCommand(), listCommand(), setCommand(), removeCommand()]) site.addCommand(command);
  return site;
}

function addCommand(): Command {
  return withCommonOptions(new Command("add"))
    .description("create a website")
    .argument("<name>", "name of the website: lower-case letters, digits and hyphens")
    .option("--hostname <host>", "hostname of the website; may be given several times", collect)
    .option("--default", "serve this website also for hostnames that no website has")
    .action(async (name: string, options: SiteOptions) => {
      const settings = { hostnames: options.hostname, isDefault: options.default };
      const made = await withNewEngine(options, (engine) => addSite(engine, name, settings, Date.now()));
      printResult(options, made, [`${made.ID}`]);
      printMessage(
        `created the site ${made.Name} (ID ${made.ID}); to create a key: storefront key create --site ${made.Name}`,
      );
    });
}

function listCommand(): Command {
  return withCommonOptions(new Command("list"))
    .description("list the websites")
    .action(async (options: CommonOptions) => {
      const sites = await withEngine(options, listSites);
      printResult(options, sites, toTable(header, sites.map(toRow)));
    });
}

function setCommand(): Command {
  return withCommonOptions(new Command("set"))
    .description("change a website; running servers apply the change at once")
    .argument("<name>", "name of the website, see `site list`")
    .option("--name <name>", "new name")
    .option(
      "--hostname <host>",
      'hostname that replaces the present ones; may be given several times; "" removes all',
      collect,
    )
    .option("--default", "serve this website also for hostnames that no website has")
    .option("--no-default", "serve this website only for its own hostnames")
    .action(async (name: string, options: SiteOptions) => {
      const hostnames = options.hostname?.join() === "" ? [] : options.hostname;
      const settings = { name: options.name, hostnames, isDefault: options.default };
      if (Object.values(settings).every((value) => value === undefined)) {
        throw new UsageError("nothing to change: add --name, --hostname, --default or --no-default");
      }
      const site = await withEngine(options, (engine) => setSite(engine, name, settings, Date.now()));
      printResult(options, site, toTable(header, [toRow(site)]));
    });
}

function removeCommand(): Command {
  return withCommonOptions(new Command("remove"))
    .description("remove a website with its keys, records and history; this cannot be undone")
    .argument("<name>", "name of the website, see `site list`")
    .option("--yes", "confirm the removal")
    .action(async (name: string, options: SiteOptions) => {
      const removed = await withEngine(options, async (engine) => {
        await findSite(engine, name);
        if (!options.yes)
          throw new Refusal(
            "bad-request",
            `this removes the site \`${name}\` with its keys, records and history for good; add --yes to confirm`,
          );
        return removeSite(engine, name, Date.now());
      });
      printResult(options, removed, []);
      printMessage(`removed the site ${removed.Name}`);
    });
}

function toRow(site: SiteRecord): string[] {
  return [String(site.ID), site.Name, site.Hostnames, site.Default];
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
