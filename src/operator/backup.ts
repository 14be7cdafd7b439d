// A backup is gzip over lines of JSON: a header, a line per row of every table, and a last line with their count and
// digest. Any engine can write and read it.

import { createReadStream, createWriteStream, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type { DumpedRow, Engine } from "../model/engine.ts";
import { messageOf, Refusal } from "../model/errors.ts";

const formatVersion = 1;

/** Writes everything that is stored, as of one moment, to `file`. Returns the number of rows. */
export async function backUp(engine: Engine, file: string, now: number): Promise<number> {
  const part = `${file}.part`;
  const counter = { rows: 0 };
  try {
    await pipeline(Readable.from(toLines(engine, now, counter)), createGzip({ level: 6 }), createWriteStream(part));
    await flushToDisk(part);
    renameSync(part, file);
    return counter.rows;
  } catch (error) {
    rmSync(part, { force: true });
    if (error instanceof Refusal) throw error;
    throw new Refusal("unavailable", `cannot write ${file}: ${messageOf(error)}`, { cause: error });
  }
}

/** Reads a whole backup and returns its number of rows. @throws Refusal `bad-request` when it is not complete */
export async function verifyBackup(file: string): Promise<number> {
  let rows = 0;
  for await (const _ of readBackup(file)) rows++;
  return rows;
}

/** Replaces everything that is stored by the backup in `file`, at once: whoever reads sees the one or the other. */
export function restore(engine: Engine, file: string): Promise<void> {
  return engine.refill(readBackup(file));
}

/** Whether nothing is stored. */
export async function isEmpty(engine: Engine): Promise<boolean> {
  for await (const _ of engine.dump()) return false;
  return true;
}

async function* toLines(engine: Engine, now: number, counter: { rows: number }): AsyncGenerator<string> {
  const digest = new Bun.CryptoHasher("sha256");
  yield `${JSON.stringify({ storefront: formatVersion, made: new Date(now).toISOString() })}\n`;
  let lines: string[] = [];
  for await (const { table, row } of engine.dump()) {
    const line = `${JSON.stringify([table, row])}\n`;
    digest.update(line);
    counter.rows++;
    lines.push(line);
    if (lines.length === 256) {
      yield lines.join("");
      lines = [];
    }
  }
  yield `${lines.join("")}${JSON.stringify({ rows: counter.rows, sha256: digest.digest("hex") })}\n`;
}

/** The rows of a backup. Throws after the last one when their count or digest is not what the file says. */
async function* readBackup(file: string): AsyncGenerator<DumpedRow> {
  const digest = new Bun.CryptoHasher("sha256");
  let rows = 0;
  let isFirst = true;
  let end: { rows?: number; sha256?: string } = {};
  for await (const line of readLines(file)) {
    const value = parse(file, line);
    if (isFirst) {
      if (value.storefront !== formatVersion)
        throw notABackup(file, "it was not made by `storefront backup`, or by a newer version of it");
      isFirst = false;
    } else if (Array.isArray(value)) {
      digest.update(`${line}\n`);
      rows++;
      yield { table: value[0], row: value[1] };
    } else end = value;
  }
  if (end.rows !== rows || end.sha256 !== digest.digest("hex")) throw notABackup(file, "it is damaged or not complete");
}

async function* readLines(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  try {
    for await (const chunk of createReadStream(file).compose(createGunzip()) as AsyncIterable<Uint8Array>) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw new Refusal("not-found", `there is no file ${file}`);
    throw notABackup(file, messageOf(error));
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a header, a row or the end; told apart by whoever reads it
function parse(file: string, line: string): any {
  try {
    return JSON.parse(line);
  } catch {
    throw notABackup(file, "it is damaged");
  }
}

function notABackup(file: string, why: string): Refusal {
  return new Refusal("bad-request", `${file} is no backup that can be restored: ${why}`);
}

async function flushToDisk(file: string): Promise<void> {
  const handle = await open(file, "r");
  await handle.sync();
  await handle.close();
}
