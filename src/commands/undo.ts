// `storefront undo`

import { Command } from "commander";
import { parseRun } from "../model/run.ts";
import type { JournalPoint } from "../operator/journal/journal-entries.ts";
import type { UndoRange } from "../operator/journal/records-to-undo.ts";
import { type UndoSummary, undo } from "../operator/journal/undo.ts";
import { allResources } from "../resources/all.ts";
import { withSite } from "./shared/database.ts";
import { runInterruptible } from "./shared/interrupt.ts";
import { type SiteOptions, withSiteOption } from "./shared/options.ts";
import { formatCount, printMessage } from "./shared/output.ts";
import { parsePoint, revisionSince, revisionUntil } from "./shared/points.ts";
import { commandLine } from "./shared/shell-words.ts";
import { printUndo, printUndoable, undoLine, undoOf } from "./shared/undo-line.ts";
import { UsageError } from "./shared/usage-error.ts";

interface UndoFlags extends SiteOptions {
  readonly since?: string;
  readonly until?: string;
  readonly run?: string;
  readonly force?: true;
  readonly dryRun?: true;
}

export function undoCommand(): Command {
  return withSiteOption(new Command("undo"))
    .description("undo changes: delete created records, and restore updated or deleted ones")
    .option(
      "--since <point>",
      "undo changes after this revision, or since this time or age, such as 10m; see `journal`. Not needed for a run with revisions in its ID, such as k3J9aZ0q-18-3",
    )
    .option("--until <point>", "only changes up to and including this revision, time or age (default: all)")
    .option("--run <id>", "only changes made by this run, such as one import (default: all)")
    .option("--dry-run", "show what would change, but change nothing")
    .option("--force", "also undo records that have changed again since; those later changes are lost")
    .addHelpText(
      "after",
      `
Up to 50,000 records are undone in one transaction. More take several; if the command is
stopped in between, it prints the command that undoes the rest. Records that have changed
again since are skipped and listed. An undo can itself be undone.`,
    )
    .action(async (options: UndoFlags) => {
      const from = parseSince(options);
      const to = options.until === undefined ? undefined : parsePoint("--until", options.until);
      await undoChanges(from, to, options);
    });
}

/** `--since`, or the start of the run. Only runs of API keys (batches and undos) have it in their ID. */
function parseSince({ since, run }: UndoFlags): JournalPoint {
  if (since !== undefined) return parsePoint("--since", since);
  const revisions = run === undefined ? undefined : parseRun(run);
  if (revisions) return { revision: revisions.first - 1 };
  throw new UsageError(
    "add --since <point>, such as --since 10m; only a --run with revisions in its ID, such as k3J9aZ0q-18-3, doesn't need it",
  );
}

async function undoChanges(from: JournalPoint, to: JournalPoint | undefined, options: UndoFlags): Promise<void> {
  let lineToUndo: string | undefined;
  const printLineToUndo = () => {
    if (lineToUndo) printMessage(`to undo what may have been stored: ${lineToUndo}`);
  };
  const work = (signal: AbortSignal) =>
    withSite(options, async (engine, site, run) => {
      const since = await revisionSince(engine, site.ID, from);
      const until = to && (await revisionUntil(engine, site.ID, to));
      if (until !== undefined && until <= since) throw new UsageError("--until must be after --since");
      const range = { since, until, run: options.run };
      const onBeforeCommit = (revision: number) => {
        lineToUndo = undoLine(options, revision, run);
      };
      const summary = await undo(engine, site.ID, range, { ...options, signal, onBeforeCommit, at: Date.now() });
      return { run, summary, rest: resumeLine(options, range) };
    });
  const { summary, run, rest } = await runInterruptible(work, printLineToUndo).catch((error) => {
    printLineToUndo();
    throw error;
  });
  report(options, summary, run);
  if (!summary.interrupted) return;
  process.exitCode = 1;
  const { deleted, restored, unchanged, skippedCount, records } = summary;
  const done = deleted + restored + unchanged + skippedCount;
  printMessage(
    done > 0
      ? `interrupted after ${done} of ${records} records; to undo the rest: ${rest}`
      : "interrupted: nothing was changed",
  );
}

/** The command that continues an interrupted `undo`. It has revisions instead of times, so it means the same whenever it's run. */
function resumeLine({ site, database, force }: UndoFlags, { since, until, run }: UndoRange): string {
  const more = [until === undefined ? [] : ["--until", `${until}`], run === undefined ? [] : ["--run", run]].flat();
  return commandLine(["undo", "--site", site, "--since", `${since}`, ...more, ...(force ? ["--force"] : [])], database);
}

function report(options: UndoFlags, summary: UndoSummary, run: string): void {
  const { skipped, skippedCount, ...others } = summary;
  for (const { resource, id, changed } of skipped) {
    const why = changed
      ? `${changed.actor} changed it at revision ${changed.revision}`
      : "it was changed later, and that change has been pruned";
    printMessage(`skipped: ${pathOf(resource)} ${id}: ${why}`);
  }
  if (skippedCount > skipped.length) printMessage(`skipped: ${skippedCount - skipped.length} more`);
  const back = undoOf(options, summary.revisions, run);
  const { deleted, restored, unchanged } = others;
  const total = deleted + restored + unchanged + skippedCount;
  const would = options.dryRun ? "would be " : "";
  const line = `${formatCount(total, "record")}: ${deleted} ${would}deleted, ${restored} ${would}restored, ${unchanged} unchanged, ${skippedCount} skipped`;
  // `--json` has always called skipped records `left`.
  printUndoable(options, { ...others, leftCount: skippedCount, left: skipped, ...back }, [line]);
  printUndo(back);
}

/** The resource's path, or its name if only a newer version of the program declares it. */
function pathOf(name: string): string {
  return allResources.find((resource) => resource.name === name)?.path ?? name;
}
