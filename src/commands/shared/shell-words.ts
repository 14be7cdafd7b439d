// Formats commands for people to paste into a shell.

import { commandWords } from "../../build.ts";
import { withoutPassword } from "../../lib/text.ts";

/**
 * The command `words` on the same database. Leaves out the password, because the line may end up in a log.
 * @param database the value of `--database`, if given
 */
export function commandLine(words: readonly string[], database?: string): string {
  const where = database === undefined ? [] : ["--database", withoutPassword(database).replace(":...@", "@")];
  return [...commandWords, ...words, ...where].map(quoteWord).join(" ");
}

/** Quotes `text` for a shell, if needed. */
export function quoteWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
