import { Command } from "commander";
import { escapeControls } from "../lib/escape-controls.ts";
import type { Change } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { toDeclared, toId } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { journal, restoreRecord } from "../operator/history.ts";
import { findSite } from "../operator/sites.ts";
import {
  type CommonOptions,
  printMessage,
  printResult,
  resourceArgument,
  UsageError,
  withEngine,
  withSiteOption,
} from "./common.ts";
import { printAll } from "./stdout.ts";

/** Milliseconds between two queries for new entries with `--follow`. */
const pollInterval = 250;

interface JournalFlags extends CommonOptions {
  readonly site: string;
  readonly since?: string;
  readonly follow?: true;
}

interface RestoreFlags extends CommonOptions {
  readonly site: string;
  readonly revision?: string;
}

export function historyCommands(): Command[] {
  return [journalCommand(), restoreRecordCommand()];
}

function journalCommand(): Command {
  return withSiteOption(new Command("journal"))
    .description("show what changed, when, and by which key")
    .option("--since <revision>", "show only the changes after this revision (default: 0)")
    .option("--follow", "then print new changes as they are made, until Ctrl-C")
    .addHelpText(
      "after",
      "\nEach line holds the revision, time (UTC), key prefix, operation, resource, ID and the record's name, separated by tabs.\nWith --json, each line is a JSON object with the record after the change as well.",
    )
    .action(async (options: JournalFlags) => {
      const since = options.since === undefined ? 0 : readRevision("--since", options.since);
      await withEngine(options, async (engine) => {
        const site = await findSite(engine, options.site);
        const entries = options.follow ? follow(engine, site.ID, since) : journal(engine, site.ID, since);
        await printAll(lines(entries, options.json ? toJsonLine : toLine));
      });
    });
}

/** The entries after `since`, then new ones as they are made, until the site is removed. */
async function* follow(engine: Engine, site: number, since: number): AsyncGenerator<Change> {
  let revision = since;
  let [head] = await engine.heads([site]);
  while (true) {
    for await (const change of journal(engine, site, revision)) {
      yield change;
      revision = change.revision;
    }
    await Bun.sleep(pollInterval);
    const [now] = await engine.heads([site]);
    if (head?.epoch && !now?.epoch) return printMessage("the site was removed");
    if (head?.epoch && now?.epoch !== head.epoch) {
      printMessage("the database was restored from a backup; its journal follows from the first change:");
      revision = 0;
    }
    head = now;
  }
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

async function* lines(entries: AsyncIterable<Change>, toText: (change: Change) => string): AsyncGenerator<string> {
  for await (const change of entries) yield `${escapeControls(toText(change))}\n`;
}

function readId(text: string): number {
  const id = toId(text);
  if (id !== undefined) return id;
  throw new UsageError(`invalid ID \`${text}\`: an ID is a whole number from 1`);
}

function readRevision(name: string, text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`invalid ${name} \`${text}\`: a revision is a whole number from 0`);
}

function toLine({ revision, at, actor, operation, resource, id, body }: Change): string {
  const { Name = "" } = JSON.parse(body);
  return [revision, new Date(at).toISOString(), actor, operation, resource, id, JSON.stringify(Name)].join("\t");
}

function toJsonLine({ at, body, ...change }: Change): string {
  return JSON.stringify({ ...change, at: new Date(at).toISOString(), record: JSON.parse(body) });
}
