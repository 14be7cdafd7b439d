// The command line: executes one command, prints its error, and exits with the status that tells how the command ended (contract section 11).

import { CommanderError } from "commander";
import { printMessage, UsageError } from "./commands/common.ts";
import { createProgram } from "./commands/program.ts";
import { ProblemError } from "./model/errors.ts";

/** Exit statuses. A command that succeeds exits with 0. */
const failed = 1;
const wrongUsage = 2;

try {
  const program = await createProgram(process.argv[2]);
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}
// The command has returned, so it is done. Do not wait for anything that is still open, such as a connection to a host that hangs.
process.exit();

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
