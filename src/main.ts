// The command line: arguments, and what a command's end means for whoever called it.

import { Command, CommanderError } from "commander";
import { version } from "../package.json" with { type: "json" };
import { printMessage, UsageError } from "./commands/common.ts";
import { databaseCommands } from "./commands/database.ts";
import { historyCommands } from "./commands/history.ts";
import { keyCommand } from "./commands/key.ts";
import { recordCommands } from "./commands/records.ts";
import { serveCommand } from "./commands/serve.ts";
import { siteCommand } from "./commands/site.ts";
import { printError, printText } from "./commands/stdout.ts";
import { Refusal } from "./model/errors.ts";

/** Exit statuses: the command was refused; it was called wrongly. */
const refused = 1;
const misused = 2;

const program = new Command("storefront")
  .description(
    "A server for the storefront REST interface: brands, order statuses and store locations of online shops, in JSON and XML, behind a key per website.",
  )
  .version(version)
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
takeOver(program);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = explain(error);
}
// A command is over when it says so, whatever is still open, such as a connection to a host that hangs.
process.exit();

/** Tells on stderr what went wrong, and returns the exit status. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : misused;
  if (error instanceof UsageError) {
    printMessage(`storefront: ${error.message}`);
    return misused;
  }
  if (error instanceof Refusal) {
    printMessage(`storefront: ${error.message}`);
    for (const { field, detail } of error.faults.slice(1)) printMessage(`storefront: \`${field}\`: ${detail}`);
    return refused;
  }
  console.error("storefront: something went wrong that should not have; please report it with this:");
  console.error(error);
  return refused;
}

/** Makes commander throw instead of ending the process, and print as the commands do, in every command. */
function takeOver(command: Command): void {
  command
    .exitOverride()
    .showHelpAfterError("(add --help for what there is)")
    .configureOutput({
      writeOut: printText,
      writeErr: printError,
      outputError: (text, write) => write(text.replace(/^error: /, "storefront: ")),
    });
  for (const child of command.commands) takeOver(child);
}
