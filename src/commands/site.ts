// `storefront site`

import { Command, Option } from "commander";
import { ProblemError } from "../model/errors.ts";
import { publicResources } from "../model/resource.ts";
import { type MadeSandbox, makeSandbox } from "../operator/sandbox/make-sandbox.ts";
import { findSandboxRecord, nameOfLiveSite, suspensionOf, withSandboxesBelow } from "../operator/sites/sandboxes.ts";
import { type CreatedSite, createSites, type RequestedSite, readSiteList } from "../operator/sites/site-creation.ts";
import { removeSite } from "../operator/sites/site-removal.ts";
import { listSites, requireSite, setSite, summarizeSite, toSiteInfo } from "../operator/sites/sites.ts";
import { allResources } from "../resources/all.ts";
import type { SiteRecord } from "../system/system-records.ts";
import { withEngine, withNewEngine } from "./shared/database.ts";
import { openInput } from "./shared/input-file.ts";
import { runInterruptible } from "./shared/interrupt.ts";
import { type CommonOptions, collectValue, withCommonOptions } from "./shared/options.ts";
import { formatCount, printMessage, printResult, toMinute, toTable } from "./shared/output.ts";
import { withProgress } from "./shared/progress.ts";
import { commandLine } from "./shared/shell-words.ts";
import { UsageError } from "./shared/usage-error.ts";

interface SiteOptions extends CommonOptions {
  readonly name?: string;
  readonly hostname?: string[];
  readonly default?: boolean;
  readonly yes?: true;
}

interface AddOptions extends SiteOptions {
  readonly from?: string;
  readonly withKey?: true;
}

interface SetOptions extends SiteOptions {
  readonly addHostname?: string[];
  readonly removeHostname?: string[];
  readonly suspend?: true;
  readonly resume?: true;
  readonly keyWebhooks?: boolean;
}

const header = ["ID", "NAME", "HOSTNAMES", "DEFAULT", "STATE"];

export function siteCommand(): Command {
  const site = new Command("site").description("manage sites, each with its own hostnames, keys and records");
  const commands = [addCommand(), listCommand(), showSiteCommand(), setCommand(), sandboxCommand(), removeCommand()];
  for (const command of commands) site.addCommand(command);
  return site;
}

function addCommand(): Command {
  return withCommonOptions(new Command("add"))
    .description("create a site, or all sites listed in a CSV file")
    .argument("[name]", "name of the site, in lower-case letters, digits and hyphens")
    .option("--hostname <host>", "hostname of the site; repeat for several", collectValue)
    .option("--default", "also serve this site for hostnames that no site has")
    .option("--from <csv>", "CSV file with the columns name,hostnames,default, or - for standard input")
    .option("--with-key", "create a key for each site and print it; it can't be shown again")
    .action(async (name: string | undefined, options: AddOptions) => {
      const requested = await readRequestedSites(name, options);
      const print = (added: readonly CreatedSite[]) =>
        options.from === undefined ? printAdded(added[0] as CreatedSite, options) : printList(added, options);
      const printKeys = (added: readonly CreatedSite[]) => {
        if (!print(added))
          throw new ProblemError("unavailable", "standard output was closed before all keys were written");
      };
      const withKeys = options.withKey ?? false;
      const added = await withNewEngine(options, (engine) =>
        createSites(engine, requested, withKeys ? {} : undefined, Date.now(), withKeys ? printKeys : undefined),
      );
      if (!withKeys) print(added);
    });
}

/** The named site, or the sites in the file of `--from`. @throws UsageError unless exactly one of them is given */
async function readRequestedSites(name: string | undefined, options: AddOptions): Promise<readonly RequestedSite[]> {
  const { hostname: hostnames = [], default: isDefault = false, from } = options;
  if (from !== undefined) {
    if (name !== undefined || hostnames.length > 0 || isDefault)
      throw new UsageError("with --from, put names, hostnames and the default site into the file");
    return readSiteList(openInput(from));
  }
  if (name === undefined) throw new UsageError("missing the name of the site; give one, or use --from <csv>");
  return [{ name, hostnames, isDefault }];
}

/** Prints the site's ID, or with `--with-key` only its key. @returns false if stdout was closed */
function printAdded({ site, key }: CreatedSite, options: AddOptions): boolean {
  const hint = key
    ? "save its key now, because it can't be shown again"
    : `to create a key: ${commandLine(["key", "create", "--site", site.Name], options.database)}`;
  printMessage(`created the site ${site.Name} (ID ${site.ID}); ${hint}`);
  return printResult(options, { ...toSiteInfo(site, [site]), key }, [key ?? `${site.ID}`]);
}

