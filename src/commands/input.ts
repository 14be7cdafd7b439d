// Reads the files that operators name.

import { createReadStream, existsSync, type Stats, statSync } from "node:fs";
import { messageOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";
import { isStandardInput } from "../operator/standard-streams.ts";

/** The content of a file, or of standard input (`-`). @throws Refusal when it cannot be read, or after its end when it was written to meanwhile */
export async function* openInput(file: string): AsyncGenerator<Uint8Array> {
  const isInput = isStandardInput(file);
  if (!isInput && !existsSync(file)) throw new Refusal("not-found", `there is no file ${file}`);
  const before = isInput ? undefined : statSync(file);
  if (before?.isDirectory()) throw new Refusal("bad-request", `${file} is a folder`);
  try {
    yield* isInput ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 });
  } catch (error) {
    throw new Refusal("unavailable", `cannot read ${file}: ${messageOf(error)}`, { cause: error });
  }
  if (before) requireUnchanged(file, before);
}

/** @throws Refusal `conflict` when the file has another size, unless another file has its name now */
function requireUnchanged(file: string, { ino, dev, size }: Stats): void {
  const now = statSync(file, { throwIfNoEntry: false });
  if (now?.ino !== ino || now.dev !== dev || now.size === size) return;
  throw new Refusal("conflict", `${file} was written to while it was read; read it again when it is complete`);
}
