// Reads a file that an operator names, or standard input.

import { createReadStream, existsSync, fstatSync, type Stats, statSync } from "node:fs";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { ProblemError } from "../../model/errors.ts";
import { isStandardInput, readStandardInput } from "../../operator/files/standard-streams.ts";

/**
 * Yields the bytes of a file, or of standard input (`-`).
 * @throws ProblemError if the file cannot be read; after its last byte, `conflict` if it was written to while it was read
 */
export async function* openInput(file: string): AsyncGenerator<Uint8Array> {
  const isInput = isStandardInput(file);
  if (!isInput && !existsSync(file)) throw new ProblemError("not-found", `there is no file ${file}`);
  const name = isInput ? "standard input" : file;
  const before = isInput ? fstatSync(0) : statSync(file);
  if (before.isDirectory()) throw new ProblemError("bad-request", `${name} is a folder`);
  try {
    yield* isInput ? readStandardInput() : createReadStream(file, { highWaterMark: 256 * 1024 });
  } catch (error) {
    throw new ProblemError("unavailable", `cannot read ${name}: ${errorMessage(error)}`, { cause: error });
  }
  const now = isInput ? fstatSync(0) : statSync(file, { throwIfNoEntry: false });
  if (before.isFile()) requireUnchanged(name, before, now);
}

/** Requires that the file kept its size. Does nothing if another file has its name now. @throws ProblemError `conflict` */
function requireUnchanged(name: string, { ino, dev, size }: Stats, now: Stats | undefined): void {
  if (now?.ino !== ino || now.dev !== dev || now.size === size) return;
  throw new ProblemError("conflict", `${name} was written to while it was read; read it again when it is complete`);
}
