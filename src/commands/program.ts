// The root command `storefront`, and its subcommands. The file of a subcommand is loaded only if it is called. A command ends with its exit status
// (contract section 11).

import { Command, CommanderError } from "commander";
import { readBuild } from "../build.ts";
import { ProblemError } from "../model/errors.ts";
import { formatResourceList, publicResources } from "../model/resource.ts";
import { allResources } from "../resources/all.ts";
import { printError, printMessage, printText, UsageError } from "./common.ts";
import { completeHelp } from "./help.ts";

const beginning = `
To begin (in a checkout, write npx --no storefront):
  storefront serve --demo                       start a server with a sample site; prints a curl command
  storefront site add shop --default            add your own site
  storefront key create --site shop             create a key for it`;

/** Exit statuses. A command that succeeds exits with 0. */
const failed = 1;
const wrongUsage = 2;

/**
 * Executes one command to its end, and prints its error on stderr.
 * @param args the words of the call, without the name of the program
 * @returns the exit status
 */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    const program = await createProgram(args[0]);
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return report(error);
  }
}

/** Prints the error on stderr and returns the exit status. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : wrongUsage;
  if (error instanceof UsageError) {
    printMessage(`storefront: ${error.message}`);
    return wrongUsage;
  }
  if (error instanceof ProblemError) {
    printMessage(`storefront: ${error.message}`);
    for (const { field, detail } of error.fieldErrors.slice(1))
      printMessage(`storefront: ${field === "" ? "" : `\`${field}\`: `}${detail}`);
    return failed;
  }
  console.error("storefront: unexpected error; please report it with this text:");
  console.error(error);
  return failed;
}

/**
 * Creates the root command.
 * @param name the first word of the call. If it is a command, only the commands of its file are added; otherwise all commands are.
 */
export async function createProgram(name: string | undefined): Promise<Command> {
  const program = new Command("storefront")
    .description(
      `A server for the storefront REST interface: ${formatResourceList(publicResources(allResources))} of online shops, in JSON and XML, with API keys for each site.`,
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

/** Prints version and commit. Always throws: commander's way to end the program, here with status 0. */
function printVersion(): never {
  const { version, commit } = readBuild();
  printText(`${version} (${commit})\n`);
  throw new CommanderError(0, "commander.version", version);
}

/** Makes commander throw instead of ending the process, and print with the functions that the commands use. */
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

// The files of the commands. A call loads only the file of its command, because loading all files takes longer than most commands run.

interface CommandFile {
  /** The commands that the file defines. */
  readonly names: readonly string[];
  load(): Promise<Command[]>;
}

/** All files with commands. `storefront --help` lists the commands of a group in this order. */
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

/** Loads the commands of the file that defines `name`. If no file does, for example for `--help`, loads all commands. */
export async function loadCommands(name: string | undefined): Promise<Command[]> {
  const asked = commandFiles.filter(({ names }) => names.some((each) => each === name));
  const files = asked.length > 0 ? asked : commandFiles;
  return (await Promise.all(files.map(({ load }) => load()))).flat();
}
