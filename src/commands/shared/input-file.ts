// Reads a file named on the command line, or standard input.

import { createReadStream, existsSync, fstatSync, type Stats, statSync } from "node:fs";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { ProblemError } from "../../model/errors.ts";
import { isStandardInput, readStandardInput } from "../../operator/files/standard-streams.ts";

/**
 * @param file a path, or `-` for standard input
 * @throws ProblemError if the file can't be read; after its last byte, `conflict` if its size changed in the meantime
 */
export async function* openInput(file: string): AsyncGenerator<Uint8Array> {
  const isInput = isStandardInput(file);
  if (!isInput && !existsSync(file)) throw new ProblemError("not-found", `file not found: ${file}`);
  const name = isInput ? "standard input" : file;
  const before = isInput ? fstatSync(0) : statSync(file);
  if (before.isDirectory()) throw new ProblemError("bad-request", `${name} is a folder, not a file`);
  try {
    yield* isInput ? readStandardInput() : createReadStream(file, { highWaterMark: 256 * 1024 });
  } catch (error) {
    throw new ProblemError("unavailable", `can't read ${name}: ${errorMessage(error)}`, { cause: error });
  }
  const now = isInput ? fstatSync(0) : statSync(file, { throwIfNoEntry: false });
  if (before.isFile()) requireUnchanged(name, before, now);
}

/** It's fine if another file has taken its place, because we've read the old one to its end. @throws ProblemError `conflict` */
function requireUnchanged(name: string, { ino, dev, size }: Stats, now: Stats | undefined): void {
  if (now?.ino !== ino || now.dev !== dev || now.size === size) return;
  throw new ProblemError("conflict", `${name} changed while it was being read; try again when it's complete`);
}
