import { Command } from "commander";
import { escapeControls } from "../lib/escape-controls.ts";
import type { JournalEntry } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { toDeclared } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { journal, restoreRecord } from "../operator/history.ts";
import { findSite } from "../operator/sites.ts";
import {
  type CommonOptions,
  printMessage,
  printResult,
  readId,
  readRevision,
  resourceArgument,
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
      "\nEach line holds the revision, time (UTC), actor, operation, resource, ID and name of the record,\nand the ID that all changes of one command share (its run), separated by tabs.\nWith --json, each line is a JSON object with the record after and before the change as well.",
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
async function* follow(engine: Engine, site: number, since: number): AsyncGenerator<JournalEntry> {
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

async function* lines(
  entries: AsyncIterable<JournalEntry>,
  toText: (change: JournalEntry) => string,
): AsyncGenerator<string> {
  for await (const change of entries) yield `${escapeControls(toText(change))}\n`;
}

function toLine({ revision, at, actor, operation, resource, id, body, run }: JournalEntry): string {
  const { Name = "" } = JSON.parse(body);
  const shown = [revision, new Date(at).toISOString(), actor, operation, resource, id, JSON.stringify(Name)];
  return [...shown, ...(run === null ? [] : [run])].join("\t");
}

function toJsonLine({ at, body, before, ...entry }: JournalEntry): string {
  const records = { record: JSON.parse(body), before: before === null ? null : JSON.parse(before) };
  return JSON.stringify({ ...entry, at: new Date(at).toISOString(), ...records });
}
