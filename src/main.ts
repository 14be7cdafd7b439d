// The command line: the commands, and the exit status for each way in which they end.

import { CommanderError } from "commander";
import { printMessage, UsageError } from "./commands/common.ts";
import { createProgram } from "./commands/program.ts";
import { Refusal } from "./model/errors.ts";

/** Exit statuses. */
const failed = 1;
const wrongUsage = 2;

try {
  const program = await createProgram(process.argv[2]);
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
