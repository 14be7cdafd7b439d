// Output to stdout and stderr, written before the call returns, so that nothing is lost when the process ends.

import { messageOf, systemCodeOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";
import { writeAll } from "../operator/standard-streams.ts";

/**
 * Prints text to stdout. Returns false when its reader has closed it, as `head` does.
 * @throws Refusal `unavailable` when it cannot be written, for example because the disk is full
 */
export function printText(text: string): boolean {
  try {
    writeAll(1, Buffer.from(text));
    return true;
  } catch (error) {
    if (systemCodeOf(error) === "EPIPE") return false;
    throw new Refusal("unavailable", `cannot write to standard output: ${messageOf(error)}`, { cause: error });
  }
}

/** Prints a sequence of texts to stdout, until its reader closes it. */
export async function printAll(texts: AsyncIterable<string>): Promise<void> {
  for await (const text of texts) if (!printText(text)) return;
}

/** Prints text to stderr. Errors are ignored: there is no other place to report them. */
export function printError(text: string): void {
  try {
    writeAll(2, Buffer.from(text));
  } catch {
    // See above.
  }
}
