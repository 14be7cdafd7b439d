// `storefront journal` and `journal prune`

import { Command, Option } from "commander";
import { byteOrderMark } from "../formats/csv.ts";
import { escapeControls } from "../lib/text.ts";
import type { JournalEntry } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import type { Resource } from "../model/resource.ts";
import { systemSite } from "../model/system-site.ts";
import { writeFile } from "../operator/files/atomic-file.ts";
import { isStandardOutput } from "../operator/files/standard-streams.ts";
import { nameOf, toHistoryCsv, withoutDigest } from "../operator/journal/history-csv.ts";
import { followEntries, type JournalPoint, readEntries, selectEntries } from "../operator/journal/journal-entries.ts";
import { pruneJournals } from "../operator/journal/prune-journals.ts";
import { listKeyLabels } from "../operator/sites/keys.ts";
import { getSite, listSites } from "../operator/sites/sites.ts";
import { allResources } from "../resources/all.ts";
import { event as eventResource } from "../resources/event.ts";
import { withEngine } from "./shared/database.ts";
import { type CommonOptions, parseId, withCommonOptions } from "./shared/options.ts";
import { printAll, printMessage, printResult, toTable } from "./shared/output.ts";
import { parsePoint, parsePrunePoint, revisionSince, revisionUntil } from "./shared/points.ts";
import { UsageError } from "./shared/usage-error.ts";

interface SiteFlags extends CommonOptions {
  readonly site?: string;
  readonly system?: true;
}

interface JournalFlags extends SiteFlags {
  readonly since?: string;
  readonly until?: string;
  readonly csv?: true | string;
  readonly resource?: string;
  readonly id?: number;
  readonly actor?: string;
  readonly run?: string;
  readonly follow?: true;
}

interface PruneFlags extends SiteFlags {
  readonly before: string;
}

export function journalCommand(): Command {
  return withCommonOptions(new Command("journal"))
    .description("show what changed, when, and by whom")
    .option("--site <name>", "name of the site, see `site list`")
    .option("--system", "show the audit log instead: sites, keys, webhooks, operators, sign-ins, imports, ...")
    .option("--since <point>", "only changes after this revision, or since this time or age, such as 12h")
    .option("--until <point>", "only changes up to and including this revision, time or age")
    .option("--resource <name>", "only changes to this kind of record, such as brands")
    .option("--id <number>", "only changes to records with this ID", parseId)
    .option("--actor <name>", "only changes by this operator or key, such as anna, operator:anna or a key's prefix")
    .option("--run <id>", "only changes made by this run")
    .addOption(
      new Option(
        "--follow",
        "keep printing new changes until Ctrl-C; with --since, start with the changes since then",
      ).conflicts("until"),
    )
    .addOption(
      new Option("--csv [file]", "print CSV with a row per changed field, or write it to this file").conflicts("json"),
    )
    .addHelpText(
      "after",
      `
Each line has the revision, the time (UTC), who made the change, the operation, the resource, the record's ID and
name, and the run, which all changes of one command share. Tabs separate them.
With --csv, each changed field gets a row with its old and new value.
With --json, each line is a JSON object that also has the record before and after the change.`,
    )
    .enablePositionalOptions()
    .action(showJournal)
    .addCommand(pruneCommand());
}

async function showJournal(options: JournalFlags): Promise<void> {
  const since = options.since === undefined ? undefined : parsePoint("--since", options.since);
  const until = options.until === undefined ? undefined : parsePoint("--until", options.until);
  const resource = options.resource === undefined ? undefined : getAnyResource(options.resource);
  const file = typeof options.csv === "string" && !isStandardOutput(options.csv) ? options.csv : undefined;
  if (file !== undefined) requireUsableFile(file, options);
  await withEngine(options, async (engine) => {
    const site = await getSiteId(engine, options);
    const { id, actor, run, follow: isFollowed } = options;
    const range = await readRange(engine, site, { since, until }, isFollowed);
    const entries = selectEntries(range, { resource: resource?.name, id, actor, run });
    if (options.csv) {
      const rows = toHistoryCsv(entries, await listKeyLabels(engine, site));
      if (file === undefined) await printAll(rows);
      else await writeFile(file, startingWith(byteOrderMark, rows));
    } else await printAll(formatEntries(entries, options.json ? toJsonLine : toLine));
  });
}

/** @throws UsageError if the history can't be written to `file` */
function requireUsableFile(file: string, { follow }: JournalFlags): void {
  if (file === "") throw new UsageError("--csv has an empty file name");
  if (follow) throw new UsageError("--follow never ends, so --csv can't write a file; use --csv without a file name");
}

async function* startingWith(start: string, texts: AsyncIterable<string>): AsyncGenerator<string> {
  yield start;
  yield* texts;
}

