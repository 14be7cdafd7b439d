// Tells people how to undo what a command did.

import type { RevisionRange } from "../../operator/journal/journal-entries.ts";
import type { SiteOptions } from "./options.ts";
import { printMessage, printResult } from "./output.ts";
import { commandLine } from "./shell-words.ts";

/** Part of the `--json` output. */
export interface UndoOf {
  /** What the command wrote; undefined if nothing. */
  readonly revisions: RevisionRange | undefined;
  readonly run?: string;
  readonly undo?: string;
}

/** @param since a revision before the run's first change */
export function undoLine({ site, database }: SiteOptions, since: number, run: string): string {
  return commandLine(["undo", "--site", site, "--since", `${since}`, "--run", run], database);
}

export function undoOf(options: SiteOptions, revisions: RevisionRange | undefined, run: string): UndoOf {
  if (!revisions) return { revisions };
  return { revisions, run, undo: undoLine(options, revisions.first - 1, run) };
}

/** Prints a result. If that fails, still says how to undo the command, and throws the error. */
export function printUndoable<T extends UndoOf>(options: SiteOptions, result: T, lines: readonly string[]): void {
  try {
    printResult(options, result, lines);
  } catch (error) {
    printUndo(result);
    throw error;
  }
}

export function printUndo({ revisions, undo }: UndoOf): void {
  if (!revisions) return;
  const { first, last } = revisions;
  printMessage(`${first === last ? `revision ${first}` : `revisions ${first} to ${last}`}; to undo this: ${undo}`);
}
