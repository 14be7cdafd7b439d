// The entry point: executes one command, and exits with its status.

import { runCommand } from "./commands/program.ts";

// A command that has returned is done. Do not wait for anything that is still open, such as a connection to a host that hangs.
process.exit(await runCommand(process.argv.slice(2)));
