// What goes to stdout and stderr, written before the call returns, so that nothing is lost when the process ends.

import { messageOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";
import { writeAll } from "../operator/standard-streams.ts";

/**
 * Prints text on stdout. Returns false when its reader wants no more, as `head` does.
 * @throws Refusal `unavailable` when it cannot be written, such as to a full disk
 */
export function printText(text: string): boolean {
  try {
    writeAll(1, Buffer.from(text));
    return true;
  } catch (error) {
    if (codeOf(error) === "EPIPE") return false;
    throw new Refusal("unavailable", `cannot write to standard output: ${messageOf(error)}`, { cause: error });
  }
}

/** Prints text that is made bit by bit, until its reader wants no more. */
export async function printAll(texts: AsyncIterable<string>): Promise<void> {
  for await (const text of texts) if (!printText(text)) return;
}

/** Prints text on stderr. Where that cannot be written, there is nobody to tell. */
export function printError(text: string): void {
  try {
    writeAll(2, Buffer.from(text));
  } catch {
    // As said.
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
