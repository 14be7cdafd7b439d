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
  const site = new Command("site").description("websites: each has its own hosts, keys and records");
  const commands = [addCommand(), listCommand(), setCommand(), removeCommand()];
  for (const command of commands) site.addCommand(command);
  return site;
}

function addCommand(): Command {
  return withCommonOptions(new Command("add"))
    .description("make a website")
    .argument("<name>", "what you call it: lower-case letters, digits and hyphens")
    .option("--hostname <host>", "a host under which it is served; may be given several times", collect)
    .option("--default", "answer for every host that no site has")
    .action(async (name: string, options: SiteOptions) => {
      const settings = { hostnames: options.hostname, isDefault: options.default };
      const made = await withNewEngine(options, (engine) => addSite(engine, name, settings, Date.now()));
      printResult(options, made, [`${made.ID}`]);
      printMessage(
        `made the site ${made.Name} (number ${made.ID}); now a key: storefront key create --site ${made.Name}`,
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
    .description("change a website; running servers follow at once")
    .argument("<name>", "its name")
    .option("--name <name>", "a new name")
    .option(
      "--hostname <host>",
      'a host under which it is served, in place of those it had; may be given several times; "" for none',
      collect,
    )
    .option("--default", "answer for every host that no site has")
    .option("--no-default", "answer for its own hosts only")
    .action(async (name: string, options: SiteOptions) => {
      const hostnames = options.hostname?.join() === "" ? [] : options.hostname;
      const settings = { name: options.name, hostnames, isDefault: options.default };
      if (Object.values(settings).every((value) => value === undefined)) {
        throw new UsageError("nothing to change: give --name, --hostname, --default or --no-default");
      }
      const site = await withEngine(options, (engine) => setSite(engine, name, settings, Date.now()));
      printResult(options, site, toTable(header, [toRow(site)]));
    });
}

function removeCommand(): Command {
  return withCommonOptions(new Command("remove"))
    .description("remove a website with its keys, its records and their history")
    .argument("<name>", "its name")
    .option("--yes", "I mean it")
    .action(async (name: string, options: SiteOptions) => {
      const removed = await withEngine(options, async (engine) => {
        await findSite(engine, name);
        if (!options.yes)
          throw new Refusal("bad-request", `this removes everything of the site "${name}" for good; add --yes`);
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
