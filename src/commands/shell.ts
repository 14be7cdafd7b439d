// Commands of this program, to paste into a shell.

import { commandName } from "../build.ts";
import { withoutPassword } from "../lib/without-password.ts";

/**
 * The line that runs the command `words` on the same database. A password is left out, because the line may reach a log.
 * @param database the value of `--database`; undefined without that option
 */
export function commandLine(words: readonly string[], database: string | undefined): string {
  const where = database === undefined ? [] : ["--database", withoutPassword(database).replace(":...@", "@")];
  return [commandName, ...[...words, ...where].map(quoted)].join(" ");
}

/** `text` as one word of a shell command. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
