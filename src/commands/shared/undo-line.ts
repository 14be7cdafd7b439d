// How to undo a command: the revisions that it wrote, and the line that undoes them.

import type { RevisionRange } from "../../operator/journal/journal-entries.ts";
import type { SiteOptions } from "./options.ts";
import { printMessage, printResult } from "./output.ts";
import { commandLine } from "./shell-words.ts";

/** How to undo a command, as `--json` prints it: the revisions that it wrote, its run, and the `undo` line. */
export interface UndoOf {
  readonly revisions: RevisionRange | undefined;
  readonly run?: string;
  readonly undo?: string;
}

/** Returns the command line that undoes the changes of a run. @param since a revision before its first change */
export function undoLine({ site, database }: SiteOptions, since: number, run: string): string {
  return commandLine(["undo", "--site", site, "--since", `${since}`, "--run", run], database);
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
  printMessage(`${first === last ? `revision ${first}` : `revisions ${first} to ${last}`}; to undo this: ${undo}`);
}
