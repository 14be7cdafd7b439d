// The command `site`.

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
}

const header = ["ID", "NAME", "HOSTNAMES", "DEFAULT", "STATE"];

export function siteCommand(): Command {
  const site = new Command("site").description("manage sites: each has its own hostnames, keys and records");
  const commands = [addCommand(), listCommand(), showSiteCommand(), setCommand(), sandboxCommand(), removeCommand()];
  for (const command of commands) site.addCommand(command);
  return site;
}

function addCommand(): Command {
  return withCommonOptions(new Command("add"))
    .description("create a site, or the sites of a CSV file: all of them or none")
    .argument("[name]", "name of the site: lower-case letters, digits and hyphens")
    .option("--hostname <host>", "hostname of the site; may be given several times", collectValue)
    .option("--default", "serve this site also for hostnames that no site has")
    .option("--from <csv>", "file with the columns name,hostnames,default, or - for standard input")
    .option("--with-key", "create a key for each site, and print it; it cannot be shown again")
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
        createSites(engine, requested, withKeys, Date.now(), withKeys ? printKeys : undefined),
      );
      if (!withKeys) print(added);
    });
}

/** Returns the sites to create: the named site, or the sites of the file of `--from`. @throws UsageError unless there is either a name or a file */
async function readRequestedSites(name: string | undefined, options: AddOptions): Promise<readonly RequestedSite[]> {
  const { hostname: hostnames = [], default: isDefault = false, from } = options;
  if (from !== undefined) {
    if (name !== undefined || hostnames.length > 0 || isDefault)
      throw new UsageError("with --from, the file has the name, the hostnames and the default site");
    return readSiteList(openInput(from));
  }
  if (name === undefined) throw new UsageError("missing the name of the site, or --from with a file");
  return [{ name, hostnames, isDefault }];
}

/** Prints the ID of the site, or with `--with-key` only the key. Returns false if the reader of stdout has closed it. */
function printAdded({ site, key }: CreatedSite, options: AddOptions): boolean {
  const hint = key
    ? "save its key now: it cannot be shown again"
    : `to create a key: ${commandLine(["key", "create", "--site", site.Name], options.database)}`;
  printMessage(`created the site ${site.Name} (ID ${site.ID}); ${hint}`);
  return printResult(options, { ...toSiteInfo(site, [site]), key }, [key ?? `${site.ID}`]);
}

/** As `printAdded`, for the sites of a file: prints `name,key` for each site with `--with-key`, otherwise nothing. */
function printList(added: readonly CreatedSite[], options: AddOptions): boolean {
  const advice = options.withKey ? "; save their keys now: they cannot be shown again" : "";
  printMessage(`created ${formatCount(added.length, "site")}${advice}`);
  const lines = options.withKey ? ["name,key", ...added.map(({ site, key }) => `${site.Name},${key}`)] : [];
  const value = added.map(({ site, key }) => ({ ...toSiteInfo(site, [site]), key }));
  return printResult(options, value, lines);
}

function listCommand(): Command {
  return withCommonOptions(new Command("list"))
    .description("list the sites, each with its sandbox")
    .action(async (options: CommonOptions) => {
      const sites = withSandboxesBelow(await withEngine(options, listSites));
      const rows = sites.map((site) => toRow(site, sites));
      const infos = sites.map((site) => toSiteInfo(site, sites));
      printResult(options, infos, toTable(header, rows));
    });
}

function setCommand(): Command {
  return withCommonOptions(new Command("set"))
    .description("change a site; running servers apply the change at once")
    .argument("<name>", "name of the site, see `site list`")
    .option("--name <name>", "new name")
    .option(
      "--hostname <host>",
      'hostname that replaces the present ones; may be given several times; "" removes all',
      collectValue,
    )
    .option("--add-hostname <host>", "hostname to add to the present ones; may be given several times", collectValue)
    .option("--remove-hostname <host>", "hostname to remove; may be given several times", collectValue)
    .option("--default", "serve this site also for hostnames that no site has")
    .option("--no-default", "serve this site only for its own hostnames")
    .addOption(new Option("--suspend", "reject every request to this site with 403").conflicts("resume"))
    .option("--resume", "serve it again")
    .action(async (name: string, options: SetOptions) => {
      const settings = toSettings(options);
      if (Object.values(settings).every((value) => value === undefined)) {
        throw new UsageError("nothing to change: see `site set --help` for what can be changed");
      }
      const { site, sandbox } = await withEngine(options, async (engine) => {
        const site = await setSite(engine, name, settings, Date.now());
        return { site, sandbox: findSandboxRecord(await listSites(engine), site) };
      });
      if (options.name !== undefined && sandbox) printMessage(`its sandbox is called ${sandbox.Name} now`);
      printResult(options, toSiteInfo(site, [site]), toTable(header, [toRow(site, [site])]));
    });
}

function toSettings({ name, hostname, addHostname, removeHostname, default: isDefault, suspend, resume }: SetOptions) {
  return {
    name,
    hostnames: hostname?.join() === "" ? [] : hostname,
    addedHostnames: addHostname,
    removedHostnames: removeHostname,
    isDefault,
    isSuspended: suspend ?? (resume ? false : undefined),
  };
}

function sandboxCommand(): Command {
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
      printMessage(describeSandbox(made, options));
      if (leftover !== undefined) printMessage(leftover);
      printResult(options, { ...toSiteInfo(site, [live]), ...counts }, [site.Name]);
    });
}

function describeSandbox({ site, live, isNew, records, keys, webhooks }: MadeSandbox, options: CommonOptions): string {
  const copy = `the sandbox ${site.Name} with ${formatCount(records, "record")}`;
  if (!isNew) {
    const kept = `its ${formatCount(keys, "key")} and ${formatCount(webhooks, "webhook")} stay`;
    return `renewed ${copy}: ${kept}; its former records and history are gone, and earlier cursors and ETags are not valid`;
  }
  const create = commandLine(["key", "create", "--site", live.Name, "--sandbox"], options.database);
  return `made ${copy}; to create a key: ${create}`;
}

function removeCommand(): Command {
  return withCommonOptions(new Command("remove"))
    .description("remove a site and its sandbox with their keys, webhooks, records and history; this cannot be undone")
    .argument("<name>", "name of the site, see `site list`")
    .option("--yes", "confirm the removal")
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
    `this removes the site ${what} keys, webhooks, records and history for good; add --yes to confirm`,
  );
}

/** @param sites all sites, or at least the live site of a sandbox */
function toRow(site: SiteRecord, sites: readonly SiteRecord[]): string[] {
  return [String(site.ID), site.Name, site.Hostnames, site.Default, stateOf(site, sites)];
}

function showSiteCommand(): Command {
  return withCommonOptions(new Command("show"))
    .description("show a site: its hostnames, state, keys, webhooks, records and last change")
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

/** Returns the state of a site in words: served, suspended or being imported; for a sandbox also of which site. */
function stateOf(site: SiteRecord, sites: readonly SiteRecord[]): string {
  const { SandboxOf, Importing } = site;
  const suspended = suspensionOf(site, sites);
  const state = suspended ? `suspended since ${toMinute(suspended)} UTC` : "served";
  if (SandboxOf === "") return Importing ? "being imported" : state;
  const sandbox = `sandbox of ${nameOfLiveSite(site, sites)}`;
  if (Importing) return `${sandbox}, being made`;
  return suspended ? `${sandbox}, ${state}` : sandbox;
}