/** Like `printAdded`, for the sites in a file: prints `name,key` lines with `--with-key`, otherwise nothing. */
function printList(added: readonly CreatedSite[], options: AddOptions): boolean {
  const advice = options.withKey ? "; save their keys now, because they can't be shown again" : "";
  printMessage(`created ${formatCount(added.length, "site")}${advice}`);
  const lines = options.withKey ? ["name,key", ...added.map(({ site, key }) => `${site.Name},${key}`)] : [];
  const value = added.map(({ site, key }) => ({ ...toSiteInfo(site, [site]), key }));
  return printResult(options, value, lines);
}

function listCommand(): Command {
  return withCommonOptions(new Command("list"))
    .description("list all sites and their sandboxes")
    .action(async (options: CommonOptions) => {
      const sites = withSandboxesBelow(await withEngine(options, listSites));
      const rows = sites.map((site) => toRow(site, sites));
      const infos = sites.map((site) => toSiteInfo(site, sites));
      printResult(options, infos, toTable(header, rows));
    });
}

function setCommand(): Command {
  return withCommonOptions(new Command("set"))
    .description("change a site; takes effect immediately")
    .argument("<name>", "name of the site, see `site list`")
    .option("--name <name>", "new name")
    .option(
      "--hostname <host>",
      'replace all hostnames with this one; repeat for several, or use "" to remove all',
      collectValue,
    )
    .option("--add-hostname <host>", "hostname to add; repeat for several", collectValue)
    .option("--remove-hostname <host>", "hostname to remove; repeat for several", collectValue)
    .option("--default", "also serve this site for hostnames that no site has")
    .option("--no-default", "serve this site only for its own hostnames")
    .addOption(new Option("--suspend", "suspend the site: reject all its requests with 403").conflicts("resume"))
    .option("--resume", "serve the site again after --suspend")
    .option("--key-webhooks", "let API keys with the right webhooks:write manage webhooks (default)")
    .option("--no-key-webhooks", "don't let API keys manage webhooks; existing ones still deliver")
    .action(async (name: string, options: SetOptions) => {
      const settings = toSettings(options);
      if (Object.values(settings).every((value) => value === undefined)) {
        throw new UsageError("nothing to change: add an option, see `site set --help`");
      }
      const { site, sandbox } = await withEngine(options, async (engine) => {
        const site = await setSite(engine, name, settings, Date.now());
        return { site, sandbox: findSandboxRecord(await listSites(engine), site) };
      });
      if (options.name !== undefined && sandbox) printMessage(`its sandbox is now called ${sandbox.Name}`);
      printResult(options, toSiteInfo(site, [site]), toTable(header, [toRow(site, [site])]));
    });
}

function toSettings(options: SetOptions) {
  const { name, hostname, addHostname, removeHostname, default: isDefault, suspend, resume, keyWebhooks } = options;
  return {
    name,
    hostnames: hostname?.join() === "" ? [] : hostname,
    addedHostnames: addHostname,
    removedHostnames: removeHostname,
    isDefault,
    isSuspended: suspend ?? (resume ? false : undefined),
    allowsWebhooksByKey: keyWebhooks,
  };
}

function sandboxCommand(): Command {
  return withCommonOptions(new Command("sandbox"))
    .description("create a site's sandbox, a copy of its records for testing, or refresh it; servers can keep running")
    .argument("<name>", "name of the site, see `site list`")
    .addHelpText(
      "after",
      "\nThe sandbox has the site's hostnames; requests with a key from `key create --sandbox` go there.\nRun this again to replace its records and history with a fresh copy. Its keys and webhooks stay.\nIf copying fails or is stopped, the sandbox stays as it was.",
    )
    .action(async (name: string, options: CommonOptions) => {
      const made = await withEngine(options, (engine) =>
        withProgress(({ show }) =>
          runInterruptible(
            (signal) =>
              makeSandbox(engine, name, { signal, now: Date.now, onRecords: (count) => show("copying", count) }),
            () => printMessage("the first command you run after a minute will clean up the partial copy"),
          ),
        ),
      );
      const { site, live, leftover, ...counts } = made;
      printMessage(describeSandbox(made, options));
      if (leftover !== undefined) printMessage(leftover);
      printResult(options, { ...toSiteInfo(site, [live]), ...counts }, [site.Name]);
    });
}

