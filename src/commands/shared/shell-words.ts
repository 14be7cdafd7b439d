// Commands of this program as lines that a person pastes into a shell.

import { commandName } from "../../build.ts";
import { withoutPassword } from "../../lib/text.ts";

/**
 * Returns the line that runs the command `words` on the same database. It omits a password, because the line may reach a log.
 * @param database the value of `--database`, if given
 */
export function commandLine(words: readonly string[], database?: string): string {
  const where = database === undefined ? [] : ["--database", withoutPassword(database).replace(":...@", "@")];
  return [commandName, ...words, ...where].map(quoteWord).join(" ");
}

/** Quotes `text` as one word of a shell command, if that is needed. */
export function quoteWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
