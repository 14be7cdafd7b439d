// The program as a command with all of its commands.

import { Command, CommanderError } from "commander";
import { readBuild } from "../build.ts";
import { listOf, servedOf } from "../model/resource.ts";
import { allResources } from "../resources/all.ts";
import { completeHelp } from "./help.ts";
import { loadCommands } from "./load.ts";
import { printError, printText } from "./stdout.ts";

const beginning = `
To begin (in a checkout, write npx --no storefront):
  storefront serve --demo                       start a server with a sample site; prints a curl command
  storefront site add shop --default            add your own site
  storefront key create --site shop             create a key for it`;

/**
 * Creates the program.
 * @param name the command that is asked for: only that one and others of its file are there. For every other word, all are.
 */
export async function createProgram(name: string | undefined): Promise<Command> {
  const program = new Command("storefront")
    .description(
      `A server for the storefront REST interface: ${listOf(servedOf(allResources))} of online shops, in JSON and XML, with API keys for each website.`,
    )
    .option("-V, --version", "print the version and the commit")
    .on("option:version", printVersion)
    // The options of `journal` and of `journal prune` have the same names.
    .enablePositionalOptions()
    .addHelpText("after", beginning);
  for (const command of await loadCommands(name)) program.addCommand(command);
  completeHelp(program);
  configure(program);
  return program;
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
