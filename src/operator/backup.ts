// A backup is gzip over lines of JSON: a header, a line per row of every table, and a last line with their count and
// digest. Any engine can write and read it.

import { createReadStream, existsSync, statSync } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip, createGzip } from "node:zlib";
import type { DumpedRow, Engine } from "../model/engine.ts";
import { messageOf, Refusal } from "../model/errors.ts";
import { type TableName, tables } from "../store/tables.ts";
import { writeFile } from "./output.ts";

const formatVersion = 1;

/** Writes everything that is stored, as of one moment, to `file`. Returns the number of rows. */
export async function backUp(engine: Engine, file: string, now: number): Promise<number> {
  const counter = { rows: 0 };
  await writeFile(file, toLines(engine, now, counter), createGzip({ level: 6 }));
  return counter.rows;
}

/** Reads a whole backup and returns its number of rows. @throws Refusal `bad-request` when it is not complete */
export async function verifyBackup(file: string): Promise<number> {
  let rows = 0;
  for await (const _ of readBackup(file)) rows++;
  return rows;
}

/**
 * Replaces everything that is stored by the backup in `file`, at once: whoever reads sees the one or the other. What was
 * there before goes to `keep`, up to the last write; returns whether there was anything.
 * @throws Refusal `bad-request` when the backup is not complete; then nothing is changed
 */
export async function restore(engine: Engine, file: string, keep: string, now: number): Promise<boolean> {
  let kept = false;
  async function* rows(): AsyncGenerator<DumpedRow> {
    kept = !(await isEmpty(engine));
    if (kept) await backUp(engine, keep, now);
    yield* readBackup(file);
  }
  await engine.refill(rows());
  return kept;
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
      if (!isRow(value)) throw notABackup(file, "it holds rows that this program does not know");
      digest.update(`${line}\n`);
      rows++;
      yield { table: value[0], row: value[1] };
    } else end = value;
  }
  if (end.rows !== rows || end.sha256 !== digest.digest("hex")) throw notABackup(file, "it is damaged or not complete");
}

function isRow([table, row]: unknown[]): boolean {
  if (typeof table !== "string" || !Object.hasOwn(tables, table) || typeof row !== "object" || !row) return false;
  return tables[table as TableName].every((column) => Object.hasOwn(row, column));
}

async function* readLines(file: string): AsyncGenerator<string> {
  if (!existsSync(file)) throw new Refusal("not-found", `there is no file ${file}`);
  if (!statSync(file).isFile()) throw notABackup(file, "it must be a plain file, since it is read twice");
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  try {
    const unpacked = createGunzip();
    pipeline(createReadStream(file), unpacked, () => {
      // A failure of either reaches the loop below as an error of `unpacked`.
    });
    for await (const chunk of unpacked as AsyncIterable<Uint8Array>) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
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
