// The program as a command with all of its commands.

import { Command, CommanderError } from "commander";
import { readBuild } from "../build.ts";
import { listOf, servedOf } from "../model/resource.ts";
import { allResources } from "../resources/all.ts";
import { printError, printText } from "./common.ts";
import { completeHelp } from "./help.ts";

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

// The files of the commands. A call loads only the one that it asks for: loading all takes longer than most commands do.

interface CommandFile {
  /** The commands that the file defines. */
  readonly names: readonly string[];
  load(): Promise<Command[]>;
}

/** In the order in which `storefront --help` lists the commands of a group. */
const commandFiles: readonly CommandFile[] = [
  { names: ["serve"], load: async () => [(await import("./serve.ts")).serveCommand()] },
  { names: ["health"], load: async () => [(await import("./health.ts")).healthCommand()] },
  { names: ["site"], load: async () => [(await import("./site.ts")).siteCommand()] },
  { names: ["key"], load: async () => [(await import("./key.ts")).keyCommand()] },
  { names: ["webhook"], load: async () => [(await import("./webhook.ts")).webhookCommand()] },
  { names: ["operator"], load: async () => [(await import("./operator.ts")).operatorCommand()] },
  { names: ["import", "export"], load: async () => (await import("./records.ts")).recordCommands() },
  { names: ["journal", "restore-record"], load: async () => (await import("./journal.ts")).historyCommands() },
  { names: ["delete", "undo"], load: async () => (await import("./undo.ts")).undoCommands() },
  { names: ["export-site", "import-site"], load: async () => (await import("./site-files.ts")).siteFileCommands() },
  {
    names: ["backup", "restore", "renew", "copy", "check"],
    load: async () => (await import("./database.ts")).databaseCommands(),
  },
];

/** The commands of the file that defines `name`; all commands for every other word, such as `--help`. */
export async function loadCommands(name: string | undefined): Promise<Command[]> {
  const asked = commandFiles.filter(({ names }) => names.some((each) => each === name));
  const files = asked.length > 0 ? asked : commandFiles;
  return (await Promise.all(files.map(({ load }) => load()))).flat();
}
