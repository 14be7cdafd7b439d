// The commands `delete` and `undo`, and the `undo` lines that other commands print.

import { Command } from "commander";
import { commandName } from "../build.ts";
import { withoutPassword } from "../lib/text.ts";
import { toDeclaredJson } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import type { RevisionRange } from "../operator/history.ts";
import type { JournalPoint } from "../operator/prune-journals.ts";
import { deleteRecords } from "../operator/records.ts";
import type { UndoRange } from "../operator/records-to-revert.ts";
import { getSite } from "../operator/sites.ts";
import { type UndoSummary, undo } from "../operator/undo.ts";
import { allResources } from "../resources/all.ts";
import {
  formatCount,
  parseId,
  printMessage,
  printResult,
  resourceArgument,
  type SiteOptions,
  UsageError,
  withEngine,
  withSiteOption,
} from "./common.ts";
import { runInterruptible } from "./interrupt.ts";
import { parsePoint, revisionSince, revisionUntil } from "./journal.ts";

interface UndoFlags extends SiteOptions {
  readonly since: string;
  readonly until?: string;
  readonly run?: string;
  readonly force?: true;
  readonly dryRun?: true;
}

export function undoCommands(): Command[] {
  return [deleteCommand(), undoCommand()];
}

/** Returns the command line that undoes the changes of a run. @param since a revision before its first change */
export function undoLine({ site, database }: SiteOptions, since: number, run: string): string {
  return commandLine(["undo", "--site", site, "--since", `${since}`, "--run", run], database);
}

function deleteCommand(): Command {
  return withSiteOption(new Command("delete"))
    .description("delete records, all of them or none")
    .addArgument(resourceArgument())
    .argument("<id...>", "IDs of the records", (text, before: number[] | undefined) => [
      ...(before ?? []),
      parseId(text),
    ])
    .addHelpText("after", "\nThe deleted records are printed.")
    .action(async (resource: Resource, ids: number[], options: SiteOptions) => {
      const { records, revisions, run } = await withEngine(options, async (engine, run) => {
        const site = await getSite(engine, options.site);
        return { run, ...(await deleteRecords(engine, site.ID, resource, ids, Date.now())) };
      });
      const shown = records.map((record) => toDeclaredJson(resource, record));
      const back = undoOf(options, revisions, run);
      printUndoable(options, { deleted: shown.map((text) => JSON.parse(text)), ...back }, shown);
      printMessage(`deleted ${formatCount(records.length, resource.singular, resource.plural)}`);
      printUndo(back);
    });
}

function undoCommand(): Command {
  return withSiteOption(new Command("undo"))
    .description(
      "undo changes: delete the records that were created, and give updated or deleted records their earlier contents",
    )
    .requiredOption(
      "--since <point>",
      "undo the changes after this revision, or from this time or age on, such as 10m; see `journal`",
    )
    .option("--until <point>", "up to and including this revision, time or age (default: the last change)")
    .option("--run <id>", "only the changes of this run, such as one import (default: all)")
    .option("--dry-run", "report what would change, and change nothing")
    .option("--force", "also undo changes to records that others have changed later; the later changes are lost")
    .addHelpText(
      "after",
      `
All changes are undone in one transaction, or none. More than 50,000 records need several
transactions; if the command is stopped, it prints the command for the rest. Records that
others have changed later are left alone and listed. An undo can itself be undone.`,
    )
    .action(async (options: UndoFlags) => {
      const from = parsePoint("--since", options.since);
      const to = options.until === undefined ? undefined : parsePoint("--until", options.until);
      await undoChanges(from, to, options);
    });
}

