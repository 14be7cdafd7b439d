// Reads the files that operators name.

import { createReadStream, existsSync, fstatSync, type Stats, statSync } from "node:fs";
import { messageOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";
import { isStandardInput, standardInput } from "../operator/standard-streams.ts";

/** The content of a file, or of standard input (`-`). @throws Refusal when it cannot be read, or after its end when it was written to meanwhile */
export async function* openInput(file: string): AsyncGenerator<Uint8Array> {
  const isInput = isStandardInput(file);
  if (!isInput && !existsSync(file)) throw new Refusal("not-found", `there is no file ${file}`);
  const name = isInput ? "standard input" : file;
  const before = isInput ? fstatSync(0) : statSync(file);
  if (before.isDirectory()) throw new Refusal("bad-request", `${name} is a folder`);
  try {
    yield* isInput ? standardInput() : createReadStream(file, { highWaterMark: 256 * 1024 });
  } catch (error) {
    throw new Refusal("unavailable", `cannot read ${name}: ${messageOf(error)}`, { cause: error });
  }
  const now = isInput ? fstatSync(0) : statSync(file, { throwIfNoEntry: false });
  if (before.isFile()) requireUnchanged(name, before, now);
}

/** @throws Refusal `conflict` when the file has another size, unless another file has its name now */
function requireUnchanged(name: string, { ino, dev, size }: Stats, now: Stats | undefined): void {
  if (now?.ino !== ino || now.dev !== dev || now.size === size) return;
  throw new Refusal("conflict", `${name} was written to while it was read; read it again when it is complete`);
}
