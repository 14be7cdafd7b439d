// The files of the commands. A call loads only the one that it asks for: loading all takes longer than most commands do.

import type { Command } from "commander";

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
  { names: ["journal", "restore-record"], load: async () => (await import("./history.ts")).historyCommands() },
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
