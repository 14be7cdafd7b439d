// Runs one `storefront` command and maps its outcome to an exit status (contract section 11).

import { Command, CommanderError } from "commander";
import { readBuild } from "../build.ts";
import { ProblemError } from "../model/errors.ts";
import { formatResourceList, publicResources } from "../model/resource.ts";
import { allResources } from "../resources/all.ts";
import { completeHelp } from "./help.ts";
import { printError, printMessage, printText } from "./shared/output.ts";
import { commandLine } from "./shared/shell-words.ts";
import { UsageError } from "./shared/usage-error.ts";

const gettingStarted = `
Getting started:
  ${commandLine(["serve", "--demo"])}                try it: start a server with a sample site
  ${commandLine(["site", "add", "garden", "--default"])}   or create your own site
  ${commandLine(["key", "create", "--site", "garden"])}    and a key for it`;

/** Exit statuses, besides 0 for success. */
const failed = 1;
const wrongUsage = 2;

/**
 * Runs a command, and prints its error to stderr if it fails.
 * @param args the command line without the program name
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

/** @returns the exit status */
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
  console.error("storefront: unexpected error; please report it, including this output:");
  console.error(error);
  return failed;
}

/** @param name the first word on the command line. If it's a command, only that one is loaded; otherwise all are. */
export async function createProgram(name: string | undefined): Promise<Command> {
  const program = new Command("storefront")
    .description(
      `Serve ${formatResourceList(publicResources(allResources))} of online shops over REST, in JSON and XML, with API keys for each site.`,
    )
    .option("-V, --version", "print the version and the commit")
    .on("option:version", printVersion)
    // `journal` and `journal prune` have options with the same names.
    .enablePositionalOptions()
    .addHelpText("after", gettingStarted);
  for (const command of await loadCommands(name)) program.addCommand(command);
  completeHelp(program);
  configure(program);
  return program;
}

/** Always throws, which is how commander ends the program, here with status 0. */
function printVersion(): never {
  const { version, commit } = readBuild();
  printText(`${version} (${commit})\n`);
  throw new CommanderError(0, "commander.version", version);
}

/** Makes commander throw instead of exiting, and print the way our commands do. */
function configure(command: Command): void {
  command
    .exitOverride()
    .showHelpAfterError("(see --help)")
    .configureOutput({
      writeOut: printText,
      writeErr: printError,
      outputError: (text, write) => write(text.replace(/^error: /, "storefront: ")),
    });
  for (const child of command.commands) configure(child);
}

/**
 * Only the command that's called gets imported, because importing them all takes longer than most commands run.
 * `storefront --help` lists the commands of a group in this order.
 */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serveCommand(),
  health: async () => (await import("./health.ts")).healthCommand(),
  site: async () => (await import("./site.ts")).siteCommand(),
  key: async () => (await import("./key.ts")).keyCommand(),
  webhook: async () => (await import("./webhook.ts")).webhookCommand(),
  apply: async () => (await import("./apply.ts")).applyCommand(),
  describe: async () => (await import("./describe.ts")).describeCommand(),
  operator: async () => (await import("./operator.ts")).operatorCommand(),
  import: async () => (await import("./import.ts")).importCommand(),
  export: async () => (await import("./export.ts")).exportCommand(),
  journal: async () => (await import("./journal.ts")).journalCommand(),
  "restore-record": async () => (await import("./restore-record.ts")).restoreRecordCommand(),
  delete: async () => (await import("./delete.ts")).deleteCommand(),
  undo: async () => (await import("./undo.ts")).undoCommand(),
  "export-site": async () => (await import("./export-site.ts")).exportSiteCommand(),
  "import-site": async () => (await import("./import-site.ts")).importSiteCommand(),
  backup: async () => (await import("./backup.ts")).backupCommand(),
  restore: async () => (await import("./restore.ts")).restoreCommand(),
  renew: async () => (await import("./renew.ts")).renewCommand(),
  copy: async () => (await import("./copy.ts")).copyCommand(),
  check: async () => (await import("./check.ts")).checkCommand(),
};

/** Loads the command `name`, or all commands if there's none by that name (such as for `--help`). */
export async function loadCommands(name: string | undefined): Promise<Command[]> {
  const load = name !== undefined && Object.hasOwn(loaders, name) ? loaders[name] : undefined;
  return Promise.all(load ? [load()] : Object.values(loaders).map((each) => each()));
}
