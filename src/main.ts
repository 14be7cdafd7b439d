// The command line: the commands, and the exit status for each way in which they end.

import { Command, CommanderError } from "commander";
import { readBuild } from "./build.ts";
import { printMessage, UsageError } from "./commands/common.ts";
import { databaseCommands } from "./commands/database.ts";
import { healthCommand } from "./commands/health.ts";
import { completeHelp } from "./commands/help.ts";
import { historyCommands } from "./commands/history.ts";
import { keyCommand } from "./commands/key.ts";
import { operatorCommand } from "./commands/operator.ts";
import { recordCommands } from "./commands/records.ts";
import { serveCommand } from "./commands/serve.ts";
import { siteCommand } from "./commands/site.ts";
import { siteFileCommands } from "./commands/site-files.ts";
import { printError, printText } from "./commands/stdout.ts";
import { undoCommands } from "./commands/undo.ts";
import { webhookCommand } from "./commands/webhook.ts";
import { Refusal } from "./model/errors.ts";
import { listOf, servedOf } from "./model/resource.ts";
import { allResources } from "./resources/all.ts";

/** Exit statuses. */
const failed = 1;
const wrongUsage = 2;

const program = new Command("storefront")
  .description(
    `A server for the storefront REST interface: ${listOf(servedOf(allResources))} of online shops, in JSON and XML, with API keys for each website.`,
  )
  .option("-V, --version", "print the version and the commit")
  .on("option:version", printVersion)
  // The options of `journal` and of `journal prune` have the same names.
  .enablePositionalOptions()
  .addHelpText(
    "after",
    `
To begin (in a checkout, write npx storefront):
  storefront serve --demo                       start a server with a sample site; prints a curl command
  storefront site add shop --default            add your own site
  storefront key create --site shop             create a key for it`,
  );

for (const command of [
  serveCommand(),
  healthCommand(),
  siteCommand(),
  keyCommand(),
  webhookCommand(),
  operatorCommand(),
  ...recordCommands(),
  ...historyCommands(),
  ...undoCommands(),
  ...siteFileCommands(),
  ...databaseCommands(),
]) {
  program.addCommand(command);
}
completeHelp(program);
configure(program);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}
// A command that has returned is done, even if something is still open, such as a connection to a host that hangs.
process.exit();

/** Prints the error on stderr and returns the exit status. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : wrongUsage;
  if (error instanceof UsageError) {
    printMessage(`storefront: ${error.message}`);
    return wrongUsage;
  }
  if (error instanceof Refusal) {
    printMessage(`storefront: ${error.message}`);
    for (const { field, detail } of error.faults.slice(1))
      printMessage(`storefront: ${field === "" ? "" : `\`${field}\`: `}${detail}`);
    return failed;
  }
  console.error("storefront: unexpected error; please report it with this text:");
  console.error(error);
  return failed;
}

/** Prints version and commit. Throws what ends the program with status 0. */
function printVersion(): never {
  const { version, commit } = readBuild();
  printText(`${version} (${commit})\n`);
  throw new CommanderError(0, "commander.version", version);
}

/** Makes commander throw instead of ending the process, and print as the commands do. */
function configure(command: Command): void {
  command
    .exitOverride()
    .showHelpAfterError("(add --help for a list)")
    .configureOutput({
      writeOut: printText,
      writeErr: printError,
      outputError: (text, write) => write(text.replace(/^error: /, "storefront: ")),
    });
  for (const child of command.commands) configure(child);
}
