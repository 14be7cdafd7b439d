// Reads the files that operators name.

import { createReadStream, existsSync, statSync } from "node:fs";
import { messageOf } from "../lib/thrown.ts";
import { Refusal } from "../model/errors.ts";
import { isStandardInput } from "../operator/standard-streams.ts";

/** The content of a file, or of standard input (`-`). @throws Refusal when it cannot be read */
export async function* openInput(file: string): AsyncGenerator<Uint8Array> {
  const isInput = isStandardInput(file);
  if (!isInput && !existsSync(file)) throw new Refusal("not-found", `there is no file ${file}`);
  if (!isInput && statSync(file).isDirectory()) throw new Refusal("bad-request", `${file} is a folder`);
  try {
    yield* isInput ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 });
  } catch (error) {
    throw new Refusal("unavailable", `cannot read ${file}: ${messageOf(error)}`, { cause: error });
  }
}
