import { Command } from "commander";
import type { Change } from "../model/change.ts";
import type { Engine } from "../model/engine.ts";
import { Refusal } from "../model/errors.ts";
import { toDeclared, toId } from "../model/record.ts";
import { journal, restoreRecord } from "../operator/history.ts";
import { findSite } from "../operator/sites.ts";
import {
  type CommonOptions,
  escapeControls,
  findResource,
  printMessage,
  printResult,
  resourceArgument,
  UsageError,
  withCommonOptions,
  withEngine,
} from "./common.ts";

import { printAll } from "./stdout.ts";

/** How often `--follow` looks for new entries, in milliseconds. */
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
  return withCommonOptions(new Command("journal"))
    .description("what changed, when, by which key")
    .requiredOption("--site <name>", "the website, as `site list` names it")
    .option("--since <revision>", "only what came after this revision")
    .option("--follow", "go on printing what changes, until Ctrl-C")
    .addHelpText(
      "after",
      "\nA line is: revision, time, key, operation, resource, ID and the record's name, separated by tabs.\nWith --json it is the whole entry, with the record after the change, as one line of JSON.",
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

/** The entries after `since`, and then those that come, for as long as the site exists. */
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
    if (head?.epoch && !now?.epoch) return printMessage("the site is gone");
    if (head?.epoch && now?.epoch !== head.epoch) {
      printMessage("the database was restored from a backup; its journal from the start:");
      revision = 0;
    }
    head = now;
  }
}

function restoreRecordCommand(): Command {
  return withCommonOptions(new Command("restore-record"))
    .description("put a record back as it was; a deleted one comes back under its old ID")
    .requiredOption("--site <name>", "the website, as `site list` names it")
    .addArgument(resourceArgument())
    .argument("<id>", "its ID")
    .option("--revision <number>", "as it was at this revision of the journal; before its last change when not given")
    .action(async (resourceName: string, idText: string, options: RestoreFlags) => {
      const resource = findResource(resourceName);
      const id = toId(idText);
      if (id === undefined) throw new UsageError(`the ID must be a whole number from 1, not "${idText}"`);
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
          ? "it is as it was: nothing to restore"
          : `restored the ${resource.singular} ${id}`,
      );
    });
}

async function* lines(entries: AsyncIterable<Change>, toText: (change: Change) => string): AsyncGenerator<string> {
  for await (const change of entries) yield `${escapeControls(toText(change))}\n`;
}

function readRevision(name: string, text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`${name} must be a whole number, not "${text}"`);
}

function toLine({ revision, at, actor, operation, resource, id, body }: Change): string {
  const { Name = "" } = JSON.parse(body);
  return [revision, new Date(at).toISOString(), actor, operation, resource, id, JSON.stringify(Name)].join("\t");
}

function toJsonLine({ at, body, ...change }: Change): string {
  return JSON.stringify({ ...change, at: new Date(at).toISOString(), record: JSON.parse(body) });
}