async function undoChanges(from: JournalPoint, to: JournalPoint | undefined, options: UndoFlags): Promise<void> {
  let stored: string | undefined;
  const printStored = () => {
    if (stored) printMessage(`to take back what may have been stored: ${stored}`);
  };
  const work = (signal: AbortSignal) =>
    withEngine(options, async (engine, run) => {
      const site = await getSite(engine, options.site);
      const since = await revisionSince(engine, site.ID, from);
      const until = to && (await revisionUntil(engine, site.ID, to));
      if (until !== undefined && until <= since) throw new UsageError("--until must be after --since");
      const range = { since, until, run: options.run };
      const onBeforeCommit = (revision: number) => {
        stored = undoLine(options, revision, run);
      };
      const summary = await undo(engine, site.ID, range, { ...options, signal, onBeforeCommit, at: Date.now() });
      return { run, summary, rest: restLine(options, range) };
    });
  const { summary, run, rest } = await runInterruptible(work, printStored).catch((error) => {
    printStored();
    throw error;
  });
  report(options, summary, run);
  if (!summary.interrupted) return;
  process.exitCode = 1;
  const { deleted, restored, unchanged, leftCount, records } = summary;
  const done = deleted + restored + unchanged + leftCount;
  printMessage(
    done > 0
      ? `interrupted after ${done} of ${records} records; the rest: ${rest}`
      : "interrupted: nothing was changed",
  );
}

/** Returns the line that continues an interrupted `undo`. It has revisions instead of times, so that it means the same whenever it runs. */
function restLine({ site, database, force }: UndoFlags, { since, until, run }: UndoRange): string {
  const more = [until === undefined ? [] : ["--until", `${until}`], run === undefined ? [] : ["--run", run]].flat();
  return commandLine(["undo", "--site", site, "--since", `${since}`, ...more, ...(force ? ["--force"] : [])], database);
}

function report(options: UndoFlags, summary: UndoSummary, run: string): void {
  const { deleted, restored, unchanged, left, leftCount } = summary;
  for (const { resource, id, changed } of left) {
    const why = changed
      ? `${changed.actor} changed it at revision ${changed.revision}`
      : "it was changed later, and the journal no longer has that change";
    printMessage(`left alone: ${pathOf(resource)} ${id}: ${why}`);
  }
  if (leftCount > left.length) printMessage(`left alone: ${leftCount - left.length} more`);
  const back = undoOf(options, summary.revisions, run);
  const total = deleted + restored + unchanged + leftCount;
  const would = options.dryRun ? "would be " : "";
  const line = `${formatCount(total, "record")}: ${deleted} ${would}deleted, ${restored} ${would}restored, ${unchanged} unchanged, ${leftCount} left alone`;
  printUndoable(options, { ...summary, ...back }, [line]);
  printUndo(back);
}

/** Returns the path of a resource, or its name if a newer program version declares it. */
function pathOf(name: string): string {
  return allResources.find((resource) => resource.name === name)?.path ?? name;
}

/** How to undo a command, as `--json` prints it: the revisions that it wrote, its run, and the `undo` line. */
export interface UndoOf {
  readonly revisions: RevisionRange | undefined;
  readonly run?: string;
  readonly undo?: string;
}

/** Returns how to undo a command that wrote `revisions`. @param revisions undefined if it wrote nothing */
export function undoOf(options: SiteOptions, revisions: RevisionRange | undefined, run: string): UndoOf {
  if (!revisions) return { revisions };
  return { revisions, run, undo: undoLine(options, revisions.first - 1, run) };
}

/** Prints the result of a command. If that fails, prints how to undo the command nevertheless, and throws the error. */
export function printUndoable<T extends UndoOf>(options: SiteOptions, result: T, lines: readonly string[]): void {
  try {
    printResult(options, result, lines);
  } catch (error) {
    printUndo(result);
    throw error;
  }
}

/** Prints which revisions a command wrote, and the `undo` line for them. */
export function printUndo({ revisions, undo }: UndoOf): void {
  if (!revisions) return;
  const { first, last } = revisions;
  printMessage(`${first === last ? `revision ${first}` : `revisions ${first} to ${last}`}; to take this back: ${undo}`);
}

// Commands of this program, to paste into a shell.

/**
 * Returns the line that runs the command `words` on the same database. It omits a password, because the line may reach a log.
 * @param database the value of `--database`, if given
 */
export function commandLine(words: readonly string[], database: string | undefined): string {
  const where = database === undefined ? [] : ["--database", withoutPassword(database).replace(":...@", "@")];
  return [commandName, ...[...words, ...where].map(quoteWord)].join(" ");
}

/** Quotes `text` as one word of a shell command, if that is needed. */
export function quoteWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
