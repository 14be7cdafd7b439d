// The entry point: runs one command, and exits with its status.

import { runCommand } from "./commands/program.ts";

// Exits explicitly, so that nothing that's still open can keep a finished command running, such as a connection to a host that hangs.
process.exit(await runCommand(process.argv.slice(2)));
