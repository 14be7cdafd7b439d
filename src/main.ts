// The command line: arguments, and what a command's end means for whoever called it.

import { Command, CommanderError } from "commander";
import { version } from "../package.json" with { type: "json" };
import { Misuse, tell } from "./commands/common.ts";
import { databaseCommands } from "./commands/database.ts";
import { historyCommands } from "./commands/history.ts";
import { keyCommand } from "./commands/key.ts";
import { recordCommands } from "./commands/records.ts";
import { serveCommand } from "./commands/serve.ts";
import { siteCommand } from "./commands/site.ts";
import { Refusal } from "./model/errors.ts";

/** Exit statuses: the command was refused; it was called wrongly. */
const refused = 1;
const misused = 2;

const program = new Command("storefront")
  .description(
    "A server for the storefront REST interface: brands, order statuses and store locations of online shops, in JSON and XML, behind a key per website.",
  )
  .version(version)
  .showSuggestionAfterError()
  .showHelpAfterError("(add --help for what there is)")
  .addHelpText(
    "after",
    `
To begin (in a checkout, say npx storefront):
  storefront serve --demo                       a server with a sample site, and a curl line to paste
  storefront site add shop --default            a site of your own
  storefront key create --site shop             a key for it`,
  );

for (const command of [
  serveCommand(),
  siteCommand(),
  keyCommand(),
  ...recordCommands(),
  ...historyCommands(),
  ...databaseCommands(),
]) {
  program.addCommand(command);
}
exitOverride(program);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = explain(error);
}
await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
// A command is over when it says so, whatever is still open, such as a connection to a host that hangs.
process.exit();

/** Tells on stderr what went wrong, and returns the exit status. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : misused;
  if (error instanceof Misuse) {
    tell(`storefront: ${error.message}`);
    return misused;
  }
  if (error instanceof Refusal) {
    tell(`storefront: ${error.message}`);
    for (const { field, detail } of error.faults.slice(1)) tell(`storefront: \`${field}\`: ${detail}`);
    return refused;
  }
  console.error("storefront: something went wrong that should not have; please report it with this:");
  console.error(error);
  return refused;
}

/** Makes commander throw instead of ending the process, in every command. */
function exitOverride(command: Command): void {
  command.exitOverride();
  for (const child of command.commands) exitOverride(child);
}

/** Waits until everything was written, unless whoever reads has gone. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writable) stream.write("", () => resolve());
    else resolve();
  });
}