function describeSandbox({ site, live, isNew, records, keys, webhooks }: MadeSandbox, options: CommonOptions): string {
  const copy = `the sandbox ${site.Name} with ${formatCount(records, "record")}`;
  if (!isNew) {
    const kept = `its ${formatCount(keys, "key")} and ${formatCount(webhooks, "webhook")} stay`;
    return `refreshed ${copy}; ${kept}. Earlier cursors and ETags are no longer valid`;
  }
  const create = commandLine(["key", "create", "--site", live.Name, "--sandbox"], options.database);
  return `created ${copy}; to create a key for it: ${create}`;
}

function removeCommand(): Command {
  return withCommonOptions(new Command("remove"))
    .description("delete a site and its sandbox with all keys, webhooks, records and history; this can't be undone")
    .argument("<name>", "name of the site, see `site list`")
    .option("--yes", "confirm that you want to delete it all")
    .action(async (name: string, options: SiteOptions) => {
      const { removed, sandbox, sites } = await withEngine(options, async (engine) => {
        const sites = await listSites(engine);
        const sandbox = findSandboxRecord(sites, requireSite(sites, name));
        if (!options.yes) throw unconfirmedError(name, sandbox);
        return { removed: await removeSite(engine, name, Date.now()), sandbox, sites };
      });
      printResult(options, toSiteInfo(removed, sites), []);
      printMessage(`removed the site ${removed.Name}${sandbox ? ` and its sandbox ${sandbox.Name}` : ""}`);
    });
}

function unconfirmedError(name: string, sandbox: SiteRecord | undefined): ProblemError {
  const what = sandbox ? `\`${name}\` and its sandbox \`${sandbox.Name}\` with their` : `\`${name}\` with its`;
  return new ProblemError(
    "bad-request",
    `this permanently deletes the site ${what} keys, webhooks, records and history; add --yes to confirm`,
  );
}

/** @param sites must include the live site of a sandbox */
function toRow(site: SiteRecord, sites: readonly SiteRecord[]): string[] {
  return [String(site.ID), site.Name, site.Hostnames, site.Default, stateOf(site, sites)];
}

function showSiteCommand(): Command {
  return withCommonOptions(new Command("show"))
    .description("show a site's hostnames, state, keys, webhooks, records and last change")
    .argument("<name>", "name of the site, see `site list`")
    .action(async (name: string, options: CommonOptions) => {
      const { sites, site, changed, ...summary } = await withEngine(options, async (engine) => ({
        sites: await listSites(engine),
        ...(await summarizeSite(engine, name, Date.now())),
      }));
      const { records, keys, validKeys, webhooks, revision } = summary;
      const counts = publicResources(allResources).map(({ path, singular, plural }) =>
        formatCount(records[path] ?? 0, singular, plural),
      );
      const lines = [
        ["Name", site.Name],
        ["ID", String(site.ID)],
        ["Hostnames", site.Hostnames || "none"],
        ["Default", site.Default || "no"],
        ["State", stateOf(site, sites)],
        ...(site.SandboxOf === "" ? [["Sandbox", findSandboxRecord(sites, site)?.Name ?? "none"]] : []),
        ["Keys", `${keys}, of which ${validKeys} ${validKeys === 1 ? "is" : "are"} valid`],
        ["Webhooks", String(webhooks)],
        ["Records", counts.join(", ")],
        ["Revision", `${revision}${changed ? `, of ${toMinute(changed.toISOString())} UTC` : ""}`],
      ].map(([label = "", value]) => `${label.padEnd(10)} ${value}`);
      printResult(options, { ...toSiteInfo(site, sites), ...summary, changed: changed?.toISOString() ?? null }, lines);
    });
}

/** `served`, `suspended since …`, `being imported`; a sandbox also names its site. */
function stateOf(site: SiteRecord, sites: readonly SiteRecord[]): string {
  const { SandboxOf, Importing } = site;
  const suspended = suspensionOf(site, sites);
  const served = site.KeyWebhooks === "no" ? "served, API keys can't manage webhooks" : "served";
  const state = suspended ? `suspended since ${toMinute(suspended)} UTC` : served;
  if (SandboxOf === "") return Importing ? "being imported" : state;
  const sandbox = `sandbox of ${nameOfLiveSite(site, sites)}`;
  if (Importing) return `${sandbox}, being copied`;
  return suspended ? `${sandbox}, ${state}` : sandbox;
}