function pruneCommand(): Command {
  return withCommonOptions(new Command("prune"))
    .description("delete old history; servers can keep running")
    .requiredOption("--before <point>", "delete entries from before this time, age (such as 90d) or revision")
    .option("--site <name>", "prune only this site (default: all sites)")
    .option("--system", "prune the journal of sites, keys, webhooks and operators instead, or as well with --site")
    .addHelpText(
      "after",
      `
Records stay as they are, but deleted changes can no longer be shown, undone or restored. Each journal keeps its last
entry, so clients that are up to date can continue. If the change at a webhook's cursor was deleted, the webhook can't
continue and is listed.
An age counts back from now, or from the newest entry in the database if that's earlier, so a wrong clock can't delete
too much. A revision needs --site or --system. Times are in UTC, such as 2026-01-31 or 2026-01-31T12:00Z.`,
    )
    .action(pruneAndReport);
}

async function pruneAndReport(options: PruneFlags): Promise<void> {
  const point = parsePrunePoint("--before", options.before);
  if ("revision" in point && !options.site && !options.system)
    throw new UsageError("a revision belongs to one site: add --site or --system");
  if ("revision" in point && options.site && options.system)
    throw new UsageError("a revision belongs to one journal: choose --site or --system");
  const pruned = await withEngine(options, async (engine) => {
    const names = await sitesToPrune(engine, options);
    const done = await pruneJournals(engine, [...names.keys()], point);
    return done.map(({ site, ...counts }) => ({ journal: names.get(site) ?? "", ...counts }));
  });
  const rows = pruned.map(({ journal, deleted, begins }) => [journal, `${deleted}`, `${begins}`]);
  printResult(options, pruned, toTable(["JOURNAL", "DELETED", "BEGINS"], rows));
  for (const id of pruned.flatMap(({ webhooks }) => webhooks))
    printMessage(
      `webhook ${id} can't continue, because the change at its cursor was deleted; it will send \`storefront.gone\` next`,
    );
}

/** The journals to prune: site IDs, and the names to show in the table. */
async function sitesToPrune(engine: Engine, { site, system }: SiteFlags): Promise<ReadonlyMap<number, string>> {
  const names = new Map<number, string>();
  if (site !== undefined) names.set((await getSite(engine, site)).ID, site);
  else if (!system) for (const { ID, Name } of await listSites(engine)) names.set(ID, Name);
  if (system) names.set(systemSite, "(system)");
  return names;
}

/** @throws UsageError unless exactly one of `--site` and `--system` is given */
async function getSiteId(engine: Engine, { site, system }: SiteFlags): Promise<number> {
  if ((site === undefined) === (system === undefined)) throw new UsageError("choose --site <name> or --system");
  return site === undefined ? systemSite : (await getSite(engine, site)).ID;
}

interface JournalRange {
  readonly since: JournalPoint | undefined;
  readonly until: JournalPoint | undefined;
}

async function readRange(engine: Engine, site: number, { since, until }: JournalRange, isFollowed = false) {
  const after = since && (await revisionSince(engine, site, since));
  if (isFollowed) return follow(engine, site, after);
  const last = until && (await revisionUntil(engine, site, until));
  return readEntries(engine, site, { since: after, until: last });
}

async function* follow(engine: Engine, site: number, since: number | undefined): AsyncGenerator<JournalEntry> {
  yield* followEntries(engine, site, since, () =>
    printMessage(
      "the site has a new epoch after a restore, a `renew` or a failover; here is its journal from the start:",
    ),
  );
  printMessage("the site was removed");
}

function getAnyResource(name: string): Resource {
  const found = allResources.find((resource) => resource.path === name || resource.name === name);
  if (found) return found;
  throw new UsageError(`unknown resource \`${name}\`; use one of ${allResources.map(({ path }) => path).join(", ")}`);
}

async function* formatEntries(
  entries: AsyncIterable<JournalEntry>,
  toText: (entry: JournalEntry) => string,
): AsyncGenerator<string> {
  for await (const entry of entries) yield `${escapeControls(toText(entry))}\n`;
}

/** Returns what isn't empty, as in `Kind import, Name suppliers.csv, Site 1, Resource brands, Rows 3 created, 2 updated, 0 removed, 0 rejected`. */
function describeEvent(event: object): string {
  const { ID: _, Operator: __, ...values } = event as Readonly<Record<string, unknown>>;
  const described = Object.entries(values).filter(([, value]) => value !== "");
  return described.map(([name, value]) => `${name} ${value}`).join(", ");
}

function toLine({ revision, at, actor, operation, resource, id, body, run }: JournalEntry): string {
  const name = JSON.stringify((resource === eventResource.name ? describeEvent : nameOf)(JSON.parse(body)));
  const shown = [revision, new Date(at).toISOString(), actor, operation, resource, id, name];
  return [...shown, ...(run === null ? [] : [run])].join("\t");
}

function toJsonLine({ at, body, before, ...entry }: JournalEntry): string {
  const records = { record: withoutDigest(body), before: before === null ? null : withoutDigest(before) };
  return JSON.stringify({ ...entry, at: new Date(at).toISOString(), ...records });
}
